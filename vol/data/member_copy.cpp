// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/member_copy.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"

// Where the jump of a plugin leads (binding/trampoline.h). There is none where HDF5 is linked.
extern "C" void* h5bento_slot_H5Tfind __attribute__((weak));

namespace bento::vol {

namespace {

/// A member as both compounds have it. Each step is one element further.
struct Column {
  std::byte* to;
  std::size_t to_step;
  const std::byte* from;
  std::size_t from_step;
};

template <std::size_t kBytes>
void copy_fixed(Column at, std::uint64_t count) {
  for (; count > 0; --count, at.to += at.to_step, at.from += at.from_step)
    std::memcpy(at.to, at.from, kBytes);
}

/// A size that the compiler knows is one or two instructions instead of a call.
void copy_column(Column at, std::size_t bytes, std::uint64_t count) {
  switch (bytes) {
    case 1:
      return copy_fixed<1>(at, count);
    case 2:
      return copy_fixed<2>(at, count);
    case 4:
      return copy_fixed<4>(at, count);
    case 8:
      return copy_fixed<8>(at, count);
    case 16:
      return copy_fixed<16>(at, count);
    default:
      for (; count > 0; --count, at.to += at.to_step, at.from += at.from_step)
        std::memcpy(at.to, at.from, bytes);
  }
}

/// An address in HDF5's library. In a plugin its functions are jumps of the plugin's own.
const void* code_of_library() {
  return &h5bento_slot_H5Tfind != nullptr ? h5bento_slot_H5Tfind
                                          : reinterpret_cast<const void*>(&H5Tfind);
}

/// Does this function lie in HDF5's library? It takes the loader longer to say than to copy a few
/// elements, so those that do are kept: HDF5 has two for compounds.
bool is_of_library(H5T_conv_t function) {
  static std::array<std::atomic<H5T_conv_t>, 2> known{};
  for (const auto& one : known)
    if (function == one) return true;
  Dl_info its{};
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(function), &its) == 0 ||
      dladdr(code_of_library(), &library) == 0 || its.dli_fbase != library.dli_fbase)
    return false;
  known[1] = known[0].exchange(function);
  return true;
}

/// A program may have registered another conversion (H5Tregister), which must be called also where
/// the members are equal.
bool converted_by_library(hid_t from, hid_t to) {
  H5T_cdata_t* data = nullptr;
  const H5T_conv_t function = H5Tfind(from, to, &data);
  return function != nullptr && is_of_library(function);
}

}  // namespace

std::optional<MemberCopy> MemberCopy::between(hid_t memory_type, hid_t file_type) {
  if (H5Tget_class(memory_type) != H5T_COMPOUND || H5Tget_class(file_type) != H5T_COMPOUND ||
      H5Tdetect_class(file_type, H5T_REFERENCE) != 0 || H5Tdetect_class(file_type, H5T_VLEN) != 0)
    return std::nullopt;
  const QuietErrors quiet;  // of members that the memory type does not have
  MemberCopy copy;
  copy.memory_bytes_ = H5Tget_size(memory_type);
  copy.file_bytes_ = H5Tget_size(file_type);
  const int members = H5Tget_nmembers(file_type);
  for (int i = 0; i < members; ++i) {
    const auto number = static_cast<unsigned>(i);
    const std::unique_ptr<char, herr_t (*)(void*)> name(H5Tget_member_name(file_type, number),
                                                        H5free_memory);
    if (name == nullptr) return std::nullopt;
    const int of_memory = H5Tget_member_index(memory_type, name.get());
    if (of_memory < 0) continue;
    const auto in_memory = static_cast<unsigned>(of_memory);
    const TypeHandle here(H5Tget_member_type(memory_type, in_memory));
    const TypeHandle there(H5Tget_member_type(file_type, number));
    if (H5Tequal(here.get(), there.get()) <= 0 || H5Tis_variable_str(there.get()) != 0)
      return std::nullopt;
    copy.runs_.push_back({H5Tget_member_offset(memory_type, in_memory),
                          H5Tget_member_offset(file_type, number), H5Tget_size(there.get())});
  }
  if (!converted_by_library(memory_type, file_type) ||
      !converted_by_library(file_type, memory_type))
    return std::nullopt;
  copy.join_neighbours();
  return copy;
}

void MemberCopy::join_neighbours() {
  std::ranges::sort(runs_, {}, &Run::file_offset);
  std::vector<Run> joined;
  for (const Run& run : runs_) {
    if (!joined.empty() && joined.back().file_offset + joined.back().bytes == run.file_offset &&
        joined.back().memory_offset + joined.back().bytes == run.memory_offset)
      joined.back().bytes += run.bytes;
    else
      joined.push_back(run);
  }
  runs_ = std::move(joined);
}

void MemberCopy::to_file(std::uint64_t count, const std::byte* memory, std::byte* file) const {
  for (const Run& run : runs_)
    copy_column({file + run.file_offset, file_bytes_, memory + run.memory_offset, memory_bytes_},
                run.bytes, count);
}

void MemberCopy::to_memory(std::uint64_t count, const std::byte* file, std::byte* memory) const {
  for (const Run& run : runs_)
    copy_column({memory + run.memory_offset, memory_bytes_, file + run.file_offset, file_bytes_},
                run.bytes, count);
}

}  // namespace bento::vol
