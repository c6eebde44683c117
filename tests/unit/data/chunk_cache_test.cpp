#include "ddl/data/chunk_cache.h"

#include "ddl/base/error.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace ddl {
namespace {

std::vector<std::byte> bytes(std::size_t count) {
  return std::vector<std::byte>(count);
}

TEST(ChunkCache, LoadsOnceAndForgetsTheLeastRecent) {
  ChunkCache cache(100);
  int loads = 0;
  const auto get = [&](std::size_t chunk) {
    cache.get({0, 0, chunk}, [&] {
      ++loads;
      return bytes(40);
    });
  };
  get(0);
  get(1);
  get(0);
  EXPECT_EQ(loads, 2);
  get(2);  // 120 bytes: chunk 1 goes
  EXPECT_EQ(cache.held_bytes(), 80U);
  get(0);
  EXPECT_EQ(loads, 3);
  get(1);
  EXPECT_EQ(loads, 4);
}

TEST(ChunkCache, KeepsOneChunkLargerThanItself) {
  ChunkCache cache(10);
  EXPECT_EQ(cache.get({0, 0, 0}, [] { return bytes(50); })->size(), 50U);
  EXPECT_EQ(cache.held_bytes(), 50U);
  cache.get({0, 0, 1}, [] { return bytes(50); });
  EXPECT_EQ(cache.held_bytes(), 50U);
}

TEST(ChunkCache, AFailedLoadThrowsAndLeavesNothing) {
  ChunkCache cache(100);
  EXPECT_THROW(cache.get({1, 2, 3}, []() -> std::vector<std::byte> { throw failure("damaged"); }),
               Error);
  EXPECT_EQ(cache.get({1, 2, 3}, [] { return bytes(5); })->size(), 5U);
}

TEST(ChunkCache, ThreadsThatWantTheSameChunkShareOneLoad) {
  ChunkCache cache(1 << 20);
  std::atomic<int> loads = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < 200; ++i) {
        const Chunk chunk = cache.get({0, 0, i}, [&] {
          ++loads;
          std::this_thread::yield();
          return bytes(i + 1);
        });
        if (chunk->size() != i + 1) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 200);
  EXPECT_EQ(wrong, 0);
}

TEST(ChunkCache, ThreadsUnderEvictionGetTheRightBytes) {
  ChunkCache cache(64);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 500; ++i) {
        const std::size_t chunk = (i * 7 + t * 3) % 11;
        const Chunk got = cache.get({0, 0, chunk}, [&] { return bytes(chunk + 20); });
        if (got->size() != chunk + 20) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.held_bytes(), 64U);
}

}  // namespace
}  // namespace ddl
