// gpt: a decoder-only transformer as in GPT-2 (Radford et al., 2019): pre-norm blocks, learned
// positions, GELU, weights of the head tied to the token table. Names are GPT-2's.
#include "ddl/base/error.h"
#include "ddl/model/builtin/builder.h"

#include <cmath>

namespace ddl::builtin {
namespace {

// A score that no softmax lets through, and finite: it never meets a zero as inf * 0.
constexpr float kMasked = -1e9F;
constexpr double kDeviation = 0.02;

struct Sizes {
  std::int64_t layers, heads, width, context, vocabulary;
  double dropout;
};

// Scores of later tokens are masked: constant [1,1,T,T].
TensorId causal_mask(Graph& graph, std::int64_t context) {
  auto mask = make_host_tensor(DType::f32, {1, 1, context, context});
  for (std::int64_t row = 0; row < context; ++row) {
    for (std::int64_t column = 0; column < context; ++column) {
      mask->as<float>()[row * context + column] = column > row ? kMasked : 0;
    }
  }
  return graph.add_constant("causal_mask", mask);
}

TensorId layer_norm(ModelBuilder& builder, const std::string& name, TensorId x,
                    std::int64_t width) {
  const TensorId scale = builder.filled(name + ".weight", {width}, 1);
  const TensorId bias = builder.filled(name + ".bias", {width}, 0);
  return builder.graph.add("LayerNormalization", {x, scale, bias},
                           {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5}}, name);
}

// x[N,T,in] -> [N,T,out]
TensorId projection(ModelBuilder& builder, const std::string& name, TensorId x,
                    std::int64_t outputs, double deviation) {
  Graph& graph = builder.graph;
  const std::int64_t inputs = graph.tensor(x).shape.back();
  const TensorId weight = builder.normal(name + ".weight", {outputs, inputs}, deviation);
  const TensorId bias = builder.filled(name + ".bias", {outputs}, 0);
  const TensorId product = graph.add("MatMul", {x, weight}, {{"trans_b", std::int64_t{1}}}, name);
  return graph.add("Add", {product, bias}, {}, name + ".add");
}

TensorId attention(ModelBuilder& builder, const std::string& name, TensorId x, TensorId mask,
                   TensorId scale, const Sizes& sizes) {
  Graph& graph = builder.graph;
  const std::int64_t width = sizes.width, depth = width / sizes.heads;
  const TensorId qkv = projection(builder, name + ".c_attn", x, 3 * width, kDeviation);
  const char* const parts[] = {".query", ".key", ".value"};
  TensorId heads[3];
  for (std::int64_t part = 0; part < 3; ++part) {
    const std::string part_name = name + parts[part];
    const TensorId slice = graph.add(
        "Slice", {qkv},
        {{"starts", Shape{part * width}}, {"ends", Shape{(part + 1) * width}}, {"axes", Shape{2}}},
        part_name);
    const TensorId split = graph.add(
        "Reshape", {slice}, {{"shape", Shape{0, 0, sizes.heads, depth}}}, part_name + ".split");
    heads[part] =
        graph.add("Transpose", {split}, {{"perm", Shape{0, 2, 1, 3}}}, part_name + ".heads");
  }
  TensorId scores =
      graph.add("MatMul", {heads[0], heads[1]}, {{"trans_b", std::int64_t{1}}}, name + ".scores");
  scores = graph.add("Mul", {scores, scale}, {}, name + ".scaled");
  scores = graph.add("Add", {scores, mask}, {}, name + ".masked");
  scores = graph.add("Softmax", {scores}, {{"axis", std::int64_t{-1}}}, name + ".softmax");
  scores = builder.dropout(name + ".attn_dropout", scores, sizes.dropout);
  TensorId mixed = graph.add("MatMul", {scores, heads[2]}, {}, name + ".mixed");
  mixed = graph.add("Transpose", {mixed}, {{"perm", Shape{0, 2, 1, 3}}}, name + ".joined");
  mixed = graph.add("Reshape", {mixed}, {{"shape", Shape{0, 0, width}}}, name + ".rows");
  const double residual = kDeviation / std::sqrt(2 * static_cast<double>(sizes.layers));
  mixed = projection(builder, name + ".c_proj", mixed, width, residual);
  return builder.dropout(name + ".resid_dropout", mixed, sizes.dropout);
}

TensorId feed_forward(ModelBuilder& builder, const std::string& name, TensorId x,
                      const Sizes& sizes) {
  const double residual = kDeviation / std::sqrt(2 * static_cast<double>(sizes.layers));
  x = projection(builder, name + ".c_fc", x, 4 * sizes.width, kDeviation);
  x = builder.activation(name + ".gelu", x, "gelu");
  x = projection(builder, name + ".c_proj", x, sizes.width, residual);
  return builder.dropout(name + ".dropout", x, sizes.dropout);
}

}  // namespace

Graph build_gpt(const Options& options, const ModelInterface& interface, ModelBuilder builder) {
  const Field& field = only_field(interface, FieldKind::tokens, "gpt");
  if (field.shape.size() != 1 || field.shape[0] < 1) {
    throw bad_input("model gpt needs a tokens field of one axis, '" + field.name + "' has shape " +
                    shape_text(field.shape));
  }
  const Sizes sizes{options.integer("layers", 1, 1000),
                    options.integer("heads", 1, 1024),
                    options.integer("width", 1, 1 << 16),
                    field.shape[0],
                    interface.outputs,
                    options.real("dropout", 0, 1)};
  if (sizes.width % sizes.heads != 0) {
    throw bad_input("model option width=" + std::to_string(sizes.width) +
                        " is not a multiple of heads=" + std::to_string(sizes.heads),
                    "every head takes an equal part of the width");
  }
  Graph& graph = builder.graph;
  const TensorId tokens = builder.input(field);
  const TensorId table =
      builder.normal("transformer.wte.weight", {sizes.vocabulary, sizes.width}, kDeviation);
  const TensorId positions =
      builder.normal("transformer.wpe.weight", {sizes.context, sizes.width}, kDeviation);
  const TensorId mask = causal_mask(graph, sizes.context);
  const TensorId scale = graph.add_constant(
      "attention_scale",
      make_f32({1}, {static_cast<float>(1 / std::sqrt(static_cast<double>(sizes.width) /
                                                      static_cast<double>(sizes.heads)))}));

  TensorId x = graph.add("Gather", {table, tokens}, {}, "transformer.wte");
  x = graph.add("Add", {x, positions}, {}, "transformer.wpe");
  x = builder.dropout("transformer.drop", x, sizes.dropout);
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
    const std::string name = "transformer.h." + std::to_string(layer);
    TensorId inner = layer_norm(builder, name + ".ln_1", x, sizes.width);
    inner = attention(builder, name + ".attn", inner, mask, scale, sizes);
    x = graph.add("Add", {x, inner}, {}, name + ".residual_1");
    inner = layer_norm(builder, name + ".ln_2", x, sizes.width);
    inner = feed_forward(builder, name + ".mlp", inner, sizes);
    x = graph.add("Add", {x, inner}, {}, name + ".residual_2");
  }
  x = layer_norm(builder, "transformer.ln_f", x, sizes.width);
  const TensorId head =
      options.flag("tied")
          ? table
          : builder.normal("lm_head.weight", {sizes.vocabulary, sizes.width}, kDeviation);
  x = graph.add("MatMul", {x, head}, {{"trans_b", std::int64_t{1}}}, "lm_head");
  return builder.finish(x);
}

}  // namespace ddl::builtin
