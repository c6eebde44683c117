// What the tests of profile share: clocks that only tests move, ranks that believe they are on
// several hosts, and a small data set.
#pragma once

#include "ddl/comm/communicator.h"
#include "ddl/data/build.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unit/base/support.h"

namespace ddl::test {

// Goes forward by `step` seconds at each look, on any thread.
inline std::function<double()> stepping_clock(double step) {
  return [step, looks = std::make_shared<std::atomic<int>>(0)] { return step * ++*looks; };
}

// Says that rank r is on host hosts[r]; messages go through the communicator beneath.
class FakeHosts final : public Communicator {
 public:
  FakeHosts(Communicator& beneath, std::vector<std::string> hosts)
      : beneath_(beneath), hosts_(std::move(hosts)) {}
  int rank() const override { return beneath_.rank(); }
  int size() const override { return beneath_.size(); }
  std::string host() const override { return hosts_.at(static_cast<std::size_t>(rank())); }
  int local_rank() const override {
    return static_cast<int>(std::count(hosts_.begin(), hosts_.begin() + rank(), host()));
  }
  int local_size() const override {
    return static_cast<int>(std::count(hosts_.begin(), hosts_.end(), host()));
  }
  void barrier() override { beneath_.barrier(); }
  void broadcast(std::span<std::byte> buffer, int root) override {
    beneath_.broadcast(buffer, root);
  }
  void all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override {
    beneath_.all_reduce(buffer, op);
  }
  void all_reduce(std::span<float> buffer, ReduceOp op) override {
    beneath_.all_reduce(buffer, op);
  }
  void all_reduce(std::span<double> buffer, ReduceOp op) override {
    beneath_.all_reduce(buffer, op);
  }
  void reduce_scatter(std::span<const std::int64_t> send, std::span<std::int64_t> receive,
                      std::span<const std::size_t> counts) override {
    beneath_.reduce_scatter(send, receive, counts);
  }
  void all_gather(std::span<const std::byte> send, std::span<std::byte> receive,
                  std::span<const std::size_t> counts) override {
    beneath_.all_gather(send, receive, counts);
  }
  void send(std::span<const std::byte> buffer, int to, int tag) override {
    beneath_.send(buffer, to, tag);
  }
  void receive(std::span<std::byte> buffer, int from, int tag) override {
    beneath_.receive(buffer, from, tag);
  }
  std::unique_ptr<Request> start_all_reduce(std::span<std::int64_t> buffer, ReduceOp op) override {
    return beneath_.start_all_reduce(buffer, op);
  }
  std::unique_ptr<Request> start_send(std::span<const std::byte> buffer, int to, int tag) override {
    return beneath_.start_send(buffer, to, tag);
  }
  std::unique_ptr<Request> start_receive(std::span<std::byte> buffer, int from, int tag) override {
    return beneath_.start_receive(buffer, from, tag);
  }
  void abort(int exit_code) override { beneath_.abort(exit_code); }

 private:
  Communicator& beneath_;
  std::vector<std::string> hosts_;
};

// `rows` rows of five numbers and one of three classes, four fifths of them for training.
inline std::filesystem::path make_dataset(const std::filesystem::path& folder, int rows) {
  const std::filesystem::path source = folder / "table.csv";
  std::ofstream out(source);
  out << "a,b,c,d,e,label\n";
  for (int i = 0; i < rows; ++i)
    out << i % 7 << ',' << i % 5 - 2 << ',' << 0.25 * (i % 11) << ',' << i % 3 << ',' << i % 13
        << ",k" << i % 3 << '\n';
  out.close();
  BuildOptions options;
  options.sources = {source};
  options.output = folder / "data";
  options.label = "label";
  options.threads = 1;
  build_dataset(options);
  return options.output;
}

}  // namespace ddl::test
