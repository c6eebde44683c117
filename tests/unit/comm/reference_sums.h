// What ddl/comm/exact.h says, done the slow way: 128-bit integers, long double rounding, one task
// after the other. And random tensors over many magnitudes to try it on.
#pragma once

#include "ddl/base/random.h"
#include "ddl/comm/exact.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddl::test {

__extension__ typedef __int128 Int128;  // pedantic compilers want to be told

using Tensors = std::vector<std::vector<float>>;  // one task's, in order
using Tasks = std::vector<Tensors>;

// round_to_nearest_even(value / 2^(exponent - 40)) in long double.
Int128 reference_quanta(float value, int exponent);

class ReferenceAccumulator {
 public:
  ReferenceAccumulator(std::vector<std::size_t> sizes, std::int64_t tasks_per_step);
  std::vector<std::int32_t> exponents;  // before the next step
  // One whole step; its sums are kept until the next one.
  ExactStep step(const Tasks& tasks);
  Tensors read(double scale) const;

 private:
  struct Sums {
    int exponent = 0;
    std::vector<Int128> first, second;
    bool spilled = false, bad = false;
    float largest = 0;
  };
  Sums sum(const Tasks& tasks, std::size_t tensor, int exponent) const;

  std::vector<std::size_t> sizes_;
  int limit_bits_ = 62;
  std::vector<Sums> sums_;
};

// Normal values times 2^n, n uniform in [lowest, highest]; one in 16 is zero.
std::vector<float> random_tensor(std::size_t size, int lowest, int highest, Random& random);
Tasks random_tasks(std::size_t tasks, const std::vector<std::size_t>& sizes, int lowest,
                   int highest, Random& random);

// How a step's tasks are dealt: per rank, per lane, the tasks in the order they are added.
using Deal = std::vector<std::vector<std::vector<std::size_t>>>;
Deal deal_tasks(std::size_t tasks, std::size_t ranks, std::size_t lanes, Random& random);

struct StepResult {
  ExactStep step;
  Tensors sums;  // empty after a bad step
  ExactExponents exponents;
  bool operator==(const StepResult& other) const;
};
std::ostream& operator<<(std::ostream& out, const StepResult& result);

// Runs `steps` one after the other on ranks and lanes that are threads, from `exponents`; checks
// that all ranks end with the same, and returns it for each step.
std::vector<StepResult> run_steps(const std::vector<std::size_t>& sizes,
                                  std::int64_t tasks_per_step, const ExactExponents& exponents,
                                  const std::vector<Tasks>& steps, const std::vector<Deal>& deals,
                                  double scale);
// The same for one rank and one lane in task order.
std::vector<StepResult> run_steps(const std::vector<std::size_t>& sizes,
                                  std::int64_t tasks_per_step, const ExactExponents& exponents,
                                  const std::vector<Tasks>& steps, double scale = 1.0);

// Bits, so that -0 differs from 0 and NaN equals itself.
std::vector<std::uint32_t> bits(const std::vector<float>& values);

}  // namespace ddl::test
