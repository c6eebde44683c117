// What save_onnx writes, load_onnx gives back. ONNX Runtime's view of the files is the program test
// tests/programs/model/onnxruntime.sh.
#include "ddl/model/onnx.h"

#include "ddl/model/builtin.h"
#include "ddl/model/training.h"

#include <fstream>

#include "unit/model/onnx_builder.h"

namespace ddl {
namespace {

Field field_of(FieldKind kind, DType dtype, Shape shape, std::string name = "x") {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.dtype = dtype;
  field.shape = std::move(shape);
  return field;
}

// Running statistics and gains away from 0 and 1, so that a mistake shows.
void disturb(Graph& graph) {
  std::uint64_t stream = 100;
  for (const TensorId id : graph.buffers()) {
    Tensor& tensor = graph.tensor(id);
    tensor.value = random_tensor(tensor.shape, ++stream, 0.5, 1.5);
  }
  for (const TensorId id : graph.parameters()) {
    Tensor& tensor = graph.tensor(id);
    if (tensor.shape.size() == 1) tensor.value = random_tensor(tensor.shape, ++stream, 0.5, 1.5);
  }
}

void expect_same(const Graph& found, const Graph& expected, std::int64_t below) {
  EXPECT_EQ(found.name, expected.name);
  const auto names = [](const Graph& graph, const std::vector<TensorId>& ids) {
    std::vector<std::string> result;
    for (const TensorId id : ids) result.push_back(graph.tensor(id).name);
    return result;
  };
  EXPECT_EQ(names(found, found.inputs), names(expected, expected.inputs));
  EXPECT_EQ(names(found, found.outputs), names(expected, expected.outputs));
  EXPECT_EQ(names(found, found.parameters()), names(expected, expected.parameters()));
  EXPECT_EQ(names(found, found.buffers()), names(expected, expected.buffers()));
  for (const auto& ids : {expected.parameters(), expected.buffers()}) {
    for (const TensorId id : ids) {
      const Tensor& tensor = expected.tensor(id);
      const TensorId other = found.find(tensor.name);
      ASSERT_NE(other, kNoTensor) << tensor.name;
      EXPECT_EQ(found.tensor(other).value->bytes, tensor.value->bytes) << tensor.name;
      EXPECT_EQ(found.tensor(other).shape, tensor.shape) << tensor.name;
    }
  }
  ASSERT_EQ(found.nodes().size(), expected.nodes().size());
  for (std::size_t i = 0; i < found.nodes().size(); ++i) {
    EXPECT_EQ(found.nodes()[i].op, expected.nodes()[i].op);
    EXPECT_EQ(found.nodes()[i].name, expected.nodes()[i].name);
    EXPECT_EQ(names(found, found.nodes()[i].outputs), names(expected, expected.nodes()[i].outputs));
  }
  const Graph batch = found.with_batch(3), reference = expected.with_batch(3);
  ReferenceValues feeds = random_feeds(reference, 9, below), own;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    own[batch.inputs[i]] = feeds.at(reference.inputs[i]);
  }
  expect_near(reference_run(batch, own)[0], reference_run(reference, feeds)[0], 1e-6);
}

struct Case {
  std::string model;
  std::map<std::string, std::string> options;
  ModelInterface interface;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  list.push_back({"mlp", {{"activation", "gelu"}, {"dropout", "0.3"}}, {}});
  list.back().interface.inputs = {field_of(FieldKind::numeric, DType::f32, {5})};
  list.push_back({"lenet", {{"activation", "tanh"}}, {}});
  list.back().interface.inputs = {field_of(FieldKind::image, DType::u8, {2, 9, 12})};
  list.push_back({"resnet18", {{"width", "2"}}, {}});
  list.back().interface.inputs = {field_of(FieldKind::image, DType::u8, {3, 8, 10})};
  list.push_back(
      {"gpt", {{"layers", "2"}, {"heads", "2"}, {"width", "8"}, {"dropout", "0.1"}}, {}});
  list.back().interface.inputs = {field_of(FieldKind::tokens, DType::u8, {5})};
  list.push_back({"gpt", {{"layers", "1"}, {"width", "8"}, {"tied", "false"}}, {}});
  list.back().interface.inputs = {field_of(FieldKind::tokens, DType::u16, {4})};
  list.push_back({"tabular", {{"activation", "sigmoid"}}, {}});
  list.back().interface.inputs = {field_of(FieldKind::numeric, DType::f32, {3}),
                                  field_of(FieldKind::category, DType::i32, {2}, "c")};
  list.back().interface.inputs[1].categories = {{"a", "b", "d"}, {"u", "v"}};
  for (Case& one : list) one.interface.outputs = one.model == "gpt" ? 11 : 2;
  return list;
}

TEST(Onnx, EveryBuiltinModelComesBackAsItWas) {
  const TemporaryFolder folder;
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.model);
    Graph graph = build_model(one.model, one.options, one.interface, 4, 5);
    disturb(graph);
    const auto file = folder / "model.onnx";
    save_onnx(graph, {}, {}, file);
    const ImportedModel imported = load_onnx(file);
    EXPECT_EQ(imported.graph.batch(), 1);
    expect_same(imported.graph, graph, 2);
    // Written again, the file has the same bytes.
    const auto again = folder / "again.onnx";
    save_onnx(imported.graph, {}, imported.metadata, again);
    const auto bytes = [](const std::filesystem::path& path) {
      std::ifstream stream(path, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    EXPECT_TRUE(bytes(again) == bytes(file));
  }
}

TEST(Onnx, TanhGeluAndOtherOpsComeBack) {
  Graph graph;
  graph.name = "ops";
  TensorId x = graph.add_input("x", DType::f32, {2, 2, 6, 6});
  x = graph.add("AveragePool", {x},
                {{"kernel_shape", Shape{2, 2}},
                 {"pads", Shape{1, 1, 0, 0}},
                 {"count_include_pad", std::int64_t{1}}},
                "pool");
  x = graph.add("Gelu", {x}, {{"approximate", std::string("tanh")}}, "gelu");
  x = graph.add("BatchNormalization",
                {x, graph.add_parameter("scale", random_tensor({2}, 1)),
                 graph.add_parameter("bias", random_tensor({2}, 2)),
                 graph.add_buffer("mean", random_tensor({2}, 3)),
                 graph.add_buffer("var", random_tensor({2}, 4, 0.5, 1))},
                {{"epsilon", 0.001}, {"momentum", 0.8}}, "norm");
  x = graph.add("ReduceMean", {x}, {{"axes", Shape{3}}, {"keepdims", std::int64_t{0}}}, "mean");
  x = graph.add("Slice", {x},
                {{"starts", Shape{1}}, {"ends", Shape{6}}, {"axes", Shape{2}}, {"steps", Shape{2}}},
                "slice");
  x = graph.add("Sum", {x, graph.add("Exp", {x}, {}, "exp"), x}, {}, "sum");
  const TensorId w = graph.add_parameter("w", random_tensor({1, 4, 3}, 5));
  x = graph.add("MatMul", {x, w}, {{"trans_b", std::int64_t{1}}}, "product");
  x = graph.add("Softmax", {x}, {{"axis", std::int64_t{1}}}, "softmax");
  graph.outputs = {x};
  const TemporaryFolder folder;
  save_onnx(graph, {}, {}, folder / "model.onnx");
  const Graph found = load_onnx(folder / "model.onnx").graph;
  expect_same(found, graph, 2);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    for (const char* key : {"epsilon", "momentum"}) {
      EXPECT_EQ(found.nodes()[i].real(key, -1), graph.nodes()[i].real(key, -1));
    }
  }
}

