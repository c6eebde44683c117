#include "ddl/comm/communicator.h"

#include <cstring>
#include <numeric>

namespace ddl {

std::vector<std::string> Communicator::all_gather_text(std::string_view mine) {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::int64_t> lengths(ranks, 0);
  lengths[static_cast<std::size_t>(rank())] = static_cast<std::int64_t>(mine.size());
  all_reduce(std::span(lengths), ReduceOp::sum);
  const std::vector<std::size_t> counts(lengths.begin(), lengths.end());
  std::string all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), '\0');
  all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), counts);
  std::vector<std::string> texts;
  std::size_t position = 0;
  for (const std::size_t count : counts) {
    texts.push_back(all.substr(position, count));
    position += count;
  }
  return texts;
}

std::string Communicator::broadcast_text(std::string_view text, int root) {
  auto length = static_cast<std::int64_t>(rank() == root ? text.size() : 0);
  broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
  std::string buffer(static_cast<std::size_t>(length), '\0');
  if (rank() == root) std::memcpy(buffer.data(), text.data(), text.size());
  broadcast(std::as_writable_bytes(std::span(buffer)), root);
  return buffer;
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
