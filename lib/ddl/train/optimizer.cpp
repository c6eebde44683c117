#include "ddl/train/optimizer.h"

#include "ddl/base/error.h"
#include "kernels/host_loops.h"

#include <cmath>

namespace ddl {
namespace {

void require(bool fine, const std::string& what) {
  if (!fine) throw bad_input(what);
}

}  // namespace

Optimizer::Optimizer(const TrainingRecipe& recipe, std::vector<std::size_t> sizes)
    : recipe_(recipe), adamw_(recipe.optimizer == "adamw") {
  require(adamw_ || recipe.optimizer == "sgd",
          "unknown optimizer '" + recipe.optimizer + "'; use sgd or adamw");
  require(recipe.momentum >= 0 && recipe.momentum < 1, "the momentum must lie in [0, 1)");
  require(recipe.beta1 >= 0 && recipe.beta1 < 1 && recipe.beta2 >= 0 && recipe.beta2 < 1,
          "beta1 and beta2 must lie in [0, 1)");
  require(recipe.epsilon > 0 && std::isfinite(recipe.epsilon), "epsilon must be above 0");
  require(recipe.weight_decay >= 0 && std::isfinite(recipe.weight_decay),
          "the weight decay must be at least 0");
  for (const std::size_t size : sizes) {
    if (adamw_ || recipe.momentum > 0) first_.emplace_back(size, 0.0F);
    if (adamw_) second_.emplace_back(size, 0.0F);
  }
}

void Optimizer::update(std::size_t parameter, std::size_t first, float learning_rate,
                       std::span<const float> gradient, std::span<float> weights) {
  if (adamw_) {
    const auto count = static_cast<double>(updates_);
    kernels::AdamwCoefficients coefficients;
    coefficients.learning_rate = learning_rate;
    coefficients.beta1 = static_cast<float>(recipe_.beta1);
    coefficients.beta2 = static_cast<float>(recipe_.beta2);
    coefficients.epsilon = static_cast<float>(recipe_.epsilon);
    coefficients.weight_decay = static_cast<float>(recipe_.weight_decay);
    coefficients.correction1 = static_cast<float>(1.0 - std::pow(recipe_.beta1, count));
    coefficients.correction2 = static_cast<float>(1.0 - std::pow(recipe_.beta2, count));
    kernels::adamw_update(weights.data(), first_[parameter].data() + first,
                          second_[parameter].data() + first, gradient.data(), gradient.size(),
                          coefficients);
    return;
  }
  kernels::SgdCoefficients coefficients;
  coefficients.learning_rate = learning_rate;
  coefficients.momentum = static_cast<float>(recipe_.momentum);
  coefficients.weight_decay = static_cast<float>(recipe_.weight_decay);
  float* velocity = first_.empty() ? nullptr : first_[parameter].data() + first;
  kernels::sgd_update(weights.data(), velocity, gradient.data(), gradient.size(), coefficients);
}

std::vector<std::pair<std::string, std::vector<std::vector<float>>*>> Optimizer::state() {
  if (adamw_) return {{"m", &first_}, {"v", &second_}};
  if (!first_.empty()) return {{"momentum", &first_}};
  return {};
}

std::uint64_t Optimizer::bytes() const {
  std::uint64_t total = 0;
  for (const auto* state : {&first_, &second_})
    for (const auto& values : *state) total += values.size() * sizeof(float);
  return total;
}

std::size_t Optimizer::state_bytes_per_element(const TrainingRecipe& recipe) {
  if (recipe.optimizer == "adamw") return 2 * sizeof(float);
  return recipe.momentum > 0 ? sizeof(float) : 0;
}

}  // namespace ddl
