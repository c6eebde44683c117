#include "ddl/profile/processor_probe.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/compute/executor.h"
#include "ddl/profile/statistics.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

namespace ddl::profile {
namespace {

constexpr std::int64_t kSmallestProduct = 256, kLargestProduct = 2048;
// Each is run twice, once to warm up. Many short ones: where other programs are at work, the median
// of products shorter than a time slice is that of an undisturbed processor.
constexpr double kProductsPerWindow = 64;

double product_seconds(std::int64_t size, double flops_per_second) {
  const auto n = static_cast<double>(size);
  return 2 * n * n * n / flops_per_second;
}

}  // namespace

ProductRate product_rate(ThreadPool& pool, DType dtype, const Clock& clock, double seconds) {
  ProductRate out;
  try {
    out.size = kSmallestProduct;
    const double guess = measure_matmul_flops_per_second(out.size, dtype, 1);
    while (out.size < kLargestProduct &&
           product_seconds(2 * out.size, guess) < seconds / kProductsPerWindow)
      out.size *= 2;
    std::vector<std::vector<double>> rates(static_cast<std::size_t>(pool.size()));
    pool.parallel_for(rates.size(), [&](std::size_t thread) {
      rates[thread] = repeat(clock, {seconds, 3},
                             [&] { return measure_matmul_flops_per_second(out.size, dtype, 1); });
    });
    std::vector<double> all;
    for (const std::vector<double>& one : rates) all.insert(all.end(), one.begin(), one.end());
    out.flops_per_second = measured(std::move(all));
  } catch (const Error& error) {
    log_debug("no matrix products of " + std::string(dtype_name(dtype)) + ": " + error.what());
    return {};
  }
  return out;
}

std::size_t copy_buffer_bytes(std::uint64_t last_cache_bytes, std::uint64_t available_bytes,
                              int threads, double seconds) {
  constexpr std::uint64_t kSmallest = std::uint64_t{1} << 20, kLargest = std::uint64_t{256} << 20;
  // Filling the buffers takes as long as many copies, where pages are slow to be had.
  constexpr double kBytesPerSecond = 100e6;
  const auto buffers = static_cast<std::uint64_t>(2 * std::max(1, threads));
  std::uint64_t bytes = std::clamp(4 * last_cache_bytes / buffers, 16 * kSmallest, kLargest);
  bytes = std::min(bytes, static_cast<std::uint64_t>(seconds * kBytesPerSecond));
  if (available_bytes > 0) bytes = std::min(bytes, available_bytes / 8 / buffers);
  return static_cast<std::size_t>(std::max(bytes, kSmallest)) / 4096 * 4096;
}

Measured copy_rate(ThreadPool& pool, std::size_t buffer_bytes, const Clock& clock, double seconds) {
  std::vector<Measured> rates(static_cast<std::size_t>(pool.size()));
  pool.parallel_for(rates.size(), [&](std::size_t thread) {
    // Filled by the thread that copies, so that the pages lie near it; the first copy warms up.
    const auto from = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
    const auto to = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
    std::memset(from.get(), 0x5a, buffer_bytes);
    std::memset(to.get(), 0, buffer_bytes);
    const auto copy = [&] {
      const Stopwatch watch;
      std::memcpy(to.get(), from.get(), buffer_bytes);
      // The compiler must believe that somebody reads the copy.
      asm volatile("" : : "r"(to.get()) : "memory");
      return 2 * static_cast<double>(buffer_bytes) / std::max(watch.seconds(), 1e-9);
    };
    copy();
    rates[thread] = measured(repeat(clock, {seconds, 3}, copy));
  });
  return sum_of(rates);
}

}  // namespace ddl::profile
