#include "ddl/train/schedule.h"

#include "ddl/base/error.h"
#include "ddl/base/units.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace ddl {

std::int64_t duration_steps(const std::string& text, std::int64_t steps_per_epoch) {
  const Duration duration = parse_duration(text);
  if (duration.count < 0) throw bad_input("duration '" + text + "' is negative");
  if (duration.in_steps) return duration.count;
  if (duration.count > std::numeric_limits<std::int64_t>::max() / steps_per_epoch)
    throw bad_input("duration '" + text + "' is too long");
  return duration.count * steps_per_epoch;
}

Schedule::Schedule(const TrainingRecipe& recipe, std::int64_t steps_per_epoch)
    : base_(recipe.learning_rate),
      final_(recipe.final_learning_rate),
      cosine_(recipe.schedule == "cosine"),
      total_steps_(duration_steps(recipe.length, steps_per_epoch)),
      warmup_steps_(duration_steps(recipe.warmup, steps_per_epoch)) {
  if (!cosine_ && recipe.schedule != "constant")
    throw bad_input("unknown schedule '" + recipe.schedule + "'", "use constant or cosine");
  if (!std::isfinite(base_) || base_ < 0)
    throw bad_input("the learning rate must be a number of at least 0");
  if (!std::isfinite(final_) || final_ < 0)
    throw bad_input("the final learning rate must be a number of at least 0");
  if (total_steps_ < 1)
    throw bad_input("a training of " + recipe.length + " has no step",
                    "give a length of at least 1st, for example --length 10ep");
  if (warmup_steps_ > total_steps_)
    throw bad_input("the warm-up of " + std::to_string(warmup_steps_) +
                        " steps is longer than the training of " + std::to_string(total_steps_),
                    "shorten --warmup or lengthen --length");
}

float Schedule::learning_rate(std::int64_t step) const {
  if (step < warmup_steps_)
    return static_cast<float>(base_ * static_cast<double>(step + 1) /
                              static_cast<double>(warmup_steps_));
  if (!cosine_) return static_cast<float>(base_);
  const double part =
      static_cast<double>(step - warmup_steps_) / static_cast<double>(total_steps_ - warmup_steps_);
  const double wave = (1.0 + std::cos(std::numbers::pi * part)) / 2.0;
  return static_cast<float>(final_ + (base_ - final_) * wave);
}

std::string Schedule::text() const {
  const auto number = [](double value) {
    std::string digits = std::to_string(value);
    while (digits.back() == '0') digits.pop_back();
    if (digits.back() == '.') digits.pop_back();
    return digits == "0" && value > 0 ? std::to_string(value * 1e6) + "e-6" : digits;
  };
  std::string out = "learning rate " + number(base_);
  if (warmup_steps_ > 0) out += " after " + std::to_string(warmup_steps_) + " steps of warm-up";
  if (cosine_) out += ", cosine to " + number(final_);
  return out + ", " + std::to_string(total_steps_) + " steps";
}

}  // namespace ddl
