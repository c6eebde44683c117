// Small built-in models as training problems, with random data of the right kind.
#pragma once

#include "ddl/model/builtin.h"
#include "ddl/model/training.h"

#include <map>
#include <string>
#include <vector>

#include "unit/compute/problem.h"

namespace ddl::test {

struct ModelCase {
  std::string name, model;
  std::map<std::string, std::string> options;
  ModelInterface interface;
  LossKind loss = LossKind::softmax_cross_entropy;
  std::int64_t samples = 3;
};
const std::vector<ModelCase>& model_cases();

struct TrainingProblem {
  TrainingGraph training;
  Problem problem;  // its graph is the training graph
};
TrainingProblem make_training_problem(const ModelCase& from, std::uint64_t seed);

}  // namespace ddl::test
