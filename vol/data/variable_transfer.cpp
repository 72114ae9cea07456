// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/variable_transfer.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "hdf5/base/types.hpp"
#include "hdf5/data/reference_places.hpp"
#include "hdf5/data/variable_scratch.hpp"
#include "vol/data/program_references.hpp"
#include "vol/data/strips.hpp"
#include "vol/data/variable_records.hpp"

namespace bento::vol {

namespace {

/// Elements that are converted or read at a time. Their values are in memory, however long.
constexpr std::uint64_t kStripElements = 4096;

/// What the transfer list says of memory for values; that of C, if it says nothing.
class ProgramMemory {
 public:
  static Result<ProgramMemory> of(hid_t dxpl) {
    ProgramMemory memory;
    if (H5Pget_vlen_mem_manager(dxpl == H5P_DEFAULT ? H5P_DATASET_XFER_DEFAULT : dxpl,
                                &memory.allocate_, &memory.allocate_info_, &memory.free_,
                                &memory.free_info_) < 0)
      return fail(Code::kInternal, "the transfer list is unreadable");
    return memory;
  }
  [[nodiscard]] AllocateValue allocate() const {
    if (allocate_ == nullptr) return [](std::size_t bytes) { return std::malloc(bytes); };
    return
        [call = allocate_, info = allocate_info_](std::size_t bytes) { return call(bytes, info); };
  }
  [[nodiscard]] FreeValue free() const {
    if (free_ == nullptr) return [](void* value) { std::free(value); };
    return [call = free_, info = free_info_](void* value) { call(value, info); };
  }

 private:
  H5MM_allocate_t allocate_ = nullptr;
  H5MM_free_t free_ = nullptr;
  void* allocate_info_ = nullptr;
  void* free_info_ = nullptr;
};

void* allocate_in_arena(std::size_t bytes, void* arena) {
  return static_cast<ValueArena*>(arena)->allocate(bytes);
}

void leave_in_arena(void*, void*) {}

AllocateValue allocate_in(ValueArena& arena) {
  return [&arena](std::size_t bytes) { return arena.allocate(bytes); };
}

Result<PlistHandle> arena_list(ValueArena& arena) {
  PlistHandle list(H5Pcreate(H5P_DATASET_XFER));
  if (!list.valid() ||
      H5Pset_vlen_mem_manager(list.get(), allocate_in_arena, &arena, leave_in_arena, nullptr) < 0)
    return fail(Code::kInternal, "no transfer list");
  return list;
}

/// The program's elements, one behind the other in the order of the selection, without their
/// values.
class ProgramElements {
 public:
  ProgramElements(const VariableTransfer& transfer, std::size_t element_bytes)
      : transfer_(transfer), element_bytes_(element_bytes) {}

  Status gather(const void* buffer, std::uint64_t begin, std::uint64_t count, std::byte* to) {
    if (transfer_.memory.in_parts()) {
      transfer_.memory.gather(buffer, element_bytes_, begin, count, to);
      return {};
    }
    if (all_.empty()) {
      all_.resize(transfer_.memory.elements() * element_bytes_);
      if (H5Dgather(transfer_.mem_space, buffer, transfer_.args.mem_type, all_.size(), all_.data(),
                    nullptr, nullptr) < 0)
        return fail(Code::kInternal, "H5Dgather failed on the memory selection");
    }
    std::copy_n(all_.data() + begin * element_bytes_, count * element_bytes_, to);
    return {};
  }

  /// All of them must come, in order.
  Status scatter(const std::byte* from, std::uint64_t begin, std::uint64_t count, void* buffer) {
    if (transfer_.memory.in_parts()) {
      transfer_.memory.scatter(from, element_bytes_, begin, count, buffer);
      return {};
    }
    all_.resize(transfer_.memory.elements() * element_bytes_);
    std::copy_n(from, count * element_bytes_, all_.data() + begin * element_bytes_);
    if (begin + count < transfer_.memory.elements()) return {};
    Given given{all_.data(), all_.size()};
    if (H5Dscatter(give_all, &given, transfer_.args.mem_type, transfer_.mem_space, buffer) < 0)
      return fail(Code::kInternal, "H5Dscatter failed on the memory selection");
    return {};
  }

