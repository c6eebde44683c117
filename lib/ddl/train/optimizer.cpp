#include "ddl/train/optimizer.h"

#include "ddl/base/error.h"

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
  const auto decay = static_cast<float>(recipe_.weight_decay);
  if (adamw_) {
    const auto beta1 = static_cast<float>(recipe_.beta1), beta2 = static_cast<float>(recipe_.beta2);
    const auto count = static_cast<double>(updates_);
    const auto correction1 = static_cast<float>(1.0 - std::pow(recipe_.beta1, count));
    const auto correction2 = static_cast<float>(1.0 - std::pow(recipe_.beta2, count));
    const auto epsilon = static_cast<float>(recipe_.epsilon);
    float* m = first_[parameter].data() + first;
    float* v = second_[parameter].data() + first;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float g = gradient[i];
      m[i] = beta1 * m[i] + (1.0F - beta1) * g;
      v[i] = beta2 * v[i] + (1.0F - beta2) * g * g;
      const float decayed = weights[i] - learning_rate * decay * weights[i];
      weights[i] = decayed -
                   learning_rate * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + epsilon);
    }
    return;
  }
  const auto momentum = static_cast<float>(recipe_.momentum);
  float* velocity = first_.empty() ? nullptr : first_[parameter].data() + first;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float step = gradient[i] + decay * weights[i];
    if (velocity != nullptr) step = velocity[i] = momentum * velocity[i] + step;
    weights[i] = weights[i] - learning_rate * step;
  }
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
