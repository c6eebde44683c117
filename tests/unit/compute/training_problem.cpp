#include "unit/compute/training_problem.h"

#include <algorithm>

namespace ddl::test {
namespace {

Field field(std::string name, FieldKind kind, DType dtype, Shape shape) {
  Field made;
  made.name = std::move(name);
  made.kind = kind;
  made.dtype = dtype;
  made.shape = std::move(shape);
  return made;
}

Field categories(std::vector<std::size_t> counts) {
  Field made =
      field("c", FieldKind::category, DType::i32, {static_cast<std::int64_t>(counts.size())});
  for (std::size_t column = 0; column < counts.size(); ++column) {
    made.columns.push_back("column " + std::to_string(column));
    made.categories.emplace_back();
    for (std::size_t code = 0; code < counts[column]; ++code) {
      made.categories.back().push_back("v" + std::to_string(code));
    }
  }
  return made;
}

Field numeric(std::int64_t columns) {
  Field made = field("x", FieldKind::numeric, DType::f32, {columns});
  for (std::int64_t i = 0; i < columns; ++i) made.columns.push_back("n" + std::to_string(i));
  return made;
}

}  // namespace

const std::vector<ModelCase>& model_cases() {
  static const std::vector<ModelCase> cases{
      {"mlp", "mlp", {{"hidden", "17,9"}}, {{numeric(11)}, 5}, LossKind::softmax_cross_entropy, 6},
      {"mlp_regression",
       "mlp",
       {{"hidden", "13"}, {"activation", "gelu"}},
       {{numeric(7)}, 2},
       LossKind::squared_error,
       5},
      {"mlp_many_labels",
       "mlp",
       {{"hidden", "13"}, {"activation", "tanh"}},
       {{numeric(7)}, 3},
       LossKind::sigmoid_cross_entropy,
       5},
      {"lenet",
       "lenet",
       {},
       {{field("x", FieldKind::image, DType::u8, {1, 28, 28})}, 10},
       LossKind::softmax_cross_entropy,
       1},
      {"resnet18",
       "resnet18",
       {{"width", "3"}},
       {{field("x", FieldKind::image, DType::u8, {3, 16, 16})}, 4},
       LossKind::softmax_cross_entropy,
       2},
      {"gpt",
       "gpt",
       {{"layers", "2"}, {"heads", "2"}, {"width", "12"}},
       {{field("x", FieldKind::tokens, DType::u8, {8})}, 21},
       LossKind::next_token,
       3},
      {"tabular",
       "tabular",
       {{"hidden", "16,8"}},
       {{numeric(5), categories({3, 4, 9})}, 2},
       LossKind::softmax_cross_entropy,
       7}};
  return cases;
}

TrainingProblem make_training_problem(const ModelCase& from, std::uint64_t seed) {
  const Graph model = build_model(from.model, from.options, from.interface, from.samples, seed);
  TrainingProblem made{make_training_graph(model, from.loss), Problem(seed)};
  Graph& graph = made.training.graph;
  Problem& problem = made.problem;
  for (const TensorId id : graph.inputs) {
    const Tensor& input = graph.tensor(id);
    auto value = make_host_tensor(input.dtype, input.shape);
    const auto count = static_cast<std::size_t>(element_count(input.shape));
    // Below every vocabulary and category count of the cases.
    const std::uint64_t bound =
        id == made.training.label ? static_cast<std::uint64_t>(from.interface.outputs) : 3;
    for (std::size_t i = 0; i < count; ++i) {
      if (input.dtype == DType::i64) {
        value->as<std::int64_t>()[i] = static_cast<std::int64_t>(problem.random.below(bound));
      } else if (input.dtype == DType::i32) {
        value->as<std::int32_t>()[i] = static_cast<std::int32_t>(problem.random.below(bound));
      } else if (id == made.training.weight) {
        // One row is ignored, the others count by halves.
        value->as<float>()[i] = i == 1 ? 0.0F : 0.5F * static_cast<float>(i % 3 + 1);
      } else {
        value->as<float>()[i] = static_cast<float>(problem.random.normal());
      }
    }
    problem.feed(id, std::move(value));
  }
  for (const TensorId id : graph.parameters()) {
    // Values of all parameters are random: biases and scales at their initial 0 and 1 hide errors.
    auto value = std::make_shared<HostTensor>(*graph.tensor(id).value);
    const auto count = static_cast<std::size_t>(element_count(value->shape));
    for (std::size_t i = 0; i < count; ++i) {
      value->as<float>()[i] += 0.05F * static_cast<float>(problem.random.normal());
    }
    problem.feed(id, std::move(value));
  }
  problem.graph = graph;
  return made;
}

}  // namespace ddl::test
