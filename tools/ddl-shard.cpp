// ddl-shard: raw data to checked shards, what is in them, and whether they are whole.
#include "ddl/base/error.h"
#include "ddl/base/units.h"
#include "ddl/cli/app.h"
#include "ddl/data/build.h"

#include <iostream>

namespace {

// "0.2" is a fraction, anything else a path of its own.
void set_split(ddl::BuildOptions& options, const std::string& split, const std::string& text) {
  double& fraction = split == "val" ? options.val_fraction : options.test_fraction;
  try {
    fraction = ddl::parse_double(text, "--" + split);
  } catch (const ddl::Error&) {
    options.split_sources[split] = text;
  }
}

struct BuildArguments {
  ddl::BuildOptions options;
  std::string val, test, shape, shard_size;
  bool no_header = false, no_stratify = false, json = false;
};

ddl::Shape parse_shape(const std::string& text) {
  ddl::Shape out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    out.push_back(ddl::parse_int(std::string_view(text).substr(begin, end - begin), "--shape"));
    if (out.back() < 1) throw ddl::bad_input("--shape " + text + " is not CxHxW");
    begin = end + 1;
  }
  return out;
}

void build(BuildArguments& arguments) {
  ddl::BuildOptions& options = arguments.options;
  options.header = !arguments.no_header;
  options.stratify = !arguments.no_stratify;
  if (!arguments.val.empty()) set_split(options, "val", arguments.val);
  if (!arguments.test.empty()) set_split(options, "test", arguments.test);
  if (!arguments.shape.empty()) options.shape = parse_shape(arguments.shape);
  if (!arguments.shard_size.empty()) options.shard_bytes = ddl::parse_bytes(arguments.shard_size);
  const ddl::BuildReport report = ddl::build_dataset(options);
  for (const std::string& line : report.lines) std::cerr << line << '\n';
  std::cout << (arguments.json ? ddl::build_report_json(report)
                               : ddl::build_report_text(report, options.output));
}

void define_build(CLI::App& app) {
  auto arguments = std::make_shared<BuildArguments>();
  ddl::BuildOptions& o = arguments->options;
  CLI::App* command = app.add_subcommand("build", "Make a data set from raw data");
  command->add_option("SOURCE", o.sources, "Folder or file; IDX and .npy: data, then labels")
      ->required();
  command->add_option("-o,--output", o.output, "Folder of the data set")->required();
  command->add_option("--format", o.format, "auto, image-folder, idx, csv, arff, npy or text")
      ->capture_default_str();
  command->add_option("--name", o.name, "Name of the data set (default: of the source)");
  command->add_option("--label", o.label, "Label column: name, number from 1, first or last");
  command->add_flag("--no-header", arguments->no_header, "The first CSV line is data");
  command->add_option("--skip-lines", o.skip_lines, "CSV lines to skip at the start");
  command->add_option("--delimiter", o.delimiter, "CSV cell separator")->capture_default_str();
  command->add_option("--categorical", o.categorical, "Columns that are categories, with commas")
      ->delimiter(',');
  command->add_option("--drop", o.drop, "Columns to leave out")->delimiter(',');
  command->add_option("--missing", o.missing, "Texts that mean missing, besides the empty cell")
      ->delimiter(',');
  command->add_flag("--regression", o.regression, "The label is a number to predict");
  command->add_option("--shape", arguments->shape, "See the numbers of a row as an image, CxHxW");
  command->add_option("--size", o.size, "Resize images to HxW (default: all must agree)");
  command->add_option("--channels", o.channels, "Of images: auto, 1 or 3")->capture_default_str();
  command->add_flag("--skip-damaged", o.skip_damaged, "Leave damaged images out and list them");
  command->add_flag("--keep-empty-classes", o.keep_empty_classes,
                    "A class folder without images keeps its number");
  command->add_option("--tokens", o.tokens, "Of text: characters or bytes")->capture_default_str();
  command->add_option("--context", o.context, "Tokens a text sample predicts")
      ->capture_default_str();
  command->add_option("--val", arguments->val, "Fraction, or a source of its own (default 0.1)");
  command->add_option("--test", arguments->test, "Fraction, or a source of its own (default 0.1)");
  command->add_flag("--no-stratify", arguments->no_stratify, "Cut splits without regard to class");
  command->add_option("--seed", o.seed, "Of the splits")->capture_default_str();
  command->add_option("--shard-size", arguments->shard_size, "Raw bytes of a shard (64MiB)");
  command->add_option("--zstd-level", o.zstd_level, "1 to 22")->capture_default_str();
  command->add_option("--threads", o.threads, "0: what the machine allows")->capture_default_str();
  command->add_flag("--force", o.force, "Replace an existing data set");
  command->add_flag("--json", arguments->json, "Summary as JSON");
  command->callback([arguments] { build(*arguments); });
}

void define_info(CLI::App& app) {
  auto dataset = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("info", "Fields, splits, classes and counts");
  command->add_option("DATASET", *dataset, "Folder or dataset.json")->required();
  command->add_flag("--json", *json, "The manifest as JSON");
  command->callback([dataset, json] { std::cout << ddl::dataset_info(*dataset, *json); });
}

void define_verify(CLI::App& app) {
  auto dataset = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto threads = std::make_shared<int>(0);
  CLI::App* command = app.add_subcommand("verify", "Check every checksum, count and label");
  command->add_option("DATASET", *dataset, "Folder or dataset.json")->required();
  command->add_flag("--json", *json, "Report as JSON");
  command->add_option("--threads", *threads, "0: what the machine allows");
  command->callback([dataset, json, threads] {
    const ddl::VerifyReport report = ddl::verify_dataset(*dataset, *threads);
    std::cout << (*json ? ddl::verify_report_json(report) : ddl::verify_report_text(report));
    if (!report.problems.empty())
      throw ddl::failure(std::to_string(report.problems.size()) +
                             " problems; the first: " + report.problems.front(),
                         "restore the shard from a good copy or build the data set again")
          .with_file(*dataset);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const ddl::ProgramInfo info{
      "ddl-shard",
      "Turn raw data into checked shards",
      {"ddl-shard build photos -o data --size 32x32",
       "ddl-shard build digits.csv.gz --no-header --label last --shape 1x8x8 -o data",
       "ddl-shard build book.txt --context 64 -o data", "ddl-shard info data",
       "ddl-shard verify data"}};
  return ddl::run_program(argc, argv, info, [](CLI::App& app) {
    app.require_subcommand(1);
    define_build(app);
    define_info(app);
    define_verify(app);
  });
}
