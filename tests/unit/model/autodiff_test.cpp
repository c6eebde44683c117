// Differentiation: structure, and the gradient rules that consist of forward ops against finite
// differences of the reference. Rules with gradient ops of their own run in unit.compute.
#include "ddl/model/autodiff.h"

#include "ddl/model/op.h"

#include "unit/model/model_test.h"

namespace ddl {
namespace {

using Attributes = std::map<std::string, Attribute>;

std::int64_t count_ops(const Graph& graph, const std::string& op) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op == op ? 1 : 0;
  return count;
}

// Differentiates op(parameters…) with a random seed and compares every gradient.
void check(const std::string& op, const std::vector<Shape>& shapes, const Attributes& attributes,
           double low = -1, double high = 1) {
  SCOPED_TRACE(op);
  Graph graph;
  std::vector<TensorId> operands;
  for (const Shape& shape : shapes) {
    const auto stream = operands.size() + 10;
    operands.push_back(
        graph.add_parameter("p" + std::to_string(stream), random_tensor(shape, stream, low, high)));
  }
  const TensorId y = graph.add(op, operands, attributes);
  graph.outputs = {y};
  const auto count = static_cast<std::size_t>(element_count(graph.tensor(y).shape));
  const std::vector<double> seed_values = random_values(count, 77);
  Graph backward = graph;
  const TensorId seed = backward.add_input("seed", DType::f32, graph.tensor(y).shape);
  const auto gradients = differentiate(backward, y, seed, operands);
  backward.outputs = gradients;
  const auto found = reference_run(backward, {{seed, seed_values}});
  for (std::size_t i = 0; i < operands.size(); ++i) {
    expect_near(found[i], finite_differences(graph, {}, operands[i], seed_values), 2e-6,
                "operand " + std::to_string(i));
  }
}

TEST(Autodiff, ElementwiseRulesMatchFiniteDifferences) {
  for (const char* op : {"Add", "Sub", "Mul"}) {
    check(op, {{2, 3}, {2, 3}}, {});
    check(op, {{2, 1, 3}, {4, 1}}, {});
    check(op, {{3}, {2, 2, 3}}, {});
  }
  check("Div", {{2, 1, 3}, {4, 1}}, {}, 0.5, 1.5);
  check("Exp", {{5}}, {});
  check("Log", {{5}}, {}, 0.5, 2);
  check("Sqrt", {{5}}, {}, 0.5, 2);
  check("Neg", {{5}}, {});
  check("Reciprocal", {{5}}, {}, 0.5, 2);
  check("Erf", {{7}}, {});
  check("Sum", {{2, 3}, {2, 3}, {2, 3}}, {});
}

TEST(Autodiff, ProductRulesMatchFiniteDifferences) {
  for (const std::int64_t ta : {0, 1}) {
    for (const std::int64_t tb : {0, 1}) {
      const Attributes flags{{"trans_a", ta}, {"trans_b", tb}};
      const Shape a = ta != 0 ? Shape{4, 3} : Shape{3, 4};
      const Shape b = tb != 0 ? Shape{2, 4} : Shape{4, 2};
      check("MatMul", {a, b}, flags);
      const auto batched = [](Shape shape, std::initializer_list<std::int64_t> axes) {
        shape.insert(shape.begin(), axes);
        return shape;
      };
      check("MatMul", {batched(a, {2, 3}), b}, flags);
      check("MatMul", {batched(a, {2, 1}), batched(b, {3})}, flags);
      check("MatMul", {a, batched(b, {3})}, flags);
      check("Gemm", {a, b, {2}}, {{"transA", ta}, {"transB", tb}, {"alpha", 0.7}, {"beta", 1.3}});
      check("Gemm", {a, b, {3, 1}}, {{"transA", ta}, {"transB", tb}});
    }
  }
}

TEST(Autodiff, MovementAndReductionRulesMatchFiniteDifferences) {
  check("Reshape", {{2, 6}}, {{"shape", Shape{3, -1}}});
  check("Flatten", {{2, 3, 2}}, {});
  check("Transpose", {{2, 3, 4}}, {{"perm", Shape{1, 2, 0}}});
  check("Concat", {{2, 3}, {2, 1}, {2, 2}}, {{"axis", std::int64_t{1}}});
  check("ReduceMean", {{2, 3, 4}}, {{"axes", Shape{1}}, {"keepdims", std::int64_t{0}}});
  check("ReduceMean", {{2, 3, 4}}, {{"axes", Shape{-1, 0}}});
  check("ReduceMean", {{2, 3}}, {});
  check("BroadcastTo", {{3, 1}}, {{"shape", Shape{2, 3, 4}}});
  check("ReduceSumTo", {{2, 3, 4}}, {{"shape", Shape{3, 1}}});
  check("Identity", {{3}}, {});
  check("Cast", {{3}}, {{"to", std::string("float32")}});
}

TEST(Autodiff, BatchNormalisationWithFixedStatistics) {
  Graph graph;
  const TensorId x = graph.add_parameter("x", random_tensor({2, 3, 2, 2}, 1));
  const TensorId scale = graph.add_parameter("scale", random_tensor({3}, 2));
  const TensorId bias = graph.add_parameter("bias", random_tensor({3}, 3));
  const TensorId mean = graph.add_buffer("mean", random_tensor({3}, 4));
  const TensorId variance = graph.add_buffer("variance", random_tensor({3}, 5, 0.5, 1.5));
  const TensorId y = graph.add("BatchNormalization", {x, scale, bias, mean, variance});
  graph.outputs = {y};
  const std::vector<double> seed_values = random_values(24, 6);
  Graph backward = graph;
  const TensorId seed = backward.add_input("seed", DType::f32, {2, 3, 2, 2});
  backward.outputs = differentiate(backward, y, seed, {x, scale, bias});
  const auto found = reference_run(backward, {{seed, seed_values}});
  for (const TensorId id : {x, scale, bias}) {
    expect_near(found[static_cast<std::size_t>(id)], finite_differences(graph, {}, id, seed_values),
                1e-6);
  }
}

TEST(Autodiff, SeveralUsesAreAddedByOneSum) {
  Graph graph;
  const TensorId p = graph.add_parameter("p", random_tensor({3}, 1));
  const TensorId left = graph.add("Exp", {p}), right = graph.add("Mul", {p, left});
  const TensorId y = graph.add("Add", {right, p});
  graph.outputs = {y};
  const std::vector<double> seed_values = random_values(3, 5);
  const auto expected = finite_differences(graph, {}, p, seed_values);
  const TensorId seed = graph.add_input("seed", DType::f32, {3});
  graph.outputs = differentiate(graph, y, seed, {p});
  EXPECT_EQ(count_ops(graph, "Sum"), 1);
  expect_near(reference_run(graph, {{seed, seed_values}})[0], expected, 1e-6);
}

TEST(Autodiff, NothingIsComputedForWhatNoTargetNeeds) {
  Graph graph;
  const TensorId x = graph.add_input("x", DType::f32, {2, 3, 8, 8});
  const TensorId w = graph.add_parameter("w", random_tensor({4, 3, 3, 3}, 1));
  const TensorId unused = graph.add_parameter("unused", random_tensor({4}, 2));
  const TensorId y = graph.add("Conv", {x, w});
  graph.add("Add", {graph.add_constant("c", random_tensor({4}, 3)), unused});
  const TensorId seed = graph.add_input("seed", DType::f32, graph.tensor(y).shape);
  const auto gradients = differentiate(graph, y, seed, {w, unused});
  EXPECT_NE(gradients[0], kNoTensor);
  EXPECT_EQ(gradients[1], kNoTensor);
  EXPECT_EQ(count_ops(graph, "ConvGradInput"), 0);
  EXPECT_EQ(count_ops(graph, "ConvGradWeight"), 1);
}

TEST(Autodiff, ForwardNodesGetTheOutputsThatTheirGradientReads) {
  Graph graph;
  const TensorId p = graph.add_parameter("p", random_tensor({2, 1, 4, 4}, 1));
  TensorId y = graph.add("MaxPool", {p}, {{"kernel_shape", Shape{2, 2}}}, "pool");
  y = graph.add("Dropout", {y}, {{"ratio", 0.5}}, "drop");
  const TensorId scale = graph.add_parameter("scale", random_tensor({3}, 2));
  y = graph.add("LayerNormalization", {y, scale}, {}, "norm");
  const TensorId seed = graph.add_input("seed", DType::f32, graph.tensor(y).shape);
  const auto gradients = differentiate(graph, y, seed, {p, scale});
  EXPECT_EQ(graph.tensor(gradients[0]).shape, (Shape{2, 1, 4, 4}));
  EXPECT_EQ(graph.tensor(gradients[1]).shape, (Shape{3}));
  EXPECT_EQ(graph.nodes()[0].outputs.size(), 2U);
  EXPECT_EQ(graph.nodes()[1].outputs.size(), 2U);
  EXPECT_EQ(graph.nodes()[2].outputs.size(), 3U);
  EXPECT_EQ(graph.tensor(graph.nodes()[1].outputs[1]).dtype, DType::u8);
}

TEST(Autodiff, ASeedOfAnotherShapeIsRefused) {
  Graph graph;
  const TensorId p = graph.add_parameter("p", random_tensor({3}, 1));
  const TensorId y = graph.add("Exp", {p});
  const TensorId seed = graph.add_input("seed", DType::f32, {4});
  refusal([&] { differentiate(graph, y, seed, {p}); });
}

// Every op that a gradient may pass through has a rule, and the rule's nodes have the shapes of
// its operands (contribute() checks them).
TEST(Autodiff, EveryRuleEmitsGradientsOfTheRightShape) {
  const auto run = [](const std::string& op, const std::vector<Shape>& shapes,
                      const Attributes& attributes, int outputs = 1) {
    SCOPED_TRACE(op);
    Graph graph;
    std::vector<TensorId> operands;
    for (const Shape& shape : shapes) {
      operands.push_back(graph.add_parameter("p" + std::to_string(operands.size()),
                                             random_tensor(shape, operands.size())));
    }
    const TensorId y = graph.add_node(op, operands, attributes, outputs).front();
    const TensorId seed = graph.add_input("seed", DType::f32, graph.tensor(y).shape);
    const auto gradients = differentiate(graph, y, seed, operands);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      ASSERT_NE(gradients[i], kNoTensor);
      EXPECT_EQ(graph.tensor(gradients[i]).shape, shapes[i]);
    }
  };
  const Attributes pool{{"kernel_shape", Shape{3, 2}}, {"pads", Shape{1, 0, 1, 1}}};
  run("Conv", {{2, 4, 7, 5}, {6, 2, 3, 3}, {6}},
      {{"group", std::int64_t{2}}, {"strides", Shape{2, 1}}});
  run("MaxPool", {{2, 3, 6, 5}}, pool);
  run("AveragePool", {{2, 3, 6, 5}}, pool);
  run("GlobalAveragePool", {{2, 3, 6, 5}}, {});
  run("BatchNormTraining", {{2, 3, 4, 4}, {3}, {3}}, {}, 3);
  run("LayerNormalization", {{2, 3, 4}, {4}, {4}}, {});
  run("LayerNormalization", {{2, 3, 4}, {3, 4}}, {{"axis", std::int64_t{1}}});
  for (const char* op : {"Relu", "Tanh", "Sigmoid", "Gelu", "Softmax", "Dropout"}) {
    run(op, {{2, 3}}, {});
  }
  run("Slice", {{2, 5}}, {{"starts", Shape{1}}, {"ends", Shape{4}}, {"axes", Shape{1}}});
}

}  // namespace
}  // namespace ddl
