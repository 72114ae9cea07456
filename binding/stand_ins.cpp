// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "binding/stand_ins.hpp"

#include <vector>

#include <hdf5.h>

namespace bento::binding {

namespace {

void* sec2 = nullptr;
void* stdio = nullptr;
void* log_driver = nullptr;
void* mpio = nullptr;
void* open_context = nullptr;
void* close_context = nullptr;

// Drivers are variables since HDF5 2.0, which H5open() fills; before, functions gave their ids.
hid_t id_in(const void* variable) {
  return variable == nullptr ? H5I_INVALID_HID : *static_cast<const hid_t*>(variable);
}
hid_t sec2_init() {
  return id_in(sec2);
}
hid_t stdio_init() {
  return id_in(stdio);
}
hid_t log_init() {
  return id_in(log_driver);
}
hid_t mpio_init() {
  return id_in(mpio);
}
hid_t perform_init(hid_t (*init)()) {
  return init();
}

/// What H5VLopen_lib_context() of HDF5 2.0 gives, and wants back in the opposite order.
std::vector<void*>& contexts() {
  static thread_local std::vector<void*> open;
  return open;
}
herr_t start_lib_state() {
  void* context = nullptr;
  const herr_t done = reinterpret_cast<herr_t (*)(void**)>(open_context)(&context);
  if (done >= 0) contexts().push_back(context);
  return done;
}
herr_t finish_lib_state() {
  if (contexts().empty()) return -1;
  void* const context = contexts().back();
  contexts().pop_back();
  return reinterpret_cast<herr_t (*)(void*)>(close_context)(context);
}

/// It ends a program whose headers are of another version. Here that is intended, and what differs
/// is chosen by the library's version.
herr_t check_version(unsigned, unsigned, unsigned) {
  return 0;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

const StandIn* stand_in_for(std::string_view name) {
  static const StandIn kAll[] = {
      {"H5check_version", true, nullptr, nullptr, address(&check_version)},
      {"H5Dread_chunk", false, "H5Dread_chunk1", nullptr, nullptr},
      {"H5FDperform_init", false, nullptr, nullptr, address(&perform_init)},
      {"H5FD_sec2_init", false, "H5FD_SEC2_id_g", &sec2, address(&sec2_init)},
      {"H5FD_stdio_init", false, "H5FD_STDIO_id_g", &stdio, address(&stdio_init)},
      {"H5FD_log_init", false, "H5FD_LOG_id_g", &log_driver, address(&log_init)},
      {"H5FD_mpio_init", false, "H5FD_MPIO_id_g", &mpio, address(&mpio_init)},
      {"H5VLstart_lib_state", false, "H5VLopen_lib_context", &open_context,
       address(&start_lib_state)},
      {"H5VLfinish_lib_state", false, "H5VLclose_lib_context", &close_context,
       address(&finish_lib_state)},
  };
  for (const StandIn& one : kAll)
    if (name == one.name) return &one;
  return nullptr;
}

}  // namespace bento::binding
