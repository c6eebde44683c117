#include "ddl/artifact/dataset_rules.h"

#include "ddl/artifact/json.h"
#include "ddl/base/file.h"

#include <algorithm>
#include <initializer_list>
#include <set>

namespace ddl::artifact {
namespace {

class Rules {
 public:
  Rules(const DatasetManifest& manifest, const std::filesystem::path& file)
      : manifest_(manifest), file_(file) {}

  void check() const {
    check_fields();
    check_classes();
    check_splits();
    check_shards();
    if (manifest_.tokenizer.kind == "characters" && manifest_.tokenizer.vocabulary.empty())
      refuse(file_, "/tokenizer/vocabulary", "found no characters, expected at least 1");
  }

 private:
  static std::string at(const char* list, std::size_t index) {
    return "/" + std::string(list) + "/" + std::to_string(index);
  }

  void check_fields() const {
    std::set<std::string> names;
    for (std::size_t i = 0; i < manifest_.fields.size(); ++i) {
      const Field& field = manifest_.fields[i];
      const std::string here = at("fields", i);
      if (!names.insert(field.name).second)
        refuse(file_, here + "/name", "there are two fields named \"" + field.name + "\"");
      check_form(field, here);
      check_columns(field, here);
      check_normalisation(field, here);
    }
  }

  // dtype and rank by kind, as the table in dataset.h says.
  void check_form(const Field& field, const std::string& here) const {
    const auto form = [&](std::initializer_list<DType> types, std::initializer_list<int> ranks) {
      const std::string kind(field_kind_name(field.kind));
      if (std::find(types.begin(), types.end(), field.dtype) == types.end()) {
        std::string names;
        for (const DType type : types)
          names += (names.empty() ? "" : " or ") + std::string(dtype_name(type));
        refuse(file_, here + "/dtype",
               "found " + std::string(dtype_name(field.dtype)) + ", expected " + names + " for a " +
                   kind + " field");
      }
      const auto rank = static_cast<int>(field.shape.size());
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
        refuse(file_, here + "/shape",
               "found " + shape_text(field.shape) + ", expected " + std::to_string(*ranks.begin()) +
                   " axes for a " + kind + " field");
    };
    switch (field.kind) {
      case FieldKind::image:
        return form({DType::u8, DType::f32}, {3});
      case FieldKind::numeric:
        return form({DType::f32, DType::u8}, {1});
      case FieldKind::category:
        return form({DType::i32}, {1});
      case FieldKind::label:
        return form({DType::i64}, {0});
      case FieldKind::target:
        return form({DType::f32}, {0, 1});
      case FieldKind::tokens:
        return form({DType::u8, DType::u16, DType::i32}, {1});
      case FieldKind::weight:
        return form({DType::f32}, {0});
    }
  }

  void check_columns(const Field& field, const std::string& here) const {
    const std::size_t width = field.shape.empty() ? 1 : static_cast<std::size_t>(field.shape[0]);
    if (!field.columns.empty() && field.columns.size() != width)
      refuse(file_, here + "/columns",
             "found " + std::to_string(field.columns.size()) + " names, expected " +
                 std::to_string(width) + ", the width of the field");
    if (field.kind == FieldKind::category ? field.categories.size() != width
                                          : !field.categories.empty())
      refuse(file_, here + "/categories",
             "found " + std::to_string(field.categories.size()) + " lists, expected " +
                 std::to_string(field.kind == FieldKind::category ? width : 0));
    for (std::size_t i = 0; i < field.categories.size(); ++i)
      if (field.categories[i].empty())
        refuse(file_, here + "/categories/" + std::to_string(i),
               "found no categories, expected at least 1");
  }

