// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/regions/region_store.hpp"

#include <algorithm>

#include "hdf5/regions/extent_header.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kSuperblockRoom = 4096;
constexpr std::uint64_t kAlignment = 8;

}  // namespace

// The library sets ends of its own while it reads a superblock; only what lies behind is an
// allocation.
void RegionStore::set_end(std::uint64_t address) {
  begun_ = begun_ || address != 0;
  end_ = std::max(end_, address);
}

// The superblock must be at the beginning.
std::uint64_t RegionStore::allocate(H5FD_mem_t type, std::uint64_t bytes) {
  begun_ = true;
  if (type == H5FD_MEM_SUPER && superblock_.empty() && bytes <= kSuperblockRoom) {
    superblock_.resize(kSuperblockRoom);
    return 0;
  }
  const std::uint64_t address = (end_ + kAlignment - 1) / kAlignment * kAlignment;
  end_ = address + bytes;
  return address;
}

Status RegionStore::read(H5FD_mem_t type, std::uint64_t address, std::span<std::byte> into) {
  if (address < first_ && type == H5FD_MEM_OHDR) return read_header(address, into);
  std::ranges::fill(into, std::byte{0});
  const std::vector<std::byte>& from = address < first_ ? superblock_ : bytes_;
  const std::uint64_t at = address < first_ ? address : address - first_;
  if (at < from.size())
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at),
                std::min<std::uint64_t>(into.size(), from.size() - at), into.begin());
  return {};
}

Status RegionStore::write(std::uint64_t address, std::span<const std::byte> from) {
  std::vector<std::byte>& to = address < first_ ? superblock_ : bytes_;
  const std::uint64_t at = address < first_ ? address : address - first_;
  if (address < first_ && at + from.size() > kSuperblockRoom)
    return fail(Code::kInternal, "the file of regions has objects of the skeleton");
  if (to.size() < at + from.size()) to.resize(at + from.size());
  std::ranges::copy(from, to.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

Status RegionStore::read_header(std::uint64_t address, std::span<std::byte> into) {
  auto header = headers_.find(address);
  if (header == headers_.end()) {
    BENTO_ASSIGN(const SpaceHandle extent, extent_at_(address));
    BENTO_ASSIGN(auto made, extent_header(extent.get()));
    header = headers_.emplace(address, std::move(made)).first;
  }
  std::ranges::fill(into, std::byte{0});
  std::copy_n(header->second.begin(), std::min(into.size(), header->second.size()), into.begin());
  return {};
}

}  // namespace bento::vol
