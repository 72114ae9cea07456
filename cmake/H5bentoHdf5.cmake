# h5bento::hdf5: HDF5's C library with the MPI it was built with.

find_package(MPI REQUIRED COMPONENTS C)

set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 1.14 COMPONENTS C)
if(NOT HDF5_FOUND)
  message(FATAL_ERROR
    "No HDF5 >= 1.14 found. Run scripts/bootstrap, which builds one, or point HDF5_ROOT to an "
    "installed one with MPI, or configure with -DH5BENTO_HDF5=OFF for the parts that need none.")
endif()

# Asked of the headers: HDF5_IS_PARALLEL is not set by every way in which CMake finds HDF5.
include(CheckCSourceCompiles)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_INCLUDES ${HDF5_INCLUDE_DIRS} ${MPI_C_INCLUDE_DIRS})
set(CMAKE_REQUIRED_QUIET ON)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
unset(H5BENTO_HDF5_HAS_MPI CACHE) # HDF5_ROOT may have changed since
check_c_source_compiles(
  "#include <H5public.h>\n#ifndef H5_HAVE_PARALLEL\n#error serial\n#endif\nint main(void) { return 0; }"
  H5BENTO_HDF5_HAS_MPI)
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
cmake_pop_check_state()
if(NOT H5BENTO_HDF5_HAS_MPI)
  message(FATAL_ERROR
    "The HDF5 ${HDF5_VERSION} found (${HDF5_INCLUDE_DIRS}) was built without MPI; h5bento needs "
    "HDF5_ENABLE_PARALLEL. Point HDF5_ROOT to another one, or run scripts/bootstrap.")
endif()

add_library(h5bento_hdf5 INTERFACE)
add_library(h5bento::hdf5 ALIAS h5bento_hdf5)
# The shared library where there is a choice: a plugin that carries a libhdf5 of its own would
# register its classes there, and not in the library that loads it.
if(TARGET hdf5-shared)
  target_link_libraries(h5bento_hdf5 INTERFACE hdf5-shared)
elseif(TARGET hdf5::hdf5-shared)
  target_link_libraries(h5bento_hdf5 INTERFACE hdf5::hdf5-shared)
else()
  target_link_libraries(h5bento_hdf5 INTERFACE hdf5::hdf5)
endif()
target_link_libraries(h5bento_hdf5 INTERFACE MPI::MPI_C)
# C++ gets MPI's C interface only: the old C++ bindings in mpi.h would want one more library.
target_compile_definitions(h5bento_hdf5 INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
# The file of the shared library; empty where it is not known.
set(H5BENTO_HDF5_LIBRARY "")
foreach(library IN LISTS HDF5_C_LIBRARIES HDF5_LIBRARIES)
  if(library MATCHES "libhdf5[a-z_]*\\.so")
    set(H5BENTO_HDF5_LIBRARY "${library}")
    break()
  endif()
endforeach()
if(NOT H5BENTO_HDF5_LIBRARY AND TARGET hdf5-shared)
  get_target_property(H5BENTO_HDF5_LIBRARY hdf5-shared LOCATION)
endif()
if(H5BENTO_HDF5_LIBRARY)
  file(REAL_PATH "${H5BENTO_HDF5_LIBRARY}" H5BENTO_HDF5_LIBRARY)
endif()
message(STATUS "HDF5 ${HDF5_VERSION} in ${HDF5_INCLUDE_DIRS}")
