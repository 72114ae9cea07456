# The plugin without MPI: the same objects as the other one, with vol/no_mpi in the place of vol/mpi, and no library
# linked: HDF5 is bound when the plugin is loaded (binding/). It is in a folder of its own, because HDF5 loads whatever
# lies in a folder.

find_package(ZLIB REQUIRED)

# h5bento_hdf5_headers(TARGET): HDF5's and MPI's headers, and ours, without their libraries.
function(h5bento_hdf5_headers target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_include_directories(${target} SYSTEM PRIVATE
    $<FILTER:$<TARGET_PROPERTY:h5bento_hdf5_support,INCLUDE_DIRECTORIES>,EXCLUDE,^${PROJECT_SOURCE_DIR}$>)
  foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS)
    set_property(TARGET ${target} APPEND PROPERTY ${property} $<TARGET_PROPERTY:h5bento_hdf5_support,${property}>)
  endforeach()
  target_link_libraries(${target} PRIVATE h5bento_warnings)
endfunction()

# h5bento_bind_hdf5(TARGET OBJECTS library... ARCHIVES library...): links object libraries and archives, which use HDF5,
# into a module that is bound when it is loaded. What the objects define is not taken from the archives.
function(h5bento_bind_hdf5 target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OBJECTS;ARCHIVES")
  set(files "")
  foreach(archive IN LISTS arg_ARCHIVES)
    list(APPEND files "$<TARGET_FILE:${archive}>")
  endforeach()
  set(objects "")
  foreach(library IN LISTS arg_OBJECTS)
    list(APPEND objects "$<TARGET_OBJECTS:${library}>")
  endforeach()
  set(symbols "${CMAKE_CURRENT_BINARY_DIR}/${target}_symbols.c")
  set(script "${PROJECT_SOURCE_DIR}/cmake/H5bentoSymbols.cmake")
  add_custom_command(OUTPUT "${symbols}"
    COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DFILES=${objects};${files}" "-DOUTPUT=${symbols}" -P "${script}"
    DEPENDS ${objects} ${arg_ARCHIVES} "${script}" VERBATIM)
  target_sources(${target} PRIVATE ${objects} "${symbols}" "${PROJECT_SOURCE_DIR}/binding/hdf5_binding.cpp"
    "${PROJECT_SOURCE_DIR}/binding/second_image.cpp"
    "${PROJECT_SOURCE_DIR}/binding/stand_ins.cpp")
  add_dependencies(${target} ${arg_ARCHIVES})
  h5bento_hdf5_headers(${target})
  # Two of them need each other.
  target_link_libraries(${target} PRIVATE
    -Wl,--start-group ${files} -Wl,--end-group nettle::nettle xxhash::xxhash ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE LINKER:--no-undefined LINKER:--gc-sections LINKER:--exclude-libs,ALL)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT H5BENTO_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++)
  endif()
endfunction()

set(exports "${PROJECT_SOURCE_DIR}/plugins/serial_exports.map")
add_library(h5bento_no_mpi OBJECT vol/no_mpi/no_mpi_access.cpp)
h5bento_hdf5_headers(h5bento_no_mpi)
add_library(h5bento_vol_serial MODULE plugins/serial_plugin.cpp)
set_target_properties(h5bento_vol_serial PROPERTIES PREFIX lib SUFFIX .so
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/plugins-serial"
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "" LINK_DEPENDS "${exports}")
# With what libh5bento.so asks of HDF5, so that both are one module in a process and have one connector.
h5bento_sources(serial_calls library/hdf5)
add_library(h5bento_serial_calls OBJECT ${serial_calls})
target_compile_definitions(h5bento_serial_calls PRIVATE "H5BENTO_VERSION=\"${PROJECT_VERSION}\"")
h5bento_hdf5_headers(h5bento_serial_calls)
h5bento_bind_hdf5(h5bento_vol_serial OBJECTS h5bento_no_mpi h5bento_serial_calls
  ARCHIVES h5bento_library h5bento_offline h5bento_vol h5bento_transfer h5bento_hdf5_support h5bento_core)
target_link_options(h5bento_vol_serial PRIVATE "LINKER:--version-script=${exports}")
install(TARGETS h5bento_vol_serial LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/h5bento/plugins-serial")
