#!/usr/bin/env bash
# ddl as a folder of another project, which builds the part that it needs, without tests.
. "$DDL_SOURCE/tests/support/lib.sh"

mkdir project
cat >project/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
set(DDL_CUDA OFF)
add_subdirectory($DDL_SOURCE ddl EXCLUDE_FROM_ALL)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE ddl::base)
CMAKE
cat >project/main.cpp <<'CPP'
#include <ddl/base/units.h>
#include <iostream>
int main() { std::cout << ddl::format_bytes(ddl::parse_bytes("64KiB")) << '\n'; }
CPP
launcher=()
! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
expect_exit 0 cmake -G Ninja -S project -B build -DCMAKE_BUILD_TYPE=Debug "${launcher[@]}"
! grep -q 'unit_base' build/build.ninja || fail "tests are part of another project's build"
expect_exit 0 cmake --build build --target consumer
expect_exit 0 build/consumer
[ "$(cat "$work/stdout")" = "64KiB" ] || fail "printed: $(cat "$work/stdout")"
