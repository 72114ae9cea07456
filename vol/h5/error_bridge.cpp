// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/h5/error_bridge.hpp"

namespace bento::vol {

namespace {

struct ErrorClass {
  hid_t cls = H5I_INVALID_HID;
  hid_t major = H5I_INVALID_HID;
};
ErrorClass& ours() {
  static ErrorClass instance;
  return instance;
}

hid_t minor_of(Code code) {
  switch (code) {
    case Code::kNotFound: return H5E_NOTFOUND;
    case Code::kExists: return H5E_FILEEXISTS;
    case Code::kCorrupt: return H5E_BADVALUE;
    case Code::kUnsupported: return H5E_UNSUPPORTED;
    case Code::kInvalidArgument: return H5E_BADVALUE;
    case Code::kNoSpace: return H5E_NOSPACE;
    case Code::kPermission: return H5E_CANTOPENFILE;
    case Code::kBusy: return H5E_CANTLOCKFILE;
    case Code::kIo: return H5E_WRITEERROR;
    case Code::kPeer: return H5E_MPIERRSTR;
    case Code::kInternal: return H5E_CANTOPERATE;
  }
  return H5E_CANTOPERATE;
}

}  // namespace

void error_class_open() noexcept {
  ours().cls = H5Eregister_class("h5bento", "h5bento", "0.1.0");
  if (ours().cls >= 0) ours().major = H5Ecreate_msg(ours().cls, H5E_MAJOR, "h5bento");
}

void error_class_forget() noexcept { ours() = {}; }

void push_error(const char* callback, const Error& error) noexcept {
  const bool registered = ours().major >= 0;
  H5Epush2(H5E_DEFAULT, "h5bento", callback, 0, registered ? ours().cls : H5E_ERR_CLS,
           registered ? ours().major : H5E_VOL, minor_of(error.code), "%s", error.text.c_str());
}

}  // namespace bento::vol
