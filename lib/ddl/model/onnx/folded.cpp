#include "ddl/model/onnx/folded.h"

#include "ddl/base/error.h"

namespace ddl::onnx_io {
namespace {

template <class T>
void widen(const HostTensor& value, std::vector<std::int64_t>& into) {
  const auto count = static_cast<std::size_t>(element_count(value.shape));
  into.assign(value.as<T>(), value.as<T>() + count);
}

}  // namespace

std::optional<Folded> unpacked(const HostTensor& value) {
  Folded folded;
  folded.dtype = value.dtype;
  folded.shape = value.shape;
  const auto count = static_cast<std::size_t>(element_count(value.shape));
  switch (value.dtype) {
    case DType::f32:
      folded.reals.assign(value.as<float>(), value.as<float>() + count);
      return folded;
    case DType::i64:
      widen<std::int64_t>(value, folded.integers);
      return folded;
    case DType::i32:
      widen<std::int32_t>(value, folded.integers);
      return folded;
    case DType::u8:
    case DType::boolean:
      widen<std::uint8_t>(value, folded.integers);
      return folded;
    default:
      return std::nullopt;
  }
}

std::shared_ptr<const HostTensor> packed(const Folded& folded) {
  auto value = make_host_tensor(folded.dtype, folded.shape);
  for (std::size_t i = 0; i < folded.size(); ++i) {
    switch (folded.dtype) {
      case DType::f32:
        value->as<float>()[i] = static_cast<float>(folded.reals[i]);
        break;
      case DType::i64:
        value->as<std::int64_t>()[i] = folded.integers[i];
        break;
      case DType::i32:
        value->as<std::int32_t>()[i] = static_cast<std::int32_t>(folded.integers[i]);
        break;
      default:
        value->as<std::uint8_t>()[i] = static_cast<std::uint8_t>(folded.integers[i]);
        break;
    }
  }
  return value;
}

std::int64_t checked_count(const Shape& shape) {
  const std::int64_t count = element_count(shape);
  if (count > kLargestFold)
    throw bad_input("a constant of shape " + shape_text(shape) + " is too large");
  return count;
}

}  // namespace ddl::onnx_io
