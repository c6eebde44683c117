#include "kernels/host_loops.h"

#include "kernels/exact.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define DDL_X86_LOOPS 1
#else
#define DDL_X86_LOOPS 0
#endif

namespace ddl::kernels {
namespace {

// Adding 1.5 * 2^52 leaves round_to_nearest_even(x) in the low bits of the sum, |x| < 2^51: three
// operations that every vector unit has, in place of some fifteen of quantise().
constexpr double kRound = 6755399441055744.0;
constexpr int kRoundBits = 50;

// The trick holds in the default floating-point environment only.
bool rounds_to_nearest_with_denormals() {
  volatile double base = kRound, half = 0.5, more = 1.5;
  volatile float denormal = 1e-45F;
  return base + half == kRound && base + more == kRound + 2.0 &&
         static_cast<double>(denormal) != 0.0;
}

bool fits_trick(std::uint32_t largest, int exponent) {
  return within_limit(largest, exponent, kRoundBits) && rounds_to_nearest_with_denormals();
}

using Index = std::size_t;

[[gnu::always_inline]] inline std::uint32_t max_bits_loop(const float* values, Index n) {
  std::int32_t largest = 0;  // bits of |g| are below 2^31
  for (Index i = 0; i < n; ++i) {
    const auto bits = static_cast<std::int32_t>(absolute_bits(values[i]));
    largest = bits > largest ? bits : largest;
  }
  return static_cast<std::uint32_t>(largest);
}

template <bool kAdd>
[[gnu::always_inline]] inline void quantise_trick_loop(const float* __restrict values, Index n,
                                                       double quanta_per_unit,
                                                       std::int64_t* __restrict sums) {
  for (Index i = 0; i < n; ++i) {
    const double shifted = static_cast<double>(values[i]) * quanta_per_unit + kRound;
    const std::int64_t quanta = same_bits<std::int64_t>(shifted) - same_bits<std::int64_t>(kRound);
    sums[i] = kAdd ? sums[i] + quanta : quanta;
  }
}

template <bool kAdd>
[[gnu::always_inline]] inline void quantise_bits_loop(const float* __restrict values, Index n,
                                                      int exponent, std::int64_t* __restrict sums) {
  for (Index i = 0; i < n; ++i) {
    const std::int64_t quanta = quantise(values[i], exponent);
    sums[i] = kAdd ? sums[i] + quanta : quanta;
  }
}

[[gnu::always_inline]] inline void floats_loop(const std::int64_t* __restrict sums, double quantum,
                                               const std::int64_t* __restrict second,
                                               double second_quantum, double scale, Index n,
                                               float* __restrict out) {
  if (second == nullptr) {
    for (Index i = 0; i < n; ++i)
      out[i] = static_cast<float>(static_cast<double>(sums[i]) * quantum * scale);
    return;
  }
  for (Index i = 0; i < n; ++i)
    out[i] = static_cast<float>(
        (static_cast<double>(sums[i]) * quantum + static_cast<double>(second[i]) * second_quantum) *
        scale);
}

[[gnu::always_inline]] inline void sgd_loop(float* __restrict weights, float* __restrict velocity,
                                            const float* __restrict gradient, Index n,
                                            const SgdCoefficients& c) {
  if (velocity == nullptr) {
    for (Index i = 0; i < n; ++i) sgd_plain_element(weights[i], gradient[i], c);
  } else {
    for (Index i = 0; i < n; ++i) sgd_momentum_element(weights[i], velocity[i], gradient[i], c);
  }
}

[[gnu::always_inline]] inline void adamw_loop(float* __restrict weights, float* __restrict first,
                                              float* __restrict second,
                                              const float* __restrict gradient, Index n,
                                              const AdamwCoefficients& c) {
  for (Index i = 0; i < n; ++i) adamw_element(weights[i], first[i], second[i], gradient[i], c);
}

// One copy of each loop per instruction set.
#define DDL_LOOPS(name, ...)                                                                     \
  struct name {                                                                                  \
    __VA_ARGS__ static std::uint32_t max_bits(const float* values, Index n) {                    \
      return max_bits_loop(values, n);                                                           \
    }                                                                                            \
    template <bool kAdd>                                                                         \
    __VA_ARGS__ static void quantise_trick(const float* values, Index n, double per_unit,        \
                                           std::int64_t* sums) {                                 \
      quantise_trick_loop<kAdd>(values, n, per_unit, sums);                                      \
    }                                                                                            \
    __VA_ARGS__ static void floats(const std::int64_t* sums, double quantum,                     \
                                   const std::int64_t* second, double second_quantum,            \
                                   double scale, Index n, float* out) {                          \
      floats_loop(sums, quantum, second, second_quantum, scale, n, out);                         \
    }                                                                                            \
    __VA_ARGS__ static void sgd(float* weights, float* velocity, const float* gradient, Index n, \
                                const SgdCoefficients& c) {                                      \
      sgd_loop(weights, velocity, gradient, n, c);                                               \
    }                                                                                            \
    __VA_ARGS__ static void adamw(float* weights, float* first, float* second,                   \
                                  const float* gradient, Index n, const AdamwCoefficients& c) {  \
      adamw_loop(weights, first, second, gradient, n, c);                                        \
    }                                                                                            \
  }

DDL_LOOPS(PlainLoops, );
#if DDL_X86_LOOPS
DDL_LOOPS(Avx2Loops, __attribute__((target("avx2"))));
DDL_LOOPS(Avx512Loops,
          __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))));
