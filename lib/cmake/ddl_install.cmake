# cmake --install: programs, libraries, headers, schemas, manual pages and the package for
# find_package(ddl), with targets ddl::base … ddl::train and ddl::ddl for all of them.
#   bin/  lib/  lib/cmake/ddl/  include/ddl/{ddl,kernels}/…  share/ddl/schemas/  share/man/
include(CMakePackageConfigHelpers)

set(ddl_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/ddl)
set(ddl_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ddl)

# Whoever links ddl chooses warnings for themselves; and finds headers where they are installed.
get_target_property(warnings ddl_options INTERFACE_COMPILE_OPTIONS)
set_target_properties(ddl_options PROPERTIES EXPORT_NAME options
  INTERFACE_COMPILE_OPTIONS "$<BUILD_INTERFACE:${warnings}>")
target_compile_features(ddl_options INTERFACE cxx_std_20)
target_include_directories(ddl_options INTERFACE $<INSTALL_INTERFACE:${ddl_include_dir}>)

get_property(libraries GLOBAL PROPERTY DDL_LIBRARIES)
get_property(tools GLOBAL PROPERTY DDL_TOOLS)
get_property(schemas GLOBAL PROPERTY DDL_SCHEMAS)

install(TARGETS ${tools} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ddl_options ddl_all ${libraries} EXPORT ddlTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/ddl ${PROJECT_SOURCE_DIR}/kernels
  DESTINATION ${ddl_include_dir} FILES_MATCHING PATTERN "*.h"
  # Inner rooms of the house: what they wrap stays inside.
  PATTERN cpu EXCLUDE PATTERN cuda EXCLUDE PATTERN ops EXCLUDE PATTERN builtin EXCLUDE
  PATTERN onnx EXCLUDE PATTERN readers EXCLUDE PATTERN plugin EXCLUDE PATTERN schemas EXCLUDE)
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/ddl/schemas)

install(EXPORT ddlTargets NAMESPACE ddl:: DESTINATION ${ddl_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ddlConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ddlConfig.cmake INSTALL_DESTINATION ${ddl_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ddlConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ddlConfig.cmake ${PROJECT_BINARY_DIR}/ddlConfigVersion.cmake
  DESTINATION ${ddl_package_dir})
