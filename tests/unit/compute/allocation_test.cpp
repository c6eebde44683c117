// Nothing is allocated in a run. operator new is replaced for this program; calls are counted on
// the thread that asks for it. oneDNN's own book-keeping of an execution is not ours and left out.
#include <cstdlib>
#include <cstring>
#include <new>

#include "unit/compute/training_problem.h"
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace {

thread_local bool counting = false;
thread_local int counted = 0;

void* counted_allocation(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (counting) {
    counting = false;
    Dl_info library;
    const bool known = dladdr(caller, &library) != 0 && library.dli_fname != nullptr;
    if (!known || std::strstr(library.dli_fname, "libdnnl") == nullptr) ++counted;
    counting = true;
  }
  const std::size_t size = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted_allocation(bytes, 16, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return counted_allocation(bytes, 16, __builtin_return_address(0));
}
// std::stable_sort asks this way; the plain delete below must not meet another library's memory.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_allocation(bytes, 16, __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_allocation(bytes, static_cast<std::size_t>(alignment),
                            __builtin_return_address(0));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace ddl::test {
namespace {

int allocations_of(const Executor& executor, Lane& lane, const Problem& problem,
                   const TaskKey& key = {}) {
  const auto inputs = problem.input_bindings();
  float total = 0;
  const OutputSink sink = [&total](std::size_t, std::span<const float> values) {
    total += values[0];
  };
  executor.run(lane, inputs, key, sink);  // the first run may wake threads
  counted = 0;
  counting = true;
  executor.run(lane, inputs, key, sink);
  counting = false;
  return counted;
}

TEST(Allocation, TheCounterCounts) {
  counted = 0;
  counting = true;
  auto* number = new int(3);
  counting = false;
  EXPECT_EQ(*number, 3);
  delete number;
  EXPECT_EQ(counted, 1);
}

TEST(Allocation, NoneInARun) {
  for (const ModelCase& model : model_cases()) {
    const TrainingProblem made = make_training_problem(model, 1);
    const auto executor = made.problem.executor();
    const auto lane = executor->make_lane();
    EXPECT_EQ(allocations_of(*executor, *lane, made.problem), 0) << model.name;
  }
}

TEST(Allocation, NoneInDropout) {
  Problem problem;
  problem.graph.outputs = {problem.graph.add("Dropout", {problem.input({4, 33})})};
  const auto executor = problem.executor();
  const auto lane = executor->make_lane();
  const std::vector<std::int64_t> samples{1, 2, 3, 4};
  EXPECT_EQ(allocations_of(*executor, *lane, problem, {1, 2, samples}), 0);
}

}  // namespace
}  // namespace ddl::test
