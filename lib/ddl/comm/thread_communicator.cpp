#include "ddl/comm/thread_communicator.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

namespace ddl {
namespace {

using Bytes = std::vector<std::byte>;

// What the ranks share: a barrier that a lost rank breaks, the buffers of the collective in
// progress, and mailboxes.
struct World {
  explicit World(int ranks)
      : size(ranks), buffers(static_cast<std::size_t>(ranks)), sizes(buffers.size()) {}

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  std::uint64_t generation = 0;
  bool lost = false;
  std::string lost_reason;
  std::vector<const void*> buffers;  // written before a barrier, read after it
  std::vector<std::size_t> sizes;
  std::map<std::tuple<int, int, int>, std::deque<Bytes>> mail;  // (from, to, tag)

  void lose(const std::string& reason) {
    const std::lock_guard lock(mutex);
    if (!lost) lost_reason = reason;
    lost = true;
    changed.notify_all();
  }

  [[noreturn]] void throw_lost(const char* collective) const {
    throw failure(std::string(collective) + ": " + lost_reason);
  }

  void wait(const char* collective) {
    std::unique_lock lock(mutex);
    if (lost) throw_lost(collective);
    const std::uint64_t mine = generation;
    if (++arrived == size) {
      arrived = 0;
      ++generation;
      changed.notify_all();
      return;
    }
    changed.wait(lock, [&] { return lost || generation != mine; });
    if (generation == mine) throw_lost(collective);
  }
};

template <class T>
T combined(T a, T b, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return a + b;
    case ReduceOp::max:
      return std::max(a, b);
    case ReduceOp::min:
      return std::min(a, b);
  }
  return a;
}

class DoneRequest final : public Request {
 public:
  void wait() override {}
  bool test() override { return true; }
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<World> world, int rank)
      : world_(std::move(world)), rank_(rank) {}
  ~ThreadCommunicator() override { world_->lose("rank " + std::to_string(rank_) + " has left"); }

  int rank() const override { return rank_; }
  int size() const override { return world_->size; }
  std::string host() const override { return host_name(); }
  int local_rank() const override { return rank_; }
  int local_size() const override { return world_->size; }

  void barrier() override { world_->wait("barrier"); }

  void broadcast(std::span<std::byte> buffer, int root) override {
    publish(buffer.data(), buffer.size(), "broadcast");
    const std::size_t size = world_->sizes[static_cast<std::size_t>(root)];
    if (size == buffer.size() && rank_ != root && size > 0) {
      std::memcpy(buffer.data(), world_->buffers[static_cast<std::size_t>(root)], size);
    }
    world_->wait("broadcast");
    require_size(size == buffer.size(), "broadcast");
  }

  void all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override { reduce(buffer, op); }
  void all_reduce(std::span<float> buffer, ReduceOp op) override { reduce(buffer, op); }
  void all_reduce(std::span<double> buffer, ReduceOp op) override { reduce(buffer, op); }

  void reduce_scatter(std::span<const std::int64_t> send, std::span<std::int64_t> receive,
                      std::span<const std::size_t> counts) override {
    publish(send.data(), send.size(), "reduce-scatter");
    const bool fits = sizes_agree();
    std::size_t first = 0;
    for (int r = 0; r < rank_; ++r) first += counts[static_cast<std::size_t>(r)];
    for (std::size_t i = 0; fits && i < receive.size(); ++i) {
      std::int64_t sum = 0;
      for (const void* buffer : world_->buffers) {
        sum += static_cast<const std::int64_t*>(buffer)[first + i];
      }
      receive[i] = sum;
    }
    world_->wait("reduce-scatter");
    require_size(fits, "reduce-scatter");
  }

