#include "ddl/comm/exact.h"

#include "ddl/base/error.h"
#include "kernels/exact.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <mutex>
#include <thread>

namespace ddl {
namespace {

// Elements that one lock guards: 128 KiB of sums, so that lanes folding the same tensor stay apart.
constexpr std::size_t kBlock = 16384;
// Largest E whose quantum's second accumulator still has a normal double, and smallest that the
// smallest normal float needs.
constexpr std::int32_t kLowestExponent = -125;
constexpr std::int32_t kHighestExponent = 128;

int ceil_log2(std::int64_t value) {
  return value <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(value - 1));
}

void raise(std::atomic<std::uint32_t>& target, std::uint32_t value) {
  std::uint32_t seen = target.load(std::memory_order_relaxed);
  while (seen < value && !target.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

std::size_t blocks_of(std::size_t elements) {
  return (elements + kBlock - 1) / kBlock;
}

// Runs body(first, count) over the blocks of a tensor under each block's lock, starting at another
// block for each thread.
template <class Body>
void for_each_block(std::size_t elements, std::vector<std::mutex>& locks, std::size_t first_lock,
                    const Body& body) {
  const std::size_t blocks = blocks_of(elements);
  const std::size_t start =
      blocks < 2 ? 0 : std::hash<std::thread::id>{}(std::this_thread::get_id()) % blocks;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t block = (start + i) % blocks;
    const std::size_t first = block * kBlock;
    const std::lock_guard lock(locks[first_lock + block]);
    body(first, std::min(kBlock, elements - first));
  }
}

}  // namespace

struct ExactAccumulator::Impl {
  std::vector<std::size_t> sizes, offsets, first_lock;
  int task_bits;  // L
  std::vector<std::int64_t> sums;
  std::vector<std::vector<std::int64_t>> spills;  // per tensor; empty until needed
  std::vector<std::mutex> locks;                  // one per block
  std::mutex spill_lock;
  std::vector<std::atomic<std::uint32_t>> largest;  // magnitude bits of this step
  std::vector<std::atomic<bool>> spilled;
  std::atomic<std::int64_t> bad_tensor;
  std::vector<std::int32_t> exponents;       // kept from step to step; kZero: was zero so far
  std::vector<std::int32_t> step_exponents;  // what this step uses

  static constexpr std::int64_t kNoTensorBad = INT64_MAX;

  Impl(std::vector<std::size_t> tensor_sizes, std::int64_t tasks)
      : sizes(std::move(tensor_sizes)),
        task_bits(ceil_log2(tasks)),
        largest(sizes.size()),
        spilled(sizes.size()),
        bad_tensor(kNoTensorBad),
        exponents(sizes.size(), ExactExponents::kZero),
        step_exponents(sizes.size(), 0) {
    std::size_t elements = 0, blocks = 0;
    for (const std::size_t size : sizes) {
      offsets.push_back(elements);
      first_lock.push_back(blocks);
      elements += size;
      blocks += blocks_of(size);
    }
    sums.resize(elements);
    spills.resize(sizes.size());
    locks = std::vector<std::mutex>(blocks);
  }

  void choose_step_exponents() {
    std::int32_t highest = ExactExponents::kZero;
    for (const std::int32_t exponent : exponents) highest = std::max(highest, exponent);
    // A model whose every tensor was zero so far has no measure yet: 2^0 is as good as any.
    if (highest == ExactExponents::kZero) highest = 0;
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      step_exponents[t] = exponents[t] == ExactExponents::kZero ? highest : exponents[t];
    }
  }

  void mark_bad(std::size_t tensor) {
    auto index = static_cast<std::int64_t>(tensor);
    std::int64_t seen = bad_tensor.load();
    while (index < seen && !bad_tensor.compare_exchange_weak(seen, index)) {
    }
  }

  std::int64_t* spill_of(std::size_t tensor) {
    const std::lock_guard lock(spill_lock);
    if (spills[tensor].empty()) spills[tensor].resize(sizes[tensor]);
    return spills[tensor].data();
  }

  const std::int64_t* spill_or_null(std::size_t tensor) const {
    return spilled[tensor].load(std::memory_order_relaxed) ? spills[tensor].data() : nullptr;
  }
};

ExactAccumulator::ExactAccumulator(std::vector<std::size_t> sizes, std::int64_t tasks_per_step)
    : impl_(std::make_unique<Impl>(std::move(sizes), tasks_per_step)) {
  if (tasks_per_step < 1 || impl_->task_bits > 20) {
    throw bad_input(std::to_string(tasks_per_step) + " tasks a step",
                    "the exact reduction takes 1 to 2^20; use a larger task size");
  }
}

