// The sums beside the exact reduction: plain fp32, and fixed-point scalars.
#include "ddl/comm/blocks_internal.h"
#include "ddl/comm/exact.h"
#include "kernels/exact.h"
#include "kernels/host_loops.h"

#include <cmath>
#include <limits>

namespace ddl {

struct FastAccumulator::Impl {
  explicit Impl(std::span<const std::size_t> sizes) : tensors(sizes), sums(tensors.elements()) {}
  StripedTensors tensors;
  std::vector<float> sums;
};

FastAccumulator::FastAccumulator(std::vector<std::size_t> sizes)
    : impl_(std::make_unique<Impl>(sizes)) {}

FastAccumulator::~FastAccumulator() = default;

void FastAccumulator::begin_step() {
  impl_->tensors.begin();
}

void FastAccumulator::add(int tensor, std::span<const float> values) {
  Impl& s = *impl_;
  const std::size_t t = s.tensors.checked(tensor, 0, values.size());
  if (values.size() != s.tensors.size(t)) {
    throw failure("reduction: tensor " + std::to_string(tensor) + " has " +
                  std::to_string(s.tensors.size(t)) + " elements, not " +
                  std::to_string(values.size()));
  }
  float* sums = s.sums.data() + s.tensors.first(t);
  const auto add_block = [&](std::size_t offset, std::size_t count, bool filled) {
    const float* from = values.data() + offset;
    float* to = sums + offset;
    if (filled) {
      for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
    } else {
      std::copy_n(from, count, to);
    }
    return true;
  };
  s.tensors.for_blocks(t, s.tensors.next_start(t), add_block);
}

ExactStep FastAccumulator::reduce(Communicator& communicator) {
  Impl& s = *impl_;
  s.tensors.zero_empty_blocks(std::span(s.sums));
  communicator.all_reduce(std::span(s.sums), ReduceOp::sum);
  // A library may add in another order on each rank: what one sees as infinite stops all.
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t lowest = kNone;
  for (std::size_t t = 0; t < s.tensors.count() && lowest == kNone; ++t) {
    const float* sums = s.sums.data() + s.tensors.first(t);
    if (kernels::max_absolute_bits(sums, s.tensors.size(t)) >= kernels::kInfinityBits)
      lowest = static_cast<std::int64_t>(t);
  }
  lowest = communicator.all_reduce(lowest, ReduceOp::min);
  ExactStep step;
  step.bad = lowest != kNone;
  if (step.bad) step.bad_tensor = static_cast<int>(lowest);
  return step;
}

void FastAccumulator::read_range(int tensor, std::size_t first, double scale,
                                 std::span<float> out) const {
  const Impl& s = *impl_;
  const std::size_t t = s.tensors.checked(tensor, first, out.size());
  const float* sums = s.sums.data() + s.tensors.first(t) + first;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(static_cast<double>(sums[i]) * scale);
}

void FixedSum::add(double value) {
  if (!(std::abs(value) < 4294967296.0)) {  // NaN too
    bad_ = true;
    return;
  }
  const std::int64_t quanta = kernels::round_to_integer(value * (1 << kFractionBits));
  if (__builtin_add_overflow(quanta_, quanta, &quanta_)) bad_ = true;
}

void FixedSum::add(const FixedSum& other) {
  bad_ = bad_ || other.bad_;
  if (__builtin_add_overflow(quanta_, other.quanta_, &quanta_)) bad_ = true;
}

double FixedSum::value() const {
  return static_cast<double>(quanta_) / (1 << kFractionBits);
}

FixedSum FixedSum::from_word(std::int64_t quanta, bool bad) {
  FixedSum sum;
  sum.quanta_ = quanta;
  sum.bad_ = bad;
  return sum;
}

}  // namespace ddl
