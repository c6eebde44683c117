#include "ddl/model/training.h"

#include "ddl/model/builtin.h"

#include <set>

#include "unit/model/model_test.h"

namespace ddl {
namespace {

ModelInterface numeric_interface(std::int64_t features, std::int64_t outputs) {
  ModelInterface interface;
  Field field;
  field.name = "x";
  field.shape = {features};
  interface.inputs = {field};
  interface.outputs = outputs;
  return interface;
}

std::int64_t count_ops(const Graph& graph, const std::string& op) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op == op ? 1 : 0;
  return count;
}

// Every node leads to an output, and every operand is a value or comes from an earlier node.
void expect_sound(const Graph& graph) {
  std::set<TensorId> known, used(graph.outputs.begin(), graph.outputs.end());
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (graph.tensor(id).role != TensorRole::intermediate) known.insert(id);
  }
  for (const Node& node : graph.nodes()) {
    for (const TensorId id : node.inputs) {
      EXPECT_TRUE(id == kNoTensor || known.contains(id)) << node.name;
      used.insert(id);
    }
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const Node& node : graph.nodes()) {
    bool needed = false;
    for (const TensorId id : node.outputs) needed = needed || used.contains(id);
    EXPECT_TRUE(needed) << node.name;
  }
  std::set<TensorId> distinct(graph.outputs.begin(), graph.outputs.end());
  EXPECT_EQ(distinct.size(), graph.outputs.size());
}

TEST(Training, OutputsAreLossLogitsGradientsStatistics) {
  const Graph model = build_model("mlp", {{"hidden", "5,4"}}, numeric_interface(7, 3), 6, 1);
  const TrainingGraph training = make_training_graph(model, LossKind::softmax_cross_entropy);
  const Graph& graph = training.graph;
  ASSERT_EQ(graph.outputs.size(), 2 + 6U);
  EXPECT_EQ(graph.outputs[0], training.loss);
  EXPECT_EQ(graph.outputs[1], training.logits);
  EXPECT_EQ(graph.tensor(training.loss).shape, (Shape{6}));
  EXPECT_EQ(graph.tensor(training.logits).shape, (Shape{6, 3}));
  EXPECT_EQ(training.parameters, model.parameters());
  for (std::size_t i = 0; i < training.parameters.size(); ++i) {
    const TensorId id = training.parameters[i];
    EXPECT_EQ(graph.outputs[2 + i], training.gradients[i]);
    EXPECT_EQ(graph.tensor(training.gradients[i]).shape, graph.tensor(id).shape);
    EXPECT_EQ(graph.tensor(id).name, model.tensor(id).name);
  }
  ASSERT_EQ(graph.inputs.size(), 3U);
  EXPECT_EQ(graph.inputs[1], training.label);
  EXPECT_EQ(graph.inputs[2], training.weight);
  EXPECT_EQ(graph.tensor(training.label).dtype, DType::i64);
  EXPECT_EQ(graph.tensor(training.label).name, "label");
  EXPECT_EQ(graph.tensor(training.weight).shape, (Shape{6}));
  expect_sound(graph);
}

