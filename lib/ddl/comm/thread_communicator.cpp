#include "ddl/comm/thread_communicator.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/comm/comm_internal.h"

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

// What one rank brings to a collective; the data stay where they are.
struct Contribution {
  const void* send = nullptr;
  void* receive = nullptr;
  std::vector<std::size_t> counts;
};

// The n-th collective of a group. The last rank to arrive does the work for all.
struct Collective {
  std::string name;  // what is called with which size: all ranks must say the same
  std::vector<Contribution> parts;
  std::size_t arrived = 0, left = 0;
  bool done = false;
};

using MessageKey = std::tuple<int, int, int>;  // from, to, tag

struct Group {
  explicit Group(int ranks) : size(ranks), gone(static_cast<std::size_t>(ranks), false) {}

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, Collective> collectives;
  std::map<MessageKey, std::deque<std::vector<std::byte>>> messages;
  std::string failed;      // why nothing more can work, or empty
  std::vector<bool> gone;  // ranks whose communicator was destroyed

  void fail(const std::string& reason) {
    const std::lock_guard lock(mutex);
    if (failed.empty()) failed = reason;
    changed.notify_all();
  }
};

Error broken(int rank, const std::string& what, const std::string& why) {
  return failure(what + ": " + why).with_rank(rank);
}

using Work = void (*)(Collective&);

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Group> group, int rank)
      : group_(std::move(group)), rank_(rank) {}

  ~ThreadCommunicator() override {
    const std::lock_guard lock(group_->mutex);
    group_->gone[static_cast<std::size_t>(rank_)] = true;
    group_->changed.notify_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return group_->size; }
  std::string host() const override { return host_name(); }
  int local_rank() const override { return rank_; }
  int local_size() const override { return group_->size; }

  void barrier() override;
  void broadcast(std::span<std::byte> buffer, int root) override;
  void all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override;
  void all_reduce(std::span<float> buffer, ReduceOp op) override;
  void all_reduce(std::span<double> buffer, ReduceOp op) override;
  void reduce_scatter(std::span<const std::int64_t> send, std::span<std::int64_t> receive,
                      std::span<const std::size_t> counts) override;
  void all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                  std::span<const std::size_t> counts) override;
  void send(std::span<const std::byte> buffer, int to, int tag) override;
  void receive(std::span<std::byte> buffer, int from, int tag) override;
  std::unique_ptr<Request> start_all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override;
  std::unique_ptr<Request> start_send(std::span<const std::byte> buffer, int to, int tag) override;
  std::unique_ptr<Request> start_receive(std::span<std::byte> buffer, int from, int tag) override;
  void abort(int exit_code) override;

  // Brings this rank's part to its next collective; the returned number is for finish().
  std::uint64_t start(const std::string& name, Contribution part, Work work);
  // True once collective `number` is done; with block, waits for it.
  bool finish(std::uint64_t number, const std::string& name, bool block);
  // Forgets a started collective: if it is not done, its buffer may be gone when the others come,
  // so that nothing more can work.
  void drop(std::uint64_t number, const std::string& name);
  // True once a message was copied to the buffer; with block, waits for it.
  bool take(std::span<std::byte> buffer, int from, int tag, bool block);

 private:
  void run(const std::string& name, Contribution part, Work work) {
    finish(start(name, std::move(part), work), name, true);
  }
  // Throws when some rank can no longer take part: it failed, or left before this collective was
  // done (so that its buffers may be gone). The group's mutex is held.
  void check_all_there(const std::string& what) const {
    if (!group_->failed.empty()) throw broken(rank_, what, group_->failed);
    for (std::size_t r = 0; r < group_->gone.size(); ++r)
      if (group_->gone[r]) throw broken(rank_, what, "rank " + std::to_string(r) + " has left");
  }
  void check_rank(const char* what, int other) const {
    if (other < 0 || other >= size()) {
      throw broken(rank_, what, "there is no rank " + std::to_string(other));
    }
  }

  std::shared_ptr<Group> group_;
  int rank_;
  std::uint64_t next_ = 0;
};

std::uint64_t ThreadCommunicator::start(const std::string& name, Contribution part, Work work) {
  const std::lock_guard lock(group_->mutex);
  check_all_there(name);
  const std::uint64_t number = next_++;
  Collective& collective = group_->collectives[number];
  if (collective.parts.empty()) {
    collective.name = name;
    collective.parts.resize(static_cast<std::size_t>(size()));
  } else if (collective.name != name) {
    group_->failed = "rank " + std::to_string(rank_) + " called " + name + " while others called " +
                     collective.name;
    group_->changed.notify_all();
    throw broken(rank_, name, group_->failed);
  }
  collective.parts[static_cast<std::size_t>(rank_)] = std::move(part);
  if (++collective.arrived == collective.parts.size()) {
    work(collective);
    collective.done = true;
    group_->changed.notify_all();
  }
  return number;
}

