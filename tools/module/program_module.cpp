// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// libh5bento_program.so: the program `h5bento` in the Python package. It links no HDF5; a command
/// that needs one asks for it, and so `info` and `verify` work where there is none.
#include "binding/hdf5_binding.hpp"
#include "tools/hdf5/start.hpp"
#include "tools/program.hpp"

extern "C" {

/// Runs the program and returns its exit status; once in a process. `hdf5` returns an address in an
/// HDF5 library of this process, or null; it is called once at most.
__attribute__((visibility("default"))) int h5bento_program(int argc, char** argv,
                                                           const void* (*hdf5)()) {
  using namespace bento;
  tools::how_to_reach_hdf5() = [hdf5, done = Status(), asked = false]() mutable {
    if (asked) return done;
    asked = true;
    const void* const code = hdf5();
    if (code == nullptr)
      done = fail(Code::kUnsupported, "this command needs the HDF5 of h5py: pip install h5py");
    else if (const auto why = binding::bind(code, binding::Variables::kNow))
      done = fail(Code::kUnsupported, *why);
    return done;
  };
  return tools::run_program(argc, argv);
}
}
