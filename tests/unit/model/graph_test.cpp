#include "ddl/model/op.h"

#include "unit/model/model_test.h"

namespace ddl {
namespace {

// x[N,6] -> Gemm -> Relu -> Reshape [N,2,2] -> output
Graph small_graph(std::int64_t samples) {
  Graph graph;
  const TensorId x = graph.add_input("x", DType::f32, {samples, 6});
  const TensorId w = graph.add_parameter("w", random_tensor({4, 6}, 1));
  const TensorId b = graph.add_buffer("b", random_tensor({4}, 2));
  const TensorId y = graph.add("Gemm", {x, w, b}, {{"transB", std::int64_t{1}}}, "layer");
  const TensorId z = graph.add("Relu", {y});
  graph.outputs = {graph.add("Reshape", {z}, {{"shape", Shape{0, 2, 2}}}, "out")};
  return graph;
}

TEST(Graph, InfersShapesOfAddedNodes) {
  const Graph graph = small_graph(3);
  EXPECT_EQ(graph.tensor(graph.find("layer")).shape, (Shape{3, 4}));
  EXPECT_EQ(graph.tensor(graph.outputs[0]).shape, (Shape{3, 2, 2}));
  EXPECT_EQ(graph.batch(), 3);
  EXPECT_EQ(graph.parameter_count(), 24);
  EXPECT_EQ(graph.parameters(), std::vector<TensorId>{graph.find("w")});
  EXPECT_EQ(graph.buffers(), std::vector<TensorId>{graph.find("b")});
  EXPECT_EQ(graph.find("nothing"), kNoTensor);
}

TEST(Graph, WithBatchInfersShapesAgain) {
  const Graph graph = small_graph(3).with_batch(5);
  EXPECT_EQ(graph.tensor(graph.inputs[0]).shape, (Shape{5, 6}));
  EXPECT_EQ(graph.tensor(graph.find("layer")).shape, (Shape{5, 4}));
  EXPECT_EQ(graph.tensor(graph.outputs[0]).shape, (Shape{5, 2, 2}));
  EXPECT_EQ(graph.parameters(), small_graph(3).parameters());
}

TEST(Graph, WithBatchNamesTheNodeThatFixedTheBatch) {
  Graph graph;
  const TensorId x = graph.add_input("x", DType::f32, {2, 6});
  graph.outputs = {graph.add("Reshape", {x}, {{"shape", Shape{2, 3, 2}}}, "fixed")};
  EXPECT_TRUE(contains(refusal([&] { graph.with_batch(3); }), "node 'fixed' (Reshape)"));
  EXPECT_TRUE(contains(refusal([&] { graph.with_batch(0); }), "0 samples"));
}

TEST(Graph, WithBatchRefusesOutputsThatMixSamples) {
  Graph graph;
  const TensorId x = graph.add_input("x", DType::f32, {2, 6});
  graph.outputs = {graph.add("Reshape", {x}, {{"shape", Shape{-1, 3}}})};
  EXPECT_TRUE(contains(refusal([&] { graph.with_batch(3); }), "first axis of every output"));
}

TEST(Graph, StructureHashSeesStructureAndNotBatchOrValues) {
  const std::string hash = small_graph(3).structure_hash();
  EXPECT_EQ(hash.size(), 32U);
  EXPECT_EQ(small_graph(7).structure_hash(), hash);
  Graph other_value = small_graph(3);
  other_value.tensor(other_value.find("w")).value = random_tensor({4, 6}, 99);
  EXPECT_EQ(other_value.structure_hash(), hash);

  Graph renamed = small_graph(3);
  renamed.rename(renamed.find("w"), "v");
  EXPECT_NE(renamed.structure_hash(), hash);
  Graph changed = small_graph(3);
  changed.nodes()[0].attributes["alpha"] = 2.0;
  EXPECT_NE(changed.structure_hash(), hash);
  Graph other_op = small_graph(3);
  other_op.nodes()[1].op = "Tanh";
  EXPECT_NE(other_op.structure_hash(), hash);
}

TEST(Graph, NamesStayUnique) {
  Graph graph = small_graph(1);
  EXPECT_TRUE(contains(refusal([&] { graph.add_input("w", DType::f32, {1}); }), "'w'"));
  EXPECT_TRUE(contains(refusal([&] { graph.add("Relu", {0}, {}, "layer"); }), "'layer'"));
  EXPECT_TRUE(contains(refusal([&] { graph.rename(0, "w"); }), "'w'"));
  graph.rename(graph.find("w"), "weight");
  EXPECT_EQ(graph.find("w"), kNoTensor);
  EXPECT_EQ(graph.tensor(graph.find("weight")).shape, (Shape{4, 6}));
}

TEST(Graph, ErrorsNameNodeOpAndShapes) {
  Graph graph = small_graph(2);
  const std::string message = refusal([&] {
    graph.add("MatMul", {graph.find("x"), graph.find("w")}, {}, "bad");
  });
  EXPECT_TRUE(contains(message, "node 'bad' (MatMul)")) << message;
  EXPECT_TRUE(contains(message, "2x6")) << message;
  EXPECT_TRUE(contains(message, "4x6")) << message;
  EXPECT_EQ(graph.find("bad"), kNoTensor);
  EXPECT_TRUE(contains(refusal([&] { graph.add("Relu", {}); }), "0 inputs"));
  EXPECT_TRUE(contains(refusal([&] { graph.add("Relu", {99}); }), "not a tensor"));
  EXPECT_TRUE(contains(refusal([&] { graph.add_node("Relu", {0}, {}, 2); }), "2 outputs"));
  EXPECT_TRUE(contains(refusal([&] { graph.add("Rellu", {0}); }), "Relu"));
  EXPECT_TRUE(contains(refusal([&] { graph.add("Softmax", {0}, {{"axis", 1.5}}); }), "'axis'"));
}

TEST(Graph, HostTensorsCheckTheirCount) {
  EXPECT_EQ(make_f32({2, 2}, {1, 2, 3, 4})->as<float>()[3], 4);
  EXPECT_TRUE(contains(refusal([] { make_f32({2, 2}, {1, 2, 3}); }), "3 values"));
  EXPECT_EQ(make_i64({}, {5})->bytes.size(), 8U);
}

}  // namespace
}  // namespace ddl