 private:
  struct Given {
    const void* first;
    std::size_t bytes;
  };
  static herr_t give_all(const void** source, std::size_t* used, void* data) {
    const auto* const all = static_cast<const Given*>(data);
    *source = all->first;
    *used = all->bytes;
    return 0;
  }

  const VariableTransfer& transfer_;
  std::size_t element_bytes_;
  std::vector<std::byte> all_;
};

/// What a transfer does with references of HDF5 1.12.
class TransferredReferences {
 public:
  static Result<std::unique_ptr<TransferredReferences>> of(const VariableTransfer& transfer) {
    ReferencePlaces places;
    if (transfer.state.variable->has_references()) {
      BENTO_ASSIGN(places, ReferencePlaces::of(transfer.args.mem_type, transfer.state.type->id()));
    }
    return std::make_unique<TransferredReferences>(transfer, std::move(places));
  }
  TransferredReferences(const VariableTransfer& transfer, ReferencePlaces places)
      : held_(transfer.state.references),
        places_(std::move(places)),
        program_(transfer.object, *transfer.state.file) {
    held_.clear();
  }
  ~TransferredReferences() { held_.clear(); }
  TransferredReferences(const TransferredReferences&) = delete;
  TransferredReferences& operator=(const TransferredReferences&) = delete;

  /// Are there none in what the program has?
  [[nodiscard]] bool none() const { return places_.none(); }
  /// Of the next elements; those before are done with.
  void next() { held_.clear(); }
  Status take(std::byte* elements, std::size_t count) {
    return none() ? Status{} : program_.take(places_, elements, count, held_);
  }
  Status give(std::byte* elements, std::size_t count) {
    return none() ? Status{} : program_.give(places_, elements, count, held_);
  }

 private:
  HeldReferences& held_;
  ReferencePlaces places_;
  ProgramReferences program_;
};

/// The types between which elements are converted while their references are held.
struct ConvertedTypes {
  HeldTypes held;  ///< invalid where there are none
  hid_t memory;
  hid_t file;

