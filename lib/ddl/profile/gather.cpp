#include "ddl/profile/gather.h"

#include "ddl/base/error.h"

#include <cstring>

namespace ddl::profile {

std::vector<std::vector<double>> gather_numbers(Communicator& communicator,
                                                std::span<const double> mine) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<std::int64_t> lengths(ranks, 0);
  lengths[static_cast<std::size_t>(communicator.rank())] = static_cast<std::int64_t>(mine.size());
  communicator.all_reduce(std::span(lengths), ReduceOp::sum);
  std::vector<std::size_t> counts;
  std::size_t total = 0;
  for (const std::int64_t length : lengths) {
    counts.push_back(static_cast<std::size_t>(length) * sizeof(double));
    total += static_cast<std::size_t>(length);
  }
  std::vector<double> all(total);
  communicator.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)), counts);
  std::vector<std::vector<double>> out;
  auto position = all.cbegin();
  for (const std::int64_t length : lengths) {
    out.emplace_back(position, position + length);
    position += length;
  }
  return out;
}

void put(std::vector<double>& numbers, const Measured& value) {
  numbers.insert(numbers.end(),
                 {value.median, value.low, value.high, static_cast<double>(value.samples)});
}

Measured get(std::span<const double> numbers, std::size_t& position) {
  if (position + 4 > numbers.size()) throw failure("a rank sent a list of figures that is cut off");
  const Measured out{numbers[position], numbers[position + 1], numbers[position + 2],
                     static_cast<int>(numbers[position + 3])};
  position += 4;
  return out;
}

std::vector<Measured> gather_measured(Communicator& communicator, const Measured& mine) {
  std::vector<double> numbers;
  put(numbers, mine);
  std::vector<Measured> out;
  for (const std::vector<double>& one : gather_numbers(communicator, numbers)) {
    std::size_t position = 0;
    out.push_back(get(one, position));
  }
  return out;
}

}  // namespace ddl::profile
