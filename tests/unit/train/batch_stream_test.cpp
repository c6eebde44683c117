#include "ddl/train/batch_stream.h"

#include "ddl/base/error.h"

#include <atomic>
#include <set>
#include <thread>

#include "fixture.h"

namespace ddl {
namespace {

using BatchStreamTest = TrainFixture;

std::vector<TaskSpec> tasks(std::int64_t first, std::int64_t count) {
  std::vector<TaskSpec> out;
  for (std::int64_t t = 0; t < count; ++t) out.push_back({t, {first + 2 * t, first + 2 * t + 1}});
  return out;
}

// Lanes of any number get every task once, with the batch that belongs to it, step by step.
TEST_F(BatchStreamTest, EveryTaskOnce) {
  make_data(80, 3, 2);
  const Dataset dataset(folder_ / "data");
  const BatchReader reader(dataset, "train");
  for (const int lanes : {1, 2, 5}) {
    BatchStream stream(reader, 3);
    stream.announce(0, tasks(0, 9));
    for (std::int64_t step = 0; step < 3; ++step) {
      if (step < 2) stream.announce(step + 1, tasks(10 * (step + 1), 9));
      std::mutex mutex;
      std::set<std::int64_t> seen;
      std::vector<std::thread> threads;
      for (int lane = 0; lane < lanes; ++lane)
        threads.emplace_back([&] {
          double seconds = 0;
          while (auto loaded = stream.take(step, seconds)) {
            Batch expected;
            reader.read(loaded->spec.sample_ids, expected);
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(seen.insert(loaded->spec.number).second);
            EXPECT_EQ(loaded->spec.sample_ids[0], 10 * step + 2 * loaded->spec.number);
            EXPECT_EQ(loaded->batch.sample_ids, loaded->spec.sample_ids);
            EXPECT_EQ(loaded->batch.values, expected.values);
            EXPECT_EQ(loaded->batch.labels, expected.labels);
            stream.recycle(std::move(loaded));
          }
        });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(seen.size(), 9U);
    }
  }
}

TEST_F(BatchStreamTest, ReadErrorsReachTheLane) {
  make_data(40, 3, 2);
  const Dataset dataset(folder_ / "data");
  const BatchReader reader(dataset, "train");
  BatchStream stream(reader, 2);
  stream.announce(0, {{0, {1, 1000000}}});
  double seconds = 0;
  EXPECT_ANY_THROW(stream.take(0, seconds));
}

TEST_F(BatchStreamTest, EndsWithWorkLeft) {
  make_data(40, 3, 2);
  const Dataset dataset(folder_ / "data");
  const BatchReader reader(dataset, "train");
  BatchStream stream(reader, 2);
  stream.announce(0, tasks(0, 9));
  double seconds = 0;
  EXPECT_NE(stream.take(0, seconds), nullptr);
  EXPECT_EQ(stream.take(5, seconds), nullptr) << "nothing was announced for step 5";
}

}  // namespace
}  // namespace ddl
