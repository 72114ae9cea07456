# Finds what scripts/bootstrap built, so that `cmake --preset dev` works in a bare shell, too. The
# rule for the folder is the one in scripts/bootstrap. Whatever the caller sets goes first.

set(_cache "$ENV{H5BENTO_DEPS}")
if(NOT _cache)
  if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(_cache "$ENV{XDG_CACHE_HOME}/h5bento")
  else()
    set(_cache "$ENV{HOME}/.cache/h5bento")
  endif()
endif()

foreach(_part IN ITEMS hdf5 catch2)
  if(EXISTS "${_cache}/stamps/${_part}")
    list(APPEND CMAKE_PREFIX_PATH "${_cache}/${_part}")
    if(_part STREQUAL "hdf5" AND NOT HDF5_ROOT AND NOT DEFINED ENV{HDF5_ROOT})
      set(HDF5_ROOT "${_cache}/hdf5")
    endif()
  endif()
endforeach()
unset(_part)
unset(_cache)
