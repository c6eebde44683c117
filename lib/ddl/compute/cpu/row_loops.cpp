#include "ddl/compute/cpu/row_loops.h"

#include "ddl/compute/cpu/loops.h"
#include "kernels/math.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddl::cpu {
namespace {

#define DDL_INLINE inline __attribute__((always_inline))

// Sums term(0) .. term(count - 1) in the fixed order of the header.
template <class Term>
DDL_INLINE float sum_of(std::size_t count, Term term) {
  float lanes[kSumLanes] = {};
  std::size_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (std::size_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (std::size_t lane = 0; i + lane < count; ++lane) lanes[lane] += term(i + lane);
  for (std::size_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

DDL_INLINE float largest_of(std::size_t count, const float* x) {
  float lanes[kSumLanes];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
      lanes[lane] = lanes[lane] < x[i + lane] ? x[i + lane] : lanes[lane];
    }
  }
  float most = lanes[0];
  for (const float lane : lanes) most = most < lane ? lane : most;
  for (; i < count; ++i) most = most < x[i] ? x[i] : most;
  return most;
}

}  // namespace

DDL_VECTOR_CLONES float sum(std::size_t count, const float* x) {
  return sum_of(count, [x](std::size_t i) { return x[i]; });
}

DDL_VECTOR_CLONES float largest(std::size_t count, const float* x) {
  return largest_of(count, x);
}

DDL_VECTOR_CLONES void softmax_rows(std::size_t rows, std::size_t width, const float* x, float* y) {
  for (std::size_t row = 0; row < rows; ++row, x += width, y += width) {
    const float most = largest_of(width, x);
#pragma GCC ivdep
    for (std::size_t i = 0; i < width; ++i) y[i] = kernels::exp_f32(x[i] - most);
    const float factor = 1.0F / sum_of(width, [y](std::size_t i) { return y[i]; });
    for (std::size_t i = 0; i < width; ++i) y[i] *= factor;
  }
}

void softmax_strided(std::size_t outer, std::size_t width, std::size_t inner, const float* x,
                     float* y) {
  for (std::size_t block = 0; block < outer; ++block) {
    for (std::size_t column = 0; column < inner; ++column) {
      const std::size_t start = block * width * inner + column;
      float most = x[start];
      for (std::size_t k = 1; k < width; ++k) most = std::max(most, x[start + k * inner]);
      float total = 0;
      for (std::size_t k = 0; k < width; ++k) {
        y[start + k * inner] = kernels::exp_f32(x[start + k * inner] - most);
        total += y[start + k * inner];
      }
      for (std::size_t k = 0; k < width; ++k) y[start + k * inner] /= total;
    }
  }
}

DDL_VECTOR_CLONES void softmax_slope_rows(std::size_t rows, std::size_t width, const float* dy,
                                          const float* y, float* dx) {
  for (std::size_t row = 0; row < rows; ++row, dy += width, y += width, dx += width) {
    const float along = sum_of(width, [dy, y](std::size_t i) { return dy[i] * y[i]; });
#pragma GCC ivdep
    for (std::size_t i = 0; i < width; ++i) dx[i] = y[i] * (dy[i] - along);
  }
}

void softmax_slope_strided(std::size_t outer, std::size_t width, std::size_t inner, const float* dy,
                           const float* y, float* dx) {
  for (std::size_t block = 0; block < outer; ++block) {
    for (std::size_t column = 0; column < inner; ++column) {
      const std::size_t start = block * width * inner + column;
      float along = 0;
      for (std::size_t k = 0; k < width; ++k) along += dy[start + k * inner] * y[start + k * inner];
      for (std::size_t k = 0; k < width; ++k) {
        const std::size_t at = start + k * inner;
        dx[at] = y[at] * (dy[at] - along);
      }
    }
  }
}

DDL_VECTOR_CLONES void layer_norm(std::size_t rows, std::size_t width, float epsilon,
                                  const float* x, const float* weight, const float* bias, float* y,
                                  float* mean, float* inverse_deviation) {
  const auto count = static_cast<float>(width);
  for (std::size_t row = 0; row < rows; ++row, x += width, y += width) {
    const float centre = sum_of(width, [x](std::size_t i) { return x[i]; }) / count;
    const float squares = sum_of(width, [x, centre](std::size_t i) {
      const float centred = x[i] - centre;
      return centred * centred;
    });
    const float inverse = 1.0F / std::sqrt(squares / count + epsilon);
    if (mean != nullptr) mean[row] = centre;
    if (inverse_deviation != nullptr) inverse_deviation[row] = inverse;
    if (bias != nullptr) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < width; ++i) {
        y[i] = (x[i] - centre) * inverse * weight[i] + bias[i];
      }
    } else {
#pragma GCC ivdep
      for (std::size_t i = 0; i < width; ++i) y[i] = (x[i] - centre) * inverse * weight[i];
    }
  }
}

