#include "ddl/model/report.h"

#include "ddl/base/table.h"
#include "ddl/base/units.h"
#include "ddl/model/builtin.h"

#include <nlohmann/json.hpp>

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(bytes));
}

Json tensors_json(const Graph& graph, const std::vector<TensorId>& ids) {
  Json list = Json::array();
  for (const TensorId id : ids) {
    const Tensor& tensor = graph.tensor(id);
    // Without the batch axis.
    const Shape shape(tensor.shape.begin() + 1, tensor.shape.end());
    list.push_back({{"name", tensor.name}, {"dtype", dtype_name(tensor.dtype)}, {"shape", shape}});
  }
  return list;
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string model_list_text() {
  std::string text;
  for (const BuiltinModel& model : builtin_models()) {
    text += model.name + " - " + model.description + "\n";
    Table table({"    option", "default", "meaning"});
    for (const BuiltinOption& option : model.options) {
      table.add_row({"    " + option.name, option.default_value, option.help});
    }
    text += table.text() + "\n";
  }
  text.pop_back();
  return text;
}

std::string model_list_json() {
  Json list = Json::array();
  for (const BuiltinModel& model : builtin_models()) {
    Json options = Json::array();
    for (const BuiltinOption& option : model.options) {
      options.push_back(
          {{"name", option.name}, {"default", option.default_value}, {"help", option.help}});
    }
    list.push_back(
        {{"name", model.name}, {"description", model.description}, {"options", options}});
  }
  return dumped({{"models", list}});
}

std::string model_text(const RequestedModel& model) {
  const ModelCost cost = model_cost(model.graph, model.loss);
  Table table({"layer", "op", "output of one sample", "parameters", "FLOPs", "activations"});
  for (const LayerCost& layer : cost.layers) {
    table.add_row({layer.node, layer.op, layer.output_shape,
                   layer.parameters == 0 ? "" : format_count(static_cast<double>(layer.parameters)),
                   layer.flops == 0 ? "" : format_count(layer.flops),
                   bytes_text(layer.activation_bytes)});
  }
  std::string text = table.text() + "\n";
  text += "parameters " + std::to_string(cost.parameters) + ", buffers " +
          std::to_string(cost.buffers) + "\n";
  text += "FLOPs of one sample: forward " + format_count(cost.forward_flops_per_sample) +
          ", training " + format_count(cost.training_flops_per_sample) + "\n";
  text += "memory of one sample: activations " + bytes_text(cost.activation_bytes_per_sample) +
          ", moved in training " + bytes_text(cost.training_bytes_per_sample) + "\n";
  return text;
}

std::string model_json(const RequestedModel& model) {
  const ModelCost cost = model_cost(model.graph, model.loss);
  Json layers = Json::array();
  for (const LayerCost& layer : cost.layers) {
    layers.push_back({{"name", layer.node},
                      {"op", layer.op},
                      {"output_shape", layer.output_shape},
                      {"parameters", layer.parameters},
                      {"flops", layer.flops},
                      {"activation_bytes", layer.activation_bytes}});
  }
  return dumped({{"model", model.graph.name},
                 {"inputs", tensors_json(model.graph, model.graph.inputs)},
                 {"outputs", tensors_json(model.graph, model.graph.outputs)},
                 {"parameters", cost.parameters},
                 {"buffers", cost.buffers},
                 {"forward_flops_per_sample", cost.forward_flops_per_sample},
                 {"training_flops_per_sample", cost.training_flops_per_sample},
                 {"training_bytes_per_sample", cost.training_bytes_per_sample},
                 {"activation_bytes_per_sample", cost.activation_bytes_per_sample},
                 {"structure_hash", model.graph.structure_hash()},
                 {"layers", layers}});
}

}  // namespace ddl
