// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/error_bridge.hpp"

#include "hdf5/base/handle.hpp"

namespace bento::vol {

namespace {

struct ErrorClass {
  hid_t cls = H5I_INVALID_HID;
  hid_t major = H5I_INVALID_HID;
  bool tried = false;
};
ErrorClass g_ours;

/// Registers on the first error, not when the connector is loaded: registering clears the error
/// stack, and the library loads connectors while it holds the records of a native open that failed.
const ErrorClass& ours() {
  if (!g_ours.tried) {
    g_ours.tried = true;
    const ErrorStackKeeper keep;
    g_ours.cls = H5Eregister_class("h5bento", "h5bento", "0.1.0");
    if (g_ours.cls >= 0) g_ours.major = H5Ecreate_msg(g_ours.cls, H5E_MAJOR, "h5bento connector");
  }
  return g_ours;
}

// Minor codes are the library's: programs decide by them (h5py picks the class of its exception).
hid_t minor_of(Code code) {
  switch (code) {
    case Code::kNotFound:
      return H5E_NOTFOUND;
    case Code::kExists:
      return H5E_FILEEXISTS;
    case Code::kCorrupt:
      return H5E_READERROR;
    case Code::kUnsupported:
      return H5E_UNSUPPORTED;
    case Code::kInvalidArgument:
      return H5E_BADVALUE;
    case Code::kNoSpace:
      return H5E_NOSPACE;
    case Code::kPermission:
      return H5E_CANTOPENFILE;
    case Code::kBusy:
      return H5E_CANTLOCKFILE;
    case Code::kIo:
      return H5E_WRITEERROR;
    case Code::kPeer:
      return H5E_MPIERRSTR;
    case Code::kInternal:
      return H5E_CANTOPERATE;
  }
  return H5E_CANTOPERATE;
}

}  // namespace

void error_class_open() noexcept {
  g_ours = {};
}
void error_class_forget() noexcept {
  g_ours = {};
}

void push_error(const char* callback, const Error& error) noexcept {
  const char* const text = error.text.c_str();
  const bool says_errno = error.os_errno == 0 || error.text.find("errno = ") != std::string::npos;
  const auto push = [&](hid_t cls, hid_t major) {
    const hid_t minor = minor_of(error.code);
    return says_errno ? H5Epush2(H5E_DEFAULT, "h5bento", callback, 0, cls, major, minor, "%s", text)
                      : H5Epush2(H5E_DEFAULT, "h5bento", callback, 0, cls, major, minor,
                                 "%s, errno = %d", text, error.os_errno);
  };
  const ErrorClass& own = ours();
  if (own.major < 0 || push(own.cls, own.major) < 0) push(H5E_ERR_CLS, H5E_VOL);
}

std::string innermost_error() noexcept {
  std::string text;
  const auto visit = [](unsigned, const H5E_error2_t* record, void* out) -> herr_t {
    try {
      if (record->desc != nullptr) *static_cast<std::string*>(out) = record->desc;
    } catch (...) {
      return -1;
    }
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, visit, &text);
  return text;
}

}  // namespace bento::vol
