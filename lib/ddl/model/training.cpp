#include "ddl/model/training.h"

#include "ddl/base/error.h"
#include "ddl/model/autodiff.h"

#include <algorithm>
#include <set>
#include <utility>

namespace ddl {
namespace {

// Index of the node that computes a tensor, nodes().size() when none does.
std::size_t producer(const Graph& graph, TensorId tensor) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto& outputs = graph.nodes()[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), tensor) != outputs.end()) return i;
  }
  return graph.nodes().size();
}

// Models for use often end in the activation that their loss contains: the loss takes what is
// before it, since a gradient through both would lose precision.
TensorId before_final_activation(const Graph& graph, TensorId output, LossKind loss) {
  const auto inner = [&](TensorId tensor, std::string_view op) {
    const std::size_t at = producer(graph, tensor);
    if (at == graph.nodes().size() || graph.nodes()[at].op != op) return kNoTensor;
    const Node& node = graph.nodes()[at];
    if (op == "Softmax") {
      const auto rank = static_cast<std::int64_t>(graph.tensor(tensor).shape.size());
      const std::int64_t axis = node.integer("axis", -1);
      if (axis != -1 && axis != rank - 1) return kNoTensor;
    }
    return node.inputs[0];
  };
  TensorId found = kNoTensor;
  if (loss == LossKind::sigmoid_cross_entropy) {
    found = inner(output, "Sigmoid");
  } else if (loss != LossKind::squared_error) {
    const TensorId under_log = inner(output, "Log");
    found = inner(under_log == kNoTensor ? output : under_log, "Softmax");
  }
  return found == kNoTensor ? output : found;
}

// Rows and one axis of columns: [N] becomes [N,1], [N,K,1,1] becomes [N,K].
TensorId as_rows(Graph& graph, TensorId logits, LossKind loss) {
  const Shape shape = graph.tensor(logits).shape;
  if (shape.size() == 1) return graph.add("Reshape", {logits}, {{"shape", Shape{0, 1}}});
  if (shape.size() > 2 && loss != LossKind::next_token &&
      std::all_of(shape.begin() + 2, shape.end(),
                  [](std::int64_t extent) { return extent == 1; })) {
    return graph.add("Flatten", {logits});
  }
  if (shape.size() != (loss == LossKind::next_token ? 3U : 2U)) {
    throw bad_input("output '" + graph.tensor(logits).name + "' has shape " + shape_text(shape) +
                        (loss == LossKind::next_token ? ", expected samples x tokens x vocabulary"
                                                      : ", expected samples x outputs"),
                    "choose a model that fits the data set's task");
  }
  return logits;
}

// Statistics of the task replace the running ones, which become two more outputs.
void train_batch_norms(TrainingGraph& training) {
  Graph& graph = training.graph;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].op != "BatchNormalization") continue;
    const std::vector<TensorId> operands = graph.nodes()[i].inputs;
    // Statistics that are not the model's own buffers stay fixed.
    if (graph.tensor(operands[3]).role != TensorRole::buffer ||
        graph.tensor(operands[4]).role != TensorRole::buffer) {
      continue;
    }
    Node& node = graph.nodes()[i];
    node.op = "BatchNormTraining";
    node.inputs.resize(3);
    const double momentum = 1 - node.real("momentum", 0.9);  // ONNX gives the share that is kept
    const Tensor& x = graph.tensor(operands[0]);
    const std::int64_t per_sample = element_count(Shape(x.shape.begin() + 2, x.shape.end()));
    const TensorId mean = graph.add_output(i), variance = graph.add_output(i);
    training.statistics.push_back({operands[3], mean, momentum, false, per_sample});
    training.statistics.push_back({operands[4], variance, momentum, true, per_sample});
  }
}

std::string free_name(const Graph& graph, const std::string& wish) {
  std::string name = wish;
  for (int suffix = 1; graph.find(name) != kNoTensor; ++suffix) {
    name = wish + "." + std::to_string(suffix);
  }
  return name;
}

