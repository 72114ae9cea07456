// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/view_file.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

#include <H5FDdevelop.h>
#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "hdf5/base/driver_frame.hpp"
#include "hdf5/base/library_version.hpp"
#include "hdf5/base/native_connector.hpp"

namespace bento::vol {

namespace {

// Raw data from here on is not kept in memory.
constexpr std::uint64_t kWriteThroughBytes = 256u << 10;
// Nor is more than this of smaller pieces, which values of variable length come in.
constexpr std::uint64_t kSmallInMemory = 1u << 20;
// Regions in memory become no larger by what is added: a growing one would be copied as a whole.
constexpr std::uint64_t kLargestRegion = 1u << 20;
// No file reaches so far.
constexpr std::uint64_t kNowhere = static_cast<std::uint64_t>(1) << 60;
// Fewer bytes than this are skipped between pieces.
constexpr std::uint64_t kAlignment = 8;

}  // namespace

ViewFile::ViewFile(ViewPlace& place) : place_(&place), base_(place.base()), nowhere_(kNowhere) {}

void ViewFile::adopt_next(std::uint64_t address, std::uint64_t bytes) {
  next_address_ = address;
  next_bytes_ = bytes;
}

void ViewFile::give_up() {
  place_ = nullptr;
}

template <class Body>
void ViewFile::watch(Body&& body) noexcept {
  try {
    Status done = body();
    if (!done && failure_) failure_ = std::move(done);
  } catch (const std::exception& e) {
    // A text this short needs no memory.
    if (failure_) failure_ = fail(Code::kInternal, e.what());
  }
  if (!failure_) give_up();
}

std::uint64_t ViewFile::allocate(H5FD_mem_t type, std::uint64_t bytes) noexcept {
  std::uint64_t address = 0;
  bool placed = false;
  watch([&]() -> Status {
    if (place_ == nullptr) return {};
    BENTO_ASSIGN(address, try_allocate(type, bytes));
    placed = true;
    return {};
  });
  if (placed) return address;
  // There will be no view, but the library needs a place to go on.
  next_bytes_ = 0;
  address = nowhere_;
  nowhere_ += round_up(bytes, kAlignment);
  if (type != H5FD_MEM_DRAW || bytes < kWriteThroughBytes)
    watch([&]() -> Status {
      keep_in_memory(address, bytes);
      return {};
    });
  return address;
}

Result<std::uint64_t> ViewFile::try_allocate(H5FD_mem_t type, std::uint64_t bytes) {
  if (type == H5FD_MEM_SUPER) return base();
  if (type == H5FD_MEM_DRAW && next_bytes_ != 0) {
    if (bytes != next_bytes_)
      return fail(
          Code::kInternal,
          fmt::format("native view: storage of {} bytes for a record of {}", bytes, next_bytes_));
    adopted_runs_[next_address_] = std::exchange(next_bytes_, 0);
    return next_address_;
  }
  BENTO_ASSIGN(const std::uint64_t address, place_->allocate(bytes));
  const bool data = type == H5FD_MEM_DRAW || type == H5FD_MEM_GHEAP;
  if (data && bytes >= kWriteThroughBytes) {
    regions_[address].bytes = bytes;
    return address;
  }
  keep_in_memory(address, bytes);
  if (data) small_bytes_ += bytes;
  if (small_bytes_ >= kSmallInMemory) BENTO_TRY(store_early());
  return address;
}

void ViewFile::keep_in_memory(std::uint64_t address, std::uint64_t bytes) {
  if (!regions_.empty()) {
    // Side by side with the region before, up to the bytes that alignment skipped.
    auto& [start, last] = *regions_.rbegin();
    if (!last.memory.empty() && address >= start + last.bytes &&
        address - (start + last.bytes) < kAlignment && last.bytes + bytes <= kLargestRegion) {
      last.memory.resize(static_cast<std::size_t>(address + bytes - start));
      last.bytes = last.memory.size();
      return;
    }
  }
  std::vector<std::byte> memory(static_cast<std::size_t>(bytes));
  regions_[address] = {bytes, std::move(memory)};
}

ViewFile::Regions::iterator ViewFile::region_behind(std::uint64_t address) {
  const auto behind = regions_.upper_bound(address);
  if (behind == regions_.begin()) return behind;
  const auto before = std::prev(behind);
  return address - before->first < before->second.bytes ? before : behind;
}

void ViewFile::read(std::uint64_t address, std::span<std::byte> into) noexcept {
  std::ranges::fill(into, std::byte{0});
  watch([&] { return try_read(address, into); });
}

Status ViewFile::try_read(std::uint64_t address, std::span<std::byte> into) {
  if (address >= base() && address < base() + superblock_.size()) {
    const std::size_t skip = static_cast<std::size_t>(address - base());
    std::memcpy(into.data(), superblock_.data() + skip,
                std::min(into.size(), superblock_.size() - skip));
    return {};
  }
  const std::uint64_t end = address + into.size();
  for (auto at = region_behind(address); at != regions_.end() && at->first < end; ++at) {
    const auto& [start, region] = *at;
    const std::uint64_t from = std::max(address, start);
    const std::uint64_t to = std::min(end, start + region.bytes);
    const auto part =
        into.subspan(static_cast<std::size_t>(from - address), static_cast<std::size_t>(to - from));
    if (!region.memory.empty())
      std::memcpy(part.data(), region.memory.data() + (from - start), part.size());
    else if (place_ != nullptr)
      BENTO_TRY(read_stored(from, part));
  }
  return {};
}

// The library reads a chunk that it has just allocated before it writes a part of it: the file may
// end before it.
Status ViewFile::read_stored(std::uint64_t address, std::span<std::byte> into) {
  BENTO_TRY(place_->file().read_some(address, into));
  return {};
}

void ViewFile::write(std::uint64_t address, std::span<const std::byte> from) noexcept {
  watch([&] { return try_write(address, from); });
}

// The library gathers metadata that lies side by side, and writes it at once: that may be several
// regions, in whatever order they were allocated.
Status ViewFile::try_write(std::uint64_t address, std::span<const std::byte> from) {
  if (address >= base() && address + from.size() <= base() + superblock_.size()) {
    std::memcpy(superblock_.data() + (address - base()), from.data(), from.size());
    return {};
  }
  const std::uint64_t begin = address;
  while (!from.empty()) {
    std::uint64_t bytes = 0;
    if (const auto at = region_behind(address); at != regions_.end() && at->first <= address) {
      auto& [start, region] = *at;
      const std::uint64_t skip = address - start;
      bytes = std::min<std::uint64_t>(from.size(), region.bytes - skip);
      const auto part = from.first(static_cast<std::size_t>(bytes));
      if (!region.memory.empty())
        std::memcpy(region.memory.data() + skip, part.data(), part.size());
      else if (place_ != nullptr)
        BENTO_TRY(place_->file().write_at(address, part));
    } else if (const std::uint64_t adopted = adopted_from(address); adopted != 0) {
      // A rank wrote it; the library only repeats it, or fills.
      bytes = std::min<std::uint64_t>(from.size(), adopted);
    } else if (at != regions_.end() && address != begin && at->first - address < kAlignment) {
      bytes = std::min<std::uint64_t>(from.size(), at->first - address);
    } else {
      if (place_ == nullptr) return {};
      return fail(Code::kInternal,
                  fmt::format("native view: {} bytes written at {}, where nothing was allocated",
                              from.size(), address));
    }
    address += bytes;
    from = from.subspan(static_cast<std::size_t>(bytes));
  }
  return {};
}

std::uint64_t ViewFile::adopted_from(std::uint64_t address) const {
  const auto behind = adopted_runs_.upper_bound(address);
  if (behind == adopted_runs_.begin()) return 0;
  const auto& [start, bytes] = *std::prev(behind);
  return address < start + bytes ? start + bytes - address : 0;
}

Result<Superblock> ViewFile::superblock() const {
  Superblock newer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled at once
  std::copy_n(superblock_.begin(), newer.size(), newer.begin());
  if (is_superblock(newer)) return newer;
  return newer_superblock(superblock_);
}

// Also metadata, which lies between the data: what of it changes again is written then.
Status ViewFile::store_early() {
  BENTO_TRY(store());
  for (auto& [address, region] : regions_) region.memory = std::vector<std::byte>();
  small_bytes_ = 0;
  return {};
}

Status ViewFile::store() {
  for (const auto& [address, region] : regions_)
    if (!region.memory.empty()) BENTO_TRY(place_->file().write_at(address, region.memory));
  return {};
}

// --- the driver
// -------------------------------------------------------------------------------------------

namespace {

// No block ever ends at the end of the address space, so the library never extends one in place.
constexpr haddr_t kEndOfSpace = static_cast<haddr_t>(1) << 61;

// Counted and never copied: a copy could fail for want of memory, after which the library counts
// its reference to the driver once too few.
struct ViewInfo {
  std::shared_ptr<ViewFile> file;
  int owners = 1;
};

ViewInfo* one_more(ViewInfo* info) {
  ++info->owners;
  return info;
}
void one_less(ViewInfo* info) {
  if (--info->owners == 0) delete info;
}

struct OpenView {
  H5FD_t pub;  // must be first: the library knows only this part
  ViewInfo* info;
  ViewFile* file;
};

OpenView* self(H5FD_t* file) {
  return reinterpret_cast<OpenView*>(file);
}
const OpenView* self(const H5FD_t* file) {
  return reinterpret_cast<const OpenView*>(file);
}

void* drv_fapl_get(H5FD_t* file) {
  return one_more(self(file)->info);
}
void* drv_fapl_copy(const void* info) {
  return one_more(static_cast<ViewInfo*>(const_cast<void*>(info)));
}
herr_t drv_fapl_free(void* info) {
  one_less(static_cast<ViewInfo*>(info));
  return 0;
}

H5FD_t* drv_open(const char*, unsigned, hid_t fapl, haddr_t) {
  const void* const info = H5Pget_driver_info(fapl);
  auto* const open = info != nullptr ? new (std::nothrow) OpenView{} : nullptr;
  if (open == nullptr) return nullptr;
  open->info = static_cast<ViewInfo*>(drv_fapl_copy(info));
  open->file = open->info->file.get();
  return reinterpret_cast<H5FD_t*>(open);
}

herr_t drv_close(H5FD_t* file) {
  one_less(self(file)->info);
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
  self(file)->file->begun = true;
  return self(file)->file->allocate(type, size);
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
  self(file)->file->read(address, {static_cast<std::byte*>(buffer), size});
  return 0;
}
herr_t drv_write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                 const void* buffer) {
  self(file)->file->write(address, {static_cast<const std::byte*>(buffer), size});
  return 0;
}
herr_t drv_nothing(H5FD_t*, hid_t, hbool_t) {
  return 0;
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t instance = [] {
    // Each kind of block keeps to its own free list: freed metadata must not become raw data.
    H5FD_class_t cls = driver_frame("bento_view", 566, H5F_CLOSE_STRONG, H5FD_FLMAP_DEFAULT);
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
    return cls;
  }();
  return instance;
}

DriverId& driver_id() {
  static DriverId id;
  return id;
}

}  // namespace

herr_t set_fapl_view(hid_t fapl, std::shared_ptr<ViewFile> file) {
  const hid_t driver = driver_id().get(driver_class());
  auto* const info = new ViewInfo{std::move(file)};
  const bool set = driver >= 0 && H5Pset_vol(fapl, native_connector(), nullptr) >= 0 &&
                   H5Pset_driver(fapl, driver, info) >= 0 &&
                   H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, newest_format()) >= 0;
  one_less(info);
  return set ? 0 : -1;
}

void view_driver_forget() {
  driver_id().forget();
}

}  // namespace bento::vol
