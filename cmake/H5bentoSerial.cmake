# The plugin without MPI: the same objects as the other one, with vol/no_mpi in the place of vol/mpi. It is in a folder of its
# own, because HDF5 loads whatever lies in a folder.

add_library(h5bento_no_mpi OBJECT vol/no_mpi/no_mpi_access.cpp)
h5bento_hdf5_headers(h5bento_no_mpi)
add_library(h5bento_vol_serial MODULE plugins/serial_plugin.cpp)
set_target_properties(h5bento_vol_serial PROPERTIES PREFIX lib SUFFIX .so
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/plugins-serial")
# With what libh5bento.so asks of HDF5, so that both are one module in a process and have one connector.
h5bento_sources(serial_calls library/hdf5)
add_library(h5bento_serial_calls OBJECT ${serial_calls})
target_compile_definitions(h5bento_serial_calls PRIVATE "H5BENTO_VERSION=\"${PROJECT_VERSION}\"")
h5bento_hdf5_headers(h5bento_serial_calls)
h5bento_bind_hdf5(h5bento_vol_serial OBJECTS h5bento_no_mpi h5bento_serial_calls
  ARCHIVES h5bento_library h5bento_offline h5bento_vol h5bento_transfer h5bento_hdf5_support h5bento_core)
install(TARGETS h5bento_vol_serial LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/h5bento/plugins-serial")
