#include "ddl/model/builtin/builder.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/random.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace ddl::builtin {
namespace {

Random stream(std::uint64_t seed, const std::string& name) {
  return {seed, "init", xxh3_64(std::as_bytes(std::span(name.data(), name.size())))};
}

}  // namespace

std::int64_t Options::integer(const std::string& name, std::int64_t least,
                              std::int64_t most) const {
  const std::int64_t value = parse_int(text(name), "model option " + name);
  if (value < least || value > most) {
    throw bad_input("model option " + name + "=" + text(name),
                    "expected " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

double Options::real(const std::string& name, double least, double below) const {
  const double value = parse_double(text(name), "model option " + name);
  if (!(value >= least && value < below)) {
    throw bad_input("model option " + name + "=" + text(name) + " is out of range");
  }
  return value;
}

bool Options::flag(const std::string& name) const {
  return choice(name, {"true", "false"}) == "true";
}

std::vector<std::int64_t> Options::widths(const std::string& name) const {
  std::vector<std::int64_t> values;
  const std::string list = text(name);
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    values.push_back(parse_int(list.substr(start, comma - start), "model option " + name));
    if (values.back() < 1 || values.back() > (1 << 20)) {
      throw bad_input("model option " + name + "=" + list, "layers have 1 to 1048576 units");
    }
    start = comma + 1;
  }
  return values;
}

std::string Options::choice(const std::string& name,
                            const std::vector<std::string>& choices) const {
  const std::string value = text(name);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  std::string list;
  for (const std::string& one : choices) list += (list.empty() ? "" : ", ") + one;
  throw bad_input("model option " + name + "=" + value, "expected one of " + list);
}

ModelBuilder::ModelBuilder(std::string model, std::int64_t samples, std::uint64_t seed)
    : samples_(samples), seed_(seed) {
  graph.name = std::move(model);
}

TensorId ModelBuilder::uniform(const std::string& name, Shape shape, double bound) {
  auto value = make_host_tensor(DType::f32, std::move(shape));
  Random random = stream(seed_, name);
  const auto count = static_cast<std::size_t>(element_count(value->shape));
  for (std::size_t i = 0; i < count; ++i) {
    value->as<float>()[i] = static_cast<float>((2 * random.uniform() - 1) * bound);
  }
  return graph.add_parameter(name, value);
}

TensorId ModelBuilder::normal(const std::string& name, Shape shape, double deviation) {
  auto value = make_host_tensor(DType::f32, std::move(shape));
  Random random = stream(seed_, name);
  const auto count = static_cast<std::size_t>(element_count(value->shape));
  for (std::size_t i = 0; i < count; ++i) {
    value->as<float>()[i] = static_cast<float>(random.normal() * deviation);
  }
  return graph.add_parameter(name, value);
}

TensorId ModelBuilder::filled(const std::string& name, Shape shape, float filling) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  return graph.add_parameter(name, make_f32(std::move(shape), std::vector<float>(count, filling)));
}

TensorId ModelBuilder::buffer(const std::string& name, Shape shape, float filling) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  return graph.add_buffer(name, make_f32(std::move(shape), std::vector<float>(count, filling)));
}

TensorId ModelBuilder::input(const Field& field) {
  const bool codes = field.kind == FieldKind::category || field.kind == FieldKind::tokens;
  Shape shape{samples_};
  shape.insert(shape.end(), field.shape.begin(), field.shape.end());
  return graph.add_input(field.name, codes ? DType::i32 : DType::f32, shape);
}

TensorId ModelBuilder::linear(const std::string& name, TensorId x, std::int64_t outputs) {
  const std::int64_t inputs = graph.tensor(x).shape.back();
  if (inputs < 1) throw bad_input("layer '" + name + "' has no inputs");
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const TensorId weight = uniform(name + ".weight", {outputs, inputs}, bound);
  const TensorId bias = uniform(name + ".bias", {outputs}, bound);
  return graph.add("Gemm", {x, weight, bias}, {{"transB", std::int64_t{1}}}, name);
}

