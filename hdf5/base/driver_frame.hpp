// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What all file drivers of ours say of themselves alike; their callbacks are set by each.
#pragma once

#include <algorithm>
#include <iterator>

#include <H5FDdevelop.h>

namespace bento::vol {

inline constexpr haddr_t kMaxDriverAddress = (static_cast<haddr_t>(1) << 62) - 1;

/// `value` is any number that no driver has registered. `map`: which kinds of blocks share a list
/// of free space, as the library describes it.
inline H5FD_class_t driver_frame(const char* name, int value, H5F_close_degree_t degree,
                                 const H5FD_mem_t (&map)[H5FD_MEM_NTYPES]) {
  H5FD_class_t cls{};
  cls.version = H5FD_CLASS_VERSION;
  cls.value = static_cast<H5FD_class_value_t>(value);
  cls.name = name;
  cls.maxaddr = kMaxDriverAddress;
  cls.fc_degree = degree;
  std::copy(std::begin(map), std::end(map), std::begin(cls.fl_map));
  return cls;
}

/// The id of a driver that the library closes by itself at its end, registered when it is asked
/// for; forget() when the connector or driver terminates, since ids are used again.
class DriverId {
 public:
  hid_t get(const H5FD_class_t& cls) {
    if (id_ < 0 || H5Iis_valid(id_) <= 0) id_ = H5FDregister(&cls);
    return id_;
  }
  void forget() { id_ = H5I_INVALID_HID; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace bento::vol
