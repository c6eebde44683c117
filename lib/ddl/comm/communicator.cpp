#include "ddl/comm/communicator.h"

#include "ddl/base/error.h"
#include "ddl/comm/comm_internal.h"

#include <numeric>

namespace ddl {

void check_pieces(const char* what, const Communicator& communicator,
                  std::span<const std::size_t> counts, std::size_t all, std::size_t mine) {
  const auto rank = static_cast<std::size_t>(communicator.rank());
  const bool one_each = counts.size() == static_cast<std::size_t>(communicator.size());
  if (one_each && counts[rank] == mine &&
      std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == all) {
    return;
  }
  throw failure(std::string(what) + ": the counts of " + std::to_string(counts.size()) +
                " pieces do not fit buffers of " + std::to_string(all) + " and " +
                std::to_string(mine) + " elements on " + std::to_string(communicator.size()) +
                " ranks")
      .with_rank(communicator.rank());
}

std::vector<std::string> Communicator::all_gather_text(std::string_view mine) {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::int64_t> lengths(ranks, 0);
  lengths[static_cast<std::size_t>(rank())] = static_cast<std::int64_t>(mine.size());
  all_reduce(std::span(lengths), ReduceOp::sum);
  const std::vector<std::size_t> counts(lengths.begin(), lengths.end());
  std::string all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), '\0');
  all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), counts);
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (const std::size_t count : counts) {
    texts.push_back(all.substr(at, count));
    at += count;
  }
  return texts;
}

std::string Communicator::broadcast_text(std::string_view text, int root) {
  std::int64_t length = rank() == root ? static_cast<std::int64_t>(text.size()) : 0;
  broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
  if (length < 0) throw failure("broadcast: a text of negative length arrived").with_rank(rank());
  std::string out = rank() == root ? std::string(text) : std::string();
  out.resize(static_cast<std::size_t>(length));
  broadcast(std::as_writable_bytes(std::span(out)), root);
  return out;
}

std::int64_t Communicator::all_reduce(std::int64_t value, ReduceOp op) {
  all_reduce(std::span(&value, 1), op);
  return value;
}

double Communicator::all_reduce(double value, ReduceOp op) {
  all_reduce(std::span(&value, 1), op);
  return value;
}

}  // namespace ddl
