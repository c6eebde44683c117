#include "unit/comm/reference_sums.h"

#include "ddl/base/error.h"
#include "ddl/comm/thread_communicator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <ostream>
#include <thread>

namespace ddl::test {
namespace {

// Smallest E with |g| < 2^E.
int exponent_of(float value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return exponent;
}

// Infinity when there is an Inf or NaN.
float largest_of(const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) return INFINITY;
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

void add_lanes(ExactAccumulator& accumulator, const Tasks& tasks,
               const std::vector<std::vector<std::size_t>>& lanes) {
  const auto lane = [&](const std::vector<std::size_t>& mine) {
    for (const std::size_t task : mine)
      for (std::size_t t = 0; t < tasks[task].size(); ++t)
        accumulator.add(static_cast<int>(t), tasks[task][t]);
  };
  std::vector<std::thread> threads;
  for (std::size_t l = 1; l < lanes.size(); ++l) threads.emplace_back(lane, lanes[l]);
  if (!lanes.empty()) lane(lanes[0]);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Int128 reference_quanta(float value, int exponent) {
  return static_cast<Int128>(
      std::nearbyint(std::ldexp(static_cast<long double>(value), 40 - exponent)));
}

ReferenceAccumulator::ReferenceAccumulator(std::vector<std::size_t> sizes,
                                           std::int64_t tasks_per_step)
    : exponents(sizes.size(), ExactExponents::kZero), sizes_(std::move(sizes)) {
  int log2 = 0;
  while ((std::int64_t{1} << log2) < tasks_per_step) ++log2;
  limit_bits_ = 62 - log2;
}

ReferenceAccumulator::Sums ReferenceAccumulator::sum(const Tasks& tasks, std::size_t tensor,
                                                     int exponent) const {
  Sums sums;
  sums.exponent = exponent;
  sums.first.assign(sizes_[tensor], 0);
  sums.second.assign(sizes_[tensor], 0);
  const auto within = [&](float largest, int e) {
    // Beyond 2^64 quanta the exponent alone tells.
    return largest == 0 || (exponent_of(largest) <= e + 24 &&
                            reference_quanta(largest, e) <= Int128{1} << limit_bits_);
  };
  for (const Tensors& task : tasks) {
    const std::vector<float>& values = task[tensor];
    const float largest = largest_of(values);
    if (std::isfinite(largest)) sums.largest = std::max(sums.largest, largest);
    if (!std::isfinite(largest) || !within(largest, exponent + 24)) {
      sums.bad = true;
      continue;
    }
    const bool spills = !within(largest, exponent);
    if (spills) sums.spilled = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      (spills ? sums.second : sums.first)[i] +=
          reference_quanta(values[i], exponent + (spills ? 24 : 0));
    }
  }
  return sums;
}

ExactStep ReferenceAccumulator::step(const Tasks& tasks) {
  constexpr std::int32_t kZero = ExactExponents::kZero;
  std::int32_t model = *std::max_element(exponents.begin(), exponents.end());
  if (model == kZero) model = 0;
  ExactStep result;
  sums_.clear();
  for (std::size_t t = 0; t < sizes_.size(); ++t) {
    std::int32_t& exponent = exponents[t];
    const Sums sums = sum(tasks, t, exponent == kZero ? model : exponent);
    if (sums.largest > 0) {
      const int reached = exponent_of(sums.largest);
      exponent = exponent == kZero ? reached : std::max(reached, exponent - 1);
    }
    result.spilled_tensors += sums.spilled ? 1 : 0;
    if (sums.bad && !result.bad) {
      result.bad = true;
      result.bad_tensor = static_cast<int>(t);
    }
    sums_.push_back(sums);
  }
  return result;
}

Tensors ReferenceAccumulator::read(double scale) const {
  Tensors out;
  for (const Sums& sums : sums_) {
    const double quantum = std::ldexp(1.0, sums.exponent - 40);
    const double larger = std::ldexp(1.0, sums.exponent - 16);
    std::vector<float> values;
    for (std::size_t i = 0; i < sums.first.size(); ++i) {
      const double first = static_cast<double>(static_cast<std::int64_t>(sums.first[i])) * quantum;
      const double second = static_cast<double>(static_cast<std::int64_t>(sums.second[i])) * larger;
      values.push_back(static_cast<float>((first + second) * scale));
    }
    out.push_back(std::move(values));
  }
  return out;
}

std::vector<float> random_tensor(std::size_t size, int lowest, int highest, Random& random) {
  std::vector<float> values(size);
  for (float& value : values) {
    const int n =
        lowest + static_cast<int>(random.below(static_cast<std::uint64_t>(highest - lowest + 1)));
    const double normal = random.normal();
    value = random.below(16) == 0 ? 0.0F : static_cast<float>(std::ldexp(normal, n));
  }
  return values;
}

Tasks random_tasks(std::size_t tasks, const std::vector<std::size_t>& sizes, int lowest,
                   int highest, Random& random) {
  Tasks all(tasks);
  for (Tensors& task : all)
    for (const std::size_t size : sizes)
      task.push_back(random_tensor(size, lowest, highest, random));
  return all;
}

Deal deal_tasks(std::size_t tasks, std::size_t ranks, std::size_t lanes, Random& random) {
  Deal deal(ranks, std::vector<std::vector<std::size_t>>(lanes));
  for (const std::uint32_t task :
       random_permutation(static_cast<std::uint32_t>(tasks), Random(random.next_u64(), "deal"))) {
    deal[random.below(ranks)][random.below(lanes)].push_back(task);
  }
  return deal;
}

bool StepResult::operator==(const StepResult& other) const {
  return step.bad == other.step.bad && step.bad_tensor == other.step.bad_tensor &&
         step.spilled_tensors == other.step.spilled_tensors && exponents == other.exponents &&
         std::equal(sums.begin(), sums.end(), other.sums.begin(), other.sums.end(),
                    [](const auto& a, const auto& b) { return bits(a) == bits(b); });
}

std::ostream& operator<<(std::ostream& out, const StepResult& result) {
  out << (result.step.bad ? "bad tensor " + std::to_string(result.step.bad_tensor) : "good")
      << ", spilled " << result.step.spilled_tensors << ", exponents";
  for (const std::int32_t e : result.exponents.exponents) out << ' ' << e;
  out << ", sums begin";
  for (const auto& tensor : result.sums) out << ' ' << (tensor.empty() ? 0.0F : tensor.front());
  return out;
}

std::vector<StepResult> run_steps(const std::vector<std::size_t>& sizes,
                                  std::int64_t tasks_per_step, const ExactExponents& exponents,
                                  const std::vector<Tasks>& steps, const std::vector<Deal>& deals,
                                  double scale) {
  const std::size_t ranks = deals.at(0).size();
  std::vector<std::vector<StepResult>> results(ranks);
  run_ranks(static_cast<int>(ranks), [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    ExactAccumulator accumulator(sizes, tasks_per_step);
    accumulator.set_exponents(exponents);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      accumulator.begin_step();
      add_lanes(accumulator, steps[s], deals[s][rank]);
      StepResult result;
      result.step = accumulator.reduce(communicator);
      for (std::size_t t = 0; t < sizes.size() && !result.step.bad; ++t) {
        result.sums.emplace_back(sizes[t]);
        accumulator.read(static_cast<int>(t), scale, result.sums.back());
      }
      result.exponents = accumulator.exponents();
      results[rank].push_back(std::move(result));
    }
  });
  for (std::size_t r = 1; r < ranks; ++r) {
    if (results[r] != results[0])
      throw failure("rank " + std::to_string(r) + " ended with other sums than rank 0");
  }
  return results[0];
}

std::vector<StepResult> run_steps(const std::vector<std::size_t>& sizes,
                                  std::int64_t tasks_per_step, const ExactExponents& exponents,
                                  const std::vector<Tasks>& steps, double scale) {
  std::vector<Deal> deals;
  for (const Tasks& tasks : steps) {
    std::vector<std::size_t> all(tasks.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    deals.push_back({{all}});
  }
  return run_steps(sizes, tasks_per_step, exponents, steps, deals, scale);
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> out;
  for (const float value : values) out.push_back(std::bit_cast<std::uint32_t>(value));
  return out;
}

}  // namespace ddl::test
