# libdeflate::libdeflate (the filter deflate, see hdf5/data/direct_filters.hpp). Looked for by hand: Debian 12 ships no
# CMake package of it.

find_path(Libdeflate_INCLUDE_DIR libdeflate.h)
# Its archive where there is one: a shared library would be one more thing that a plugin drags into its host, and that a
# machine to which it is copied may not have.
find_library(Libdeflate_LIBRARY NAMES libdeflate.a deflate)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libdeflate REQUIRED_VARS Libdeflate_LIBRARY Libdeflate_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "libdeflate.h not found (Debian: libdeflate-dev, which scripts/bootstrap installs)")
if(Libdeflate_FOUND AND NOT TARGET libdeflate::libdeflate)
  add_library(libdeflate::libdeflate UNKNOWN IMPORTED)
  set_target_properties(libdeflate::libdeflate PROPERTIES
    IMPORTED_LOCATION "${Libdeflate_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Libdeflate_INCLUDE_DIR}")
endif()
mark_as_advanced(Libdeflate_INCLUDE_DIR Libdeflate_LIBRARY)