  void all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                  std::span<const std::size_t> counts) override {
    publish(send.data(), send.size(), "all-gather");
    bool fits = true;
    std::size_t position = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      fits = fits && world_->sizes[r] == counts[r] && position + counts[r] <= receive.size();
      if (fits && counts[r] > 0) {
        std::memcpy(receive.data() + position, world_->buffers[r], counts[r]);
      }
      position += counts[r];
    }
    world_->wait("all-gather");
    require_size(fits, "all-gather");
  }

  void send(std::span<const std::byte> buffer, int to, int tag) override {
    const std::lock_guard lock(world_->mutex);
    world_->mail[{rank_, to, tag}].emplace_back(buffer.begin(), buffer.end());
    world_->changed.notify_all();
  }

  void receive(std::span<std::byte> buffer, int from, int tag) override {
    std::unique_lock lock(world_->mutex);
    std::deque<Bytes>& box = world_->mail[{from, rank_, tag}];
    world_->changed.wait(lock, [&] { return world_->lost || !box.empty(); });
    if (box.empty()) world_->throw_lost("receive");
    const Bytes message = std::move(box.front());
    box.pop_front();
    lock.unlock();
    require_size(message.size() == buffer.size(), "receive");
    if (!message.empty()) std::memcpy(buffer.data(), message.data(), message.size());
  }

  // Collectives complete at once: the order of calls is the same on all ranks anyway.
  std::unique_ptr<Request> start_all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override {
    reduce(buffer, op);
    return std::make_unique<DoneRequest>();
  }
  std::unique_ptr<Request> start_send(std::span<const std::byte> buffer, int to, int tag) override {
    send(buffer, to, tag);
    return std::make_unique<DoneRequest>();
  }
  std::unique_ptr<Request> start_receive(std::span<std::byte> buffer, int from, int tag) override {
    return std::make_unique<ReceiveRequest>(*this, buffer, from, tag);
  }

  void abort(int exit_code) override {
    world_->lose("rank " + std::to_string(rank_) + " has ended all ranks with exit code " +
                 std::to_string(exit_code));
  }

 private:
  class ReceiveRequest final : public Request {
   public:
    ReceiveRequest(ThreadCommunicator& owner, std::span<std::byte> buffer, int from, int tag)
        : owner_(owner), buffer_(buffer), from_(from), tag_(tag) {}
    void wait() override {
      if (!done_) owner_.receive(buffer_, from_, tag_);
      done_ = true;
    }
    bool test() override {
      if (!done_ && owner_.has_mail(from_, tag_)) wait();
      return done_;
    }

   private:
    ThreadCommunicator& owner_;
    std::span<std::byte> buffer_;
    int from_, tag_;
    bool done_ = false;
  };

  bool has_mail(int from, int tag) {
    const std::lock_guard lock(world_->mutex);
    return !world_->mail[{from, rank_, tag}].empty();
  }

  void publish(const void* buffer, std::size_t size, const char* collective) {
    world_->buffers[static_cast<std::size_t>(rank_)] = buffer;
    world_->sizes[static_cast<std::size_t>(rank_)] = size;
    world_->wait(collective);
  }

  bool sizes_agree() const {
    return std::all_of(world_->sizes.begin(), world_->sizes.end(),
                       [&](std::size_t size) { return size == world_->sizes[0]; });
  }

  void require_size(bool fits, const char* collective) const {
    if (!fits) {
      throw failure(std::string(collective) + ": ranks passed buffers of different sizes")
          .with_rank(rank_);
    }
  }

  template <class T>
  void reduce(std::span<T> buffer, ReduceOp op) {
    publish(buffer.data(), buffer.size(), "all-reduce");
    const bool fits = sizes_agree();
    std::vector<T> result(buffer.begin(), buffer.end());
    for (std::size_t i = 0; fits && i < result.size(); ++i) {
      T value = static_cast<const T*>(world_->buffers[0])[i];
      for (std::size_t r = 1; r < world_->buffers.size(); ++r) {
        value = combined(value, static_cast<const T*>(world_->buffers[r])[i], op);
      }
      result[i] = value;
    }
    world_->wait("all-reduce");  // everyone has read
    std::copy(result.begin(), result.end(), buffer.begin());
    world_->wait("all-reduce");  // nobody publishes the next one while buffers are in use
    require_size(fits, "all-reduce");
  }

  std::shared_ptr<World> world_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int size) {
  if (size < 1) throw bad_input(std::to_string(size) + " ranks", "use at least 1");
  auto world = std::make_shared<World>(size);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < size; ++rank) {
    communicators.push_back(std::make_unique<ThreadCommunicator>(world, rank));
  }
  return communicators;
}

void run_ranks(int size, const std::function<void(Communicator&)>& body) {
  auto communicators = make_thread_communicators(size);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&, own = std::move(communicator)]() mutable {
      try {
        body(*own);
        own->barrier();  // a rank that has finished must not look lost to the others
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        own->abort(1);
      }
      own.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace ddl