// Written without ceil_mode, on whose last window runtimes disagree: the same values.
TEST(Onnx, PoolsThatRoundUpKeepTheirWindows) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const std::int64_t side : {5, 6, 7, 8}) {
      Graph graph;
      graph.name = "pool";
      const TensorId x = graph.add_input("x", DType::f32, {1, 2, side, side});
      graph.outputs = {graph.add(op, {x},
                                 {{"kernel_shape", Shape{3, 2}},
                                  {"strides", Shape{2, 3}},
                                  {"pads", Shape{1, 0, 1, 1}},
                                  {"ceil_mode", std::int64_t{1}}},
                                 "pool")};
      const TemporaryFolder folder;
      save_onnx(graph, {}, {}, folder / "model.onnx");
      const Graph found = load_onnx(folder / "model.onnx").graph;
      EXPECT_EQ(found.nodes()[0].integer("ceil_mode", 0), 0);
      expect_same(found, graph, 2);
    }
  }
}

TEST(Onnx, GivenValuesReplaceTheGraphsOwn) {
  const Case one = cases()[0];
  const Graph graph = build_model(one.model, one.options, one.interface, 1, 1);
  const auto value = random_tensor({128}, 8);
  const TemporaryFolder folder;
  save_onnx(graph, {{"fc1.bias", value}}, {}, folder / "model.onnx");
  const Graph found = load_onnx(folder / "model.onnx").graph;
  EXPECT_EQ(found.tensor(found.find("fc1.bias")).value->bytes, value->bytes);
  EXPECT_EQ(found.tensor(found.find("fc1.weight")).value->bytes,
            graph.tensor(graph.find("fc1.weight")).value->bytes);
  EXPECT_TRUE(
      contains(refusal([&] {
                 save_onnx(graph, {{"fc1.bias", random_tensor({3}, 1)}}, {}, folder / "other.onnx");
               }),
               "fc1.bias"));
  EXPECT_FALSE(std::filesystem::exists(folder / "other.onnx"));
}

