// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/transfer.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/data/selection.hpp"
#include "vol/data/box_data.hpp"

namespace bento::vol {

namespace {

/// Both sides of a transfer, checked against each other and against the dataset's extent.
struct Plan {
  SelectionShape shape;               ///< of the file side
  hid_t mem_space = H5I_INVALID_HID;  ///< scattered memory; invalid if memory is one run
  std::int64_t mem_offset = -1;       ///< first element of a single run, -1 if scattered
};

/// A data transform of the transfer list would be left out in silence: the native connector, which
/// applies it, never sees these elements.
Status refuse_transform(hid_t dxpl) {
  if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT) return {};
  ssize_t length = 0;
  {
    const QuietErrors quiet;
    const ErrorStackKeeper keep;
    length = H5Pget_data_transform(dxpl, nullptr, 0);
  }
  if (length <= 0) return {};
  return fail(Code::kUnsupported,
              "H5Pset_data_transform is not supported for data of a container: transform the "
              "elements in the program");
}

Result<SelectionShape> whole_shape(const Dims& extent) {
  SelectionShape shape;
  shape.box = Box::whole(extent);
  const auto elements = extent.checked_product();
  if (!elements)
    return fail(Code::kUnsupported,
                "the dataset has more elements than 64 bits count: select some");
  shape.elements = *elements;
  shape.form = shape.elements == 0 ? SelectionShape::Form::kEmpty : SelectionShape::Form::kBox;
  return shape;
}

/// Sizes of buffers are products of these.
Status check_bytes(std::uint64_t elements, std::size_t one, std::size_t other) {
  const std::uint64_t largest = std::max<std::uint64_t>(std::max(one, other), 1);
  if (elements <= (~std::uint64_t{0} >> 1) / largest) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("{} elements of {} bytes are more than memory can hold", elements, largest));
}

Status check_inside(const SelectionShape& shape, const Dims& extent) {
  if (shape.form == SelectionShape::Form::kEmpty) return {};
  if (shape.box.rank() != extent.rank())
    return fail(Code::kInvalidArgument,
                fmt::format("file selection has {} dimensions, the dataset {}", shape.box.rank(),
                            extent.rank()));
  for (unsigned d = 0; d < extent.rank(); ++d)
    if (shape.box.start[d] + shape.box.count[d] > extent[d])
      return fail(Code::kInvalidArgument,
                  fmt::format("file selection reaches {} in dimension {}, the extent is {}",
                              shape.box.start[d] + shape.box.count[d], d, extent[d]));
  return {};
}

Result<Plan> plan_transfer(Object* object, DatasetState& state, const TransferArgs& args) {
  if (args.file_space == H5S_PLIST)
    return fail(Code::kUnsupported,
                "H5S_PLIST selections are not supported for datasets in a container");
  Plan plan;
  BENTO_ASSIGN(const Dims extent, state.extent(object));
  if (args.file_space == H5S_ALL) {
    BENTO_ASSIGN(plan.shape, whole_shape(extent));
  } else {
    if (H5Sselect_valid(args.file_space) <= 0)
      return fail(Code::kInvalidArgument, "file selection and offset leave the dataspace's extent");
    BENTO_ASSIGN(plan.shape, shape_of(args.file_space));
    BENTO_TRY(check_inside(plan.shape, extent));
  }

  BENTO_TRY(check_bytes(plan.shape.elements, H5Tget_size(args.mem_type), state.element_bytes));
  if (args.mem_space == H5S_BLOCK || (args.mem_space == H5S_ALL && args.file_space == H5S_ALL)) {
    plan.mem_offset = 0;
    return plan;
  }
  const hid_t memory = args.mem_space == H5S_ALL ? args.file_space : args.mem_space;
  if (H5Sselect_valid(memory) <= 0)
    return fail(Code::kInvalidArgument, "memory selection and offset leave the dataspace's extent");
  const auto selected = static_cast<std::uint64_t>(H5Sget_select_npoints(memory));
  if (selected != plan.shape.elements)
    return fail(Code::kInvalidArgument,
                fmt::format("memory selection has {} elements, file selection {}", selected,
                            plan.shape.elements));
  plan.mem_offset = contiguous_offset(memory);
  plan.mem_space = memory;
  return plan;
}

