# What `cmake --install` lays down; every path in it is relative, so the prefix may be moved.
#
#   lib/h5bento/plugins/   the loadable modules alone: this folder is HDF5_PLUGIN_PATH
#   lib/, include/h5bento  static libraries and headers
#   lib/libh5bento.so      the C library, with include/h5bento.h; it loads lib/libh5bento_hdf5.so
#   bin/h5bento            the program; its manual page and completion below share
#   lib/cmake/h5bento      find_package(h5bento [COMPONENTS core c vol])
#   lib/pkgconfig          h5bento.pc, with a variable plugindir; libh5bento.pc of the C library

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/h5bento")

if(TARGET h5bento_core)
  install(TARGETS h5bento_core h5bento_offline EXPORT h5bentoTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT h5bentoTargets NAMESPACE h5bento:: DESTINATION "${package_dir}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/core" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/h5bento"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
endif()
if(TARGET h5bento_vol)
  # Apart from the core: who needs only that needs neither HDF5 nor MPI.
  install(TARGETS h5bento_vol h5bento_library h5bento_transfer h5bento_hdf5_support h5bento_hdf5 EXPORT h5bentoVolTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT h5bentoVolTargets NAMESPACE h5bento:: DESTINATION "${package_dir}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/hdf5" "${PROJECT_SOURCE_DIR}/vol" "${PROJECT_SOURCE_DIR}/transfer"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/h5bento"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
endif()

if(TARGET h5bento_c)
  install(EXPORT h5bentoCTargets NAMESPACE h5bento:: DESTINATION "${package_dir}")
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/h5bentoConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/h5bentoConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/h5bentoConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/cmake/h5bentoConfig.cmake"
  "${PROJECT_BINARY_DIR}/cmake/h5bentoConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindExpected.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLibdeflate.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindNettle.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindXxhash.cmake"
  DESTINATION "${package_dir}")

# From the folder of the .pc file back to the prefix, whatever depth the library folder has.
cmake_path(SET pc_dir "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_prefix "${pc_dir}" "/prefix")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/h5bento.pc.in" "${PROJECT_BINARY_DIR}/cmake/h5bento.pc" @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/libh5bento.pc.in" "${PROJECT_BINARY_DIR}/cmake/libh5bento.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/cmake/h5bento.pc" "${PROJECT_BINARY_DIR}/cmake/libh5bento.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
