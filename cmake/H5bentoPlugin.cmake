# h5bento_add_plugin(KIND): plugins/KIND_plugin.cpp with h5bento_KIND, as the loadable module plugins/libh5bento_KIND.so of the
# build folder. Nothing else may lie in that folder: HDF5 tries to load whatever it finds there. It links neither HDF5
# nor MPI (H5bentoBinding.cmake); where that cannot be it is plugins/linked_KIND_plugin.cpp.

function(h5bento_add_plugin kind)
  set(target h5bento_${kind}_plugin)
  if(H5BENTO_CAN_BIND)
    add_library(${target} MODULE "${PROJECT_SOURCE_DIR}/plugins/${kind}_plugin.cpp")
    if(kind STREQUAL "vol")
      add_library(h5bento_bound_mpi OBJECT "${PROJECT_SOURCE_DIR}/vol/bound_mpi/bound_mpi_constants.cpp")
      h5bento_hdf5_headers(h5bento_bound_mpi)
      h5bento_bind_hdf5(${target} MPI OBJECTS h5bento_bound_mpi
        ARCHIVES h5bento_vol h5bento_transfer h5bento_hdf5_support h5bento_core)
    else()
      h5bento_bind_hdf5(${target} ARCHIVES h5bento_${kind} h5bento_hdf5_support h5bento_core)
    endif()
  else()
    set(exports "${PROJECT_SOURCE_DIR}/plugins/exports.map")
    add_library(${target} MODULE "${PROJECT_SOURCE_DIR}/plugins/linked_${kind}_plugin.cpp")
    set_target_properties(${target} PROPERTIES
      # No run path: the libhdf5 that loads the plugin satisfies it. With one, a host whose libhdf5 has
      # another name (Python wheels) would get a second libhdf5 instead of an error.
      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "" LINK_DEPENDS "${exports}")
    target_link_libraries(${target} PRIVATE h5bento_${kind} h5bento_warnings)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}" LINKER:--no-undefined
      LINKER:--gc-sections)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT H5BENTO_SANITIZE)
      # The host may have come with an older libstdc++ than the one this was built with.
      target_link_options(${target} PRIVATE -static-libstdc++)
    endif()
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME h5bento_${kind} PREFIX lib SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/plugins")
  if(H5BENTO_SANITIZE)
    # Leaks are looked for at exit, when HDF5 has long closed the module: its functions must still be
    # there to be named, and what its variables refer to is no leak.
    target_link_options(${target} PRIVATE LINKER:-z,nodelete)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/h5bento/plugins")
endfunction()