TEST(Onnx, MetadataComesBack) {
  const Case one = cases().back();
  const Graph graph = build_model(one.model, one.options, one.interface, 1, 1);
  ModelMetadata metadata;
  metadata.inputs = one.interface.inputs;
  metadata.inputs[0].columns = {"age", "Größe \"cm\"", ""};
  metadata.inputs[0].normalisation = {{0.1, -2.5, 1e-30}, {1.0 / 3, 7, 1}};
  metadata.inputs[1].columns = {"colour", "size"};
  metadata.classes = {"no", "yes, \n maybe"};
  metadata.tokenizer = {"characters", {"a", "é", "\n"}};
  metadata.task = LearningTask::regression;
  metadata.provenance = {{"ddl.version", "0.1.0"}, {"author", "someone"}};
  const TemporaryFolder folder;
  save_onnx(graph, {}, metadata, folder / "model.onnx");
  const ModelMetadata found = load_onnx(folder / "model.onnx").metadata;
  EXPECT_EQ(found.inputs, metadata.inputs);
  EXPECT_EQ(found.classes, metadata.classes);
  EXPECT_EQ(found.tokenizer, metadata.tokenizer);
  EXPECT_EQ(found.task, metadata.task);
  EXPECT_EQ(found.provenance, metadata.provenance);
}

TEST(Onnx, BakedPreprocessingIsTakenOutAgain) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.model);
    const Graph graph = build_model(one.model, one.options, one.interface, 1, 1);
    ModelMetadata metadata;
    metadata.inputs = one.interface.inputs;
    for (Field& field : metadata.inputs) {
      if (field.kind == FieldKind::numeric) {
        field.normalisation.mean = random_values(static_cast<std::size_t>(field.shape[0]), 1);
        field.normalisation.scale = random_values(static_cast<std::size_t>(field.shape[0]), 2);
      }
    }
    const TemporaryFolder folder;
    save_onnx(graph, {}, metadata, folder / "model.onnx", {true});
    const ImportedModel imported = load_onnx(folder / "model.onnx");
    expect_same(imported.graph, graph, 2);
    EXPECT_EQ(imported.metadata.inputs, metadata.inputs);
    EXPECT_EQ(imported.graph.tensor(imported.graph.inputs[0]).dtype,
              graph.tensor(graph.inputs[0]).dtype);
  }
  const Case one = cases()[0];
  const Graph graph = build_model(one.model, one.options, one.interface, 1, 1);
  const TemporaryFolder folder;
  EXPECT_TRUE(
      contains(refusal([&] { save_onnx(graph, {}, {}, folder / "model.onnx", {true}); }), "'x'"));
}

TEST(Onnx, TrainingGraphsHaveNoFormInOnnx) {
  const Case one = cases()[0];
  const Graph graph = build_model(one.model, one.options, one.interface, 1, 1);
  Graph training = make_training_graph(graph, LossKind::softmax_cross_entropy).graph;
  const TemporaryFolder folder;
  refusal([&] { save_onnx(training, {}, {}, folder / "model.onnx"); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Onnx, TheFileIsWhatTheDesignSays) {
  const Case one = cases()[1];
  const Graph graph = build_model(one.model, one.options, one.interface, 7, 1);
  const TemporaryFolder folder;
  save_onnx(graph, {}, {}, folder / "model.onnx");
  onnx::ModelProto model;
  std::ifstream stream(folder / "model.onnx", std::ios::binary);
  ASSERT_TRUE(model.ParseFromIstream(&stream));
  EXPECT_EQ(model.opset_import(0).version(), 17);
  ASSERT_EQ(model.graph().input_size(), 1);
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_EQ(shape.dim(1).dim_value(), 2);
  EXPECT_EQ(model.graph().output(0).name(), "logits");
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(model.graph().initializer(0).name(), "conv1.weight");
}

}  // namespace
}  // namespace ddl
