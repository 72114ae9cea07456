# Modules that link neither HDF5 nor MPI: both are bound when the module is loaded (binding/), from the library that loads
# it. So one file serves HDF5 libraries of any name and version. Where the processor is not known to binding/trampoline.h,
# plugins are linked with the HDF5 that they are built with; so are sanitized ones, whose other parts are then the same.

find_package(ZLIB REQUIRED)

set(H5BENTO_CAN_BIND OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|aarch64|arm64)$" AND NOT H5BENTO_SANITIZE)
  set(H5BENTO_CAN_BIND ON)
endif()
set(H5BENTO_BOUND_EXPORTS "${PROJECT_SOURCE_DIR}/plugins/bound_exports.map")

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

# h5bento_bind_hdf5(TARGET [MPI] [EXPORTS map] OBJECTS library... ARCHIVES library...): links object libraries and archives,
# which use HDF5, and MPI if that is said, into a plugin that is bound when it is loaded; with EXPORTS into a module that is
# no plugin, and binds itself. What the objects define is not taken from the archives.
function(h5bento_bind_hdf5 target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MPI" "EXPORTS" "OBJECTS;ARCHIVES")
  set(plugin "")
  if(NOT arg_EXPORTS)
    set(arg_EXPORTS "${H5BENTO_BOUND_EXPORTS}")
    set(plugin "${PROJECT_SOURCE_DIR}/plugins/bound_plugin.cpp")
  endif()
  set(files "")
  foreach(archive IN LISTS arg_ARCHIVES)
    list(APPEND files "$<TARGET_FILE:${archive}>")
  endforeach()
  set(objects "")
  foreach(library IN LISTS arg_OBJECTS)
    # A precompiled header is among them.
    list(APPEND objects "$<FILTER:$<TARGET_OBJECTS:${library}>,EXCLUDE,\\.[gp]ch$>")
  endforeach()
  set(inputs ${objects} ${files})
  set(symbols "${CMAKE_CURRENT_BINARY_DIR}/${target}_symbols.c")
  set(script "${PROJECT_SOURCE_DIR}/cmake/H5bentoSymbols.cmake")
  add_custom_command(OUTPUT "${symbols}"
    COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DFILES=${inputs}" "-DOUTPUT=${symbols}" "-DMPI=${arg_MPI}" -P "${script}"
    DEPENDS ${objects} ${arg_ARCHIVES} "${script}" VERBATIM)
  target_sources(${target} PRIVATE ${objects} "${symbols}" ${plugin}
    "${PROJECT_SOURCE_DIR}/plugins/unloading.cpp"
    "${PROJECT_SOURCE_DIR}/binding/hdf5_binding.cpp"
    "${PROJECT_SOURCE_DIR}/binding/second_image.cpp"
    "${PROJECT_SOURCE_DIR}/binding/stand_ins.cpp")
  add_dependencies(${target} ${arg_ARCHIVES})
  h5bento_hdf5_headers(${target})
  # Two of them need each other.
  target_link_libraries(${target} PRIVATE
    -Wl,--start-group ${files} -Wl,--end-group nettle::nettle xxhash::xxhash libdeflate::libdeflate ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
  # Its own functions, even if the program has another plugin of ours where all can see it.
  target_link_options(${target} PRIVATE LINKER:--no-undefined LINKER:--gc-sections LINKER:-Bsymbolic
    "LINKER:--version-script=${arg_EXPORTS}")
  # No run path: there is nothing for it to find.
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "" LINK_DEPENDS "${arg_EXPORTS}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT H5BENTO_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++)
  endif()
endfunction()
