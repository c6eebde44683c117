// Communicators: collectives and point-to-point messages over plain buffers. MPI and (later) NCCL
// implement it, and threads for tests: ranks as threads of one process.
//
// Every collective is called by all ranks in the same order. Counts are size_t: implementations cut
// buffers into pieces below `segment_bytes` (default under 2^31; a test lowers it). Asynchronous
// calls return a Request; buffers stay untouched until it is done.
// Threads: one owner thread per communicator. Errors: Error(failure) with the library's message,
// rank, host and collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

class Request {
 public:
  virtual ~Request() = default;
  virtual void wait() = 0;
  virtual bool test() = 0;
};

enum class ReduceOp { sum, max, min };

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string host() const = 0;
  // Ranks that share memory with this one, counted by shared memory, not by name.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> buffer, int root) = 0;
  virtual void all_reduce(std::span<std::int64_t> buffer, ReduceOp op) = 0;
  virtual void all_reduce(std::span<float> buffer, ReduceOp op) = 0;
  virtual void all_reduce(std::span<double> buffer, ReduceOp op) = 0;
  // Rank r ends with the sum of everyone's piece r; counts[r] elements, pieces in rank order.
  virtual void reduce_scatter(std::span<const std::int64_t> send, std::span<std::int64_t> receive,
                              std::span<const std::size_t> counts) = 0;
  // Pieces of unequal size, in rank order.
  virtual void all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                          std::span<const std::size_t> counts) = 0;
  virtual void send(std::span<const std::byte> buffer, int to, int tag) = 0;
  virtual void receive(std::span<std::byte> buffer, int from, int tag) = 0;

  virtual std::unique_ptr<Request> start_all_reduce(std::span<std::int64_t> buffer,
                                                    ReduceOp op) = 0;
  virtual std::unique_ptr<Request> start_send(std::span<const std::byte> buffer, int to,
                                              int tag) = 0;
  virtual std::unique_ptr<Request> start_receive(std::span<std::byte> buffer, int from,
                                                 int tag) = 0;

  // Ends all ranks at once with this exit code; does not return under MPI.
  virtual void abort(int exit_code) = 0;

  // Convenience over the above.
  std::vector<std::string> all_gather_text(std::string_view mine);
  std::string broadcast_text(std::string_view text, int root);  // text is used on root only
  std::int64_t all_reduce(std::int64_t value, ReduceOp op);
  double all_reduce(double value, ReduceOp op);
};

}  // namespace ddl