bool ThreadCommunicator::finish(std::uint64_t number, const std::string& name, bool block) {
  std::unique_lock lock(group_->mutex);
  Collective& collective = group_->collectives.at(number);
  for (;;) {
    if (collective.done) break;
    check_all_there(name);
    if (!block) return false;
    group_->changed.wait(lock);
  }
  if (++collective.left == collective.parts.size()) group_->collectives.erase(number);
  return true;
}

void ThreadCommunicator::drop(std::uint64_t number, const std::string& name) {
  const std::lock_guard lock(group_->mutex);
  const auto found = group_->collectives.find(number);
  if (found == group_->collectives.end()) return;
  if (found->second.done) {
    if (++found->second.left == found->second.parts.size()) group_->collectives.erase(found);
    return;
  }
  if (group_->failed.empty())
    group_->failed = "rank " + std::to_string(rank_) + " gave up its " + name;
  group_->changed.notify_all();
}

bool ThreadCommunicator::take(std::span<std::byte> buffer, int from, int tag, bool block) {
  std::unique_lock lock(group_->mutex);
  auto& queue = group_->messages[{from, rank_, tag}];
  while (queue.empty()) {
    if (!group_->failed.empty()) throw broken(rank_, "receive", group_->failed);
    if (group_->gone[static_cast<std::size_t>(from)]) {
      throw broken(rank_, "receive", "rank " + std::to_string(from) + " has left");
    }
    if (!block) return false;
    group_->changed.wait(lock);
  }
  const std::vector<std::byte> message = std::move(queue.front());
  queue.pop_front();
  if (message.size() != buffer.size()) {
    throw broken(rank_, "receive",
                 "rank " + std::to_string(from) + " sent " + std::to_string(message.size()) +
                     " bytes where " + std::to_string(buffer.size()) + " were expected");
  }
  if (!message.empty()) std::memcpy(buffer.data(), message.data(), message.size());
  return true;
}

class CollectiveRequest final : public Request {
 public:
  CollectiveRequest(ThreadCommunicator& owner, std::uint64_t number, std::string name)
      : owner_(owner), number_(number), name_(std::move(name)) {}
  ~CollectiveRequest() override {
    if (!done_) owner_.drop(number_, name_);
  }
  CollectiveRequest(const CollectiveRequest&) = delete;
  CollectiveRequest& operator=(const CollectiveRequest&) = delete;
  void wait() override { finish(true); }
  bool test() override { return finish(false); }

 private:
  bool finish(bool block) {
    if (!done_) done_ = owner_.finish(number_, name_, block);
    return done_;
  }
  ThreadCommunicator& owner_;
  std::uint64_t number_;
  std::string name_;
  bool done_ = false;
};

class ReceiveRequest final : public Request {
 public:
  ReceiveRequest(ThreadCommunicator& owner, std::span<std::byte> buffer, int from, int tag)
      : owner_(owner), buffer_(buffer), from_(from), tag_(tag) {}
  void wait() override { finish(true); }
  bool test() override { return finish(false); }

 private:
  bool finish(bool block) {
    if (!done_) done_ = owner_.take(buffer_, from_, tag_, block);
    return done_;
  }
  ThreadCommunicator& owner_;
  std::span<std::byte> buffer_;
  int from_, tag_;
  bool done_ = false;
};

class DoneRequest final : public Request {
 public:
  void wait() override {}
  bool test() override { return true; }
};

template <class T>
void combine(T& into, T value, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      into += value;
      break;
    case ReduceOp::max:
      into = std::max(into, value);
      break;
    case ReduceOp::min:
      into = std::min(into, value);
      break;
  }
}

// counts[0] holds the number of elements.
template <class T, ReduceOp op>
void reduce_all(Collective& collective) {
  const std::size_t count = collective.parts[0].counts[0];
  for (std::size_t i = 0; i < count; ++i) {
    T total = static_cast<T*>(collective.parts[0].receive)[i];
    for (std::size_t r = 1; r < collective.parts.size(); ++r)
      combine(total, static_cast<T*>(collective.parts[r].receive)[i], op);
    for (const Contribution& part : collective.parts) static_cast<T*>(part.receive)[i] = total;
  }
}

template <class T>
Work reduce_work(ReduceOp op) {
  if (op == ReduceOp::max) return reduce_all<T, ReduceOp::max>;
  if (op == ReduceOp::min) return reduce_all<T, ReduceOp::min>;
  return reduce_all<T, ReduceOp::sum>;
}

std::string named(const char* what, const char* type, std::size_t count, ReduceOp op) {
  const char* ops[] = {"sum", "max", "min"};
  return std::string(what) + "(" + std::to_string(count) + " " + type + ", " +
         ops[static_cast<int>(op)] + ")";
}

std::string named(const char* what, std::span<const std::size_t> counts) {
  std::string name = std::string(what) + "(";
  for (const std::size_t count : counts) name += std::to_string(count) + " ";
  name.back() = ')';
  return name;
}

void ThreadCommunicator::barrier() {
  run("barrier", {}, [](Collective&) {});
}

