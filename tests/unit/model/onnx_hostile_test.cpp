// Files that are damaged or mean harm: a bad_input, never a crash or an allocation by their word.
#include "ddl/model/builtin.h"
#include "ddl/model/onnx.h"

#include <limits>

#include "unit/model/onnx_builder.h"

namespace ddl {
namespace {

std::string refused(const OnnxBuilder& builder) {
  const TemporaryFolder folder;
  builder.write(folder / "model.onnx");
  const std::string message = refusal([&] { load_onnx(folder / "model.onnx"); });
  EXPECT_TRUE(contains(message, "model.onnx")) << message;
  return message;
}

onnx::TensorProto& values(OnnxBuilder& b, const std::string& name, const Shape& shape) {
  onnx::TensorProto& proto = *b.model.mutable_graph()->add_initializer();
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape) proto.add_dims(extent);
  return proto;
}

OnnxBuilder relu() {
  OnnxBuilder b;
  b.input("x", {0, 4}).output("y").node("Relu", {"x"}, {"y"});
  return b;
}

TEST(OnnxHostile, MissingEmptyAndForeignFiles) {
  const TemporaryFolder folder;
  EXPECT_TRUE(contains(refusal([&] { load_onnx(folder / "absent.onnx"); }), "absent.onnx"));
  std::ofstream(folder / "empty.onnx").close();
  refusal([&] { load_onnx(folder / "empty.onnx"); });
  std::ofstream(folder / "text.onnx") << "this is not a model\n";
  refusal([&] { load_onnx(folder / "text.onnx"); });
  refusal([&] { load_onnx(folder.path()); });
}

TEST(OnnxHostile, ReferencesToNothingAndCycles) {
  OnnxBuilder dangling = relu();
  dangling.model.mutable_graph()->mutable_node(0)->set_input(0, "nothing");
  EXPECT_TRUE(contains(refused(dangling), "'nothing'"));
  OnnxBuilder cycle;
  cycle.input("x", {0, 4}).output("y").node("Add", {"x", "b"}, {"a"});
  cycle.node("Relu", {"a"}, {"b"}).node("Relu", {"b"}, {"y"});
  EXPECT_TRUE(contains(refused(cycle), "cycles"));
  OnnxBuilder twice = relu();
  twice.node("Tanh", {"x"}, {"y"});
  EXPECT_TRUE(contains(refused(twice), "twice"));
  OnnxBuilder no_output = relu();
  no_output.output("z");
  EXPECT_TRUE(contains(refused(no_output), "'z'"));
  OnnxBuilder itself;
  itself.input("x", {0, 4}).output("y").node("Relu", {"y"}, {"y"});
  refused(itself);
  OnnxBuilder shadow = relu();
  shadow.input("x", {0, 4});
  refused(shadow);
  OnnxBuilder constant;
  constant.input("x", {0, 4}).output("y").scalar("c", 1).node("Identity", {"c"}, {"y"});
  refused(constant);
}

TEST(OnnxHostile, ShapesThatLie) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const Shape& shape : std::vector<Shape>{
           {1000000, 1000000}, {kHuge, kHuge, 4}, {-3}, {5}, {kHuge}, Shape(40, 1)}) {
    OnnxBuilder b = relu();
    values(b, "w", shape).set_raw_data(std::string(16, 'x'));
    refused(b);
  }
  OnnxBuilder listed = relu();
  values(listed, "w", {1 << 30}).add_float_data(1);
  refused(listed);
  OnnxBuilder none = relu();
  values(none, "w", {3});
  refused(none);
  OnnxBuilder no_batch;
  no_batch.input("x", {}).output("y").node("Relu", {"x"}, {"y"});
  refused(no_batch);
  OnnxBuilder negative;
  negative.input("x", {-2, 4}).output("y").node("Relu", {"x"}, {"y"});
  refused(negative);
  OnnxBuilder open;
  open.input("x", {0, 0}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(contains(refused(open), "axis 1"));
  OnnxBuilder huge;
  huge.input("x", {0, kHuge / 2}).output("y").node("Relu", {"x"}, {"y"});
  refused(huge);
  OnnxBuilder text;
  text.input("x", {0, 4}, onnx::TensorProto::STRING).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(contains(refused(text), "STRING"));
  OnnxBuilder unknown;
  unknown.input("x", {0, 4}, 999).output("y").node("Relu", {"x"}, {"y"});
  refused(unknown);
}

TEST(OnnxHostile, ConstantsThatGrow) {
  OnnxBuilder b;
  b.input("x", {0, 4}).output("y").integers("shape", {1 << 20, 1 << 20});
  b.node("ConstantOfShape", {"shape"}, {"ones"}).node("Add", {"x", "ones"}, {"y"});
  EXPECT_TRUE(contains(refused(b), "too large"));
  OnnxBuilder product;
  product.input("x", {0, 4}).output("y");
  product.integers("a", std::vector<std::int64_t>(5000, 1));
  product.integers("axes", {1}).node("Unsqueeze", {"a", "axes"}, {"column"});
  product.node("Mul", {"a", "column"}, {"square"}).node("Reshape", {"x", "square"}, {"y"});
  EXPECT_TRUE(contains(refused(product), "too large"));
  OnnxBuilder wide;
  wide.input("x", {0, 4}).output("y").weight("w", {1, 4, 3}, 1);
  wide.node("Concat", std::vector<std::string>(64, "x"), {"c0"}).with("axis", 1);
  for (int i = 0; i < 12; ++i) {
    wide.node("Concat", std::vector<std::string>(64, "c" + std::to_string(i)),
              {i == 11 ? "y" : "c" + std::to_string(i + 1)});
    wide.with("axis", 1);
  }
  refused(wide);
}

