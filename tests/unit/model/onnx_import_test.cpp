// Files as PyTorch and others write them: forms that save_onnx does not use.
#include "ddl/model/onnx.h"

#include "unit/model/onnx_builder.h"

namespace ddl {
namespace {

Graph imported(const OnnxBuilder& builder) {
  const TemporaryFolder folder;
  builder.write(folder / "model.onnx");
  return load_onnx(folder / "model.onnx").graph;
}

std::string refused(const OnnxBuilder& builder) {
  return refusal([&] { imported(builder); });
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.op);
  return names;
}

TEST(OnnxImport, ViewBySizeOfTheBatch) {
  // x.view(x.size(0), -1) with a dynamic batch.
  OnnxBuilder b;
  b.input("x", {0, 2, 3, 4}).output("y");
  b.integers("zero", {0}, true).integers("axis0", {0}).integers("rest", {-1});
  b.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"n"});
  b.node("Unsqueeze", {"n", "axis0"}, {"n1"});
  b.node("Concat", {"n1", "rest"}, {"target"}).with("axis", 0);
  b.node("Reshape", {"x", "target"}, {"flat"});
  b.weight("w", {24, 5}, 1).node("MatMul", {"flat", "w"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(ops(graph), (std::vector<std::string>{"Reshape", "MatMul"}));
  EXPECT_EQ(graph.nodes()[0].integers("shape"), (Shape{0, -1}));
  EXPECT_EQ(graph.with_batch(6).tensor(graph.outputs[0]).shape, (Shape{6, 5}));
}

TEST(OnnxImport, BatchTimesTokens) {
  // x.reshape(N * T, W), back again: extents that are products of the batch.
  OnnxBuilder b;
  b.input("x", {0, 3, 4}).output("y");
  b.integers("zero", {0}, true).integers("three", {3}).integers("tail", {4}).integers("axis0", {0});
  b.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"n"});
  b.node("Unsqueeze", {"n", "axis0"}, {"n1"}).node("Mul", {"n1", "three"}, {"rows"});
  b.node("Concat", {"rows", "tail"}, {"target"}).with("axis", 0);
  b.node("Reshape", {"x", "target"}, {"flat"}).node("Relu", {"flat"}, {"bent"});
  b.node("Concat", {"n1", "three", "tail"}, {"back"}).with("axis", 0);
  b.node("Reshape", {"bent", "back"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(graph.nodes()[0].integers("shape"), (Shape{-1, 4}));
  EXPECT_EQ(graph.with_batch(5).tensor(graph.outputs[0]).shape, (Shape{5, 3, 4}));
}

TEST(OnnxImport, AFixedBatchIsFreed) {
  OnnxBuilder b;
  b.input("x", {8, 2, 3}).output("y").integers("target", {8, 6});
  b.node("Reshape", {"x", "target"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(graph.batch(), 1);
  EXPECT_EQ(graph.with_batch(3).tensor(graph.outputs[0]).shape, (Shape{3, 6}));
}

TEST(OnnxImport, OneBatchThatCannotBeFreedNamesTheNode) {
  OnnxBuilder b;
  b.input("x", {8, 2, 3}).output("y").integers("target", {2, 24}).integers("back", {8, 6});
  b.node("Reshape", {"x", "target"}, {"turned"}).node("Reshape", {"turned", "back"}, {"y"});
  EXPECT_TRUE(contains(refused(b), "node '/turned' (Reshape)"));
}

TEST(OnnxImport, ExactGeluInItsManyOrders) {
  // PyTorch: Div, Erf, Add, Mul, Mul; others halve first or multiply by 1/sqrt 2.
  for (int form = 0; form < 3; ++form) {
    SCOPED_TRACE(form);
    OnnxBuilder b;
    b.input("x", {0, 7}).output("y").scalar("root", form == 2 ? 0.70710678F : 1.41421356F);
    b.scalar("one", 1).scalar("half", 0.5F);
    b.node(form == 2 ? "Mul" : "Div", {"x", "root"}, {"scaled"}).node("Erf", {"scaled"}, {"erf"});
    b.node("Add", {"erf", "one"}, {"gate"});
    if (form == 0) b.node("Mul", {"x", "gate"}, {"gated"}).node("Mul", {"gated", "half"}, {"y"});
    if (form == 1) b.node("Mul", {"x", "half"}, {"halved"}).node("Mul", {"halved", "gate"}, {"y"});
    if (form == 2) b.node("Mul", {"half", "gate"}, {"halved"}).node("Mul", {"x", "halved"}, {"y"});
    const Graph graph = imported(b);
    EXPECT_EQ(ops(graph), std::vector<std::string>{"Gelu"});
    EXPECT_EQ(graph.nodes()[0].text("approximate", ""), "none");
  }
}

TEST(OnnxImport, ProductsThatAreNoGeluStayProducts) {
  OnnxBuilder b;
  b.input("x", {0, 7}).output("y").scalar("root", 1.41421356F).scalar("one", 1);
  b.scalar("third", 0.3F);
  b.node("Div", {"x", "root"}, {"scaled"}).node("Erf", {"scaled"}, {"erf"});
  b.node("Add", {"erf", "one"}, {"gate"}).node("Mul", {"x", "gate"}, {"gated"});
  b.node("Mul", {"gated", "third"}, {"y"});
  EXPECT_EQ(ops(imported(b)), (std::vector<std::string>{"Div", "Erf", "Add", "Mul", "Mul"}));
}

TEST(OnnxImport, LayerNormalisationInPieces) {
  // opset 16 and older: mean, sub, pow, mean, add, sqrt, div.
  OnnxBuilder b;
  b.input("x", {0, 3, 8}).output("y").scalar("two", 2).scalar("epsilon", 1e-5F);
  b.node("ReduceMean", {"x"}, {"mean"}).with("axes", std::vector<std::int64_t>{-1});
  b.node("Sub", {"x", "mean"}, {"centred"}).node("Pow", {"centred", "two"}, {"squares"});
  b.node("ReduceMean", {"squares"}, {"var"}).with("axes", std::vector<std::int64_t>{-1});
  b.node("Add", {"var", "epsilon"}, {"shifted"}).node("Sqrt", {"shifted"}, {"deviation"});
  b.node("Div", {"centred", "deviation"}, {"y"});
  const Graph graph = imported(b).with_batch(2);
  const std::vector<double> x = random_values(48, 4);
  const auto y = reference_run(graph, {{graph.inputs[0], x}})[0];
  double mean = 0, square = 0;
  for (std::size_t i = 8; i < 16; ++i) mean += y[i] / 8, square += y[i] * y[i] / 8;
  EXPECT_NEAR(mean, 0, 1e-9);
  EXPECT_NEAR(square, 1, 1e-3);
  EXPECT_EQ(graph.parameters().size(), 0U);  // numbers of formulas are not weights
}

TEST(OnnxImport, WeightsTransposedBeforeAProduct) {
  OnnxBuilder b;
  b.input("x", {0, 6}).output("y").weight("w", {4, 6}, 1).weight("b", {4}, 2);
  b.node("Transpose", {"w"}, {"turned"}).with("perm", std::vector<std::int64_t>{1, 0});
  b.node("MatMul", {"x", "turned"}, {"product"}).node("Add", {"product", "b"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(ops(graph), (std::vector<std::string>{"MatMul", "Add"}));
  EXPECT_EQ(graph.nodes()[0].integer("trans_b", 0), 1);
  EXPECT_EQ(graph.parameters().size(), 2U);
}

TEST(OnnxImport, TiedWeightsThroughIdentity) {
  OnnxBuilder b;
  b.input("x", {0, 6}).output("y").weight("w", {6, 6}, 1);
  b.node("Identity", {"w"}, {"same"}).node("MatMul", {"x", "w"}, {"first"});
  b.node("MatMul", {"first", "same"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(graph.parameters().size(), 1U);
  EXPECT_EQ(graph.nodes()[0].inputs[1], graph.nodes()[1].inputs[1]);
}

TEST(OnnxImport, ConvolutionBlockOfAResNet) {
  OnnxBuilder b;
  b.input("x", {0, 3, 9, 9}).output("y").weight("w", {4, 3, 3, 3}, 1).weight("cb", {4}, 2);
  b.weight("s", {4}, 3).weight("o", {4}, 4).weight("m", {4}, 5).weight("v", {4}, 6);
  b.node("Conv", {"x", "w", "cb"}, {"conv"}).with_text("auto_pad", "SAME_UPPER");
  b.with("strides", std::vector<std::int64_t>{2, 2});
  b.node("BatchNormalization", {"conv", "s", "o", "m", "v"}, {"norm"});
  b.node("Relu", {"norm"}, {"bent"}).node("GlobalAveragePool", {"bent"}, {"pooled"});
  b.node("Flatten", {"pooled"}, {"flat"}).node("Dropout", {"flat"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(graph.tensor(graph.find("conv")).shape, (Shape{1, 4, 5, 5}));
  EXPECT_EQ(graph.nodes()[0].integers("pads"), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(graph.buffers(), (std::vector<TensorId>{graph.find("m"), graph.find("v")}));
  EXPECT_EQ(graph.parameters().size(), 4U);
}

TEST(OnnxImport, SplitSqueezeAndConstantGather) {
  OnnxBuilder b;
  b.input("x", {0, 6, 4}).output("y").integers("second", {1}, true).integers("axis1", {1});
  b.node("Split", {"x"}, {"p", "q", "r"}).with("axis", 1);
  b.node("Add", {"p", "q"}, {"pq"}).node("Add", {"pq", "r"}, {"sum"});
  b.node("Gather", {"sum", "second"}, {"row"}).with("axis", 1);
  b.node("Unsqueeze", {"row", "axis1"}, {"wide"}).node("Squeeze", {"wide", "axis1"}, {"y"});
  const Graph graph = imported(b).with_batch(2);
  EXPECT_EQ(graph.tensor(graph.outputs[0]).shape, (Shape{2, 4}));
  std::vector<double> x(48);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const auto y = reference_run(graph, {{graph.inputs[0], x}})[0];
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t k = 0; k < 4; ++k) {
      const double base = static_cast<double>(24 * n + k);
      EXPECT_EQ(y[n * 4 + k], (base + 4) + (base + 12) + (base + 20));
    }
  }
}

TEST(OnnxImport, HalfAndDoubleBecomeFloat) {
  OnnxBuilder b;
  b.input("x", {0, 2}, onnx::TensorProto::FLOAT16).output("y");
  onnx::TensorProto& w = *b.model.mutable_graph()->add_initializer();
  w.set_name("w");
  w.set_data_type(onnx::TensorProto::FLOAT16);
  w.add_dims(2);
  w.add_int32_data(0x3C00);  // 1
  w.add_int32_data(0xC100);  // -2.5
  onnx::TensorProto& v = *b.model.mutable_graph()->add_initializer();
  v.set_name("v");
  v.set_data_type(onnx::TensorProto::DOUBLE);
  v.add_dims(2);
  v.add_double_data(0.25);
  v.add_double_data(-3);
  b.node("Mul", {"x", "w"}, {"scaled"}).node("Add", {"scaled", "v"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(reference_run(graph, {{graph.inputs[0], {2, 2}}})[0], (std::vector<double>{2.25, -8}));
}

TEST(OnnxImport, ExternalDataBesideTheModel) {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  std::ofstream(folder / "weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), 24);
  const auto build = [&](const std::string& location, const std::string& offset) {
    OnnxBuilder b;
    b.input("x", {0, 2}).output("y");
    onnx::TensorProto& w = *b.model.mutable_graph()->add_initializer();
    w.set_name("w");
    w.set_data_type(onnx::TensorProto::FLOAT);
    w.add_dims(2);
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&w](const std::string& key, const std::string& value) {
      auto* added = w.add_external_data();
      added->set_key(key);
      added->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", "8");
    b.node("Mul", {"x", "w"}, {"y"});
    b.write(folder / "model.onnx");
  };
  build("weights.bin", "8");
  const Graph graph = load_onnx(folder / "model.onnx").graph;
  EXPECT_EQ(to_doubles(*graph.tensor(graph.find("w")).value), (std::vector<double>{3, 4}));
  for (const auto& [location, offset] :
       std::vector<std::pair<std::string, std::string>>{{"weights.bin", "20"},
                                                        {"weights.bin", "-8"},
                                                        {"weights.bin", "18446744073709551610"},
                                                        {"../weights.bin", "0"},
                                                        {"/etc/passwd", "0"},
                                                        {"absent.bin", "0"},
                                                        {"", "0"}}) {
    build(location, offset);
    refusal([&] { load_onnx(folder / "model.onnx"); });
  }
}

TEST(OnnxImport, UnsupportedOpsNameNodeAndNearest) {
  OnnxBuilder b;
  b.input("x", {0, 2}).output("y").node("Gelo", {"x"}, {"y"});
  std::string message = refused(b);
  EXPECT_TRUE(contains(message, "node '/y' (Gelo)")) << message;
  EXPECT_TRUE(contains(message, "Gelu")) << message;
  OnnxBuilder lstm;
  lstm.input("x", {0, 2, 3}).output("y").node("LSTM", {"x"}, {"y"});
  message = refused(lstm);
  EXPECT_TRUE(contains(message, "LSTM is not supported")) << message;
  OnnxBuilder custom;
  custom.input("x", {0, 2}).output("y").node("Relu", {"x"}, {"y"});
  custom.model.mutable_graph()->mutable_node(0)->set_domain("com.example");
  EXPECT_TRUE(contains(refused(custom), "com.example.Relu"));
  OnnxBuilder power;
  power.input("x", {0, 2}).output("y").scalar("e", 2.5F).node("Pow", {"x", "e"}, {"y"});
  EXPECT_TRUE(contains(refused(power), "2.5"));
  OnnxBuilder training;
  training.input("x", {0, 2, 3}).output("y").weight("s", {2}, 1).weight("o", {2}, 2);
  training.weight("m", {2}, 3).weight("v", {2}, 4);
  training.node("BatchNormalization", {"x", "s", "o", "m", "v"}, {"y"}).with("training_mode", 1);
  EXPECT_TRUE(contains(refused(training), "evaluation mode"));
}

TEST(OnnxImport, OpsOnIntegersOfShapesAreFolded) {
  OnnxBuilder b;
  b.input("x", {0, 12}).output("y").integers("one", {1}).integers("four", {4});
  b.integers("minus", {-1}).integers("end", {2});
  b.node("Shape", {"x"}, {"shape"}).node("Slice", {"shape", "one", "end"}, {"width"});
  b.node("Div", {"width", "four"}, {"quarter"});
  b.node("Concat", {"minus", "four", "quarter"}, {"target"}).with("axis", 0);
  b.node("Reshape", {"x", "target"}, {"y"});
  const Graph graph = imported(b);
  EXPECT_EQ(graph.nodes().size(), 1U);
  EXPECT_EQ(graph.nodes()[0].integers("shape"), (Shape{-1, 4, 3}));
}

}  // namespace
}  // namespace ddl
