// What the built-in models are made of: initialised parameters and common layers.
//
// Initial values are drawn per parameter from Random(seed, "init", xxh3_64(name)): they depend on
// nothing but seed, name and shape. Layers follow PyTorch's defaults and names:
//   linear, convolution   weight and bias uniform in ±1/sqrt(fan_in), which is Kaiming uniform
//                         (He et al., "Delving deep into rectifiers", ICCV 2015) with a = sqrt(5)
//   ResNet convolutions   normal with deviation sqrt(2/fan_out), the same paper's fan-out form
//   GPT                   normal 0.02, projections into the residual 0.02/sqrt(2 layers)
//                         (Radford et al., "Language models are unsupervised multitask learners")
//   embeddings (tabular)  normal 0.01, small as in fastai (Howard and Gugger, Information 2020)
#pragma once

#include "ddl/model/builtin.h"
#include "ddl/model/graph.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddl::builtin {

// The options of one model, checked: unknown names were refused before.
class Options {
 public:
  Options(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  std::string text(const std::string& name) const { return values_.at(name); }
  std::int64_t integer(const std::string& name, std::int64_t least, std::int64_t most) const;
  double real(const std::string& name, double least, double below) const;
  bool flag(const std::string& name) const;
  // "128,64"; an empty text is no layers.
  std::vector<std::int64_t> widths(const std::string& name) const;
  // Throws unless the text is one of the choices.
  std::string choice(const std::string& name, const std::vector<std::string>& choices) const;

 private:
  std::map<std::string, std::string> values_;
};

class ModelBuilder {
 public:
  ModelBuilder(std::string model, std::int64_t samples, std::uint64_t seed);

  Graph graph;

  TensorId uniform(const std::string& name, Shape shape, double bound);
  TensorId normal(const std::string& name, Shape shape, double deviation);
  TensorId filled(const std::string& name, Shape shape, float value);
  TensorId buffer(const std::string& name, Shape shape, float value);

  // Adds the input of a field: f32 for images and numerics, i32 for categories and tokens.
  TensorId input(const Field& field);
  // x[N,in] -> [N,out]
  TensorId linear(const std::string& name, TensorId x, std::int64_t outputs);
  // x[N,C,H,W] with square kernels; `bias` as in LeNet, without as before batch normalisation.
  TensorId convolution(const std::string& name, TensorId x, std::int64_t channels,
                       std::int64_t kernel, std::int64_t stride, std::int64_t pad, bool bias);
  TensorId batch_norm(const std::string& name, TensorId x);
  TensorId activation(const std::string& name, TensorId x, const std::string& kind);
  TensorId dropout(const std::string& name, TensorId x, double ratio);  // ratio 0: x itself
  TensorId flatten(const std::string& name, TensorId x);
  // Hidden layers of the given widths, then the outputs.
  TensorId perceptron(TensorId x, const std::vector<std::int64_t>& hidden, std::int64_t outputs,
                      const std::string& kind, double dropout_ratio);

  Graph finish(TensorId output);

 private:
  std::int64_t samples_;
  std::uint64_t seed_;
};

Graph build_mlp(const Options& options, const ModelInterface& interface, ModelBuilder builder);
Graph build_lenet(const Options& options, const ModelInterface& interface, ModelBuilder builder);
Graph build_resnet18(const Options& options, const ModelInterface& interface, ModelBuilder builder);
Graph build_gpt(const Options& options, const ModelInterface& interface, ModelBuilder builder);
Graph build_tabular(const Options& options, const ModelInterface& interface, ModelBuilder builder);

// The one field of this kind, and nothing else beside it; bad_input says what the model needs.
const Field& only_field(const ModelInterface& interface, FieldKind kind, const std::string& model);
// An image field's C, H, W, each side at least `smallest`.
Shape image_shape(const ModelInterface& interface, const std::string& model, std::int64_t smallest);

inline const std::vector<std::string> kActivations{"relu", "tanh", "sigmoid", "gelu"};

}  // namespace ddl::builtin
