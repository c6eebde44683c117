#include "ddl/comm/exact.h"

#include <cmath>

namespace ddl {
namespace {

constexpr double kQuantum = 1.0 / (std::int64_t{1} << FixedSum::kFractionBits);
constexpr double kLimit = 4294967296.0;  // 2^32

}  // namespace

void FixedSum::add(double value) {
  if (!(std::fabs(value) < kLimit)) {  // also NaN
    bad_ = true;
    return;
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(quanta_, std::llrint(value / kQuantum), &sum)) {
    bad_ = true;
    return;
  }
  quanta_ = sum;
}

void FixedSum::add(const FixedSum& other) {
  std::int64_t sum = 0;
  if (other.bad_ || __builtin_add_overflow(quanta_, other.quanta_, &sum)) {
    bad_ = true;
    return;
  }
  quanta_ = sum;
}

double FixedSum::value() const {
  return static_cast<double>(quanta_) * kQuantum;
}

FixedSum FixedSum::from_word(std::int64_t quanta, bool bad) {
  FixedSum sum;
  sum.quanta_ = quanta;
  sum.bad_ = bad;
  return sum;
}

}  // namespace ddl
