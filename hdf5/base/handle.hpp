// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Owners for HDF5 identifiers. A Handle closes what it owns; borrowed ids stay plain hid_t.
#pragma once

#include <utility>

#include <hdf5.h>

namespace bento::vol {

/// Saves the error stack of the current thread and puts it back: cleanup calls clear it otherwise,
/// and with it the errno that h5py looks for. An empty stack is not saved but emptied again: saving
/// costs more than most calls it is saved for, and nearly every API call passes here.
class ErrorStackKeeper {
 public:
  ErrorStackKeeper()
      : saved_(H5Eget_num(H5E_DEFAULT) > 0 ? H5Eget_current_stack() : H5I_INVALID_HID) {}
  ~ErrorStackKeeper() {
    if (saved_ >= 0)
      H5Eset_current_stack(saved_);
    else
      H5Eclear2(H5E_DEFAULT);
  }
  ErrorStackKeeper(const ErrorStackKeeper&) = delete;
  ErrorStackKeeper& operator=(const ErrorStackKeeper&) = delete;

 private:
  hid_t saved_;
};

/// Move-only owner of an id; `Close` is H5Sclose, H5Tclose, H5Pclose...
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  [[nodiscard]] hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }
  void reset() {
    if (id_ >= 0) Close(std::exchange(id_, H5I_INVALID_HID));
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

using SpaceHandle = Handle<&H5Sclose>;
using TypeHandle = Handle<&H5Tclose>;
using PlistHandle = Handle<&H5Pclose>;
using FileHandle = Handle<&H5Fclose>;
using DatasetHandle = Handle<&H5Dclose>;
using GroupHandle = Handle<&H5Gclose>;
using AttributeHandle = Handle<&H5Aclose>;
using ObjectHandle = Handle<&H5Oclose>;

}  // namespace bento::vol
