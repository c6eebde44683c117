#include "ddl/base/error.h"
#include "ddl/base/units.h"
#include "ddl/model/builtin.h"
#include "ddl/model/report.h"

#include <algorithm>
#include <utility>

namespace ddl {
namespace {

Shape parse_shape(const std::string& text) {
  Shape shape;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t cross = std::min(text.find('x', start), text.size());
    shape.push_back(parse_int(text.substr(start, cross - start), "--input"));
    if (shape.back() < 1) throw bad_input("--input " + text, "extents are 1 or more");
    start = cross + 1;
  }
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  if (shape.size() != 3) {
    throw bad_input("--input " + text, "expected CHANNELSxHEIGHTxWIDTH, as in 3x32x32");
  }
  return shape;
}

void add_categories(const std::string& text, Field& field) {
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::int64_t count = parse_int(text.substr(start, comma - start), "--categories");
    if (count < 1 || count > (1 << 20)) throw bad_input("--categories " + text);
    field.categories.emplace_back();
    for (std::int64_t code = 0; code < count; ++code) {
      field.categories.back().push_back(std::to_string(code));
    }
    start = comma + 1;
  }
  field.shape = {static_cast<std::int64_t>(field.categories.size())};
}

Field make_field(std::string name, FieldKind kind, DType dtype, Shape shape) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.dtype = dtype;
  field.shape = std::move(shape);
  return field;
}

// Shapes from options, or the ones a model is usually shown with.
ModelInterface interface_from_options(const ModelRequest& request, std::string& note) {
  const auto negative = [](std::int64_t value) { return value < 0; };
  if (negative(request.features) || negative(request.classes) || negative(request.vocabulary) ||
      negative(request.context)) {
    throw bad_input("a negative number of features, classes, vocabulary or context");
  }
  ModelInterface interface;
  const bool tokens = request.vocabulary > 0 || request.context > 0;
  if (!request.image.empty()) {
    interface.inputs.push_back(
        make_field("x", FieldKind::image, DType::f32, parse_shape(request.image)));
  }
  if (request.features > 0) {
    interface.inputs.push_back(make_field("x", FieldKind::numeric, DType::f32, {request.features}));
  }
  if (!request.categories.empty()) {
    interface.inputs.push_back(make_field("c", FieldKind::category, DType::i32, {}));
    add_categories(request.categories, interface.inputs.back());
  }
  if ((!request.image.empty() && request.features > 0) || (tokens && !interface.inputs.empty())) {
    throw bad_input("--input, --features and --vocabulary describe different kinds of data",
                    "give one of them");
  }
  if (interface.inputs.empty() && (tokens || request.model == "gpt")) {
    interface.inputs.push_back(make_field("x", FieldKind::tokens, DType::i32,
                                          {request.context > 0 ? request.context : 64}));
    interface.outputs = request.vocabulary > 0 ? request.vocabulary : 256;
    if (request.context == 0 || request.vocabulary == 0) {
      note = "for " + shape_text(interface.inputs[0].shape) + " tokens of a vocabulary of " +
             std::to_string(interface.outputs) +
             " (--dataset, --vocabulary and --context change that)";
    }
    return interface;
  }
  if (interface.inputs.empty()) {
    if (request.model == "tabular") {
      interface.inputs.push_back(make_field("x", FieldKind::numeric, DType::f32, {10}));
      note = "for 10 numeric columns";
    } else {
      interface.inputs.push_back(make_field("x", FieldKind::image, DType::f32, {3, 32, 32}));
      note = "for images of 3x32x32";
    }
  }
  interface.outputs = request.classes > 0 ? request.classes : 10;
  if (request.classes == 0) note += (note.empty() ? "for " : " and ") + std::string("10 classes");
  if (!note.empty()) note += " (--dataset, or --input, --features and --classes change that)";
  return interface;
}

ModelMetadata metadata_of(const DatasetManifest& manifest) {
  ModelMetadata metadata;
  const ModelInterface interface = model_interface(manifest);
  for (const Field& field : manifest.fields) {
    for (const Field& input : interface.inputs) {
      if (input.name == field.name) metadata.inputs.push_back(field);  // as it is stored
    }
  }
  metadata.classes = manifest.classes;
  metadata.tokenizer = manifest.tokenizer;
  metadata.task = manifest.task;
  return metadata;
}

bool has_shapes(const ModelRequest& request) {
  return !request.image.empty() || request.features != 0 || !request.categories.empty() ||
         request.classes != 0 || request.vocabulary != 0 || request.context != 0;
}

RequestedModel from_file(const ModelRequest& request) {
  if (has_shapes(request) || !request.dataset.empty() || !request.settings.empty()) {
    throw bad_input("'" + request.model + "' is a file, which has shapes of its own",
                    "leave out --dataset, --input, --set and the like");
  }
  ImportedModel imported = load_onnx(request.model);
  RequestedModel model;
  model.graph = std::move(imported.graph);
  model.metadata = std::move(imported.metadata);
  const Shape& output = model.graph.tensor(model.graph.outputs.front()).shape;
  if (model.metadata.task == LearningTask::next_token || output.size() == 3) {
    model.loss = LossKind::next_token;
  } else if (model.metadata.task == LearningTask::regression) {
    model.loss = LossKind::squared_error;
  }
  return model;
}

}  // namespace

std::map<std::string, std::string> parse_settings(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> values;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw bad_input("--set " + setting, "expected NAME=VALUE, as in --set hidden=64,32");
    }
    if (!values.emplace(setting.substr(0, equals), setting.substr(equals + 1)).second) {
      throw bad_input("--set " + setting.substr(0, equals) + " is given twice");
    }
  }
  return values;
}

RequestedModel requested_model(const ModelRequest& request) {
  const bool file =
      !is_builtin_model(request.model) && (request.model.find('.') != std::string::npos ||
                                           request.model.find('/') != std::string::npos);
  if (file) return from_file(request);
  RequestedModel model;
  ModelInterface interface;
  if (!request.dataset.empty()) {
    if (has_shapes(request)) {
      throw bad_input("--dataset gives the shapes", "leave out --input, --classes and the like");
    }
    const std::filesystem::path manifest_file = std::filesystem::is_directory(request.dataset)
                                                    ? request.dataset / "dataset.json"
                                                    : request.dataset;
    const DatasetManifest manifest = read_dataset_manifest(manifest_file);
    interface = model_interface(manifest);
    model.loss = default_loss(manifest);
    model.metadata = metadata_of(manifest);
  } else if (is_builtin_model(request.model)) {
    interface = interface_from_options(request, model.note);
    if (interface.inputs.front().kind == FieldKind::tokens) {
      model.loss = LossKind::next_token;
      model.metadata.task = LearningTask::next_token;
    }
  }
  model.graph =
      build_model(request.model, parse_settings(request.settings), interface, 1, request.seed);
  return model;
}

std::string write_requested_model(const ModelRequest& request, const std::filesystem::path& file,
                                  bool bake_preprocessing, bool force) {
  if (!force && std::filesystem::exists(file)) {
    throw bad_input("exists", "--force replaces it").with_file(file.string());
  }
  RequestedModel model = requested_model(request);
  model.metadata.provenance["ddl.version"] = DDL_VERSION;
  save_onnx(model.graph, {}, model.metadata, file, {bake_preprocessing});
  return model.note;
}

}  // namespace ddl
