#include "ddl/comm/mpi.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/comm/comm_internal.h"
#include "ddl/comm/mpi_internal.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <mpi.h>

namespace ddl {
namespace {

// failure with MPI's own words, the collective and the host.
void check(int code, const char* what, int rank, const std::string& host) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  std::string words = "error " + std::to_string(code);
  if (MPI_Error_string(code, text, &length) == MPI_SUCCESS)
    words.assign(text, static_cast<std::size_t>(length));
  Error error = failure(std::string(what) + " on host " + host + ": " + words);
  throw error.with_rank(rank);
}

MPI_Op op_of(ReduceOp op) {
  if (op == ReduceOp::max) return MPI_MAX;
  return op == ReduceOp::min ? MPI_MIN : MPI_SUM;
}

// Of one call cut into segments.
class MpiRequest final : public Request {
 public:
  MpiRequest(const char* what, int rank, std::string host)
      : what_(what), rank_(rank), host_(std::move(host)) {}
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  void wait() override {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          what_, rank_, host_);
  }
  bool test() override {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                      MPI_STATUSES_IGNORE),
          what_, rank_, host_);
    return done != 0;
  }

 private:
  const char* what_;
  int rank_;
  std::string host_;
  std::vector<MPI_Request> requests_;
};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm parent);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override { return host_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  void barrier() override { checked(MPI_Barrier(comm_), "MPI_Barrier"); }
  void broadcast(std::span<std::byte> buffer, int root) override;
  void all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override {
    reduce_all(buffer, MPI_INT64_T, op);
  }
  void all_reduce(std::span<float> buffer, ReduceOp op) override {
    reduce_all(buffer, MPI_FLOAT, op);
  }
  void all_reduce(std::span<double> buffer, ReduceOp op) override {
    reduce_all(buffer, MPI_DOUBLE, op);
  }
  void reduce_scatter(std::span<const std::int64_t> send, std::span<std::int64_t> receive,
                      std::span<const std::size_t> counts) override;
  void all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                  std::span<const std::size_t> counts) override;
  void send(std::span<const std::byte> buffer, int to, int tag) override {
    start_send(buffer, to, tag)->wait();
  }
  void receive(std::span<std::byte> buffer, int from, int tag) override {
    start_receive(buffer, from, tag)->wait();
  }
  std::unique_ptr<Request> start_all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override;
  std::unique_ptr<Request> start_send(std::span<const std::byte> buffer, int to, int tag) override;
  std::unique_ptr<Request> start_receive(std::span<std::byte> buffer, int from, int tag) override;
  void abort(int exit_code) override { MPI_Abort(comm_, exit_code); }

  void set_segment_bytes(std::size_t bytes) {
    if (bytes < sizeof(double) || bytes >= std::size_t{1} << 31) {
      throw bad_input("segments of " + std::to_string(bytes) + " bytes", "use 8 to 2^31 - 1");
    }
    segment_bytes_ = bytes;
  }

 private:
  void checked(int code, const char* what) const { check(code, what, rank_, host_); }
  template <class T>
  void reduce_all(std::span<T> buffer, MPI_Datatype type, ReduceOp op) {
    each_segment(buffer, [&](std::span<T> part) {
      checked(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), type,
                            op_of(op), comm_),
              "MPI_Allreduce");
    });
  }
  // Calls body with pieces of at most segment_bytes_; with none for an empty buffer.
  template <class T, class Body>
  void each_segment(std::span<T> buffer, const Body& body) const {
    const std::size_t most = segment_bytes_ / sizeof(T);
    for (std::size_t at = 0; at < buffer.size(); at += most)
      body(buffer.subspan(at, std::min(most, buffer.size() - at)));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::size_t segment_bytes_ = kSegmentBytes;
  std::string host_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
};

