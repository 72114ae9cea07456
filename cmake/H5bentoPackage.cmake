# `cpack -G DEB` in the build folder makes h5bento_VERSION_ARCH.deb of what `cmake --install` lays down, below /usr.
#
# An HDF5 that no package of the system has (Debian 12 has none that knows connectors) goes into the package, into
# lib/h5bento/hdf5, where the program and libh5bento_hdf5.so alone look for it. The plugins use the one of the program
# that loads them, as everywhere.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME h5bento)
set(CPACK_PACKAGE_VENDOR "The h5bento developers")
set(CPACK_PACKAGE_CONTACT "The h5bento developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "HDF5 files that survive the death of the program that writes them")
set(CPACK_PACKAGE_DESCRIPTION "${PROJECT_DESCRIPTION}.
It is a plugin for HDF5 1.14 and newer, with which unchanged programs write containers, a file driver, a program that
looks at, checks, repairs and exports containers, and a library with the same for programs.")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS fuse3) # h5bento mount
# Who builds programs with the installed CMake package.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libfmt-dev, libxxhash-dev, nettle-dev, libdeflate-dev, libexpected-dev")

set(CPACK_H5BENTO_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
set(CPACK_H5BENTO_DOCDIR "${CMAKE_INSTALL_DOCDIR}")
set(CPACK_H5BENTO_SOURCE "${PROJECT_SOURCE_DIR}")
set(CPACK_H5BENTO_READELF "${CMAKE_READELF}")
set(CPACK_H5BENTO_STRIP "${CMAKE_STRIP}")
if(H5BENTO_HDF5_LIBRARY AND NOT H5BENTO_HDF5_LIBRARY MATCHES "^/(usr/)?lib")
  set(CPACK_H5BENTO_HDF5 "${H5BENTO_HDF5_LIBRARY}")
  cmake_path(GET H5BENTO_HDF5_LIBRARY PARENT_PATH CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS)
endif()
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/finish_staged.cmake")
include(CPack)
