#include "ddl/comm/mpi.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/comm/mpi_internal.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <mpi.h>

namespace ddl {
namespace {

// MPI counts are int: below 2^31 elements and, for Linux's sake, below 2 GiB a call.
constexpr std::size_t kSegmentBytes = std::size_t{1} << 30;

std::string mpi_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

void check(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS) return;
  throw failure(std::string(call) + " on " + host_name() + ": " + mpi_error_text(code))
      .with_rank(rank);
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::min:
      return MPI_MIN;
  }
  return MPI_SUM;
}

template <class T>
MPI_Datatype mpi_type();
template <>
MPI_Datatype mpi_type<std::int64_t>() {
  return MPI_INT64_T;
}
template <>
MPI_Datatype mpi_type<float>() {
  return MPI_FLOAT;
}
template <>
MPI_Datatype mpi_type<double>() {
  return MPI_DOUBLE;
}

// Several MPI requests that complete as one.
class MpiRequest final : public Request {
 public:
  MpiRequest(std::vector<MPI_Request> requests, const char* call, int rank)
      : requests_(std::move(requests)), call_(call), rank_(rank) {}
  ~MpiRequest() override {
    // A request that nobody waited for, on the way out of an exception: the buffers are about to
    // go.
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }
  void wait() override {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          call_, rank_);
  }
  bool test() override {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                      MPI_STATUSES_IGNORE),
          call_, rank_);
    return done != 0;
  }

 private:
  std::vector<MPI_Request> requests_;
  const char* call_;
  int rank_;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup", -1);
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", -1);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    // Ranks of one host are those that can share memory, whatever their hosts are called.
    MPI_Comm local = MPI_COMM_NULL;
    check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
          "MPI_Comm_split_type", rank_);
    MPI_Comm_rank(local, &local_rank_);
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  ~MpiCommunicator() override { MPI_Comm_free(&comm_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override { return host_name(); }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  void set_segment(std::size_t bytes) { segment_bytes_ = std::max<std::size_t>(bytes, 8); }

  void barrier() override { check(MPI_Barrier(comm_), "MPI_Barrier", rank_); }

  void broadcast(std::span<std::byte> buffer, int root) override {
    pieces(buffer.size(), 1, [&](std::size_t first, int count) {
      check(MPI_Bcast(buffer.data() + first, count, MPI_BYTE, root, comm_), "MPI_Bcast", rank_);
    });
  }

  void all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override { reduce(buffer, op); }
  void all_reduce(std::span<float> buffer, ReduceOp op) override { reduce(buffer, op); }
  void all_reduce(std::span<double> buffer, ReduceOp op) override { reduce(buffer, op); }

  void reduce_scatter(std::span<const std::int64_t> send, std::span<std::int64_t> receive,
                      std::span<const std::size_t> counts) override {
    // One reduction to each owner: pieces of any size, zero included, without an int of counts.
    std::size_t position = 0;
    for (int owner = 0; owner < size_; ++owner) {
      const std::size_t length = counts[static_cast<std::size_t>(owner)];
      pieces(length, sizeof(std::int64_t), [&](std::size_t first, int count) {
        check(MPI_Reduce(send.data() + position + first,
                         owner == rank_ ? receive.data() + first : nullptr, count, MPI_INT64_T,
                         MPI_SUM, owner, comm_),
              "MPI_Reduce", rank_);
      });
      position += length;
    }
  }

  void all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                  std::span<const std::size_t> counts) override {
    std::size_t position = 0;
    for (int owner = 0; owner < size_; ++owner) {
      const std::span piece = receive.subspan(position, counts[static_cast<std::size_t>(owner)]);
      if (owner == rank_ && !piece.empty()) std::memcpy(piece.data(), send.data(), piece.size());
      broadcast(piece, owner);
      position += piece.size();
    }
  }

  void send(std::span<const std::byte> buffer, int to, int tag) override {
    pieces(buffer.size(), 1, [&](std::size_t first, int count) {
      check(MPI_Send(buffer.data() + first, count, MPI_BYTE, to, tag, comm_), "MPI_Send", rank_);
    });
  }

  void receive(std::span<std::byte> buffer, int from, int tag) override {
    pieces(buffer.size(), 1, [&](std::size_t first, int count) {
      check(MPI_Recv(buffer.data() + first, count, MPI_BYTE, from, tag, comm_, MPI_STATUS_IGNORE),
            "MPI_Recv", rank_);
    });
  }

  std::unique_ptr<Request> start_all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override {
    std::vector<MPI_Request> requests;
    pieces(buffer.size(), sizeof(std::int64_t), [&](std::size_t first, int count) {
      requests.push_back(MPI_REQUEST_NULL);
      check(MPI_Iallreduce(MPI_IN_PLACE, buffer.data() + first, count, MPI_INT64_T, mpi_op(op),
                           comm_, &requests.back()),
            "MPI_Iallreduce", rank_);
    });
    return std::make_unique<MpiRequest>(std::move(requests), "MPI_Iallreduce", rank_);
  }

  std::unique_ptr<Request> start_send(std::span<const std::byte> buffer, int to, int tag) override {
    std::vector<MPI_Request> requests;
    pieces(buffer.size(), 1, [&](std::size_t first, int count) {
      requests.push_back(MPI_REQUEST_NULL);
      check(MPI_Isend(buffer.data() + first, count, MPI_BYTE, to, tag, comm_, &requests.back()),
            "MPI_Isend", rank_);
    });
    return std::make_unique<MpiRequest>(std::move(requests), "MPI_Isend", rank_);
  }

  std::unique_ptr<Request> start_receive(std::span<std::byte> buffer, int from, int tag) override {
    std::vector<MPI_Request> requests;
    pieces(buffer.size(), 1, [&](std::size_t first, int count) {
      requests.push_back(MPI_REQUEST_NULL);
      check(MPI_Irecv(buffer.data() + first, count, MPI_BYTE, from, tag, comm_, &requests.back()),
            "MPI_Irecv", rank_);
    });
    return std::make_unique<MpiRequest>(std::move(requests), "MPI_Irecv", rank_);
  }

  void abort(int exit_code) override { MPI_Abort(comm_, exit_code); }

 private:
  // Cuts `elements` of `element_bytes` each into pieces for one call. An empty buffer is one empty
  // call: all ranks must still meet.
  template <class Call>
  void pieces(std::size_t elements, std::size_t element_bytes, const Call& call) const {
    const std::size_t most = std::max<std::size_t>(segment_bytes_ / element_bytes, 1);
    std::size_t first = 0;
    do {
      const std::size_t count = std::min(most, elements - first);
      call(first, static_cast<int>(count));
      first += count;
    } while (first < elements);
  }

  template <class T>
  void reduce(std::span<T> buffer, ReduceOp op) {
    pieces(buffer.size(), sizeof(T), [&](std::size_t first, int count) {
      check(MPI_Allreduce(MPI_IN_PLACE, buffer.data() + first, count, mpi_type<T>(), mpi_op(op),
                          comm_),
            "MPI_Allreduce", rank_);
    });
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::size_t segment_bytes_ = kSegmentBytes;
};

}  // namespace

