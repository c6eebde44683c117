#include "ddl/profile/processor_probe.h"

#include "unit/profile/support.h"
#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

void expect_plausible(const Measured& value) {
  EXPECT_GE(value.samples, 1);
  EXPECT_GT(value.low, 0);
  EXPECT_LE(value.low, value.median);
  EXPECT_LE(value.median, value.high);
}

TEST(CopyBuffers, AreBeyondTheCacheTogether) {
  for (const int threads : {1, 2, 3, 16}) {
    const std::uint64_t bytes = copy_buffer_bytes(32 * kMiB, 0, threads, 60);
    EXPECT_EQ(bytes % 4096, 0U);
    EXPECT_GE(bytes * 2 * static_cast<std::uint64_t>(threads), 2 * 32 * kMiB) << threads;
  }
}

TEST(CopyBuffers, LeaveTheMemoryToOthers) {
  EXPECT_LE(copy_buffer_bytes(512 * kMiB, 1024 * kMiB, 8, 60) * 16, 1024 * kMiB / 8);
  EXPECT_GE(copy_buffer_bytes(512 * kMiB, 1, 8, 60), 4096U);
  EXPECT_LE(copy_buffer_bytes(4096 * kMiB, 0, 1, 60), 256 * kMiB);
}

TEST(CopyBuffers, ShrinkWithTheTime) {
  EXPECT_LT(copy_buffer_bytes(512 * kMiB, 0, 1, 0.05), copy_buffer_bytes(512 * kMiB, 0, 1, 10));
  EXPECT_GE(copy_buffer_bytes(512 * kMiB, 0, 1, 0), 4096U);
}

TEST(ProductRate, IsMeasuredOnEveryThread) {
  ThreadPool pool(2);
  const ProductRate rate = product_rate(pool, DType::f32, test::stepping_clock(0.01), 0.05);
  EXPECT_GE(rate.size, 256);
  expect_plausible(rate.flops_per_second);
  EXPECT_GE(rate.flops_per_second.samples, 2 * 3);
  EXPECT_GT(rate.flops_per_second.median, 1e6);
}

TEST(ProductRate, OfATypeWithoutProductsHasNoSamples) {
  ThreadPool pool(1);
  const ProductRate rate = product_rate(pool, DType::i32, test::stepping_clock(0.01), 0.05);
  EXPECT_EQ(rate.flops_per_second.samples, 0);
  EXPECT_EQ(rate.flops_per_second.median, 0);
}

TEST(ProductRate, TakesLargerProductsForALongerTime) {
  ThreadPool pool(1);
  const ProductRate fast = product_rate(pool, DType::f32, test::stepping_clock(5e5), 1e6);
  EXPECT_EQ(fast.size, 2048);
  const ProductRate brief = product_rate(pool, DType::f32, test::stepping_clock(1), 1e-9);
  EXPECT_EQ(brief.size, 256);
}

TEST(CopyRate, IsThatOfAllThreadsTogether) {
  ThreadPool pool(2);
  const Measured rate = copy_rate(pool, 4 * kMiB, test::stepping_clock(0.01), 0.1);
  expect_plausible(rate);
  EXPECT_GT(rate.median, 1e7);
}

}  // namespace
}  // namespace ddl::profile