ExactAccumulator::~ExactAccumulator() = default;

void ExactAccumulator::observe_exponents(int tensor, std::span<const float> values) {
  const std::uint32_t bits = kernels::largest_magnitude_bits(values.data(), values.size());
  if (bits == 0) return;
  if (bits >= kernels::kInfinityBits) {
    throw failure(
        "task 0 gives a gradient that is not finite (tensor " + std::to_string(tensor) + ")",
        "look for NaN or Inf in the data, or lower the initial weights");
  }
  std::int32_t& exponent = impl_->exponents[static_cast<std::size_t>(tensor)];
  exponent = std::max({exponent, kernels::exponent_of_magnitude(bits), kLowestExponent});
}

ExactExponents ExactAccumulator::exponents() const {
  return {impl_->exponents};
}

void ExactAccumulator::set_exponents(const ExactExponents& exponents) {
  if (exponents.exponents.size() != impl_->sizes.size()) {
    throw bad_input("found exponents of " + std::to_string(exponents.exponents.size()) +
                    " tensors, expected " + std::to_string(impl_->sizes.size()));
  }
  for (const std::int32_t exponent : exponents.exponents) {
    if (exponent != ExactExponents::kZero &&
        (exponent < kLowestExponent || exponent > kHighestExponent)) {
      throw bad_input("found exponent " + std::to_string(exponent) + ", expected " +
                      std::to_string(kLowestExponent) + " to " + std::to_string(kHighestExponent));
    }
  }
  impl_->exponents = exponents.exponents;
}

void ExactAccumulator::begin_step() {
  Impl& impl = *impl_;
  std::fill(impl.sums.begin(), impl.sums.end(), 0);
  for (std::size_t t = 0; t < impl.sizes.size(); ++t) {
    impl.largest[t].store(0, std::memory_order_relaxed);
    if (impl.spilled[t].exchange(false)) {
      std::fill(impl.spills[t].begin(), impl.spills[t].end(), 0);
    }
  }
  impl.bad_tensor.store(Impl::kNoTensorBad);
  impl.choose_step_exponents();
}

void ExactAccumulator::add(int tensor, std::span<const float> values) {
  Impl& impl = *impl_;
  const auto t = static_cast<std::size_t>(tensor);
  if (values.size() != impl.sizes[t]) {
    throw failure("internal error: tensor " + std::to_string(tensor) + " has " +
                  std::to_string(impl.sizes[t]) + " elements, " + std::to_string(values.size()) +
                  " were added");
  }
  const std::uint32_t bits = kernels::largest_magnitude_bits(values.data(), values.size());
  if (bits == 0) return;
  if (bits >= kernels::kInfinityBits) {
    impl.mark_bad(t);
    return;
  }
  // How far the task lies above the bound: |k| < 2^(40 + excess) must stay below 2^(62 - L).
  const int quantum_exponent = impl.step_exponents[t];
  const int excess = kernels::exponent_of_magnitude(bits) - quantum_exponent;
  const int room = 62 - kernels::kFractionBits - impl.task_bits;
  std::int64_t* target = impl.sums.data() + impl.offsets[t];
  int exponent = quantum_exponent;
  if (excess > room) {
    if (excess > room + kernels::kSpillBits) {
      impl.mark_bad(t);
      return;
    }
    target = impl.spill_of(t);
    impl.spilled[t].store(true, std::memory_order_relaxed);
    exponent += kernels::kSpillBits;
  }
  raise(impl.largest[t], bits);
  for_each_block(
      values.size(), impl.locks, impl.first_lock[t], [&](std::size_t first, std::size_t count) {
        kernels::quantise_add(values.data() + first, count, exponent, bits, target + first);
      });
}

