# Run by CPack between the installation into its own folder and the making of the package: licences, the HDF5 library
# where the package brings one, and no run path of the machine that it was built on in the files.

set(prefix "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}")
set(documents "${prefix}/${CPACK_H5BENTO_DOCDIR}")
file(RENAME "${documents}/LICENSE" "${documents}/copyright") # as Debian calls it
file(GLOB licenses "${CPACK_H5BENTO_SOURCE}/packaging/licenses/*")
file(COPY ${licenses} DESTINATION "${documents}/licenses")

# CPack leaves the debug information of archives, which is nine tenths of the package.
file(GLOB archives "${prefix}/${CPACK_H5BENTO_LIBDIR}/*.a")
execute_process(COMMAND "${CPACK_H5BENTO_STRIP}" --strip-debug ${archives} COMMAND_ERROR_IS_FATAL ANY)

file(GLOB users "${prefix}/bin/h5bento" "${prefix}/${CPACK_H5BENTO_LIBDIR}/libh5bento_hdf5.so")
if(CPACK_H5BENTO_HDF5)
  set(own "${prefix}/${CPACK_H5BENTO_LIBDIR}/h5bento/hdf5")
  file(MAKE_DIRECTORY "${own}")
  execute_process(COMMAND "${CPACK_H5BENTO_READELF}" -d "${CPACK_H5BENTO_HDF5}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "SONAME[^[]*\\[([^]]+)\\]" found "${dynamic}")
  configure_file("${CPACK_H5BENTO_HDF5}" "${own}/${CMAKE_MATCH_1}" COPYONLY)
  file(RPATH_REMOVE FILE "${own}/${CMAKE_MATCH_1}")
endif()
foreach(file IN LISTS users)
  if(CPACK_H5BENTO_HDF5)
    cmake_path(GET file PARENT_PATH folder)
    file(RELATIVE_PATH way "${folder}" "${own}")
    file(RPATH_SET FILE "${file}" NEW_RPATH "$ORIGIN/${way}")
  else()
    file(RPATH_REMOVE FILE "${file}")
  endif()
endforeach()
