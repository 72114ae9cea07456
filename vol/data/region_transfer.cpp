// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/region_transfer.hpp"

#include <vector>

#include "vol/file/dataset_state.hpp"
#include "vol/file/native_dataset.hpp"
#include "vol/file/skeleton_regions.hpp"

namespace bento::vol {

namespace {

/// Where the elements are in memory, as the library takes the program's spaces.
struct SelectedMemory {
  SpaceHandle space;
  std::size_t count = 0;
};

Result<SelectedMemory> selected_memory(const Object* object, const TransferArgs& args) {
  if (args.file_space == H5S_PLIST)
    return fail(Code::kUnsupported, "H5S_PLIST for references to regions");
  SpaceHandle file;
  if (args.file_space == H5S_ALL) {
    BENTO_ASSIGN(file, native_space(object));
  } else {
    file = SpaceHandle(H5Scopy(args.file_space));
  }
  const hssize_t count = H5Sget_select_npoints(file.get());
  if (count < 0) return fail(Code::kInvalidArgument, "the selection is unreadable");
  SelectedMemory memory;
  memory.count = static_cast<std::size_t>(count);
  const auto points = static_cast<hsize_t>(count);
  if (args.mem_space == H5S_ALL)
    memory.space = std::move(file);
  else if (args.mem_space == H5S_BLOCK)
    memory.space = SpaceHandle(H5Screate_simple(1, &points, nullptr));
  else
    memory.space = SpaceHandle(H5Scopy(args.mem_space));
  if (!memory.space.valid()) return fail(Code::kInternal, "no space for the selection");
  return memory;
}

Result<std::vector<std::byte>> gather(const SelectedMemory& memory, hid_t type,
                                      const void* buffer) {
  std::vector<std::byte> packed(memory.count * H5Tget_size(type));
  if (H5Dgather(memory.space.get(), buffer, type, packed.size(), packed.data(), nullptr, nullptr) <
      0)
    return fail(Code::kInternal, "H5Dgather failed on the memory selection");
  return packed;
}

herr_t give_all(const void** source, std::size_t* used, void* data) {
  const auto* const all = static_cast<const std::vector<std::byte>*>(data);
  *source = all->data();
  *used = all->size();
  return 0;
}

}  // namespace

Status write_selected_regions(const Object* object, FileContext& file, const TransferArgs& args,
                              const void* buffer, const WriteNatively& write) {
  BENTO_ASSIGN(const SelectedMemory memory, selected_memory(object, args));
  if (memory.count == 0) return {};
  BENTO_ASSIGN(const auto packed, gather(memory, args.mem_type, buffer));
  const auto points = static_cast<hsize_t>(memory.count);
  const SpaceHandle row(H5Screate_simple(1, &points, nullptr));
  const TransferArgs native{args.mem_type, row.get(), args.file_space, args.dxpl};
  return write_with_regions(object, file, args.mem_type, packed.data(), memory.count,
                            [&](const void* elements) { return write(native, elements); });
}

Status take_selected_regions(const Object* object, FileContext& file, const TransferArgs& args,
                             void* buffer) {
  BENTO_ASSIGN(const SelectedMemory memory, selected_memory(object, args));
  if (memory.count == 0) return {};
  BENTO_ASSIGN(auto packed, gather(memory, args.mem_type, buffer));
  BENTO_TRY(take_regions(file, args.mem_type, packed.data(), memory.count));
  if (H5Dscatter(give_all, &packed, args.mem_type, memory.space.get(), buffer) < 0)
    return fail(Code::kInternal, "H5Dscatter failed on the memory selection");
  return {};
}

}  // namespace bento::vol