TensorId ModelBuilder::convolution(const std::string& name, TensorId x, std::int64_t channels,
                                   std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                                   bool bias) {
  const std::int64_t inputs = graph.tensor(x).shape[1];
  const Shape shape{channels, inputs, kernel, kernel};
  std::vector<TensorId> operands{x};
  if (bias) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs * kernel * kernel));
    operands.push_back(uniform(name + ".weight", shape, bound));
    operands.push_back(uniform(name + ".bias", {channels}, bound));
  } else {
    operands.push_back(normal(name + ".weight", shape,
                              std::sqrt(2 / static_cast<double>(channels * kernel * kernel))));
  }
  return graph.add("Conv", operands,
                   {{"strides", Shape{stride, stride}}, {"pads", Shape{pad, pad, pad, pad}}}, name);
}

TensorId ModelBuilder::batch_norm(const std::string& name, TensorId x) {
  const Shape channels{graph.tensor(x).shape[1]};
  const TensorId scale = filled(name + ".weight", channels, 1);
  const TensorId bias = filled(name + ".bias", channels, 0);
  const TensorId mean = buffer(name + ".running_mean", channels, 0);
  const TensorId variance = buffer(name + ".running_var", channels, 1);
  return graph.add("BatchNormalization", {x, scale, bias, mean, variance}, {{"epsilon", 1e-5}},
                   name);
}

TensorId ModelBuilder::activation(const std::string& name, TensorId x, const std::string& kind) {
  static const std::map<std::string, std::string> kOps{
      {"relu", "Relu"}, {"tanh", "Tanh"}, {"sigmoid", "Sigmoid"}, {"gelu", "Gelu"}};
  return graph.add(kOps.at(kind), {x}, {}, name);
}

TensorId ModelBuilder::dropout(const std::string& name, TensorId x, double ratio) {
  return ratio == 0 ? x : graph.add("Dropout", {x}, {{"ratio", ratio}}, name);
}

TensorId ModelBuilder::flatten(const std::string& name, TensorId x) {
  return graph.tensor(x).shape.size() == 2 ? x : graph.add("Flatten", {x}, {}, name);
}

TensorId ModelBuilder::perceptron(TensorId x, const std::vector<std::int64_t>& hidden,
                                  std::int64_t outputs, const std::string& kind,
                                  double dropout_ratio) {
  int number = 1;
  for (const std::int64_t width : hidden) {
    const std::string name = "fc" + std::to_string(number++);
    x = activation(name + "." + kind, linear(name, x, width), kind);
    x = dropout(name + ".dropout", x, dropout_ratio);
  }
  return linear("fc" + std::to_string(number), x, outputs);
}

Graph ModelBuilder::finish(TensorId output) {
  // A name that callers of the model can rely on.
  graph.rename(output, "logits");
  graph.outputs = {output};
  return std::move(graph);
}

const Field& only_field(const ModelInterface& interface, FieldKind kind, const std::string& model) {
  if (interface.inputs.size() != 1 || interface.inputs.front().kind != kind) {
    std::string found;
    for (const Field& field : interface.inputs) {
      found += (found.empty() ? "" : ", ") + std::string(field_kind_name(field.kind)) + " '" +
               field.name + "'";
    }
    throw bad_input("model " + model + " needs one " + std::string(field_kind_name(kind)) +
                        " field, found " + (found.empty() ? "none" : found),
                    "see ddl-model list");
  }
  return interface.inputs.front();
}

Shape image_shape(const ModelInterface& interface, const std::string& model,
                  std::int64_t smallest) {
  const Field& field = only_field(interface, FieldKind::image, model);
  if (field.shape.size() != 3 || field.shape[0] < 1 || field.shape[1] < smallest ||
      field.shape[2] < smallest) {
    throw bad_input("model " + model + " needs images of at least " + std::to_string(smallest) +
                    "x" + std::to_string(smallest) + ", field '" + field.name + "' has shape " +
                    shape_text(field.shape));
  }
  return field.shape;
}

}  // namespace ddl::builtin
