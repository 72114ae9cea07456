// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/view/view_file.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <H5FDdevelop.h>
#include <fmt/format.h>

#include "vol/h5/error_bridge.hpp"
#include "vol/object.hpp"

namespace bento::vol {

namespace {

// Raw data from here on is not kept in memory.
constexpr std::uint64_t kWriteThroughBytes = 256u << 10;

}  // namespace

void ViewFile::adopt_next(std::uint64_t address, std::uint64_t bytes) {
  next_address_ = address;
  next_bytes_ = bytes;
}

Result<std::uint64_t> ViewFile::allocate(H5FD_mem_t type, std::uint64_t bytes) {
  if (type == H5FD_MEM_SUPER) return base();
  if (type == H5FD_MEM_DRAW && next_bytes_ != 0) {
    if (bytes != next_bytes_)
      return fail(
          Code::kInternal,
          fmt::format("native view: storage of {} bytes for a record of {}", bytes, next_bytes_));
    adopted_runs_[next_address_] = std::exchange(next_bytes_, 0);
    return next_address_;
  }
  BENTO_ASSIGN(const std::uint64_t address, space_->allocate(bytes));
  const bool through = type == H5FD_MEM_DRAW && bytes >= kWriteThroughBytes;
  if (!through && !regions_.empty()) {
    // Side by side with the region before, up to the bytes that alignment skipped.
    auto& [start, last] = *regions_.rbegin();
    if (!last.memory.empty() && address >= start + last.bytes &&
        address - (start + last.bytes) < 8) {
      last.bytes = address + bytes - start;
      last.memory.resize(static_cast<std::size_t>(last.bytes));
      return address;
    }
  }
  Region& region = regions_[address];
  region.bytes = bytes;
  if (!through) region.memory.resize(static_cast<std::size_t>(bytes));
  return address;
}

std::map<std::uint64_t, ViewFile::Region>::iterator ViewFile::region_of(std::uint64_t address) {
  auto behind = regions_.upper_bound(address);
  if (behind == regions_.begin()) return regions_.end();
  --behind;
  return address - behind->first < behind->second.bytes ? behind : regions_.end();
}

Status ViewFile::read(std::uint64_t address, std::span<std::byte> into) {
  std::ranges::fill(into, std::byte{0});
  if (address >= base() && address < base() + kSuperblockBytes) {
    const std::size_t skip = static_cast<std::size_t>(address - base());
    std::memcpy(into.data(), superblock_.data() + skip,
                std::min(into.size(), superblock_.size() - skip));
    return {};
  }
  const auto found = region_of(address);
  if (found == regions_.end()) {
    // The library looks for a signature where nothing is yet.
    return {};
  }
  const std::uint64_t skip = address - found->first;
  if (into.size() > found->second.bytes - skip)
    return fail(Code::kInternal, fmt::format("native view: {} bytes read at {}, {} are there",
                                             into.size(), address, found->second.bytes - skip));
  if (found->second.memory.empty()) return space_->file().read_at(address, into);
  std::memcpy(into.data(), found->second.memory.data() + skip, into.size());
  return {};
}

Status ViewFile::write(std::uint64_t address, std::span<const std::byte> from) {
  if (address >= base() && address + from.size() <= base() + kSuperblockBytes) {
    std::memcpy(superblock_.data() + (address - base()), from.data(), from.size());
    return {};
  }
  if (const auto found = region_of(address); found != regions_.end()) {
    const std::uint64_t skip = address - found->first;
    if (from.size() <= found->second.bytes - skip) {
      if (found->second.memory.empty()) return space_->file().write_at(address, from);
      std::memcpy(found->second.memory.data() + skip, from.data(), from.size());
      return {};
    }
  }
  // What is adopted was written by a rank; the library only repeats it, or fills.
  auto behind = adopted_runs_.upper_bound(address);
  if (behind != adopted_runs_.begin()) {
    --behind;
    if (address + from.size() <= behind->first + behind->second) return {};
  }
  return fail(Code::kInternal,
              fmt::format("native view: {} bytes written at {}, where nothing was allocated",
                          from.size(), address));
}

Status ViewFile::store() {
  for (const auto& [address, region] : regions_)
    if (!region.memory.empty()) BENTO_TRY(space_->file().write_at(address, region.memory));
  return {};
}

// --- the driver
// -------------------------------------------------------------------------------------------

namespace {

constexpr H5FD_class_value_t kDriverValue = static_cast<H5FD_class_value_t>(566);
constexpr haddr_t kMaxAddress = (static_cast<haddr_t>(1) << 62) - 1;
// No block ever ends at the end of the address space, so the library never extends one in place.
constexpr haddr_t kEndOfSpace = static_cast<haddr_t>(1) << 61;

struct ViewInfo {
  ViewFile* file;
};

struct OpenView {
  H5FD_t pub;  // must be first: the library knows only this part
  ViewFile* file;
};

OpenView* self(H5FD_t* file) {
  return reinterpret_cast<OpenView*>(file);
}
const OpenView* self(const H5FD_t* file) {
  return reinterpret_cast<const OpenView*>(file);
}

template <class Body>
Status caught(Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return fail(Code::kInternal, error.what());
  }
}

// Called by the library, through which nothing may be thrown.
template <class Body>
herr_t keep_failure(ViewFile& file, const char* what, Body&& body) noexcept {
  Status done = caught(std::forward<Body>(body));
  if (done) return 0;
  if (file.failure) file.failure = done;
  push_error(what, done.error());
  return -1;
}

void* drv_fapl_get(H5FD_t* file) {
  return new (std::nothrow) ViewInfo{self(file)->file};
}
void* drv_fapl_copy(const void* info) {
  return new (std::nothrow) ViewInfo(*static_cast<const ViewInfo*>(info));
}
herr_t drv_fapl_free(void* info) {
  delete static_cast<ViewInfo*>(info);
  return 0;
}

H5FD_t* drv_open(const char*, unsigned, hid_t fapl, haddr_t) {
  const auto* const info = static_cast<const ViewInfo*>(H5Pget_driver_info(fapl));
  if (info == nullptr) return nullptr;
  auto* const open = new (std::nothrow) OpenView{};
  if (open == nullptr) return nullptr;
  open->file = info->file;
  return reinterpret_cast<H5FD_t*>(open);
}

herr_t drv_close(H5FD_t* file) {
  delete self(file);
  return 0;
}

int drv_cmp(const H5FD_t* a, const H5FD_t* b) {
  const auto* const left = self(a)->file;
  const auto* const right = self(b)->file;
  if (left == right) return 0;
  return std::less<>{}(left, right) ? -1 : 1;
}

herr_t drv_query(const H5FD_t*, unsigned long* flags) {
  *flags = 0;  // every allocation is asked for by itself, every block written by itself
  return 0;
}

haddr_t drv_alloc(H5FD_t* file, H5FD_mem_t type, hid_t, hsize_t size) {
  haddr_t address = HADDR_UNDEF;
  ViewFile& view = *self(file)->file;
  keep_failure(view, "native view allocation", [&]() -> Status {
    BENTO_ASSIGN(address, view.allocate(type, size));
    return {};
  });
  return address;
}

haddr_t drv_get_eoa(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->file->begun ? kEndOfSpace : 0;
}
herr_t drv_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  if (address != 0) self(file)->file->begun = true;
  return 0;
}
haddr_t drv_get_eof(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->file->begun ? kEndOfSpace : 0;
}