void ThreadCommunicator::broadcast(std::span<std::byte> buffer, int root) {
  check_rank("broadcast", root);
  const std::string name = "broadcast(" + std::to_string(buffer.size()) + " bytes from rank " +
                           std::to_string(root) + ")";
  const auto from = static_cast<std::size_t>(root);
  run(name, {nullptr, buffer.data(), {buffer.size(), from}}, [](Collective& c) {
    const std::size_t bytes = c.parts[0].counts[0], source = c.parts[0].counts[1];
    for (std::size_t r = 0; r < c.parts.size() && bytes > 0; ++r)
      if (r != source) std::memcpy(c.parts[r].receive, c.parts[source].receive, bytes);
  });
}

void ThreadCommunicator::all_reduce(std::span<std::int64_t> buffer, ReduceOp op) {
  run(named("all_reduce", "int64", buffer.size(), op), {nullptr, buffer.data(), {buffer.size()}},
      reduce_work<std::int64_t>(op));
}

void ThreadCommunicator::all_reduce(std::span<float> buffer, ReduceOp op) {
  run(named("all_reduce", "float", buffer.size(), op), {nullptr, buffer.data(), {buffer.size()}},
      reduce_work<float>(op));
}

void ThreadCommunicator::all_reduce(std::span<double> buffer, ReduceOp op) {
  run(named("all_reduce", "double", buffer.size(), op), {nullptr, buffer.data(), {buffer.size()}},
      reduce_work<double>(op));
}

void ThreadCommunicator::reduce_scatter(std::span<const std::int64_t> send,
                                        std::span<std::int64_t> receive,
                                        std::span<const std::size_t> counts) {
  check_pieces("reduce_scatter", *this, counts, send.size(), receive.size());
  run(named("reduce_scatter", counts),
      {send.data(), receive.data(), {counts.begin(), counts.end()}}, [](Collective& c) {
        std::size_t at = 0;
        for (const Contribution& to : c.parts) {
          const std::size_t count = c.parts[0].counts[static_cast<std::size_t>(&to - &c.parts[0])];
          for (std::size_t i = 0; i < count; ++i) {
            std::int64_t total = 0;
            for (const Contribution& from : c.parts)
              total += static_cast<const std::int64_t*>(from.send)[at + i];
            static_cast<std::int64_t*>(to.receive)[i] = total;
          }
          at += count;
        }
      });
}

void ThreadCommunicator::all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                                    std::span<const std::size_t> counts) {
  check_pieces("all_gather", *this, counts, receive.size(), send.size());
  run(named("all_gather", counts), {send.data(), receive.data(), {counts.begin(), counts.end()}},
      [](Collective& c) {
        std::size_t at = 0;
        for (std::size_t r = 0; r < c.parts.size(); ++r) {
          const std::size_t count = c.parts[0].counts[r];
          for (const Contribution& to : c.parts) {
            if (count > 0)
              std::memcpy(static_cast<std::byte*>(to.receive) + at, c.parts[r].send, count);
          }
          at += count;
        }
      });
}

void ThreadCommunicator::send(std::span<const std::byte> buffer, int to, int tag) {
  check_rank("send", to);
  const std::lock_guard lock(group_->mutex);
  if (!group_->failed.empty()) throw broken(rank_, "send", group_->failed);
  group_->messages[{rank_, to, tag}].emplace_back(buffer.begin(), buffer.end());
  group_->changed.notify_all();
}

void ThreadCommunicator::receive(std::span<std::byte> buffer, int from, int tag) {
  check_rank("receive", from);
  take(buffer, from, tag, true);
}

std::unique_ptr<Request> ThreadCommunicator::start_all_reduce(std::span<std::int64_t> buffer,
                                                              ReduceOp op) {
  const std::string name = named("all_reduce", "int64", buffer.size(), op);
  const std::uint64_t number =
      start(name, {nullptr, buffer.data(), {buffer.size()}}, reduce_work<std::int64_t>(op));
  return std::make_unique<CollectiveRequest>(*this, number, name);
}

std::unique_ptr<Request> ThreadCommunicator::start_send(std::span<const std::byte> buffer, int to,
                                                        int tag) {
  send(buffer, to, tag);
  return std::make_unique<DoneRequest>();
}

std::unique_ptr<Request> ThreadCommunicator::start_receive(std::span<std::byte> buffer, int from,
                                                           int tag) {
  check_rank("receive", from);
  return std::make_unique<ReceiveRequest>(*this, buffer, from, tag);
}

void ThreadCommunicator::abort(int exit_code) {
  group_->fail("rank " + std::to_string(rank_) + " aborted with exit code " +
               std::to_string(exit_code));
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int size) {
  if (size < 1) throw bad_input("a group of " + std::to_string(size) + " ranks");
  const auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<ThreadCommunicator>(group, r));
  return ranks;
}

void run_ranks(int size, const std::function<void(Communicator&)>& body) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_communicators(size);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](std::unique_ptr<Communicator> mine) {
    try {
      body(*mine);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      mine->abort(1);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t r = 1; r < ranks.size(); ++r) threads.emplace_back(run, std::move(ranks[r]));
  run(std::move(ranks[0]));
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace ddl
