// The learning rate: a pure function of the global step, the same for any number of workers.
//
//   warm-up   step < w:   base * (step + 1) / w
//   constant              base
//   cosine    step >= w:  final + (base - final) * (1 + cos(pi * (step - w) / (total - w))) / 2
// The result is rounded to fp32, so that last-bit differences between math libraries vanish.
#pragma once

#include "ddl/artifact/run.h"

#include <cstdint>
#include <string>

namespace ddl {

class Schedule {
 public:
  // Durations of the recipe are turned into steps with `steps_per_epoch`. bad_input on an unknown
  // schedule, a length of 0 steps or a warm-up longer than the training.
  Schedule(const TrainingRecipe& recipe, std::int64_t steps_per_epoch);
  float learning_rate(std::int64_t step) const;
  std::int64_t total_steps() const { return total_steps_; }
  std::int64_t warmup_steps() const { return warmup_steps_; }
  // One line for the start of a run.
  std::string text() const;

 private:
  double base_, final_;
  bool cosine_;
  std::int64_t total_steps_, warmup_steps_;
};

// A Duration in steps.
std::int64_t duration_steps(const std::string& text, std::int64_t steps_per_epoch);

}  // namespace ddl