ExactStep ExactAccumulator::reduce(Communicator& communicator) {
  Impl& impl = *impl_;
  const std::size_t tensors = impl.sizes.size();
  // One small reduction says what the sums need: per tensor the largest magnitude and whether it
  // spilled, and the lowest bad tensor (negated, since the operation is a maximum).
  std::vector<std::int64_t> words(2 * tensors + 1);
  for (std::size_t t = 0; t < tensors; ++t) {
    words[2 * t] = impl.largest[t].load();
    words[2 * t + 1] = impl.spilled[t].load() ? 1 : 0;
  }
  words[2 * tensors] = -impl.bad_tensor.load();
  communicator.all_reduce(std::span(words), ReduceOp::max);

  ExactStep step;
  if (words[2 * tensors] != -Impl::kNoTensorBad) {
    step.bad = true;
    step.bad_tensor = static_cast<int>(-words[2 * tensors]);
    return step;  // nobody's sums are used, and the exponents stay
  }
  communicator.all_reduce(std::span(impl.sums), ReduceOp::sum);
  for (std::size_t t = 0; t < tensors; ++t) {
    if (words[2 * t + 1] == 0) continue;
    ++step.spilled_tensors;
    impl.spill_of(t);
    impl.spilled[t].store(true);
    communicator.all_reduce(std::span(impl.spills[t]), ReduceOp::sum);
  }
  for (std::size_t t = 0; t < tensors; ++t) {
    std::int32_t& exponent = impl.exponents[t];
    const auto bits = static_cast<std::uint32_t>(words[2 * t]);
    if (exponent != ExactExponents::kZero) exponent = std::max(exponent - 1, kLowestExponent);
    if (bits != 0)
      exponent = std::max({exponent, kernels::exponent_of_magnitude(bits), kLowestExponent});
  }
  return step;
}

void ExactAccumulator::read(int tensor, double scale, std::span<float> out) const {
  read_range(tensor, 0, scale, out);
}

void ExactAccumulator::read_range(int tensor, std::size_t first, double scale,
                                  std::span<float> out) const {
  const Impl& impl = *impl_;
  const auto t = static_cast<std::size_t>(tensor);
  if (first > impl.sizes[t] || out.size() > impl.sizes[t] - first) {
    throw failure("internal error: a range beyond tensor " + std::to_string(tensor));
  }
  const std::int64_t* spill = impl.spill_or_null(t);
  kernels::read_sums(impl.sums.data() + impl.offsets[t] + first,
                     spill == nullptr ? nullptr : spill + first, out.size(), impl.step_exponents[t],
                     scale, out.data());
}

std::size_t ExactAccumulator::bytes() const {
  std::size_t elements = impl_->sums.size();
  for (const auto& spill : impl_->spills) elements += spill.size();
  return elements * sizeof(std::int64_t);
}

struct FastAccumulator::Impl {
  std::vector<std::size_t> sizes, offsets, first_lock;
  std::vector<float> sums;
  std::vector<std::mutex> locks;
};

FastAccumulator::FastAccumulator(std::vector<std::size_t> sizes) : impl_(std::make_unique<Impl>()) {
  std::size_t elements = 0, blocks = 0;
  for (const std::size_t size : sizes) {
    impl_->offsets.push_back(elements);
    impl_->first_lock.push_back(blocks);
    elements += size;
    blocks += blocks_of(size);
  }
  impl_->sizes = std::move(sizes);
  impl_->sums.resize(elements);
  impl_->locks = std::vector<std::mutex>(blocks);
}

FastAccumulator::~FastAccumulator() = default;

void FastAccumulator::begin_step() {
  std::fill(impl_->sums.begin(), impl_->sums.end(), 0.0F);
}

void FastAccumulator::add(int tensor, std::span<const float> values) {
  Impl& impl = *impl_;
  const auto t = static_cast<std::size_t>(tensor);
  if (values.size() != impl.sizes[t]) {
    throw failure("internal error: tensor " + std::to_string(tensor) + " has another size");
  }
  float* target = impl.sums.data() + impl.offsets[t];
  for_each_block(values.size(), impl.locks, impl.first_lock[t],
                 [&](std::size_t first, std::size_t count) {
                   for (std::size_t i = first; i < first + count; ++i) target[i] += values[i];
                 });
}

ExactStep FastAccumulator::reduce(Communicator& communicator) {
  Impl& impl = *impl_;
  communicator.all_reduce(std::span(impl.sums), ReduceOp::sum);
  std::int64_t bad = -INT64_MAX;
  for (std::size_t t = 0; t < impl.sizes.size() && bad == -INT64_MAX; ++t) {
    const float* values = impl.sums.data() + impl.offsets[t];
    if (!std::all_of(values, values + impl.sizes[t], [](float v) { return std::isfinite(v); })) {
      bad = -static_cast<std::int64_t>(t);
    }
  }
  bad = communicator.all_reduce(bad, ReduceOp::max);
  ExactStep step;
  step.bad = bad != -INT64_MAX;
  step.bad_tensor = step.bad ? static_cast<int>(-bad) : -1;
  return step;
}

void FastAccumulator::read_range(int tensor, std::size_t first, double scale,
                                 std::span<float> out) const {
  const float* values =
      impl_->sums.data() + impl_->offsets[static_cast<std::size_t>(tensor)] + first;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(static_cast<double>(values[i]) * scale);
  }
}

}  // namespace ddl