// With n the normalised x and g = dy * weight:
//   dx = inverse * (g - mean(g) - n * mean(g * n)), dweight = sum of dy * n, dbias = sum of dy
DDL_VECTOR_CLONES void layer_norm_slope(std::size_t rows, std::size_t width, const float* x,
                                        const float* dy, const float* weight, const float* mean,
                                        const float* inverse_deviation, float* dx, float* dweight,
                                        float* dbias) {
  const auto count = static_cast<float>(width);
  if (dweight != nullptr) std::fill_n(dweight, width, 0.0F);
  if (dbias != nullptr) std::fill_n(dbias, width, 0.0F);
  for (std::size_t row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
    const float centre = mean[row], inverse = inverse_deviation[row];
    const float plain =
        sum_of(width, [dy, weight](std::size_t i) { return dy[i] * weight[i]; }) / count;
    const float along =
        sum_of(width,
               [=](std::size_t i) { return dy[i] * weight[i] * ((x[i] - centre) * inverse); }) /
        count;
    if (dweight != nullptr) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < width; ++i) dweight[i] += dy[i] * ((x[i] - centre) * inverse);
    }
    if (dbias != nullptr) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < width; ++i) dbias[i] += dy[i];
    }
    // Last: dx may lie over dy.
#pragma GCC ivdep
    for (std::size_t i = 0; i < width; ++i) {
      const float normalised = (x[i] - centre) * inverse;
      dx[i] = inverse * (dy[i] * weight[i] - plain - normalised * along);
    }
  }
}

DDL_VECTOR_CLONES float log_sum_exp(std::size_t count, const float* x) {
  const float most = largest_of(count, x);
  const float total =
      sum_of(count, [x, most](std::size_t i) { return kernels::exp_f32(x[i] - most); });
  return most + kernels::log_f32(total);
}

DDL_VECTOR_CLONES void cross_entropy_slope(std::size_t count, const float* x, std::size_t label,
                                           float factor, float* dx) {
  const float most = largest_of(count, x);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) dx[i] = kernels::exp_f32(x[i] - most);
  const float total = sum_of(count, [dx](std::size_t i) { return dx[i]; });
  for (std::size_t i = 0; i < count; ++i) dx[i] = factor * (dx[i] / total);
  dx[label] -= factor;
}

DDL_VECTOR_CLONES float sigmoid_cross_entropy(std::size_t count, const float* x,
                                              const float* target) {
  return sum_of(count, [x, target](std::size_t i) {
    const float magnitude = x[i] < 0.0F ? -x[i] : x[i];
    const float above = x[i] < 0.0F ? 0.0F : x[i];
    // log(1 + e) by twice the inverse hyperbolic tangent keeps small e.
    const float e = kernels::exp_f32(-magnitude);
    const float s = e / (2.0F + e), z = s * s;
    float p = 2.0F / 13;
    p = p * z + 2.0F / 11;
    p = p * z + 2.0F / 9;
    p = p * z + 2.0F / 7;
    p = p * z + 2.0F / 5;
    p = p * z + 2.0F / 3;
    p = p * z * s + 2.0F * s;
    return (above - x[i] * target[i]) + p;
  });
}

DDL_VECTOR_CLONES void sigmoid_cross_entropy_slope(std::size_t count, const float* x,
                                                   const float* target, float factor, float* dx) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    dx[i] = factor * (kernels::sigmoid_f32(x[i]) - target[i]);
  }
}

DDL_VECTOR_CLONES float squared_error(std::size_t count, const float* x, const float* target) {
  return sum_of(count, [x, target](std::size_t i) {
    const float error = x[i] - target[i];
    return error * error;
  });
}

DDL_VECTOR_CLONES void squared_error_slope(std::size_t count, const float* x, const float* target,
                                           float factor, float* dx) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) dx[i] = factor * (2.0F * (x[i] - target[i]));
}

DDL_VECTOR_CLONES void accumulate(std::size_t count, const float* x, float* total) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) total[i] += x[i];
}

}  // namespace ddl::cpu