TEST(Training, BatchNormalisationTrainsOnTheTasksStatistics) {
  ModelInterface interface = numeric_interface(0, 4);
  interface.inputs[0].kind = FieldKind::image;
  interface.inputs[0].shape = {1, 9, 11};
  const Graph model = build_model("resnet18", {{"width", "2"}}, interface, 3, 1);
  const TrainingGraph training = make_training_graph(model, LossKind::softmax_cross_entropy);
  expect_sound(training.graph);
  EXPECT_EQ(count_ops(training.graph, "BatchNormalization"), 0);
  EXPECT_EQ(count_ops(training.graph, "BatchNormTraining"), 20);
  ASSERT_EQ(training.statistics.size(), 40U);
  EXPECT_EQ(training.graph.outputs.size(), 2 + training.parameters.size() + 40);
  std::set<TensorId> buffers;
  for (std::size_t i = 0; i < 40; ++i) {
    const auto& statistic = training.statistics[i];
    EXPECT_EQ(training.graph.outputs[2 + training.parameters.size() + i], statistic.value);
    EXPECT_EQ(training.graph.tensor(statistic.buffer).role, TensorRole::buffer);
    EXPECT_EQ(training.graph.tensor(statistic.buffer).shape,
              training.graph.tensor(statistic.value).shape);
    EXPECT_NEAR(statistic.momentum, 0.1, 1e-12);
    const std::string& name = training.graph.tensor(statistic.buffer).name;
    EXPECT_EQ(statistic.is_variance, name.ends_with("running_var")) << name;
    buffers.insert(statistic.buffer);
  }
  EXPECT_EQ(buffers.size(), 40U);
  EXPECT_EQ(training.statistics[0].values_per_sample, 9 * 11);
  EXPECT_EQ(training.statistics.back().values_per_sample, 2 * 2);
  EXPECT_EQ(training.parameters.size(), model.parameters().size());
}

TEST(Training, FinalActivationsBelongToTheLoss) {
  const auto ending = [](const std::vector<std::string>& ops, LossKind loss) {
    Graph model;
    TensorId y = model.add_input("x", DType::f32, {2, 3});
    y = model.add("MatMul", {y, model.add_parameter("w", random_tensor({3, 4}, 1))}, {}, "last");
    for (const std::string& op : ops) y = model.add(op, {y});
    model.outputs = {y};
    const TrainingGraph training = make_training_graph(model, loss);
    expect_sound(training.graph);
    return training.graph.tensor(training.logits).name;
  };
  EXPECT_EQ(ending({"Softmax"}, LossKind::softmax_cross_entropy), "last");
  EXPECT_EQ(ending({"Softmax", "Log"}, LossKind::softmax_cross_entropy), "last");
  EXPECT_EQ(ending({"Sigmoid"}, LossKind::sigmoid_cross_entropy), "last");
  EXPECT_NE(ending({"Sigmoid"}, LossKind::squared_error), "last");
  EXPECT_NE(ending({"Relu"}, LossKind::softmax_cross_entropy), "last");
}

TEST(Training, ParametersThatNoGradientReachesAreKept) {
  Graph model;
  const TensorId x = model.add_input("x", DType::f32, {2, 3});
  const TensorId w = model.add_parameter("w", random_tensor({3, 4}, 1));
  model.add_parameter("unused", random_tensor({5}, 2));
  model.outputs = {model.add("MatMul", {x, w})};
  const TrainingGraph training = make_training_graph(model, LossKind::squared_error);
  EXPECT_EQ(training.parameters, std::vector<TensorId>{w});
  EXPECT_EQ(training.graph.outputs.size(), 3U);
  EXPECT_EQ(training.graph.parameters().size(), 2U);
}

TEST(Training, ParametersThatShareAGradientHaveOutputsOfTheirOwn) {
  Graph model;
  const TensorId x = model.add_input("x", DType::f32, {2, 3});
  const TensorId a = model.add_parameter("weight", random_tensor({3}, 1));
  const TensorId b = model.add_parameter("label", random_tensor({3}, 2));
  model.outputs = {model.add("Add", {x, model.add("Add", {a, b})})};
  const TrainingGraph training = make_training_graph(model, LossKind::squared_error);
  expect_sound(training.graph);
  ASSERT_EQ(training.gradients.size(), 2U);
  EXPECT_NE(training.gradients[0], training.gradients[1]);
  // Names of the model's tensors come first.
  EXPECT_EQ(training.graph.tensor(training.label).name, "label.1");
  EXPECT_EQ(training.graph.tensor(training.weight).name, "weight.1");
}