TEST(OnnxHostile, AttributesOfEveryKind) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, kMost, kLeast}) {
    for (const char* attribute : {"strides", "dilations", "pads", "kernel_shape", "group"}) {
      OnnxBuilder b;
      b.input("x", {0, 1, 9, 9}).output("y").weight("w", {1, 1, 3, 3}, 1);
      b.node("Conv", {"x", "w"}, {"y"});
      const std::string name = attribute;
      if (name == "group") {
        b.with(name, value);
      } else {
        b.with(name, std::vector<std::int64_t>(name == "pads" ? 4 : 2, value));
        if (name == "pads" && value == 0) continue;
      }
      refused(b);
      b.with_text("auto_pad", "SAME_UPPER");
      if (name != "pads") refused(b);
    }
    OnnxBuilder flatten;
    flatten.input("x", {0, 3, 4}).output("y").node("Flatten", {"x"}, {"y"});
    flatten.with("axis", value == 0 || value == -1 ? 7 : value);
    refused(flatten);
    OnnxBuilder softmax;
    softmax.input("x", {0, 3, 4}).output("y").node("Softmax", {"x"}, {"y"});
    softmax.with("axis", value == 0 || value == -1 ? -4 : value);
    refused(softmax);
    OnnxBuilder cast;
    cast.input("x", {0, 3}).output("y").node("Cast", {"x"}, {"y"}).with("to", value);
    refused(cast);
    OnnxBuilder reshape;
    reshape.input("x", {0, 3}).output("y").integers("s", {value, value, value});
    reshape.node("Reshape", {"x", "s"}, {"y"});
    refused(reshape);
  }
  OnnxBuilder text = relu();
  text.node("Softmax", {"x"}, {"z"}).with_text("axis", "one");
  refused(text);
  OnnxBuilder short_inputs;
  short_inputs.input("x", {0, 1, 9, 9}).output("y").node("Conv", {"x"}, {"y"});
  refused(short_inputs);
  for (const char* op : {"Gather", "Reshape", "MatMul", "Gemm", "BatchNormalization", "Slice",
                         "Squeeze", "Split", "Concat", "Sum", "Pow", "Constant", "Shape", "Cast",
                         "LayerNormalization", "MaxPool", "Transpose"}) {
    OnnxBuilder b = relu();
    b.node(op, {}, {"z"});
    refused(b);
  }
}

TEST(OnnxHostile, NamesThatWouldBreakALine) {
  OnnxBuilder b = relu();
  b.model.mutable_graph()->mutable_node(0)->set_name("a\nddl: all is well");
  refused(b);
  OnnxBuilder output = relu();
  output.model.mutable_graph()->mutable_node(0)->set_output(0, "\x1b[2J");
  refused(output);
  OnnxBuilder input;
  input.input("x\r", {0, 4}).output("y").node("Relu", {"x\r"}, {"y"});
  refused(input);
  OnnxBuilder dangling = relu();
  dangling.model.mutable_graph()->mutable_node(0)->set_input(0, "a\nb");
  refused(dangling);
  OnnxBuilder graph = relu();
  graph.model.mutable_graph()->set_name("a\nb");
  refused(graph);
  OnnxBuilder weight = relu();
  values(weight, "w\n", {3});
  refused(weight);
  OnnxBuilder missing = relu();
  missing.output("z\nz");
  refused(missing);
}

TEST(OnnxHostile, MetadataThatIsNotOurs) {
  for (const char* key : {"ddl.preprocessing", "ddl.classes", "ddl.tokenizer", "ddl.task"}) {
    for (const std::string& value :
         {std::string("{"), std::string("[[["), std::string("{\"inputs\":3}"),
          std::string("{\"inputs\":[{\"name\":1}]}"), std::string(200000, '['),
          std::string("{\"inputs\":[{\"name\":\"x\",\"kind\":\"magic\",\"dtype\":\"float32\","
                      "\"shape\":[1]}]}")}) {
      OnnxBuilder b = relu();
      auto* entry = b.model.add_metadata_props();
      entry->set_key(key);
      entry->set_value(value);
      EXPECT_TRUE(contains(refused(b), key));
    }
  }
}

TEST(OnnxHostile, OpsetsBeyondOurs) {
  for (const std::int64_t version : {std::int64_t{0}, std::int64_t{6}, std::int64_t{99}}) {
    OnnxBuilder b = relu();
    b.model.mutable_opset_import(0)->set_version(version);
    EXPECT_TRUE(contains(refused(b), "opset"));
  }
}

// Every prefix and many flipped bits of a real file: loads or refuses.
TEST(OnnxHostile, CutAndFlippedFiles) {
  ModelInterface interface;
  Field field;
  field.name = "x";
  field.kind = FieldKind::tokens;
  field.shape = {3};
  interface.inputs = {field};
  interface.outputs = 5;
  const Graph graph =
      build_model("gpt", {{"layers", "1"}, {"width", "2"}, {"heads", "1"}}, interface, 1, 1);
  const TemporaryFolder folder;
  ModelMetadata metadata;
  metadata.inputs = interface.inputs;
  metadata.classes = {"a", "b"};
  save_onnx(graph, {}, metadata, folder / "model.onnx");
  std::ifstream stream(folder / "model.onnx", std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  const auto attempt = [&](const std::string& bytes) {
    std::ofstream(folder / "damaged.onnx", std::ios::binary) << bytes;
    try {
      static_cast<void>(load_onnx(folder / "damaged.onnx"));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  };
  for (std::size_t length = 0; length < whole.size(); length += 37)
    attempt(whole.substr(0, length));
  Random random(1, "flip");
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 1 + i % 3; ++k) {
      bytes[random.below(bytes.size())] ^= static_cast<char>(1 << random.below(8));
    }
    attempt(bytes);
  }
}

}  // namespace
}  // namespace ddl
