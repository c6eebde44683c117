// What lets one function serve host and device: DDL_HOST_DEVICE before its declaration. Code that
// uses it is C++17, calls no library, and keeps every operation apart: host files are compiled with
// -ffp-contract=off and device files with --fmad=false, so that both give the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#ifndef DDL_HOST_DEVICE
#ifdef __CUDACC__
#define DDL_HOST_DEVICE __host__ __device__
#else
#define DDL_HOST_DEVICE
#endif
#endif

namespace ddl::kernels {

// The same bytes as another type of the same size (std::bit_cast is C++20).
template <class To, class From>
DDL_HOST_DEVICE inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace ddl::kernels
