# tl::expected, from its CMake package or, without one, from its single header.

find_package(tl-expected QUIET NO_MODULE)
if(TARGET tl::expected)
  get_target_property(Expected_INCLUDE_DIR tl::expected INTERFACE_INCLUDE_DIRECTORIES)
else()
  find_path(Expected_INCLUDE_DIR tl/expected.hpp)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Expected REQUIRED_VARS Expected_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "tl/expected.hpp not found (Debian: libexpected-dev, which scripts/bootstrap installs)")
if(Expected_FOUND AND NOT TARGET tl::expected)
  add_library(tl::expected INTERFACE IMPORTED)
  set_target_properties(tl::expected PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Expected_INCLUDE_DIR}")
endif()
mark_as_advanced(Expected_INCLUDE_DIR)
