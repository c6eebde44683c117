// mlp and tabular: fully connected layers over what a sample's fields say.
#include "ddl/base/error.h"
#include "ddl/model/builtin/builder.h"

#include <algorithm>
#include <cmath>

namespace ddl::builtin {
namespace {

TensorId joined(ModelBuilder& builder, const std::vector<TensorId>& parts) {
  if (parts.size() == 1) return parts.front();
  return builder.graph.add("Concat", parts, {{"axis", std::int64_t{1}}}, "features");
}

// Width of an embedding of n categories: fastai's rule min(600, round(1.6 n^0.56)).
std::int64_t embedding_width(const Options& options, std::int64_t categories) {
  if (options.text("embedding") != "auto") return options.integer("embedding", 1, 4096);
  const double rule = std::round(1.6 * std::pow(static_cast<double>(categories), 0.56));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(rule), 1, 600);
}

// One table per column: codes [N,K] -> K parts [N,width].
std::vector<TensorId> embedded(const Options& options, const Field& field, TensorId codes,
                               ModelBuilder& builder) {
  Graph& graph = builder.graph;
  const std::int64_t columns = element_count(field.shape);
  if (static_cast<std::int64_t>(field.categories.size()) != columns) {
    throw bad_input("field '" + field.name + "' has " + std::to_string(columns) +
                    " columns and categories for " + std::to_string(field.categories.size()));
  }
  std::vector<TensorId> parts;
  for (std::int64_t column = 0; column < columns; ++column) {
    const auto index = static_cast<std::size_t>(column);
    const auto rows =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(field.categories[index].size()));
    const std::string name = field.name + ".embedding." + std::to_string(column);
    const TensorId table =
        builder.normal(name + ".weight", {rows, embedding_width(options, rows)}, 0.01);
    const TensorId code =
        graph.add("Slice", {codes},
                  {{"starts", Shape{column}}, {"ends", Shape{column + 1}}, {"axes", Shape{1}}},
                  name + ".code");
    const TensorId looked_up = graph.add("Gather", {table, code}, {}, name);
    parts.push_back(builder.flatten(name + ".row", looked_up));
  }
  return parts;
}

}  // namespace

Graph build_mlp(const Options& options, const ModelInterface& interface, ModelBuilder builder) {
  std::vector<TensorId> parts;
  for (const Field& field : interface.inputs) {
    if (field.kind != FieldKind::image && field.kind != FieldKind::numeric) {
      throw bad_input("model mlp takes image and numeric fields, '" + field.name + "' is " +
                          std::string(field_kind_name(field.kind)),
                      field.kind == FieldKind::category ? "model tabular takes categories"
                                                        : "model gpt takes tokens");
    }
    parts.push_back(builder.flatten(field.name + ".flat", builder.input(field)));
  }
  if (parts.empty()) throw bad_input("model mlp needs an image or numeric field, found none");
  return builder.finish(builder.perceptron(
      joined(builder, parts), options.widths("hidden"), interface.outputs,
      options.choice("activation", kActivations), options.real("dropout", 0, 1)));
}

Graph build_tabular(const Options& options, const ModelInterface& interface, ModelBuilder builder) {
  std::vector<TensorId> parts;
  for (const Field& field : interface.inputs) {
    if (field.kind != FieldKind::category && field.kind != FieldKind::numeric) {
      throw bad_input("model tabular takes numeric and category fields, '" + field.name + "' is " +
                          std::string(field_kind_name(field.kind)),
                      field.kind == FieldKind::image ? "models lenet and resnet18 take images"
                                                     : "model gpt takes tokens");
    }
    const TensorId input = builder.input(field);
    if (field.kind == FieldKind::numeric) {
      parts.push_back(builder.flatten(field.name + ".flat", input));
      continue;
    }
    for (const TensorId part : embedded(options, field, input, builder)) parts.push_back(part);
  }
  if (parts.empty()) throw bad_input("model tabular needs a numeric or category field, found none");
  return builder.finish(builder.perceptron(
      joined(builder, parts), options.widths("hidden"), interface.outputs,
      options.choice("activation", kActivations), options.real("dropout", 0, 1)));
}

}  // namespace ddl::builtin
