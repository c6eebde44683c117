// The one place that touches libhdf5's handles: RAII, the library's lock, and errors that carry the
// library's own message.
//
// Debian's serial libhdf5 is not safe to call from several threads, so every caller holds an
// Hdf5Session for as long as it holds handles. Chunks are read, written and (de)compressed outside.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include <hdf5.h>

namespace ddl {

// Holds the lock on libhdf5, silences its printing on stderr, and knows the zstd filter.
class Hdf5Session {
 public:
  Hdf5Session();

 private:
  std::unique_lock<std::mutex> lock_;
};

// An owned handle, closed on destruction.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Id() = default;
  // Takes ownership; a negative id throws failure: `what` and libhdf5's innermost message.
  Hdf5Id(hid_t id, Close closer, std::string_view what);
  Hdf5Id(Hdf5Id&& other) noexcept;
  Hdf5Id& operator=(Hdf5Id&& other) noexcept;
  ~Hdf5Id();
  hid_t get() const { return id_; }
  // Closes now, with the result checked.
  void close(std::string_view what);

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// Throws failure when a call returned a negative value.
void hdf5_check(long long result, std::string_view what);

// A variable-length UTF-8 string attribute.
void write_text_attribute(hid_t object, const char* name, std::string_view text);

}  // namespace ddl