// Drops nodes that no output needs.
void prune(Graph& graph) {
  std::vector<bool> needed(graph.tensor_count(), false);
  for (const TensorId id : graph.outputs) needed[static_cast<std::size_t>(id)] = true;
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](TensorId id) {
      return id != kNoTensor && needed[static_cast<std::size_t>(id)];
    });
    if (!used) continue;
    for (const TensorId id : node->inputs) {
      if (id != kNoTensor) needed[static_cast<std::size_t>(id)] = true;
    }
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes() = std::move(kept);
}

const char* loss_op(LossKind loss) {
  switch (loss) {
    case LossKind::sigmoid_cross_entropy:
      return "SigmoidCrossEntropy";
    case LossKind::squared_error:
      return "SquaredError";
    case LossKind::softmax_cross_entropy:
    case LossKind::next_token:
      break;
  }
  return "SoftmaxCrossEntropy";
}

bool takes_classes(LossKind loss) {
  return loss == LossKind::softmax_cross_entropy || loss == LossKind::next_token;
}

// The parts that training and evaluation share: logits, label, weight, loss rows.
void add_head(TrainingGraph& training, LossKind loss) {
  Graph& graph = training.graph;
  if (graph.outputs.empty()) throw bad_input("the model has no output");
  training.logits =
      as_rows(graph, before_final_activation(graph, graph.outputs.front(), loss), loss);
  const Shape logits = graph.tensor(training.logits).shape;
  const Shape rows(logits.begin(), logits.end() - 1);
  training.label =
      graph.add_input(free_name(graph, "label"), takes_classes(loss) ? DType::i64 : DType::f32,
                      takes_classes(loss) ? rows : logits);
  training.weight = graph.add_input(free_name(graph, "weight"), DType::f32, rows);
  training.loss = graph.add(loss_op(loss), {training.logits, training.label, training.weight});
}

}  // namespace

LossKind default_loss(const DatasetManifest& manifest) {
  switch (manifest.task) {
    case LearningTask::next_token:
      return LossKind::next_token;
    case LearningTask::regression:
      return LossKind::squared_error;
    case LearningTask::classification:
      break;
  }
  // Several yes-or-no targets for a sample in place of one class.
  const bool several = manifest.find_field(FieldKind::label) == nullptr &&
                       manifest.find_field(FieldKind::target) != nullptr;
  return several ? LossKind::sigmoid_cross_entropy : LossKind::softmax_cross_entropy;
}

TrainingGraph make_training_graph(const Graph& model, LossKind loss) {
  TrainingGraph training;
  training.graph = model;
  Graph& graph = training.graph;
  add_head(training, loss);
  graph.outputs = {training.loss, training.logits};
  prune(graph);
  train_batch_norms(training);

  const TensorId seed = graph.add(std::string(loss_op(loss)) + "Grad",
                                  {training.logits, training.label, training.weight});
  const std::vector<TensorId> all = graph.parameters();
  const std::vector<TensorId> gradients = differentiate(graph, training.logits, seed, all);
  std::set<TensorId> taken{training.loss, training.logits};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (gradients[i] == kNoTensor) continue;  // kept as it is
    // Two parameters added together have one gradient: each output is a tensor of its own.
    const TensorId gradient =
        taken.insert(gradients[i]).second ? gradients[i] : graph.add("Identity", {gradients[i]});
    taken.insert(gradient);
    training.parameters.push_back(all[i]);
    training.gradients.push_back(gradient);
  }
  graph.outputs.insert(graph.outputs.end(), training.gradients.begin(), training.gradients.end());
  for (const TrainingGraph::Statistic& statistic : training.statistics) {
    graph.outputs.push_back(statistic.value);
  }
  prune(graph);
  return training;
}

TrainingGraph make_evaluation_graph(const Graph& model, LossKind loss) {
  TrainingGraph evaluation;
  evaluation.graph = model;
  add_head(evaluation, loss);
  for (Node& node : evaluation.graph.nodes()) {
    if (node.op != "Dropout") continue;
    node.op = "Identity";
    node.outputs.resize(1);
    node.attributes.clear();
  }
  evaluation.graph.outputs = {evaluation.loss, evaluation.logits};
  prune(evaluation.graph);
  evaluation.parameters = evaluation.graph.parameters();
  return evaluation;
}

}  // namespace ddl
