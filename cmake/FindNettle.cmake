# nettle::nettle (MD5 for FTI-FF, see core/fti/md5.cpp). Looked for by hand: it ships no CMake package.

find_path(Nettle_INCLUDE_DIR nettle/md5.h)
# Its archive where there is one: a shared library would be one more thing that a plugin drags into its host, and that a
# machine to which it is copied may not have.
find_library(Nettle_LIBRARY NAMES libnettle.a nettle)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nettle REQUIRED_VARS Nettle_LIBRARY Nettle_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "nettle/md5.h not found (Debian: nettle-dev, which scripts/bootstrap installs)")
if(Nettle_FOUND AND NOT TARGET nettle::nettle)
  add_library(nettle::nettle UNKNOWN IMPORTED)
  set_target_properties(nettle::nettle PROPERTIES
    IMPORTED_LOCATION "${Nettle_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Nettle_INCLUDE_DIR}")
endif()
mark_as_advanced(Nettle_INCLUDE_DIR Nettle_LIBRARY)
