// The exact reduction (DESIGN section 1): each task's tensor is rounded once to 64-bit integers in
// a fixed point per tensor and added as integers. Integer addition is associative and commutative,
// so the sum has the same bits for any worker count, lane, range, order or reduction algorithm.
// (Order-invariant fixed-point summation: Hallberg and Adcroft, Parallel Computing 40, 2014.)
//
//   quantum of tensor t:  q = 2^(E_t - 40), with |g| < 2^E_t for every task value so far
//   task value in quanta: k = round_to_nearest_even(g / q)
//   limit of a task value: |k| <= 2^(62 - L), L = ceil(log2 M), M tasks a step: no order of adding
//                          M values can overflow int64
//   error of a sum:       at most M * q / 2
// A task tensor with a value beyond the limit goes whole into a second accumulator with quantum
// q * 2^24, decided from that task alone. Beyond that, or on NaN or Inf, the task is marked bad and
// the step must be skipped by everyone.
// After a step E_t = max(exponent of the step's largest |g| over all tasks, E_t - 1): it rises at
// once and falls one bit a step. A step in which the tensor is all zero says nothing about its size
// and leaves E_t alone. A tensor that has been zero so far uses the model's largest E (0 when all
// are). Tasks with NaN or Inf take no part in the maximum; tasks beyond both ranges do, so that the
// next step finds room for them.
//
// Reading: (double(sum) * q + double(second) * q * 2^24) * scale, each operation rounded once to
// double, then once to float; the same operations everywhere, hence the same bits.
// Lanes fold side by side: a tensor is cut into blocks of 65,536 elements, each with its own lock,
// and every add() of a tensor starts at another block.
//
// Threads: add() may be called by many lanes at once, for any tensors. begin_step, reduce and the
// exponent calls belong to the owner, with no add() in flight; read and read_range may be called by
// several threads after reduce(). Errors: failure for a wrong tensor, size or order of calls;
// bad_input for exponents that do not fit the tensors.
#pragma once

#include "ddl/comm/communicator.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ddl {

// State that the bits depend on; part of every checkpoint.
struct ExactExponents {
  static constexpr std::int32_t kZero = INT32_MIN;  // tensor was zero so far
  std::vector<std::int32_t> exponents;              // per tensor
  bool operator==(const ExactExponents&) const = default;
};

// How a step went, the same on all ranks after reduce().
struct ExactStep {
  bool bad = false;         // some task had NaN, Inf or a value beyond both ranges: skip the step
  int bad_tensor = -1;      // lowest tensor index that was bad
  int spilled_tensors = 0;  // tensors that used the second accumulator
};

class ExactAccumulator {
 public:
  // sizes: elements of each tensor. tasks_per_step: M above, 1 to 2^22.
  ExactAccumulator(std::vector<std::size_t> sizes, std::int64_t tasks_per_step);
  ~ExactAccumulator();

  // Exponents from a first look at the tensors (task 0): E_t = smallest E with |g| < 2^E, the
  // largest over several looks. Values with NaN or Inf, or all zero, leave E_t alone.
  void observe_exponents(int tensor, std::span<const float> values);  // outside a step
  ExactExponents exponents() const;
  void set_exponents(const ExactExponents& exponents);

  // Forgets the sums of the last step.
  void begin_step();
  // Adds one task's values of one tensor: all of it, once per task. Thread-safe.
  void add(int tensor, std::span<const float> values);
  // Sums over all ranks and updates the exponents. One rank with no task takes part all the same.
  ExactStep reduce(Communicator& communicator);
  // After reduce: out[i] = sum * scale, computed in double per element, rounded once to float.
  // failure after a bad step, whose sums mean nothing.
  void read(int tensor, double scale, std::span<float> out) const;
  // The same for elements [first, first + out.size()).
  void read_range(int tensor, std::size_t first, double scale, std::span<float> out) const;

  std::size_t bytes() const;  // memory held

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Plain fp32 sums with the same surface, for `--reduction fast`: gives up the bits.
class FastAccumulator {
 public:
  explicit FastAccumulator(std::vector<std::size_t> sizes);
  ~FastAccumulator();
  void begin_step();
  void add(int tensor, std::span<const float> values);
  ExactStep reduce(Communicator& communicator);  // bad when a sum is not finite
  void read_range(int tensor, std::size_t first, double scale, std::span<float> out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Fixed-point sums of scalars (losses, weights, metric counts): each value is rounded once to a
// multiple of 2^-30 and added as an integer; sums below 2^33 are exact and order-free.
class FixedSum {
 public:
  static constexpr int kFractionBits = 30;
  // |value| < 2^32; NaN, Inf or beyond marks the sum as bad.
  void add(double value);
  void add(const FixedSum& other);
  double value() const;
  bool bad() const { return bad_; }
  // For reducing over ranks as int64 words.
  std::int64_t word() const { return quanta_; }
  static FixedSum from_word(std::int64_t quanta, bool bad);

 private:
  std::int64_t quanta_ = 0;
  bool bad_ = false;
};

}  // namespace ddl
