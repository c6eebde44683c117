#include "ddl/comm/exact.h"

#include "ddl/base/error.h"
#include "ddl/comm/blocks_internal.h"
#include "kernels/exact.h"
#include "kernels/host_loops.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <utility>

namespace ddl {
namespace {

constexpr std::int64_t kMostTasks = std::int64_t{1} << 22;  // beyond, 2^E itself would not fit
constexpr int kLargestExponent = 128;                       // of the largest float
// Elements whose maximum is taken before they are added: values and sums stay in the first cache
// between the two, so that memory is read once.
constexpr std::size_t kChunk = 2048;

void raise(std::atomic<std::uint32_t>& value, std::uint32_t to) {
  std::uint32_t seen = value.load(std::memory_order_relaxed);
  while (seen < to && !value.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

struct ExactAccumulator::Impl {
  // What the tasks of this step have shown of a tensor.
  struct Seen {
    std::atomic<std::uint32_t> largest{0};  // bits of the largest finite |g|
    std::atomic<bool> bad{false};
    std::mutex mutex;                  // of the allocation of `second`
    std::vector<std::int64_t> second;  // empty until a task spills
  };
  enum class Phase { outside, adding, reduced };

  Impl(std::span<const std::size_t> sizes, std::int64_t tasks)
      : tensors(sizes),
        limit_bits(62 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(tasks - 1)))),
        exponents(sizes.size(), ExactExponents::kZero),
        step_exponents(sizes.size(), 0),
        sums(tensors.elements()),
        seen(std::make_unique<Seen[]>(sizes.size())) {}

  std::span<std::int64_t> sums_of(std::size_t first_tensor, std::size_t last_tensor) {
    const std::size_t from = tensors.first(first_tensor);
    const std::size_t to = tensors.first(last_tensor) + tensors.size(last_tensor);
    return std::span(sums).subspan(from, to - from);
  }

  bool add_to_first(std::size_t tensor, std::span<const float> values);
  void take_back(std::size_t tensor, std::span<const float> values, std::size_t start,
                 std::size_t added, std::uint32_t largest);
  void add_to_second(std::size_t tensor, std::span<const float> values);
  ExactStep agree(Communicator& communicator, std::vector<bool>& spilled);
  void reduce_tensors(Communicator& communicator, std::size_t first, std::size_t last,
                      const std::vector<bool>& spilled);

  StripedTensors tensors;
  int limit_bits;
  std::vector<std::int32_t> exponents, step_exponents;
  std::vector<std::int64_t> sums;
  std::unique_ptr<Seen[]> seen;
  Phase phase = Phase::outside;
  bool bad = false;
};

ExactAccumulator::ExactAccumulator(std::vector<std::size_t> sizes, std::int64_t tasks_per_step) {
  if (tasks_per_step < 1 || tasks_per_step > kMostTasks) {
    throw bad_input("exact reduction: " + std::to_string(tasks_per_step) + " tasks a step",
                    "use 1 to " + std::to_string(kMostTasks));
  }
  impl_ = std::make_unique<Impl>(sizes, tasks_per_step);
}

ExactAccumulator::~ExactAccumulator() = default;

void ExactAccumulator::observe_exponents(int tensor, std::span<const float> values) {
  Impl& s = *impl_;
  const std::size_t t = s.tensors.checked(tensor, 0, values.size());
  const std::uint32_t largest = kernels::max_absolute_bits(values.data(), values.size());
  if (largest == 0 || largest >= kernels::kInfinityBits) return;
  s.exponents[t] = std::max(s.exponents[t], kernels::exponent_bound(largest));
}

ExactExponents ExactAccumulator::exponents() const {
  return {impl_->exponents};
}

void ExactAccumulator::set_exponents(const ExactExponents& exponents) {
  Impl& s = *impl_;
  if (exponents.exponents.size() != s.exponents.size()) {
    throw bad_input("exact reduction: exponents of " + std::to_string(exponents.exponents.size()) +
                    " tensors for " + std::to_string(s.exponents.size()));
  }
  for (const std::int32_t e : exponents.exponents) {
    if (e != ExactExponents::kZero && (e < kernels::kSmallestExponent || e > kLargestExponent)) {
      throw bad_input("exact reduction: exponent " + std::to_string(e) + " is no float's");
    }
  }
  s.exponents = exponents.exponents;
}

void ExactAccumulator::begin_step() {
  Impl& s = *impl_;
  std::int32_t model = ExactExponents::kZero;
  for (const std::int32_t e : s.exponents) model = std::max(model, e);
  if (model == ExactExponents::kZero) model = 0;
  for (std::size_t t = 0; t < s.tensors.count(); ++t) {
    s.step_exponents[t] = s.exponents[t] == ExactExponents::kZero ? model : s.exponents[t];
    s.seen[t].largest = 0;
    s.seen[t].bad = false;
    std::vector<std::int64_t>().swap(s.seen[t].second);
  }
  s.tensors.begin();
  s.bad = false;
  s.phase = Impl::Phase::adding;
}

void ExactAccumulator::add(int tensor, std::span<const float> values) {
  Impl& s = *impl_;
  const std::size_t t = s.tensors.checked(tensor, 0, values.size());
  if (values.size() != s.tensors.size(t)) {
    throw failure("reduction: tensor " + std::to_string(tensor) + " has " +
                  std::to_string(s.tensors.size(t)) + " elements, not " +
                  std::to_string(values.size()));
  }
  if (s.phase != Impl::Phase::adding) throw failure("reduction: add() outside a step");

  if (!s.add_to_first(t, values)) s.add_to_second(t, values);
}

// Nearly every task is within the first accumulator's range: it is added before all of it was seen.
// False when it is not, and then nothing of it is left in the sums.
bool ExactAccumulator::Impl::add_to_first(std::size_t tensor, std::span<const float> values) {
  const int exponent = step_exponents[tensor];
  const std::size_t start = tensors.next_start(tensor);
  std::int64_t* to = sums.data() + tensors.first(tensor);
  std::size_t added = 0;
  std::uint32_t largest = 0;
  tensors.for_blocks(tensor, start, [&](std::size_t offset, std::size_t count, bool filled) {
    const std::size_t end = offset + count;
    for (std::size_t at = offset; at < end; at += kChunk) {
      const std::size_t size = std::min(kChunk, end - at);
      const std::uint32_t bits = kernels::max_absolute_bits(values.data() + at, size);
      if (kernels::placement(bits, exponent, limit_bits) != kernels::Placement::first) {
        if (!filled) std::fill(to + at, to + end, 0);
        return false;
      }
      if (!filled) {
        kernels::quantise_store(values.data() + at, size, exponent, bits, to + at);
      } else if (bits != 0) {
        kernels::quantise_add(values.data() + at, size, exponent, bits, to + at);
      }
      largest = std::max(largest, bits);
      added += size;
    }
    return true;
  });
  if (added < values.size()) {
    take_back(tensor, values, start, added, largest);
    return false;
  }
  raise(seen[tensor].largest, largest);
  return true;
}

// Rounding is symmetric and integers are exact: adding the opposite leaves no trace.
void ExactAccumulator::Impl::take_back(std::size_t tensor, std::span<const float> values,
                                       std::size_t start, std::size_t added,
                                       std::uint32_t largest) {
  if (added == 0) return;
  std::int64_t* to = sums.data() + tensors.first(tensor);
  std::array<float, kChunk> opposite;
  tensors.for_blocks(tensor, start, [&](std::size_t offset, std::size_t count, bool) {
    const std::size_t end = offset + count;
    for (std::size_t at = offset; at < end && added > 0; at += kChunk) {
      const std::size_t size = std::min(kChunk, end - at);
      for (std::size_t i = 0; i < size; ++i) opposite[i] = -values[at + i];
      kernels::quantise_add(opposite.data(), size, step_exponents[tensor], largest, to + at);
      added -= size;
    }
    return added > 0;
  });
}

// Rare: one lock for all of it.
void ExactAccumulator::Impl::add_to_second(std::size_t tensor, std::span<const float> values) {
  Seen& state = seen[tensor];
  const std::uint32_t largest = kernels::max_absolute_bits(values.data(), values.size());
  if (largest < kernels::kInfinityBits) raise(state.largest, largest);
  const int exponent = step_exponents[tensor];
  if (kernels::placement(largest, exponent, limit_bits) == kernels::Placement::bad) {
    state.bad = true;
    return;
  }
  const std::lock_guard lock(state.mutex);
  if (state.second.empty()) state.second.assign(values.size(), 0);
  kernels::quantise_add(values.data(), values.size(), exponent + kernels::kSpillBits, largest,
                        state.second.data());
}

// One all-reduce of three words a tensor: the exponent of the largest |g|, whether any task used
// the second accumulator, whether any was bad.
ExactStep ExactAccumulator::Impl::agree(Communicator& communicator, std::vector<bool>& spilled) {
  const std::size_t count = tensors.count();
  std::vector<std::int64_t> words(3 * count);
  for (std::size_t t = 0; t < count; ++t) {
    const std::uint32_t largest = seen[t].largest;
    words[3 * t] = largest == 0 ? ExactExponents::kZero : kernels::exponent_bound(largest);
    words[3 * t + 1] = seen[t].second.empty() ? 0 : 1;
    words[3 * t + 2] = seen[t].bad ? 1 : 0;
  }
  communicator.all_reduce(std::span(words), ReduceOp::max);
  ExactStep step;
  spilled.assign(count, false);
  for (std::size_t t = 0; t < count; ++t) {
    const auto reached = static_cast<std::int32_t>(words[3 * t]);
    if (reached != ExactExponents::kZero) {
      exponents[t] =
          exponents[t] == ExactExponents::kZero ? reached : std::max(reached, exponents[t] - 1);
    }
    spilled[t] = words[3 * t + 1] != 0;
    step.spilled_tensors += spilled[t] ? 1 : 0;
    if (words[3 * t + 2] != 0 && !step.bad) {
      step.bad = true;
      step.bad_tensor = static_cast<int>(t);
    }
  }
  return step;
}

// Sums tensors first … last over the ranks; every rank names the same ranges in the same order.
void ExactAccumulator::Impl::reduce_tensors(Communicator& communicator, std::size_t first,
                                            std::size_t last, const std::vector<bool>& spilled) {
  communicator.all_reduce(sums_of(first, last), ReduceOp::sum);
  for (std::size_t t = first; t <= last; ++t) {
    if (!spilled[t]) continue;
    if (seen[t].second.empty()) seen[t].second.assign(tensors.size(t), 0);
    communicator.all_reduce(std::span(seen[t].second), ReduceOp::sum);
  }
}

ExactStep ExactAccumulator::reduce(Communicator& communicator) {
  Impl& s = *impl_;
  if (s.phase != Impl::Phase::adding) throw failure("reduction: reduce() outside a step");
  std::vector<bool> spilled;
  const ExactStep step = s.agree(communicator, spilled);
  if (!step.bad && s.tensors.count() > 0) {
    s.tensors.zero_empty_blocks(std::span(s.sums));
    s.reduce_tensors(communicator, 0, s.tensors.count() - 1, spilled);
  }
  s.bad = step.bad;
  s.phase = Impl::Phase::reduced;
  return step;
}

void ExactAccumulator::read(int tensor, double scale, std::span<float> out) const {
  read_range(tensor, 0, scale, out);
}

void ExactAccumulator::read_range(int tensor, std::size_t first, double scale,
                                  std::span<float> out) const {
  const Impl& s = *impl_;
  const std::size_t t = s.tensors.checked(tensor, first, out.size());
  if (s.phase != Impl::Phase::reduced) throw failure("reduction: read before reduce()");
  if (s.bad) throw failure("reduction: the sums of a step that must be skipped were read");
  const std::vector<std::int64_t>& second = s.seen[t].second;
  const int power = s.step_exponents[t] - kernels::kQuantumBits;
  kernels::sums_to_floats(s.sums.data() + s.tensors.first(t) + first, kernels::power_of_two(power),
                          second.empty() ? nullptr : second.data() + first,
                          kernels::power_of_two(power + kernels::kSpillBits), scale, out.size(),
                          out.data());
}

std::size_t ExactAccumulator::bytes() const {
  const Impl& s = *impl_;
  std::size_t total = s.sums.size() * sizeof(std::int64_t) + s.tensors.bytes() +
                      s.tensors.count() * (sizeof(Impl::Seen) + 2 * sizeof(std::int32_t));
  for (std::size_t t = 0; t < s.tensors.count(); ++t)
    total += s.seen[t].second.size() * sizeof(std::int64_t);
  return total;
}

}  // namespace ddl
