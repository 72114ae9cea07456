// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/skeleton_regions.hpp"

#include <bit>
#include <cstring>

#include "core/bytes/byte_reader.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/variable_elements.hpp"
#include "hdf5/regions/heap_object.hpp"

namespace bento::vol {

namespace {

Result<void*> native_file_of(const Object* object) {
  void* file = nullptr;
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_FILE;
  args.args.get_file.file = &file;
  const auto self = by_self(object->type);
  if (H5VLobject_get(object->under, &self, object->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                     nullptr) < 0)
    return fail(Code::kInternal, "the native connector does not know the object's file");
  return file;
}

/// The global heap of the skeleton itself.
class SkeletonHeap final : public RegionValues {
 public:
  SkeletonHeap(FileContext& file, void* native) : file_(file), native_(native) {}

  // What this process has put there may be in the library's cache still, and a flush of one rank
  // alone would change the skeleton; so it is kept.
  Result<std::vector<std::byte>> get(const std::byte* reference) override {
    const auto& written = file_.written_regions();
    if (const auto found = written.find(key(reference)); found != written.end())
      return found->second;
    ByteReader in(std::span(reference, kRegionReferenceBytes), std::endian::little, "reference");
    BENTO_ASSIGN(const std::uint64_t address, in.u64());
    BENTO_ASSIGN(const std::uint32_t index, in.u32());
    return heap_object(
        [this](std::uint64_t at, std::span<std::byte> into) -> Status {
          file_.image().read(at, into);
          return {};
        },
        file_.image().size(), address, index);
  }

  Status put(std::span<const std::byte> region, std::byte* reference) override {
    if (H5VLblob_put(native_, native_connector(), region.data(), region.size(), reference,
                     nullptr) < 0)
      return fail(Code::kInternal, "a reference to a region cannot be put into the skeleton");
    file_.written_regions()[key(reference)].assign(region.begin(), region.end());
    return {};
  }

 private:
  static FileContext::SkeletonReference key(const std::byte* reference) {
    FileContext::SkeletonReference bytes{};
    std::memcpy(bytes.data(), reference, bytes.size());
    return bytes;
  }

  FileContext& file_;
  void* native_;
};

}  // namespace

std::shared_ptr<FileContext> keeper_of_regions(const Object* object, hid_t type) {
  if (!has_region_reference(type)) return nullptr;
  auto file = context_of(object);
  return file && file->keeps_regions() ? file : nullptr;
}

// By way of the bytes of a record: a copy of all that sequences hold.
Status write_with_regions(const Object* object, FileContext& file, hid_t type,
                          const std::byte* elements, std::size_t count, const NativeWrite& write) {
  BENTO_ASSIGN(auto variable, VariableElements::of(type));
  BENTO_ASSIGN(void* const native, native_file_of(object));
  SkeletonHeap skeleton(file, native);
  std::vector<std::byte> stored;
  VariableElements::begin(stored);
  variable.use_regions(&file.regions());
  for (std::size_t i = 0; i < count; ++i)
    BENTO_TRY(variable.encode(elements + i * variable.element_bytes(), stored));
  variable.use_regions(&skeleton);
  ValueArena arena;
  std::vector<std::byte> copy(count * variable.element_bytes());
  const Box all{Dims(1, 0), Dims(1, count)};
  BENTO_TRY(variable.decode(all, stored, all, all, copy.data(),
                            [&arena](std::size_t bytes) { return arena.allocate(bytes); }));
  if (write(copy.data()) < 0) return fail(Code::kInternal, "the values cannot be written");
  return {};
}

Status refuse_region_fill(hid_t dcpl, hid_t type) {
  if (!has_region_reference(type)) return {};
  BENTO_ASSIGN(const auto variable, VariableElements::of(type));
  std::vector<std::byte> element(variable.element_bytes());
  if (H5Pget_fill_value(dcpl, type, element.data()) < 0)
    return fail(Code::kInternal, "the fill value is unreadable");
  return variable.for_each_region(element.data(), 1, [](std::byte*) -> Status {
    return fail(Code::kUnsupported,
                "a fill value that is a reference to a region, in a file of a parallel program");
  });
}

Status take_regions(FileContext& file, hid_t type, std::byte* elements, std::size_t count) {
  BENTO_ASSIGN(const auto variable, VariableElements::of(type));
  SkeletonHeap skeleton(file, nullptr);
  return variable.for_each_region(elements, count, [&](std::byte* reference) -> Status {
    BENTO_ASSIGN(const auto region, skeleton.get(reference));
    return file.regions().put(region, reference);
  });
}

}  // namespace bento::vol
