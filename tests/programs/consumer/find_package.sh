#!/usr/bin/env bash
# An installed ddl is found by another project, which links all of it; manual pages and schemas are there.
. "$DDL_SOURCE/tests/support/lib.sh"

expect_exit 0 cmake --install "$DDL_BUILD" --prefix "$work/prefix"
for file in bin/ddl-plan share/ddl/schemas/ddl-plan.schema.json include/ddl/ddl/base/error.h; do
  [ -e "$work/prefix/$file" ] || fail "$file is not installed"
done
! command -v scdoc >/dev/null || [ -s "$work/prefix/share/man/man1/ddl-plan.1" ] || fail "ddl-plan(1) is not installed"
! grep -rqF "$DDL_SOURCE" "$work"/prefix/lib*/cmake "$work"/prefix/lib/*/cmake 2>/dev/null || fail "the package names the source folder"

mkdir project
cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(ddl 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE ddl::ddl)
CMAKE
cat >project/main.cpp <<'CPP'
#include <ddl/model/builtin.h>
#include <ddl/plan/shares.h>
#include <iostream>
int main() {
  const std::vector<ddl::WorkerSpeed> workers = {{1.0}, {2.0}};
  for (const auto tasks : ddl::minimise_slowest_finish(6, workers).tasks) std::cout << tasks << ' ';
  std::cout << ddl::is_builtin_model("mlp") << '\n';
}
CPP
expect_exit 0 cmake -G Ninja -S project -B build -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Debug
expect_exit 0 cmake --build build
expect_exit 0 build/consumer
[ "$(cat "$work/stdout")" = "4 2 1" ] || fail "printed: $(cat "$work/stdout")"
