#include "ddl/model/cost.h"

#include "ddl/model/builtin.h"

#include "unit/model/model_test.h"

namespace ddl {
namespace {

ModelInterface image(Shape shape, std::int64_t outputs) {
  ModelInterface interface;
  Field field;
  field.name = "x";
  field.kind = FieldKind::image;
  field.shape = std::move(shape);
  interface.inputs = {field};
  interface.outputs = outputs;
  return interface;
}

TEST(Cost, OfAPerceptronByHand) {
  const Graph graph = build_model("mlp", {{"hidden", "5"}}, image({1, 2, 3}, 4), 7, 1);
  const ModelCost cost = model_cost(graph, LossKind::softmax_cross_entropy);
  EXPECT_EQ(cost.parameters, 6 * 5 + 5 + 5 * 4 + 4);
  EXPECT_EQ(cost.buffers, 0);
  // Flatten, Gemm (product and bias), Relu, Gemm
  ASSERT_EQ(cost.layers.size(), 4U);
  EXPECT_EQ(cost.layers[1].node, "fc1");
  EXPECT_EQ(cost.layers[1].output_shape, "1x5");
  EXPECT_EQ(cost.layers[1].parameters, 35);
  EXPECT_EQ(cost.layers[1].flops, 2 * 6 * 5 + 5);
  EXPECT_EQ(cost.forward_flops_per_sample, (2 * 6 * 5 + 5) + 5 + (2 * 5 * 4 + 4));
  EXPECT_EQ(cost.activation_bytes_per_sample, 4 * (6 + 5 + 5 + 4));
  // Backward has two products for each of forward's, less the one for the input.
  const double products = 2 * 6 * 5 * 2 + 2 * 5 * 4 * 3;
  EXPECT_GE(cost.training_flops_per_sample, products);
  EXPECT_LE(cost.training_flops_per_sample, products + 200);
}

TEST(Cost, OfResNetIsThePublishedOne) {
  const ModelCost cost = model_cost(build_model("resnet18", {}, image({3, 32, 32}, 10), 1, 1),
                                    LossKind::softmax_cross_entropy);
  // 0.556 G multiply-adds for CIFAR's ResNet-18, two operations each.
  EXPECT_NEAR(cost.forward_flops_per_sample / 2, 0.556e9, 0.01e9);
  EXPECT_NEAR(cost.training_flops_per_sample / cost.forward_flops_per_sample, 3, 0.1);
  EXPECT_EQ(cost.buffers, 9600);
  std::int64_t parameters = 0;
  for (const LayerCost& layer : cost.layers) parameters += layer.parameters;
  EXPECT_EQ(parameters, cost.parameters);
}

TEST(Cost, SharedWeightsCountOnce) {
  ModelInterface interface = image({}, 65);
  interface.inputs[0].kind = FieldKind::tokens;
  interface.inputs[0].shape = {8};
  const Graph graph = build_model("gpt", {{"layers", "1"}, {"width", "16"}}, interface, 1, 1);
  const ModelCost cost = model_cost(graph, LossKind::next_token);
  std::int64_t parameters = 0;
  for (const LayerCost& layer : cost.layers) parameters += layer.parameters;
  EXPECT_EQ(parameters, graph.parameter_count());
  EXPECT_GT(cost.training_bytes_per_sample, cost.activation_bytes_per_sample);
}

}  // namespace
}  // namespace ddl
