// A constant while it is folded (fold.cpp): doubles, or 64-bit integers for every integer type.
#pragma once

#include "ddl/model/graph.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ddl::onnx_io {

inline constexpr std::int64_t kLargestFold = 1 << 24;  // elements

inline bool is_integer(DType dtype) {
  return dtype != DType::f32;
}

struct Folded {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::size_t size() const { return is_integer(dtype) ? integers.size() : reals.size(); }
  void resize(std::size_t count) {
    if (is_integer(dtype))
      integers.resize(count);
    else
      reals.resize(count);
  }
  void copy(std::size_t to, const Folded& from, std::size_t at) {
    if (is_integer(dtype))
      integers[to] = from.integers[at];
    else
      reals[to] = from.reals[at];
  }
};

// Nothing for a type that no shape computation has.
std::optional<Folded> unpacked(const HostTensor& value);
std::shared_ptr<const HostTensor> packed(const Folded& folded);
// The number of elements; bad_input beyond kLargestFold.
std::int64_t checked_count(const Shape& shape);

}  // namespace ddl::onnx_io
