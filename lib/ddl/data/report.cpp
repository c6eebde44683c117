#include "ddl/base/units.h"
#include "ddl/data/build.h"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace ddl {

using nlohmann::ordered_json;

std::string build_report_text(const BuildReport& report, const std::filesystem::path& output) {
  const DatasetManifest& manifest = report.manifest;
  std::string splits;
  for (const Split& split : manifest.splits)
    splits += (splits.empty() ? "" : ", ") + split.name + " " + std::to_string(split.samples);
  std::string out = output.string() + ": " + splits + " samples in " +
                    std::to_string(manifest.shards.size()) + " shards, " +
                    format_bytes(report.source_bytes) + " -> " + format_bytes(report.shard_bytes) +
                    " in " + format_seconds(report.seconds) + "\n";
  return out + "hash " + manifest_hash(manifest) + "\n";
}

std::string build_report_json(const BuildReport& report) {
  ordered_json splits = ordered_json::object();
  for (const Split& split : report.manifest.splits) splits[split.name] = split.samples;
  const ordered_json out = {{"name", report.manifest.name},
                            {"hash", manifest_hash(report.manifest)},
                            {"splits", splits},
                            {"classes", report.manifest.classes},
                            {"shards", report.manifest.shards.size()},
                            {"source_bytes", report.source_bytes},
                            {"shard_bytes", report.shard_bytes},
                            {"ignored_files", report.ignored_files},
                            {"skipped_damaged", report.skipped_damaged},
                            {"duplicates_across_splits", report.duplicates_across_splits},
                            {"lines", report.lines},
                            {"seconds", report.seconds}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string verify_report_text(const VerifyReport& report) {
  std::string out;
  for (const std::string& problem : report.problems) out += problem + "\n";
  const std::string verdict =
      report.problems.empty() ? "all sound" : std::to_string(report.problems.size()) + " problems";
  return out + std::to_string(report.shards) + " shards, " + std::to_string(report.chunks) +
         " chunks, " + format_bytes(report.bytes) + " checked: " + verdict + "\n";
}

std::string verify_report_json(const VerifyReport& report) {
  const ordered_json out = {{"sound", report.problems.empty()},
                            {"shards", report.shards},
                            {"chunks", report.chunks},
                            {"bytes", report.bytes},
                            {"problems", report.problems}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ddl