Status gather(const Plan& plan, hid_t mem_type, std::size_t mem_bytes, const void* buffer,
              std::byte* packed) {
  if (plan.mem_offset >= 0) {
    std::memcpy(packed,
                static_cast<const std::byte*>(buffer) +
                    static_cast<std::size_t>(plan.mem_offset) * mem_bytes,
                plan.shape.elements * mem_bytes);
    return {};
  }
  if (H5Dgather(plan.mem_space, buffer, mem_type, plan.shape.elements * mem_bytes, packed, nullptr,
                nullptr) < 0)
    return fail(Code::kInternal, "H5Dgather failed on the memory selection");
  return {};
}

struct ScatterSource {
  const void* packed;
  std::size_t bytes;
};

herr_t give_all(const void** source, std::size_t* used, void* data) {
  const auto* const whole = static_cast<const ScatterSource*>(data);
  *source = whole->packed;
  *used = whole->bytes;
  return 0;
}

Status scatter(const Plan& plan, hid_t mem_type, std::size_t mem_bytes, const std::byte* packed,
               void* buffer) {
  if (plan.mem_offset >= 0) {
    std::memcpy(
        static_cast<std::byte*>(buffer) + static_cast<std::size_t>(plan.mem_offset) * mem_bytes,
        packed, plan.shape.elements * mem_bytes);
    return {};
  }
  ScatterSource source{packed, plan.shape.elements * mem_bytes};
  if (H5Dscatter(give_all, &source, mem_type, plan.mem_space, buffer) < 0)
    return fail(Code::kInternal, "H5Dscatter failed on the memory selection");
  return {};
}

Status read_packed(Object* object, DatasetState& state, const SelectionShape& shape,
                   std::byte* packed) {
  if (shape.form == SelectionShape::Form::kEmpty) return {};
  if (shape.form == SelectionShape::Form::kBox) return read_box(object, state, shape.box, packed);
  // A dense selection is read as its bounding box at once: one look-up instead of one for each
  // piece.
  std::vector<std::byte> bound;
  const auto in_box = shape.box.count.checked_product();
  if (in_box && *in_box / 4 <= shape.elements) {
    bound.resize(shape.box.elements() * state.element_bytes);
    BENTO_TRY(read_box(object, state, shape.box, bound.data()));
  }
  std::vector<std::byte> scratch;
  return for_each_box(shape, state.element_bytes,
                      [&](const Box& box, const PackFn&, const UnpackFn& unpack) -> Status {
                        scratch.resize(box.elements() * state.element_bytes);
                        if (bound.empty()) {
                          BENTO_TRY(read_box(object, state, box, scratch.data()));
                        } else {
                          copy_box(box, shape.box, bound.data(), box, scratch.data(),
                                   state.element_bytes);
                        }
                        unpack(scratch.data(), packed);
                        return {};
                      });
}

bool same_type(hid_t a, hid_t b) {
  return H5Tequal(a, b) > 0;
}

}  // namespace

