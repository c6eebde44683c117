#include "ddl/data/hdf5.h"

#include "ddl/base/error.h"
#include "ddl/data/plugin/h5zstd.h"

#include <utility>

namespace ddl {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

// The innermost entry of libhdf5's error stack is where things went wrong.
std::string innermost_message() {
  std::string message;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* entry, void* data) -> herr_t {
        auto& out = *static_cast<std::string*>(data);
        if (out.empty() && entry->desc != nullptr) out = entry->desc;
        return 0;
      },
      &message);
  H5Eclear2(H5E_DEFAULT);
  return message.empty() ? "no message" : message;
}

[[noreturn]] void throw_library_error(std::string_view what) {
  throw failure("libhdf5: " + std::string(what) + ": " + innermost_message());
}

}  // namespace

Hdf5Session::Hdf5Session() : lock_(library_mutex()) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  if (H5Zfilter_avail(DDL_H5Z_ZSTD) <= 0)
    hdf5_check(H5Zregister(ddl_h5zstd_class()), "registering the zstd filter");
}

Hdf5Id::Hdf5Id(hid_t id, Close closer, std::string_view what) : id_(id), close_(closer) {
  if (id_ < 0) throw_library_error(what);
}

Hdf5Id::Hdf5Id(Hdf5Id&& other) noexcept
    : id_(std::exchange(other.id_, -1)), close_(std::exchange(other.close_, nullptr)) {}

Hdf5Id& Hdf5Id::operator=(Hdf5Id&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

Hdf5Id::~Hdf5Id() {
  if (id_ >= 0 && close_ != nullptr) close_(id_);
}

void Hdf5Id::close(std::string_view what) {
  if (id_ >= 0) hdf5_check(close_(std::exchange(id_, -1)), what);
}

void hdf5_check(long long result, std::string_view what) {
  if (result < 0) throw_library_error(what);
}

namespace {

Hdf5Id utf8_text_type() {
  Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose, "string type");
  hdf5_check(H5Tset_size(type.get(), H5T_VARIABLE), "string type");
  hdf5_check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "string type");
  return type;
}

}  // namespace

void write_text_attribute(hid_t object, const char* name, std::string_view text) {
  const Hdf5Id type = utf8_text_type();
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose, "attribute space");
  const Hdf5Id attribute(
      H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
      "creating an attribute");
  const std::string copy(text);
  const char* pointer = copy.c_str();
  hdf5_check(H5Awrite(attribute.get(), type.get(), &pointer), "writing an attribute");
}

}  // namespace ddl
