# Build helpers: ddl_library (one per lib/ddl folder), ddl_tool, ddl_test, ddl_script_test.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Floating-point contraction would let the compiler decide bits: off everywhere.
add_compile_options(-ffp-contract=off)

add_library(ddl_options INTERFACE)
target_compile_options(ddl_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${DDL_WERROR}>>:-Werror>)
target_include_directories(ddl_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
if(DDL_SANITIZE)
  add_compile_options(-fsanitize=${DDL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DDL_SANITIZE})
endif()

# ddl_library(NAME SOURCES … [PUBLIC lib …] [PRIVATE lib …])
# The target ddl_NAME (alias ddl::NAME) of folder lib/ddl/NAME. PUBLIC and PRIVATE name ddl targets
# (ddl::base) and wrapped third-party targets; third parties are PRIVATE: their types stay inside.
function(ddl_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(ddl_${name} STATIC ${arg_SOURCES})
  add_library(ddl::${name} ALIAS ddl_${name})
  set_target_properties(ddl_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(ddl_${name} PUBLIC ddl_options ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY DDL_LIBRARIES ddl_${name})
endfunction()

# ddl_tool(NAME LIBS …): tools/NAME.cpp
function(ddl_tool name)
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set_property(GLOBAL APPEND PROPERTY DDL_TOOLS ${name})
endfunction()

# ddl_test(FOLDER SOURCES … LIBS …): one GoogleTest program for tests/unit/FOLDER.
function(ddl_test folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(unit_${folder} ${arg_SOURCES})
  target_link_libraries(unit_${folder} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main)
  target_include_directories(unit_${folder} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(NOT TARGET ddl_unit_tests)
    add_custom_target(ddl_unit_tests)
  endif()
  add_dependencies(ddl_unit_tests unit_${folder})
  gtest_discover_tests(unit_${folder} TEST_PREFIX "unit.${folder}." DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT 300 LABELS unit)
endfunction()

# ddl_script_test(NAME SCRIPT [TIMEOUT s] [PROCESSORS n]): a shell or Python script; exit 77 = skipped.
# It finds the programs through DDL_BIN and the source tree through DDL_SOURCE.
function(ddl_script_test name script)
  cmake_parse_arguments(arg "" "TIMEOUT;PROCESSORS" "" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  if(script MATCHES "\\.py$")
    add_test(NAME ${name} COMMAND /usr/bin/python3 ${script})
  else()
    add_test(NAME ${name} COMMAND bash ${script})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS}
    SKIP_RETURN_CODE 77 LABELS program
    ENVIRONMENT "DDL_BIN=${PROJECT_BINARY_DIR}/bin;DDL_SOURCE=${PROJECT_SOURCE_DIR};DDL_BUILD=${PROJECT_BINARY_DIR}")
endfunction()
