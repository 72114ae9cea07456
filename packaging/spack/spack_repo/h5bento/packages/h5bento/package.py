# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class H5bento(CMakePackage):
    """HDF5 connector with which unchanged programs write files that survive the death of the program, each MPI rank into
    its own part of one container. With the file driver, the program h5bento and the C library."""

    # The checkout that this file is in, until there is a public one.
    homepage = git = "file://" + os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 6))

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("tools", default=True, description="The program h5bento, the C library and the file driver")
    variant("mount", default=False, when="+tools", description="h5bento mount, by FUSE")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build", when="+mount")

    # The plugins take any HDF5 1.14 or 2.x, the one with MPI of this kind of MPI. The program is linked with this one.
    depends_on("hdf5@1.14: +mpi +shared")
    depends_on("mpi")
    depends_on("zlib-api")
    depends_on("fmt@9:")
    depends_on("xxhash@0.8:")
    depends_on("nettle@3:")
    depends_on("libdeflate@1:")
    depends_on("tl-expected")
    depends_on("cli11", type="build", when="+tools")
    depends_on("nlohmann-json@3:", type="build", when="+tools")
    depends_on("libfuse@3.10:", when="+mount")

    # C++20, with what came to the libraries of these.
    conflicts("%gcc@:11")
    conflicts("%clang@:15")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define("H5BENTO_TESTS", False),
            self.define_from_variant("H5BENTO_TOOLS", "tools"),
            # It is asked for libfuse alone, and would find the system's.
            self.define("CMAKE_DISABLE_FIND_PACKAGE_PkgConfig", self.spec.satisfies("~mount")),
        ]

    def setup_run_environment(self, env):
        # The choice of the connector, HDF5_VOL_CONNECTOR=bento, is the user's.
        env.prepend_path("HDF5_PLUGIN_PATH", self.prefix.lib.h5bento.plugins)
