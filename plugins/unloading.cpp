// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// HDF5 unloads a plugin that it cannot use. What the plugin wanted to be called at exit must be
/// called then, or the process jumps into nowhere at its end. GCC's start files see to that; those
/// that zig links do not.
extern "C" {
extern void* __dso_handle;       // NOLINT(bugprone-reserved-identifier): the C++ ABI's names
void __cxa_finalize(void* dso);  // NOLINT(bugprone-reserved-identifier)
}

namespace {

/// Twice does no harm: what was called is forgotten.
[[gnu::destructor]] void call_what_waits_for_exit() {
  __cxa_finalize(&__dso_handle);
}

}  // namespace