  void check_normalisation(const Field& field, const std::string& here) const {
    const Normalisation& normalisation = field.normalisation;
    if (normalisation.mean.size() != normalisation.scale.size())
      refuse(file_, here + "/normalisation",
             "found " + std::to_string(normalisation.mean.size()) + " means and " +
                 std::to_string(normalisation.scale.size()) + " scales, expected as many");
    if (normalisation.mean.empty()) return;
    const bool takes = field.kind == FieldKind::image || field.kind == FieldKind::numeric ||
                       field.kind == FieldKind::target;
    const std::size_t width =
        !takes ? 0 : (field.shape.empty() ? 1 : static_cast<std::size_t>(field.shape[0]));
    if (normalisation.mean.size() != width)
      refuse(file_, here + "/normalisation/mean",
             "found " + std::to_string(normalisation.mean.size()) + " values, expected " +
                 std::to_string(width));
    for (std::size_t i = 0; i < width; ++i)
      if (normalisation.scale[i] == 0)
        refuse(file_, here + "/normalisation/scale/" + std::to_string(i),
               "found 0, expected another number: it would erase the column");
  }

  void check_classes() const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < manifest_.classes.size(); ++i)
      if (!seen.insert(manifest_.classes[i]).second)
        refuse(file_, at("classes", i),
               "there are two classes named \"" + manifest_.classes[i] + "\"");
    const auto needs = [&](FieldKind kind) {
      if (manifest_.find_field(kind) == nullptr)
        refuse(file_, "/fields",
               "no " + std::string(field_kind_name(kind)) + " field, which " +
                   std::string(learning_task_name(manifest_.task)) + " needs");
    };
    switch (manifest_.task) {
      case LearningTask::classification:
        needs(FieldKind::label);
        if (manifest_.classes.empty())
          refuse(file_, "/classes", "found no classes, which classification needs");
        break;
      case LearningTask::regression:
        needs(FieldKind::target);
        break;
      case LearningTask::next_token:
        needs(FieldKind::tokens);
        break;
    }
  }

  void check_splits() const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < manifest_.splits.size(); ++i) {
      const Split& split = manifest_.splits[i];
      const std::string here = at("splits", i);
      if (!seen.insert(split.name).second)
        refuse(file_, here + "/name", "there are two splits named \"" + split.name + "\"");
      if (split.class_counts.empty()) continue;
      if (split.class_counts.size() != manifest_.classes.size())
        refuse(file_, here + "/class_counts",
               "found " + std::to_string(split.class_counts.size()) + " counts, expected " +
                   std::to_string(manifest_.classes.size()) + ", the number of classes");
      check_sum(split.class_counts, split.samples, here + "/class_counts", "class counts");
    }
  }

  void check_shards() const {
    std::set<std::string> files;
    std::map<std::string, std::vector<std::int64_t>> by_split;
    for (std::size_t i = 0; i < manifest_.shards.size(); ++i) {
      const Shard& shard = manifest_.shards[i];
      const std::string here = at("shards", i);
      try {
        confined_path("dataset", shard.file);
      } catch (const Error& error) {
        refuse(file_, here + "/file", error.reason(), error.remedy());
      }
      if (!files.insert(shard.file).second)
        refuse(file_, here + "/file", "there are two shards named \"" + shard.file + "\"");
      if (manifest_.find_split(shard.split) == nullptr)
        refuse(file_, here + "/split", "no split is named \"" + shard.split + "\"");
      by_split[shard.split].push_back(shard.samples);
    }
    for (std::size_t i = 0; i < manifest_.splits.size(); ++i)
      check_sum(by_split[manifest_.splits[i].name], manifest_.splits[i].samples, at("splits", i),
                "shards");
  }

  void check_sum(const std::vector<std::int64_t>& parts, std::int64_t whole,
                 const std::string& pointer, const std::string& of) const {
    std::int64_t sum = 0;
    for (const std::int64_t part : parts) {  // each is below 2^53: stop before int64 overflows
      sum += part;
      if (sum > whole) break;
    }
    if (sum != whole)
      refuse(file_, pointer,
             "found " + std::to_string(whole) + " samples, but the " + of + " hold " +
                 (sum > whole ? "more" : std::to_string(sum)));
  }

  const DatasetManifest& manifest_;
  const std::filesystem::path& file_;
};

}  // namespace

void check_dataset_rules(const DatasetManifest& manifest, const std::filesystem::path& file) {
  Rules(manifest, file).check();
}

}  // namespace ddl::artifact