Result<std::uint64_t> transfer_write(Object* object, DatasetState& state, const TransferArgs& args,
                                     const void* buffer) {
  BENTO_TRY(refuse_transform(args.dxpl));
  BENTO_ASSIGN(const Plan plan, plan_transfer(object, state, args));
  const std::uint64_t count = plan.shape.elements;
  if (count == 0) return std::uint64_t{0};
  if (buffer == nullptr) return fail(Code::kInvalidArgument, "no buffer for a write of elements");

  const hid_t file_type = state.file_type.get();
  const std::size_t mem_bytes = H5Tget_size(args.mem_type);
  const bool same = same_type(args.mem_type, file_type);
  WrittenMembers some;
  const WrittenMembers* written = state.all_members();
  if (!same && state.compound) {
    BENTO_ASSIGN(some, state.members()->written_by(args.mem_type));
    written = &some;
  }
  std::vector<std::byte> converted;
  const auto* packed = static_cast<const std::byte*>(buffer);
  if (same && plan.mem_offset >= 0) {
    packed += static_cast<std::size_t>(plan.mem_offset) * mem_bytes;
  } else {
    converted.resize(count * std::max(mem_bytes, state.element_bytes));
    BENTO_TRY(gather(plan, args.mem_type, mem_bytes, buffer, converted.data()));
    if (!same) {
      // Members that the memory type lacks keep their value in the file.
      std::vector<std::byte> background;
      if (state.compound) {
        background.resize(count * state.element_bytes);
        if (some.partial) BENTO_TRY(read_packed(object, state, plan.shape, background.data()));
      }
      if (H5Tconvert(args.mem_type, file_type, count, converted.data(),
                     background.empty() ? nullptr : background.data(), args.dxpl) < 0)
        return fail(Code::kInvalidArgument,
                    "the memory type cannot be converted to the dataset's type");
    }
    packed = converted.data();
  }

  const std::uint64_t bytes = count * state.element_bytes;
  if (plan.shape.form == SelectionShape::Form::kBox) {
    BENTO_TRY(write_box(object, state, plan.shape.box, packed, written));
    return bytes;
  }
  std::vector<std::byte> scratch;
  BENTO_TRY(for_each_box(plan.shape, state.element_bytes,
                         [&](const Box& box, const PackFn& pack, const UnpackFn&) -> Status {
                           scratch.resize(box.elements() * state.element_bytes);
                           pack(packed, scratch.data());
                           return write_box(object, state, box, scratch.data(), written);
                         }));
  return bytes;
}

Result<std::uint64_t> transfer_read(Object* object, DatasetState& state, const TransferArgs& args,
                                    void* buffer) {
  BENTO_TRY(refuse_transform(args.dxpl));
  BENTO_ASSIGN(const Plan plan, plan_transfer(object, state, args));
  const std::uint64_t count = plan.shape.elements;
  if (count == 0) return std::uint64_t{0};
  if (buffer == nullptr) return fail(Code::kInvalidArgument, "no buffer for a read of elements");

  const hid_t file_type = state.file_type.get();
  const std::size_t mem_bytes = H5Tget_size(args.mem_type);
  const bool same = same_type(args.mem_type, file_type);
  const std::uint64_t bytes = count * state.element_bytes;
  const auto read_elements = [&](std::byte* to) {
    return read_of_one_step(state.file->container(),
                            [&] { return read_packed(object, state, plan.shape, to); });
  };
  if (same && plan.mem_offset >= 0) {
    auto* const to =
        static_cast<std::byte*>(buffer) + static_cast<std::size_t>(plan.mem_offset) * mem_bytes;
    BENTO_TRY(read_elements(to));
    return bytes;
  }
  std::vector<std::byte> packed(count * std::max(mem_bytes, state.element_bytes));
  BENTO_TRY(read_elements(packed.data()));
  if (!same) {
    // Members that the file type lacks keep their value in memory.
    std::vector<std::byte> background;
    if (state.compound) {
      background.resize(count * mem_bytes);
      BENTO_TRY(gather(plan, args.mem_type, mem_bytes, buffer, background.data()));
    }
    if (H5Tconvert(file_type, args.mem_type, count, packed.data(),
                   background.empty() ? nullptr : background.data(), args.dxpl) < 0)
      return fail(Code::kInvalidArgument,
                  "the dataset's type cannot be converted to the memory type");
  }
  BENTO_TRY(scatter(plan, args.mem_type, mem_bytes, packed.data(), buffer));
  return bytes;
}

}  // namespace bento::vol