  static Result<ConvertedTypes> of(const VariableTransfer& transfer) {
    ConvertedTypes types{{}, transfer.args.mem_type, transfer.state.type->id()};
    if (!has_new_reference(types.memory) && !has_new_reference(types.file)) return types;
    BENTO_ASSIGN(types.held, held_types(types.memory, types.file));
    types.memory = types.held.memory.get();
    types.file = types.held.file.get();
    return types;
  }
};

bool same_types(const VariableTransfer& transfer) {
  return H5Tequal(transfer.args.mem_type, transfer.state.type->id()) > 0;
}

/// The parts in which a selection is worked through: those of a box, or all at once.
template <class Work>
Status for_each_strip(const SelectionShape& shape, const Work& work) {
  if (shape.form != SelectionShape::Form::kBox) return work(shape, std::uint64_t{0});
  std::uint64_t begin = 0;
  StripsOfBox strips(shape.box, kStripElements);
  while (const auto box = strips.next()) {
    SelectionShape part;
    part.form = SelectionShape::Form::kBox;
    part.box = *box;
    part.elements = box->elements();
    BENTO_TRY(work(part, begin));
    begin += part.elements;
  }
  return {};
}

// --- read
// -------------------------------------------------------------------------------------------------

/// Elements in the file type, in the order of the selection. After an error they have no values.
Status read_packed(const VariableTransfer& transfer, const SelectionShape& shape, std::byte* packed,
                   const ValueOwner& owner) {
  const VariableElements& elements = *transfer.state.variable;
  if (shape.form == SelectionShape::Form::kBox)
    return read_variable_box(transfer.object, transfer.state, shape.box, packed, owner);
  std::fill_n(packed, shape.elements * elements.element_bytes(), std::byte{0});
  std::vector<std::byte> one;
  Status done = for_each_box(
      shape, elements.element_bytes(),
      [&](const Box& box, const PackFn&, const UnpackFn& unpack) -> Status {
        one.assign(box.elements() * elements.element_bytes(), std::byte{0});
        BENTO_TRY(read_variable_box(transfer.object, transfer.state, box, one.data(), owner));
        unpack(one.data(), packed);
        return {};
      });
  if (!done) elements.release(packed, shape.elements, owner.free);
  return done;
}

/// All of it of one step.
Status read_confirmed(const VariableTransfer& transfer, const SelectionShape& shape,
                      std::vector<std::byte>& packed, const ValueOwner& owner) {
  const VariableElements& elements = *transfer.state.variable;
  packed.assign(shape.elements * elements.element_bytes(), std::byte{0});
  Status done = read_of_one_step(transfer.state.file->container(), [&] {
    elements.release(packed.data(), shape.elements, owner.free);
    return read_packed(transfer, shape, packed.data(), owner);
  });
  if (!done) elements.release(packed.data(), shape.elements, owner.free);
  return done;
}

Status read_converted(const VariableTransfer& transfer, void* buffer) {
  const std::size_t mem_bytes = H5Tget_size(transfer.args.mem_type);
  BENTO_ASSIGN(const PlistHandle list, values_list(transfer.args.dxpl));
  BENTO_ASSIGN(const ConvertedTypes types, ConvertedTypes::of(transfer));
  BENTO_ASSIGN(const auto references, TransferredReferences::of(transfer));
  ProgramElements before(transfer, mem_bytes);
  ProgramElements after(transfer, mem_bytes);
  ValueArena arena;
  const ValueOwner owner{allocate_in(arena), [](void*) {}};
  return for_each_strip(
      transfer.shape, [&](const SelectionShape& part, std::uint64_t begin) -> Status {
        arena.clear();
        references->next();
        std::vector<std::byte> found;
        BENTO_TRY(read_confirmed(transfer, part, found, owner));
        BENTO_ASSIGN(VariableScratch scratch, VariableScratch::make(types.file, part.elements));
        BENTO_TRY(scratch.write(types.file, found.data()));
        // Members that the file type lacks keep their value in memory.
        std::vector<std::byte> given(part.elements * mem_bytes);
        if (transfer.state.type->compound())
          BENTO_TRY(before.gather(buffer, begin, part.elements, given.data()));
        BENTO_TRY(scratch.read(types.memory, given.data(), list.get()));
        BENTO_TRY(references->give(given.data(), part.elements));
        return after.scatter(given.data(), begin, part.elements, buffer);
      });
}

// --- write
// ------------------------------------------------------------------------------------------------

/// Elements in the file type, in the order of the selection.
Status write_packed(const VariableTransfer& transfer, const SelectionShape& shape,
                    const std::byte* packed, const WrittenMembers* written) {
  if (shape.form == SelectionShape::Form::kBox)
    return write_variable_box(transfer.state, shape.box, packed, written);
  std::vector<std::byte> one;
  return for_each_box(shape, transfer.state.element_bytes,
                      [&](const Box& box, const PackFn& pack, const UnpackFn&) -> Status {
                        one.resize(box.elements() * transfer.state.element_bytes);
                        pack(packed, one.data());
                        return write_variable_box(transfer.state, box, one.data(), written);
                      });
}

Status write_converted(const VariableTransfer& transfer, const void* buffer) {
  DatasetState& state = transfer.state;
  const std::size_t mem_bytes = H5Tget_size(transfer.args.mem_type);
  WrittenMembers some;
  const WrittenMembers* written = nullptr;
  if (state.type->compound()) {
    BENTO_ASSIGN(some, state.members()->written_by(transfer.args.mem_type));
    if (some.partial) {
      BENTO_ASSIGN(some.seen_ns, state.file->container().seen_until());
    }
    written = &some;
  }
  ProgramElements program(transfer, mem_bytes);
  ValueArena arena;
  BENTO_ASSIGN(const PlistHandle list, arena_list(arena));
  BENTO_ASSIGN(const ConvertedTypes types, ConvertedTypes::of(transfer));
  BENTO_ASSIGN(const auto references, TransferredReferences::of(transfer));
  const ValueOwner owner{allocate_in(arena), [](void*) {}};
  return for_each_strip(
      transfer.shape, [&](const SelectionShape& part, std::uint64_t begin) -> Status {
        arena.clear();
        references->next();
        std::vector<std::byte> given(part.elements * mem_bytes);
        BENTO_TRY(program.gather(buffer, begin, part.elements, given.data()));
        BENTO_TRY(references->take(given.data(), part.elements));
        BENTO_ASSIGN(VariableScratch scratch, VariableScratch::make(types.file, part.elements));
        std::vector<std::byte> elements(part.elements * state.element_bytes);
        if (written != nullptr && written->partial) {
          BENTO_TRY(read_confirmed(transfer, part, elements, owner));
          BENTO_TRY(scratch.write(types.file, elements.data()));
        }
        BENTO_TRY(scratch.write(types.memory, given.data()));
        BENTO_TRY(scratch.read(types.file, elements.data(), list.get()));
        return write_packed(transfer, part, elements.data(), written);
      });
}

}  // namespace

Status write_variable(const VariableTransfer& transfer, const void* buffer) {
  if (!same_types(transfer)) return write_converted(transfer, buffer);
  DatasetState& state = transfer.state;
  const WrittenMembers* const written = state.all_members();
  BENTO_ASSIGN(const auto references, TransferredReferences::of(transfer));
  const auto& first = transfer.memory.first();
  if (first && references->none())
    return write_packed(transfer, transfer.shape,
                        static_cast<const std::byte*>(buffer) + *first * state.element_bytes,
                        written);
  ProgramElements program(transfer, state.element_bytes);
  std::vector<std::byte> elements(transfer.shape.elements * state.element_bytes);
  BENTO_TRY(program.gather(buffer, 0, transfer.shape.elements, elements.data()));
  BENTO_TRY(references->take(elements.data(), transfer.shape.elements));
  return write_packed(transfer, transfer.shape, elements.data(), written);
}

Status read_variable(const VariableTransfer& transfer, void* buffer) {
  if (!same_types(transfer)) return read_converted(transfer, buffer);
  BENTO_ASSIGN(const ProgramMemory memory, ProgramMemory::of(transfer.args.dxpl));
  const ValueOwner owner{memory.allocate(), memory.free()};
  BENTO_ASSIGN(const auto references, TransferredReferences::of(transfer));
  ProgramElements program(transfer, transfer.state.element_bytes);
  std::vector<std::byte> found;
  return for_each_strip(
      transfer.shape, [&](const SelectionShape& part, std::uint64_t begin) -> Status {
        references->next();
        BENTO_TRY(read_confirmed(transfer, part, found, owner));
        if (Status given = references->give(found.data(), part.elements); !given) {
          transfer.state.variable->release(found.data(), part.elements, owner.free);
          return given;
        }
        return program.scatter(found.data(), begin, part.elements, buffer);
      });
}

namespace {

struct CountedArena {
  ValueArena arena;
  std::uint64_t bytes = 0;
};

void* allocate_counted(std::size_t bytes, void* info) {
  auto* const counted = static_cast<CountedArena*>(info);
  counted->bytes += bytes;
  return counted->arena.allocate(bytes);
}

}  // namespace

Result<std::uint64_t> variable_buffer_bytes(Object* object, DatasetState& state, hid_t type,
                                            hid_t space) {
  CountedArena counted;
  const PlistHandle list(H5Pcreate(H5P_DATASET_XFER));
  if (!list.valid() ||
      H5Pset_vlen_mem_manager(list.get(), allocate_counted, &counted, leave_in_arena, nullptr) < 0)
    return fail(Code::kInternal, "no transfer list");
  const hssize_t selected = H5Sget_select_npoints(space);
  if (selected < 0) return fail(Code::kInvalidArgument, "the selection is unreadable");
  std::vector<std::byte> elements(static_cast<std::size_t>(selected) * H5Tget_size(type));
  BENTO_TRY(transfer_read(object, state, {type, H5S_BLOCK, space, list.get()}, elements.data()));
  if (has_new_reference(type)) {  // which hold on to the file
    const auto count = static_cast<hsize_t>(selected);
    const SpaceHandle all(H5Screate_simple(1, &count, nullptr));
    if (H5Treclaim(type, all.get(), list.get(), elements.data()) < 0)
      return fail(Code::kInternal, "references cannot be given back");
  }
  return counted.bytes;
}

}  // namespace bento::vol
