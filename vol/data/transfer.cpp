// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/transfer.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/base/verified_reads.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/data/selection.hpp"
#include "vol/data/box_data.hpp"
#include "vol/data/data_transform.hpp"
#include "vol/data/elements_in_memory.hpp"
#include "vol/data/sparse_read.hpp"
#include "vol/data/strips.hpp"
#include "vol/data/variable_transfer.hpp"
#include "vol/data/write_around.hpp"

namespace bento::vol {

namespace {

/// Both sides of a transfer, checked against each other and against the dataset's extent.
struct Plan {
  SelectionShape shape;  ///< of the file side
  ElementsInMemory memory;
};

/// Bytes that are written before they are read.
class Unwritten {
 public:
  explicit Unwritten(std::uint64_t bytes)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes))) {}
  [[nodiscard]] std::byte* data() { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

/// Natively no such element can be transformed either: none is a number.
Status refuse_transform(const ElementTypes& types) {
  if (types.transform.empty()) return {};
  return fail(Code::kUnsupported,
              "H5Pset_data_transform is not for elements of variable length, nor for references");
}

/// May a conversion call a function of the program, which may write to the same file or flush it?
/// That must not happen in the middle of a record.
bool calls_back(const ElementTypes& types) {
  if (types.same || types.dxpl == H5P_DEFAULT) return false;
  H5T_conv_except_func_t function = nullptr;
  void* data = nullptr;
  return H5Pget_type_conv_cb(types.dxpl, &function, &data) < 0 || function != nullptr;
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
Status check_bytes(std::uint64_t elements, std::size_t element_bytes) {
  const std::uint64_t largest = std::max<std::uint64_t>(element_bytes, 1);
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

Status of_side(const char* side, Status failed) {
  return fail(std::move(failed).error().with_context(side));
}

Status plan_transfer(Object* object, DatasetState& state, const TransferArgs& args,
                     const ElementTypes& types, Plan& plan) {
  if (args.file_space == H5S_PLIST)
    return fail(Code::kUnsupported,
                "H5S_PLIST selections are not supported for datasets in a container");
  const bool run =
      args.mem_space == H5S_BLOCK || (args.mem_space == H5S_ALL && args.file_space == H5S_ALL);
  if (!run) {
    const hid_t memory = args.mem_space == H5S_ALL ? args.file_space : args.mem_space;
    if (Status taken = plan.memory.take(memory); !taken)
      return of_side("memory selection", std::move(taken));
  }
  BENTO_ASSIGN(const Dims* const extent, state.look_at_extent(object));
  if (args.file_space == H5S_ALL) {
    BENTO_ASSIGN(plan.shape, whole_shape(*extent));
  } else {
    if (Status taken = take_shape(args.file_space, plan.memory.elements(), plan.shape); !taken)
      return of_side("file selection", std::move(taken));
    BENTO_TRY(check_inside(plan.shape, *extent));
  }
  BENTO_TRY(check_bytes(plan.shape.elements, types.larger()));
  if (run) plan.memory = ElementsInMemory(plan.shape.elements);
  if (plan.memory.elements() != plan.shape.elements)
    return fail(Code::kInvalidArgument,
                fmt::format("memory selection has {} elements, file selection {}",
                            plan.memory.elements(), plan.shape.elements));
  return {};
}

Status gather(const Plan& plan, hid_t mem_type, std::size_t mem_bytes, const void* buffer,
              std::byte* packed) {
  if (plan.memory.in_parts()) {
    plan.memory.gather(buffer, mem_bytes, 0, plan.shape.elements, packed);
    return {};
  }
  if (H5Dgather(plan.memory.space(), buffer, mem_type, plan.shape.elements * mem_bytes, packed,
                nullptr, nullptr) < 0)
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
  if (plan.memory.in_parts()) {
    plan.memory.scatter(packed, mem_bytes, 0, plan.shape.elements, buffer);
    return {};
  }
  ScatterSource source{packed, plan.shape.elements * mem_bytes};
  if (H5Dscatter(give_all, &source, mem_type, plan.memory.space(), buffer) < 0)
    return fail(Code::kInternal, "H5Dscatter failed on the memory selection");
  return {};
}

Status read_packed(Object* object, DatasetState& state, const SelectionShape& shape,
                   std::byte* packed) {
  if (shape.form == SelectionShape::Form::kEmpty) return {};
  if (shape.form == SelectionShape::Form::kBox) return read_box(object, state, shape.box, packed);
  // A dense selection is read as its bounding box at once: one look-up instead of one for each
  // piece.
  const auto in_box = shape.box.count.checked_product();
  if (!in_box || *in_box / 4 > shape.elements) return read_sparse(object, state, shape, packed);
  std::vector<std::byte> bound(shape.box.elements() * state.element_bytes);
  BENTO_TRY(read_box(object, state, shape.box, bound.data()));
  if (shape.form == SelectionShape::Form::kRegular) {
    shape.regular->gather(shape.box, bound.data(), packed, state.element_bytes);
    return {};
  }
  std::vector<std::byte> scratch;
  return for_each_box(shape, state.element_bytes,
                      [&](const Box& box, const PackFn&, const UnpackFn& unpack) -> Status {
                        scratch.resize(box.elements() * state.element_bytes);
                        copy_box(box, shape.box, bound.data(), box, scratch.data(),
                                 state.element_bytes);
                        unpack(scratch.data(), packed);
                        return {};
                      });
}

ElementTypes types_of(DatasetState& state, const TransferArgs& args) {
  ElementTypes types;
  types.memory = args.mem_type;
  types.file = state.type->id();
  types.file_bytes = state.element_bytes;
  types.same = state.type->equals(args.mem_type);
  types.memory_bytes = types.same ? types.file_bytes : H5Tget_size(args.mem_type);
  types.compound = state.type->compound();
  types.dxpl = args.dxpl;
  types.transform = transform_of(args.dxpl);
  return types;
}

/// Elements in the file type, one behind the other in the order of the selection.
Status write_packed(Object* object, DatasetState& state, const SelectionShape& shape,
                    const std::byte* packed, const WrittenMembers* written) {
  if (shape.form == SelectionShape::Form::kBox)
    return write_box(object, state, shape.box, packed, written);
  BENTO_ASSIGN(const bool done, write_around(object, state, shape, packed, written));
  if (done) return {};
  std::vector<std::byte> scratch;
  return for_each_box(shape, state.element_bytes,
                      [&](const Box& box, const PackFn& pack, const UnpackFn&) -> Status {
                        scratch.resize(box.elements() * state.element_bytes);
                        pack(packed, scratch.data());
                        return write_box(object, state, box, scratch.data(), written);
                      });
}

/// What is written whole lies where the program has asked for (H5Pset_alignment).
Status note_whole(Object* object, DatasetState& state, const SelectionShape& shape) {
  BENTO_ASSIGN(const Dims extent, state.extent(object));
  if (shape.form == SelectionShape::Form::kBox && shape.box == Box::whole(extent))
    state.file->container().note_whole(state.number, extent.bytes(state.element_bytes));
  return {};
}

/// By way of a copy of all elements that are written.
Status write_copy(Object* object, DatasetState& state, const Plan& plan, const ElementTypes& types,
                  const void* buffer, const WrittenMembers* written, bool keeps_members) {
  const std::uint64_t count = plan.shape.elements;
  Unwritten copy(count * types.larger());
  BENTO_TRY(gather(plan, types.memory, types.memory_bytes, buffer, copy.data()));
  if (!types.transform.empty())
    BENTO_TRY(apply_transform(types.transform, types.memory, count, copy.data()));
  if (!types.same) {
    std::vector<std::byte> background;
    if (types.compound) {
      background.resize(count * types.file_bytes);
      if (keeps_members) {
        const VerifiedReads verified;
        BENTO_TRY(read_of_one_step(state.file->container(), [&] {
          return read_packed(object, state, plan.shape, background.data());
        }));
      }
    }
    BENTO_TRY(convert_to_file(types, count, copy.data(), background.data()));
  }
  return write_packed(object, state, plan.shape, copy.data(), written);
}

/// By way of a copy of all elements that are read.
Status read_copy(Object* object, DatasetState& state, const Plan& plan, const ElementTypes& types,
                 void* buffer) {
  const std::uint64_t count = plan.shape.elements;
  Unwritten copy(count * types.larger());
  BENTO_TRY(read_of_one_step(state.file->container(),
                             [&] { return read_packed(object, state, plan.shape, copy.data()); }));
  if (!types.same) {
    // Members that the file type lacks keep their value in memory.
    std::vector<std::byte> background;
    if (types.compound) {
      background.resize(count * types.memory_bytes);
      BENTO_TRY(gather(plan, types.memory, types.memory_bytes, buffer, background.data()));
    }
    BENTO_TRY(convert_to_memory(types, count, copy.data(), background.data()));
  }
  if (!types.transform.empty())
    BENTO_TRY(apply_transform(types.transform, types.memory, count, copy.data()));
  return scatter(plan, types.memory, types.memory_bytes, copy.data(), buffer);
}

}  // namespace

Result<std::uint64_t> transfer_write(Object* object, DatasetState& state, const TransferArgs& args,
                                     const void* buffer) {
  const ElementTypes types = types_of(state, args);
  Plan plan;
  BENTO_TRY(plan_transfer(object, state, args, types, plan));
  const std::uint64_t count = plan.shape.elements;
  if (count == 0) return std::uint64_t{0};
  if (buffer == nullptr) return fail(Code::kInvalidArgument, "no buffer for a write of elements");
  if (state.variable) {
    BENTO_TRY(refuse_transform(types));
    BENTO_TRY(write_variable({object, state, args, plan.shape, plan.memory, plan.memory.space()},
                             buffer));
    return count * state.element_bytes;
  }

  const std::uint64_t bytes = count * state.element_bytes;
  if (state.file->container().aligns()) BENTO_TRY(note_whole(object, state, plan.shape));
  // Members that the memory type lacks keep their value in the file.
  WrittenMembers some;
  const WrittenMembers* written = state.all_members();
  if (!types.same && state.type->compound()) {
    BENTO_ASSIGN(some, state.members()->written_by(args.mem_type));
    if (some.partial) {
      BENTO_ASSIGN(some.seen_ns, state.file->container().seen_until());
    }
    written = &some;
  }
  const bool keeps_members = written == &some && some.partial;
  if (types.in_place() && plan.memory.first()) {
    const auto* const packed =
        static_cast<const std::byte*>(buffer) + *plan.memory.first() * types.memory_bytes;
    BENTO_TRY(write_packed(object, state, plan.shape, packed, written));
    return bytes;
  }
  const Box& box = plan.shape.box;
  bool in_strips = types.transform.empty() && plan.shape.form == SelectionShape::Form::kBox &&
                   plan.memory.in_parts() && !calls_back(types);
  if (in_strips) {
    BENTO_ASSIGN(in_strips, writes_in_strips(object, state, box));
  }
  if (in_strips) {
    StripsToFile strips(object, state, types, plan.memory, buffer, box, keeps_members);
    BENTO_TRY(write_box(object, state, box, strips, written));
  } else {
    BENTO_TRY(write_copy(object, state, plan, types, buffer, written, keeps_members));
  }
  return bytes;
}

Result<std::uint64_t> transfer_read(Object* object, DatasetState& state, const TransferArgs& args,
                                    void* buffer) {
  const ElementTypes types = types_of(state, args);
  Plan plan;
  BENTO_TRY(plan_transfer(object, state, args, types, plan));
  const std::uint64_t count = plan.shape.elements;
  if (count == 0) return std::uint64_t{0};
  if (buffer == nullptr) return fail(Code::kInvalidArgument, "no buffer for a read of elements");
  if (state.variable) {
    BENTO_TRY(refuse_transform(types));
    BENTO_TRY(
        read_variable({object, state, args, plan.shape, plan.memory, plan.memory.space()}, buffer));
    return count * state.element_bytes;
  }

  const bool direct = types.in_place() && plan.memory.first();
  const bool in_strips = types.transform.empty() && plan.shape.form == SelectionShape::Form::kBox &&
                         (plan.memory.in_parts() || types.same || !types.compound);
  if (direct) {
    auto* const to = static_cast<std::byte*>(buffer) + *plan.memory.first() * types.memory_bytes;
    BENTO_TRY(read_of_one_step(state.file->container(),
                               [&] { return read_packed(object, state, plan.shape, to); }));
  } else if (in_strips) {
    BENTO_TRY(read_of_one_step(state.file->container(), [&] {
      return read_in_strips(object, state, types, plan.memory, plan.memory.space(), plan.shape.box,
                            buffer);
    }));
  } else {
    BENTO_TRY(read_copy(object, state, plan, types, buffer));
  }
  return count * state.element_bytes;
}

}  // namespace bento::vol