void set_segment_bytes(Communicator& communicator, std::size_t bytes) {
  dynamic_cast<MpiCommunicator&>(communicator).set_segment(bytes);
}

struct MpiEnvironment::Impl {
  std::unique_ptr<MpiCommunicator> world;
};

MpiEnvironment::MpiEnvironment(int* argc, char*** argv) : impl_(std::make_unique<Impl>()) {
  const LaunchEnvironment launched = launch_environment();
  int provided = 0;
  const int code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  if (code != MPI_SUCCESS) throw failure("MPI_Init_thread: " + mpi_error_text(code));
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (launched.launched && launched.size > 0 && launched.size != size) {
    const std::string found = launched.launcher + " started " + std::to_string(launched.size) +
                              " processes, but MPI sees a world of " + std::to_string(size);
    MPI_Finalize();
    throw bad_input(found,
                    "launcher and library are of different MPIs; use the mpirun of this Open MPI, "
                    "or srun --mpi=pmix");
  }
  impl_->world = std::make_unique<MpiCommunicator>();
}

MpiEnvironment::~MpiEnvironment() {
  impl_->world.reset();
  MPI_Finalize();
}

Communicator& MpiEnvironment::world() {
  return *impl_->world;
}

std::string MpiEnvironment::library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown MPI";
  // "Open MPI v4.1.4, package: …": the part before the comma.
  const std::string version(text, static_cast<std::size_t>(length));
  return version.substr(0, version.find(','));
}

}  // namespace ddl