MpiCommunicator::MpiCommunicator(MPI_Comm parent) : host_(host_name()) {
  MPI_Comm_rank(parent, &rank_);
  // A communicator of our own: no other user of MPI in this process can take our messages.
  checked(MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
  checked(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_size(comm_, &size_);
  MPI_Comm local = MPI_COMM_NULL;
  checked(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
          "MPI_Comm_split_type");
  MPI_Comm_rank(local, &local_rank_);
  MPI_Comm_size(local, &local_size_);
  MPI_Comm_free(&local);
}

MpiCommunicator::~MpiCommunicator() {
  // Freeing is collective: ranks that leave on an error do not come together for it.
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
}

void MpiCommunicator::broadcast(std::span<std::byte> buffer, int root) {
  each_segment(buffer, [&](std::span<std::byte> part) {
    checked(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, comm_),
            "MPI_Bcast");
  });
}

// One reduction per piece and segment, to its owner. Pieces are large where this is used, and
// segments of one size would not fit MPI_Reduce_scatter's ints.
void MpiCommunicator::reduce_scatter(std::span<const std::int64_t> send,
                                     std::span<std::int64_t> receive,
                                     std::span<const std::size_t> counts) {
  check_pieces("reduce_scatter", *this, counts, send.size(), receive.size());
  const std::size_t most = segment_bytes_ / sizeof(std::int64_t);
  if (send.size() <= most) {
    const std::vector<int> each(counts.begin(), counts.end());
    checked(
        MPI_Reduce_scatter(send.data(), receive.data(), each.data(), MPI_INT64_T, MPI_SUM, comm_),
        "MPI_Reduce_scatter");
    return;
  }
  std::size_t first = 0;
  for (int owner = 0; owner < size_; ++owner) {
    const std::size_t count = counts[static_cast<std::size_t>(owner)];
    for (std::size_t at = 0; at < count; at += most) {
      const std::size_t part = std::min(most, count - at);
      checked(MPI_Reduce(send.data() + first + at, owner == rank_ ? receive.data() + at : nullptr,
                         static_cast<int>(part), MPI_INT64_T, MPI_SUM, owner, comm_),
              "MPI_Reduce");
    }
    first += count;
  }
}

void MpiCommunicator::all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                                 std::span<const std::size_t> counts) {
  check_pieces("all_gather", *this, counts, receive.size(), send.size());
  if (receive.size() <= segment_bytes_) {
    std::vector<int> each, offsets;
    int at = 0;
    for (const std::size_t count : counts) {
      each.push_back(static_cast<int>(count));
      offsets.push_back(at);
      at += each.back();
    }
    checked(MPI_Allgatherv(send.data(), static_cast<int>(send.size()), MPI_BYTE, receive.data(),
                           each.data(), offsets.data(), MPI_BYTE, comm_),
            "MPI_Allgatherv");
    return;
  }
  std::size_t at = 0;
  for (int owner = 0; owner < size_; ++owner) {
    const std::span<std::byte> piece = receive.subspan(at, counts[static_cast<std::size_t>(owner)]);
    if (owner == rank_) std::copy(send.begin(), send.end(), piece.begin());
    broadcast(piece, owner);
    at += piece.size();
  }
}

std::unique_ptr<Request> MpiCommunicator::start_all_reduce(std::span<std::int64_t> buffer,
                                                           ReduceOp op) {
  auto request = std::make_unique<MpiRequest>("MPI_Iallreduce", rank_, host_);
  each_segment(buffer, [&](std::span<std::int64_t> part) {
    checked(MPI_Iallreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_INT64_T,
                           op_of(op), comm_, request->add()),
            "MPI_Iallreduce");
  });
  return request;
}

// Segments of a message arrive in order, since they share source, destination and tag. An empty
// message is a message all the same.
std::unique_ptr<Request> MpiCommunicator::start_send(std::span<const std::byte> buffer, int to,
                                                     int tag) {
  auto request = std::make_unique<MpiRequest>("MPI_Isend", rank_, host_);
  const auto post = [&](std::span<const std::byte> part) {
    checked(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, tag, comm_,
                      request->add()),
            "MPI_Isend");
  };
  if (buffer.empty()) post(buffer);
  each_segment(buffer, post);
  return request;
}

std::unique_ptr<Request> MpiCommunicator::start_receive(std::span<std::byte> buffer, int from,
                                                        int tag) {
  auto request = std::make_unique<MpiRequest>("MPI_Irecv", rank_, host_);
  const auto post = [&](std::span<std::byte> part) {
    checked(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from, tag, comm_,
                      request->add()),
            "MPI_Irecv");
  };
  if (buffer.empty()) post(buffer);
  each_segment(buffer, post);
  return request;
}

}  // namespace

void set_segment_bytes(Communicator& communicator, std::size_t bytes) {
  auto* mpi = dynamic_cast<MpiCommunicator*>(&communicator);
  if (mpi == nullptr) throw bad_input("set_segment_bytes: this communicator is not MPI's");
  mpi->set_segment_bytes(bytes);
}

struct MpiEnvironment::Impl {
  std::unique_ptr<Communicator> world;
  int exceptions = std::uncaught_exceptions();
};

MpiEnvironment::MpiEnvironment(int* argc, char*** argv) : impl_(std::make_unique<Impl>()) {
  const LaunchEnvironment launch = launch_environment();
  int provided = 0;
  check(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread", launch.rank,
        host_name());
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    throw failure("this MPI library was built without threads (" + library_version() + ")",
                  "use one that provides MPI_THREAD_FUNNELED");
  }
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (launch.launched && launch.size > 0 && launch.size != size) {
    MPI_Finalize();
    Error error = bad_input(launch.launcher + " started " + std::to_string(launch.size) +
                                " processes, but MPI sees a world of " + std::to_string(size) +
                                ": the launcher does not belong to this MPI library (" +
                                library_version() + ")",
                            launch.launcher == "srun" ? "use srun --mpi=pmix, or mpirun"
                                                      : "start with the mpirun of that library");
    throw error.with_rank(launch.rank);
  }
  impl_->world = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD);
}

MpiEnvironment::~MpiEnvironment() {
  // On the way out of an error the other ranks are elsewhere, and MPI_Finalize would wait for them.
  // A process that ends without it makes the launcher end all the others.
  if (std::uncaught_exceptions() > impl_->exceptions) return;
  impl_->world.reset();
  MPI_Finalize();
}

Communicator& MpiEnvironment::world() {
  return *impl_->world;
}

std::string MpiEnvironment::library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  // Open MPI adds build details after a comma; others after a line break.
  version = version.substr(0, version.find_first_of(",\n"));
  return version;
}

}  // namespace ddl
