# Third-party libraries, found once. Each is linked only by the folder that wraps it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

find_package(spdlog REQUIRED)                                   # base
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)    # base
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)    # base (headers only)
find_package(nlohmann_json REQUIRED)                            # artifact, and JSON reports
find_package(CLI11 REQUIRED)                                    # cli
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)        # data
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)           # data (serial HDF5)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)  # data
pkg_check_modules(SPNG REQUIRED IMPORTED_TARGET spng)           # data
find_package(ZLIB REQUIRED)                                     # data
find_library(CSV_LIBRARY csv REQUIRED)                          # data
find_path(CSV_INCLUDE_DIR csv.h REQUIRED)
find_path(FAST_FLOAT_INCLUDE_DIR fast_float/fast_float.h REQUIRED)  # base
find_package(Protobuf REQUIRED)                                 # model/onnx
find_library(ONNX_LIBRARY onnx REQUIRED)                        # model/onnx
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
find_path(ONNX_INCLUDE_DIR onnx/onnx_pb.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)                        # compute/cpu
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
if(DDL_MPI)
  find_package(MPI REQUIRED COMPONENTS C)                       # comm
endif()
if(DDL_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# Device code. The runtime is linked, never libcuda: programs must start where there is no driver.
if(NOT DDL_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "DDL_CUDA=${DDL_CUDA}: expected AUTO, ON or OFF")
endif()
set(DDL_HAVE_CUDA OFF)
if(NOT DDL_CUDA STREQUAL "OFF")
  find_program(DDL_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(DDL_NVCC)
    set(CMAKE_CUDA_COMPILER ${DDL_NVCC})
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80 90)
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(CMAKE_CUDA_STANDARD 17)
    set(DDL_HAVE_CUDA ON)
    message(STATUS "ddl: device code with nvcc ${CMAKE_CUDA_COMPILER_VERSION} (DDL_CUDA=${DDL_CUDA})")
  elseif(DDL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "DDL_CUDA=ON but nvcc was not found; install the CUDA toolkit or use DDL_CUDA=OFF")
  else()
    message(STATUS "ddl: no nvcc, host code only (DDL_CUDA=AUTO)")
  endif()
else()
  message(STATUS "ddl: host code only (DDL_CUDA=OFF)")
endif()
