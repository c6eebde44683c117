#include "ddl/model/builtin.h"

#include "ddl/model/training.h"

#include <algorithm>

#include "unit/model/model_test.h"

namespace ddl {
namespace {

Field field_of(FieldKind kind, Shape shape, std::string name = "x") {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.shape = std::move(shape);
  return field;
}

ModelInterface interface_of(FieldKind kind, Shape shape, std::int64_t outputs) {
  ModelInterface interface;
  interface.inputs = {field_of(kind, std::move(shape))};
  interface.outputs = outputs;
  return interface;
}

std::int64_t parameters(const std::string& model, const std::map<std::string, std::string>& options,
                        const ModelInterface& interface) {
  return build_model(model, options, interface, 1, 1).parameter_count();
}

TEST(Builtin, ParameterCountsAreThePublishedOnes) {
  // ResNet-18 for CIFAR-10 with a 3x3 stem.
  EXPECT_EQ(parameters("resnet18", {}, interface_of(FieldKind::image, {3, 32, 32}, 10)),
            11'173'962);
  // LeNet-5 with 10 classes, on 28x28 and on 32x32.
  EXPECT_EQ(parameters("lenet", {}, interface_of(FieldKind::image, {1, 28, 28}, 10)), 61'706);
  EXPECT_EQ(parameters("lenet", {}, interface_of(FieldKind::image, {1, 32, 32}, 10)), 61'706);
  // GPT-2's smallest, 124 M, by its layers: V W + T W + L (12 W^2 + 13 W) + 2 W.
  const auto gpt = [](std::int64_t v, std::int64_t w, std::int64_t t, std::int64_t l) {
    return v * w + t * w + l * (12 * w * w + 13 * w) + 2 * w;
  };
  EXPECT_EQ(gpt(50257, 768, 1024, 12), 124'439'808);
  const std::map<std::string, std::string> options{
      {"layers", "3"}, {"heads", "2"}, {"width", "24"}};
  const ModelInterface tokens = interface_of(FieldKind::tokens, {10}, 65);
  EXPECT_EQ(parameters("gpt", options, tokens), gpt(65, 24, 10, 3));
  auto untied = options;
  untied["tied"] = "false";
  EXPECT_EQ(parameters("gpt", untied, tokens), gpt(65, 24, 10, 3) + 65 * 24);
  EXPECT_EQ(parameters("mlp", {}, interface_of(FieldKind::image, {1, 8, 8}, 10)),
            64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
}

TEST(Builtin, TabularEmbedsEachColumn) {
  ModelInterface interface = interface_of(FieldKind::numeric, {3}, 2);
  interface.inputs.push_back(field_of(FieldKind::category, {2}, "c"));
  interface.inputs[1].categories = {{"a", "b", "c", "d"}, {"u", "v"}};
  // Widths by fastai's rule: round(1.6 * 4^0.56) = 3, round(1.6 * 2^0.56) = 2.
  EXPECT_EQ(parameters("tabular", {{"hidden", "5"}}, interface),
            4 * 3 + 2 * 2 + (3 + 3 + 2) * 5 + 5 + 5 * 2 + 2);
  const Graph graph = build_model("tabular", {{"embedding", "6"}}, interface, 4, 1);
  EXPECT_EQ(graph.tensor(graph.find("c.embedding.1.weight")).shape, (Shape{2, 6}));
  EXPECT_EQ(graph.tensor(graph.inputs[1]).dtype, DType::i32);
  interface.inputs[1].categories.pop_back();
  refusal([&] { build_model("tabular", {}, interface, 1, 1); });
}

TEST(Builtin, EveryModelRunsAndTrainsAtOddSizes) {
  struct Case {
    std::string model;
    std::map<std::string, std::string> options;
    ModelInterface interface;
    LossKind loss = LossKind::softmax_cross_entropy;
  };
  std::vector<Case> cases{
      {"mlp", {{"hidden", ""}}, interface_of(FieldKind::numeric, {5}, 3)},
      {"mlp", {{"activation", "gelu"}}, interface_of(FieldKind::image, {2, 3, 5}, 3)},
      {"lenet", {}, interface_of(FieldKind::image, {1, 8, 8}, 3)},
      {"lenet", {{"activation", "tanh"}}, interface_of(FieldKind::image, {2, 13, 9}, 3)},
      {"resnet18", {{"width", "2"}}, interface_of(FieldKind::image, {2, 8, 9}, 3)},
      {"gpt",
       {{"layers", "1"}, {"heads", "3"}, {"width", "6"}},
       interface_of(FieldKind::tokens, {4}, 7),
       LossKind::next_token}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.model);
    const Graph graph = build_model(one.model, one.options, one.interface, 2, 1);
    EXPECT_EQ(graph.tensor(graph.outputs[0]).name, "logits");
    const auto outputs = reference_run(graph, random_feeds(graph, 5, one.interface.outputs));
    EXPECT_EQ(outputs[0].size() % static_cast<std::size_t>(2 * one.interface.outputs), 0U);
    for (const double value : outputs[0]) EXPECT_TRUE(std::isfinite(value));
    const TrainingGraph training = make_training_graph(graph, one.loss);
    EXPECT_EQ(training.parameters, graph.parameters());
  }
}

TEST(Builtin, GptDoesNotSeeLaterTokens) {
  const Graph graph = build_model("gpt", {{"layers", "2"}, {"heads", "2"}, {"width", "8"}},
                                  interface_of(FieldKind::tokens, {6}, 9), 1, 3);
  ReferenceValues feeds{{graph.inputs[0], {1, 2, 3, 4, 5, 6}}};
  const auto before = reference_run(graph, feeds)[0];
  feeds[graph.inputs[0]][4] = 8;
  const auto after = reference_run(graph, feeds)[0];
  for (std::size_t i = 0; i < 4 * 9; ++i) EXPECT_EQ(before[i], after[i]);
  double difference = 0;
  for (std::size_t i = 4 * 9; i < 6 * 9; ++i) difference += std::abs(before[i] - after[i]);
  EXPECT_GT(difference, 1e-3);
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments moments(const Graph& graph, const std::string& name) {
  const auto values = to_doubles(*graph.tensor(graph.find(name)).value);
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / count;
  for (const double value : values) {
    result.deviation += (value - result.mean) * (value - result.mean) / count;
    result.largest = std::max(result.largest, std::abs(value));
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

TEST(Builtin, InitialParametersHaveTheStatisticsOfTheirSource) {
  const Graph mlp =
      build_model("mlp", {{"hidden", "400"}}, interface_of(FieldKind::numeric, {100}, 10), 1, 1);
  const Moments uniform = moments(mlp, "fc1.weight");  // ±1/sqrt(100)
  EXPECT_LE(uniform.largest, 0.1);
  EXPECT_GT(uniform.largest, 0.0999);
  EXPECT_NEAR(uniform.mean, 0, 0.001);
  EXPECT_NEAR(uniform.deviation, 0.1 / std::sqrt(3), 0.001);
  EXPECT_LE(moments(mlp, "fc1.bias").largest, 0.1);

  const Graph resnet = build_model("resnet18", {{"width", "32"}},
                                   interface_of(FieldKind::image, {3, 8, 8}, 10), 1, 1);
  EXPECT_NEAR(moments(resnet, "layer1.0.conv1.weight").deviation, std::sqrt(2.0 / (32 * 9)), 0.002);
  EXPECT_EQ(moments(resnet, "bn1.weight").mean, 1);
  EXPECT_EQ(moments(resnet, "bn1.running_var").mean, 1);
  EXPECT_EQ(moments(resnet, "bn1.bias").largest, 0);

  const Graph gpt = build_model("gpt", {{"layers", "8"}, {"width", "64"}},
                                interface_of(FieldKind::tokens, {16}, 65), 1, 1);
  EXPECT_NEAR(moments(gpt, "transformer.h.3.attn.c_attn.weight").deviation, 0.02, 0.0005);
  EXPECT_NEAR(moments(gpt, "transformer.h.3.mlp.c_proj.weight").deviation, 0.02 / 4, 0.0002);
  EXPECT_EQ(moments(gpt, "transformer.h.3.mlp.c_proj.bias").largest, 0);
  EXPECT_EQ(moments(gpt, "transformer.ln_f.weight").mean, 1);
}

TEST(Builtin, InitialParametersDependOnSeedAndNameAlone) {
  const auto bytes = [](const std::map<std::string, std::string>& options, std::int64_t samples,
                        std::uint64_t seed, const std::string& name) {
    const Graph graph =
        build_model("mlp", options, interface_of(FieldKind::numeric, {6}, 4), samples, seed);
    return graph.tensor(graph.find(name)).value->bytes;
  };
  const auto first = bytes({}, 1, 1, "fc1.weight");
  EXPECT_EQ(bytes({}, 5, 1, "fc1.weight"), first);
  // Another depth moves nothing in the first layer.
  EXPECT_EQ(bytes({{"hidden", "128"}}, 1, 1, "fc1.weight"), first);
  EXPECT_NE(bytes({}, 1, 2, "fc1.weight"), first);
  EXPECT_NE(bytes({{"hidden", "6,6"}}, 1, 1, "fc1.weight"),
            bytes({{"hidden", "6,6"}}, 1, 1, "fc2.weight"));
}

TEST(Builtin, RefusalsSayWhatTheModelNeeds) {
  const ModelInterface image = interface_of(FieldKind::image, {3, 32, 32}, 10);
  const ModelInterface tokens = interface_of(FieldKind::tokens, {8}, 65);
  const auto refused = [](const std::string& model,
                          const std::map<std::string, std::string>& options,
                          const ModelInterface& interface) {
    return refusal([&] { build_model(model, options, interface, 1, 1); });
  };
  EXPECT_TRUE(contains(refused("resnet-18", {}, image), "resnet18"));
  EXPECT_TRUE(contains(refused("mlp", {{"hiden", "4"}}, image), "hidden"));
  EXPECT_TRUE(contains(refused("mlp", {{"hidden", "4,x"}}, image), "hidden"));
  EXPECT_TRUE(contains(refused("mlp", {{"hidden", "0"}}, image), "hidden"));
  EXPECT_TRUE(contains(refused("mlp", {{"activation", "swish"}}, image), "relu"));
  EXPECT_TRUE(contains(refused("mlp", {{"dropout", "1"}}, image), "dropout"));
  EXPECT_TRUE(contains(refused("mlp", {}, tokens), "gpt"));
  EXPECT_TRUE(contains(refused("lenet", {}, tokens), "image"));
  EXPECT_TRUE(
      contains(refused("resnet18", {}, interface_of(FieldKind::image, {3, 7, 32}, 10)), "8x8"));
  EXPECT_TRUE(contains(refused("gpt", {}, image), "tokens"));
  EXPECT_TRUE(contains(refused("gpt", {{"width", "10"}, {"heads", "3"}}, tokens), "multiple"));
  EXPECT_TRUE(contains(refused("tabular", {}, image), "resnet18"));
}

TEST(Builtin, TheInterfaceFollowsFromTheManifest) {
  DatasetManifest manifest;
  manifest.fields = {field_of(FieldKind::numeric, {4}), field_of(FieldKind::label, {}, "y"),
                     field_of(FieldKind::weight, {}, "w")};
  manifest.classes = {"no", "yes", "maybe"};
  ModelInterface interface = model_interface(manifest);
  ASSERT_EQ(interface.inputs.size(), 1U);
  EXPECT_EQ(interface.inputs[0].name, "x");
  EXPECT_EQ(interface.outputs, 3);

  manifest.fields[1] = field_of(FieldKind::target, {}, "y");
  manifest.task = LearningTask::regression;
  EXPECT_EQ(model_interface(manifest).outputs, 1);

  manifest.fields = {field_of(FieldKind::tokens, {65})};
  manifest.task = LearningTask::next_token;
  manifest.tokenizer.kind = "bytes";
  interface = model_interface(manifest);
  EXPECT_EQ(interface.inputs[0].shape, (Shape{64}));
  EXPECT_EQ(interface.outputs, 256);
  manifest.tokenizer = {"characters", {"a", "b"}};
  EXPECT_EQ(model_interface(manifest).outputs, 2);
  manifest.tokenizer = {};
  refusal([&] { model_interface(manifest); });
}

TEST(Builtin, TheListNamesEveryModelAndItsDefaultsBuild) {
  ASSERT_EQ(builtin_models().size(), 5U);
  for (const BuiltinModel& model : builtin_models()) {
    EXPECT_TRUE(is_builtin_model(model.name));
    EXPECT_FALSE(model.description.empty());
  }
  EXPECT_FALSE(is_builtin_model("vgg"));
}

}  // namespace
}  // namespace ddl