TEST(Training, EvaluationGivesLossRowsAndLogits) {
  const Graph model =
      build_model("mlp", {{"hidden", "5"}, {"dropout", "0.5"}}, numeric_interface(4, 3), 2, 1);
  EXPECT_EQ(count_ops(model, "Dropout"), 1);
  const TrainingGraph evaluation = make_evaluation_graph(model, LossKind::softmax_cross_entropy);
  EXPECT_EQ(count_ops(evaluation.graph, "Dropout"), 0);
  EXPECT_EQ(evaluation.graph.outputs, (std::vector<TensorId>{evaluation.loss, evaluation.logits}));
  const std::vector<double> x = random_values(8, 3);
  const auto outputs = reference_run(
      evaluation.graph,
      {{model.inputs[0], x}, {evaluation.label, {2, 0}}, {evaluation.weight, {0.5, 3}}});
  const auto& logits = outputs[1];
  for (std::size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += std::exp(logits[row * 3 + k]);
    const double weight = row == 0 ? 0.5 : 3, picked = logits[row * 3 + (row == 0 ? 2 : 0)];
    EXPECT_NEAR(outputs[0][row], weight * (std::log(sum) - picked), 1e-9);
  }
  const TrainingGraph training = make_training_graph(model, LossKind::softmax_cross_entropy);
  EXPECT_EQ(count_ops(training.graph, "Dropout"), 1);
  EXPECT_EQ(count_ops(training.graph, "DropoutGrad"), 1);
}

TEST(Training, NextTokenHasARowPerToken) {
  ModelInterface interface;
  Field field;
  field.name = "x";
  field.kind = FieldKind::tokens;
  field.shape = {5};
  interface.inputs = {field};
  interface.outputs = 11;
  const Graph model =
      build_model("gpt", {{"layers", "2"}, {"width", "8"}, {"heads", "2"}, {"dropout", "0.1"}},
                  interface, 3, 1);
  const TrainingGraph training = make_training_graph(model, LossKind::next_token);
  expect_sound(training.graph);
  EXPECT_EQ(training.graph.tensor(training.label).shape, (Shape{3, 5}));
  EXPECT_EQ(training.graph.tensor(training.weight).shape, (Shape{3, 5}));
  EXPECT_EQ(training.graph.tensor(training.loss).shape, (Shape{3, 5}));
  EXPECT_EQ(training.parameters, model.parameters());
  EXPECT_TRUE(contains(
      refusal([&] { make_training_graph(model, LossKind::softmax_cross_entropy); }), "3x5x11"));
  const Graph mlp = build_model("mlp", {}, numeric_interface(4, 3), 2, 1);
  refusal([&] { make_training_graph(mlp, LossKind::next_token); });
}

TEST(Training, OutputsOfOtherRanksBecomeRows) {
  Graph model;
  const TensorId x = model.add_input("x", DType::f32, {2, 3});
  const TensorId w = model.add_parameter("w", random_tensor({3, 1}, 1));
  const TensorId y = model.add("MatMul", {x, w});
  model.outputs = {model.add("Reshape", {y}, {{"shape", Shape{0}}})};
  const TrainingGraph flat = make_training_graph(model, LossKind::squared_error);
  EXPECT_EQ(flat.graph.tensor(flat.logits).shape, (Shape{2, 1}));
  model.outputs = {model.add("Reshape", {y}, {{"shape", Shape{0, 1, 1, 1}}})};
  const TrainingGraph image = make_training_graph(model, LossKind::squared_error);
  EXPECT_EQ(image.graph.tensor(image.logits).shape, (Shape{2, 1}));
}

TEST(Training, TheLossFollowsFromTheDataSet) {
  DatasetManifest manifest;
  manifest.fields.resize(1);
  manifest.fields[0].kind = FieldKind::label;
  EXPECT_EQ(default_loss(manifest), LossKind::softmax_cross_entropy);
  manifest.fields[0].kind = FieldKind::target;
  EXPECT_EQ(default_loss(manifest), LossKind::sigmoid_cross_entropy);
  manifest.task = LearningTask::regression;
  EXPECT_EQ(default_loss(manifest), LossKind::squared_error);
  manifest.task = LearningTask::next_token;
  EXPECT_EQ(default_loss(manifest), LossKind::next_token);
}

}  // namespace
}  // namespace ddl