#endif
#undef DDL_LOOPS

LoopVersion widest() {
#if DDL_X86_LOOPS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return LoopVersion::avx512;
  }
  if (__builtin_cpu_supports("avx2")) return LoopVersion::avx2;
#endif
  return LoopVersion::plain;
}

LoopVersion resolved(LoopVersion version) {
  static const LoopVersion best = widest();
  if (version == LoopVersion::best) return best;
  return version <= best ? version : best;
}

// body is called with an object whose type has the loops.
template <class Body>
auto dispatch(LoopVersion version, const Body& body) {
#if DDL_X86_LOOPS
  switch (resolved(version)) {
    case LoopVersion::avx512:
      return body(Avx512Loops{});
    case LoopVersion::avx2:
      return body(Avx2Loops{});
    default:
      break;
  }
#else
  (void)version;
#endif
  return body(PlainLoops{});
}

template <bool kAdd>
void quantise_range(const float* values, Index n, int exponent, std::uint32_t largest,
                    std::int64_t* sums, LoopVersion version) {
  if (!fits_trick(largest, exponent)) {
    quantise_bits_loop<kAdd>(values, n, exponent, sums);
    return;
  }
  dispatch(version, [&](auto loops) {
    loops.template quantise_trick<kAdd>(values, n, power_of_two(kQuantumBits - exponent), sums);
  });
}

}  // namespace

bool loop_version_available(LoopVersion version) {
  return version == LoopVersion::best || resolved(version) == version;
}

const char* best_loop_version() {
  switch (resolved(LoopVersion::best)) {
    case LoopVersion::avx512:
      return "avx512";
    case LoopVersion::avx2:
      return "avx2";
    default:
      return "plain";
  }
}

std::uint32_t max_absolute_bits(const float* values, std::size_t n, LoopVersion version) {
  return dispatch(version, [&](auto loops) { return loops.max_bits(values, n); });
}

void quantise_store(const float* values, std::size_t n, int exponent, std::uint32_t largest,
                    std::int64_t* sums, LoopVersion version) {
  quantise_range<false>(values, n, exponent, largest, sums, version);
}

void quantise_add(const float* values, std::size_t n, int exponent, std::uint32_t largest,
                  std::int64_t* sums, LoopVersion version) {
  quantise_range<true>(values, n, exponent, largest, sums, version);
}

void sums_to_floats(const std::int64_t* sums, double quantum, const std::int64_t* second,
                    double second_quantum, double scale, std::size_t n, float* out,
                    LoopVersion version) {
  dispatch(version,
           [&](auto loops) { loops.floats(sums, quantum, second, second_quantum, scale, n, out); });
}

void sgd_update(float* weights, float* velocity, const float* gradient, std::size_t n,
                const SgdCoefficients& coefficients, LoopVersion version) {
  dispatch(version, [&](auto loops) { loops.sgd(weights, velocity, gradient, n, coefficients); });
}

void adamw_update(float* weights, float* first, float* second, const float* gradient, std::size_t n,
                  const AdamwCoefficients& coefficients, LoopVersion version) {
  dispatch(version,
           [&](auto loops) { loops.adamw(weights, first, second, gradient, n, coefficients); });
}

}  // namespace ddl::kernels