herr_t drv_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  ViewFile& view = *self(file)->file;
  return keep_failure(view, "native view read",
                      [&] { return view.read(address, {static_cast<std::byte*>(buffer), size}); });
}
herr_t drv_write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                 const void* buffer) {
  ViewFile& view = *self(file)->file;
  return keep_failure(view, "native view write", [&] {
    return view.write(address, {static_cast<const std::byte*>(buffer), size});
  });
}
herr_t drv_nothing(H5FD_t*, hid_t, hbool_t) {
  return 0;
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t instance = [] {
    H5FD_class_t cls{};
    cls.version = H5FD_CLASS_VERSION;
    cls.value = kDriverValue;
    cls.name = "bento_view";
    cls.maxaddr = kMaxAddress;
    cls.fc_degree = H5F_CLOSE_STRONG;
    cls.fapl_size = sizeof(ViewInfo);
    cls.fapl_get = drv_fapl_get;
    cls.fapl_copy = drv_fapl_copy;
    cls.fapl_free = drv_fapl_free;
    cls.open = drv_open;
    cls.close = drv_close;
    cls.cmp = drv_cmp;
    cls.query = drv_query;
    cls.alloc = drv_alloc;
    cls.get_eoa = drv_get_eoa;
    cls.set_eoa = drv_set_eoa;
    cls.get_eof = drv_get_eof;
    cls.read = drv_read;
    cls.write = drv_write;
    cls.flush = drv_nothing;
    cls.truncate = drv_nothing;
    // Each kind of block keeps to its own free list: freed metadata must not become raw data.
    constexpr H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DEFAULT;
    std::copy(std::begin(map), std::end(map), std::begin(cls.fl_map));
    return cls;
  }();
  return instance;
}

// The library closes drivers by itself at its end.
hid_t& driver_id() {
  static hid_t id = H5I_INVALID_HID;
  return id;
}

}  // namespace

herr_t set_fapl_view(hid_t fapl, ViewFile& file) {
  hid_t& driver = driver_id();
  if (driver < 0 || H5Iis_valid(driver) <= 0) driver = H5FDregister(&driver_class());
  const ViewInfo info{&file};
  if (driver < 0 || H5Pset_vol(fapl, native_connector(), nullptr) < 0 ||
      H5Pset_driver(fapl, driver, &info) < 0 ||
      H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0)
    return -1;
  return 0;
}

void view_driver_forget() {
  driver_id() = H5I_INVALID_HID;
}

}  // namespace bento::vol
