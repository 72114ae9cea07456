// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/reference_places.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "hdf5/base/types.hpp"
#include "hdf5/data/reference_values.hpp"

namespace bento::vol {

namespace {

/// A type's member by number.
struct Member {
  TypeHandle type;
  std::string name;
  std::size_t offset = 0;
};

Error unreadable() {
  return {Code::kInternal, "the datatype is unreadable", 0};
}

Result<Member> member_of(hid_t type, unsigned number) {
  Member member{
      TypeHandle(H5Tget_member_type(type, number)), {}, H5Tget_member_offset(type, number)};
  char* const name = H5Tget_member_name(type, number);
  if (name != nullptr) member.name = name;
  H5free_memory(name);
  if (name == nullptr || !member.type.valid()) return fail(unreadable());
  return member;
}

/// What `type` has at the place of a member of another; invalid if it has none.
TypeHandle same_member(hid_t type, const std::string& name) {
  if (type < 0 || H5Tget_class(type) != H5T_COMPOUND) return {};
  TypeHandle found;
  H5E_BEGIN_TRY {
    const int number = H5Tget_member_index(type, name.c_str());
    if (number >= 0) found = TypeHandle(H5Tget_member_type(type, static_cast<unsigned>(number)));
  }
  H5E_END_TRY
  return found;
}

TypeHandle same_base(hid_t type, H5T_class_t kind) {
  if (type < 0 || H5Tget_class(type) != kind) return {};
  return TypeHandle(H5Tget_super(type));
}

/// What a file's type is for a reference of HDF5 1.12 in memory; nothing if it is none.
std::optional<ReferencePlaces::Stored> stored_as(hid_t file) {
  if (file < 0 || H5Tget_class(file) != H5T_REFERENCE) return std::nullopt;
  if (is_new_reference(file)) return ReferencePlaces::Stored::kReference;
  return H5Tequal(file, H5T_STD_REF_OBJ) > 0 ? ReferencePlaces::Stored::kObject
                                             : ReferencePlaces::Stored::kRegion;
}

hvl_t sequence_at(const std::byte* at) {
  hvl_t sequence{};
  std::memcpy(&sequence, at, sizeof sequence);
  if (sequence.p == nullptr) sequence.len = 0;
  return sequence;
}

}  // namespace

// --- where they are
// -------------------------------------------------------------------------------------------------

Result<ReferencePlaces> ReferencePlaces::of(hid_t memory, hid_t file) {
  ReferencePlaces places;
  places.layout_.bytes = H5Tget_size(memory);
  if (has_reference(memory)) BENTO_TRY(describe(memory, file, 0, places.layout_));
  return places;
}

Status ReferencePlaces::describe(hid_t memory, hid_t file, std::size_t offset, Layout& out) {
  const H5T_class_t kind = H5Tget_class(memory);
  Part part;
  part.offset = offset;
  if (kind == H5T_REFERENCE) {
    const auto stored = stored_as(file);
    if (!is_new_reference(memory) || !stored) return {};
    part.stored = *stored;
    out.parts.push_back(std::move(part));
  } else if (kind == H5T_COMPOUND) {
    const int members = H5Tget_nmembers(memory);
    for (int i = 0; i < members; ++i) {
      BENTO_ASSIGN(const Member member, member_of(memory, static_cast<unsigned>(i)));
      const TypeHandle same = same_member(file, member.name);
      if (same.valid())
        BENTO_TRY(describe(member.type.get(), same.get(), offset + member.offset, out));
    }
  } else if (kind == H5T_VLEN || kind == H5T_ARRAY) {
    const TypeHandle base(H5Tget_super(memory));
    const TypeHandle same = same_base(file, kind);
    part.kind = kind == H5T_VLEN ? Part::Kind::kSequence : Part::Kind::kArray;
    part.base.bytes = H5Tget_size(base.get());
    if (part.base.bytes == 0) return fail(unreadable());
    part.count = H5Tget_size(memory) / part.base.bytes;
    if (same.valid()) BENTO_TRY(describe(base.get(), same.get(), 0, part.base));
    if (!part.base.parts.empty()) out.parts.push_back(std::move(part));
  }
  return {};
}

Status ReferencePlaces::visit(std::byte* elements, std::size_t count, const Visit& visit) const {
  for (std::size_t i = 0; i < count; ++i)
    BENTO_TRY(ReferencePlaces::visit(layout_, elements + i * layout_.bytes, visit));
  return {};
}

Status ReferencePlaces::visit(const Layout& layout, std::byte* element, const Visit& visit) {
  for (const Part& part : layout.parts) {
    std::byte* const at = element + part.offset;
    if (part.kind == Part::Kind::kReference) {
      BENTO_TRY(visit(at, part.stored));
      continue;
    }
    const hvl_t all = part.kind == Part::Kind::kSequence ? sequence_at(at) : hvl_t{part.count, at};
    for (std::size_t i = 0; i < all.len; ++i)
      BENTO_TRY(ReferencePlaces::visit(
          part.base, static_cast<std::byte*>(all.p) + i * part.base.bytes, visit));
  }
  return {};
}

void ReferencePlaces::copy_sequences(std::byte* elements, std::size_t count,
                                     ValueArena& arena) const {
  for (std::size_t i = 0; i < count; ++i)
    copy_sequences(layout_, elements + i * layout_.bytes, arena);
}

void ReferencePlaces::copy_sequences(const Layout& layout, std::byte* element, ValueArena& arena) {
  for (const Part& part : layout.parts) {
    if (part.kind == Part::Kind::kReference) continue;
    std::byte* const at = element + part.offset;
    hvl_t all{part.count, at};
    if (part.kind == Part::Kind::kSequence) {
      all = sequence_at(at);
      if (all.len == 0) continue;
      const std::size_t bytes = all.len * part.base.bytes;
      void* const copy = arena.allocate(bytes);
      std::memcpy(copy, all.p, bytes);
      all.p = copy;
      std::memcpy(at, &all, sizeof all);
    }
    for (std::size_t i = 0; i < all.len; ++i)
      copy_sequences(part.base, static_cast<std::byte*>(all.p) + i * part.base.bytes, arena);
  }
}

// --- types of elements while they are held
// -------------------------------------------------------------------------------------------------

namespace {

enum class Side { kMemory, kFile };

TypeHandle held_reference() {
  TypeHandle type(H5Tcreate(H5T_OPAQUE, kReferenceBytes));
  if (H5Tset_tag(type.get(), "held reference") < 0) type.reset();
  return type;
}

/// An old reference, with the room of a new one in memory: compounds of other sizes are converted
/// member by member.
TypeHandle boxed(hid_t old, std::size_t bytes) {
  TypeHandle type(H5Tcreate(H5T_COMPOUND, bytes));
  if (H5Tinsert(type.get(), "reference", 0, old) < 0) type.reset();
  return type;
}

/// `other`: what the other side's type has at this place; negative if it has none.
Result<TypeHandle> held_type(hid_t type, hid_t other, Side side) {
  TypeHandle made;
  const H5T_class_t kind = H5Tget_class(type);
  if (!has_reference(type)) {
    made = TypeHandle(H5Tcopy(type));
  } else if (kind == H5T_REFERENCE) {
    const hid_t memory = side == Side::kMemory ? type : other;
    const hid_t file = side == Side::kMemory ? other : type;
    const auto stored = stored_as(file);
    if (is_new_reference(memory) && stored && *stored != ReferencePlaces::Stored::kReference)
      made = boxed(file, side == Side::kMemory ? kReferenceBytes : H5Tget_size(file));
    else
      made = is_new_reference(type) ? held_reference() : TypeHandle(H5Tcopy(type));
  } else if (kind == H5T_COMPOUND) {
    made = TypeHandle(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)));
    const int members = H5Tget_nmembers(type);
    for (int i = 0; i < members; ++i) {
      BENTO_ASSIGN(const Member member, member_of(type, static_cast<unsigned>(i)));
      const TypeHandle same = same_member(other, member.name);
      BENTO_ASSIGN(const TypeHandle held, held_type(member.type.get(), same.get(), side));
      if (H5Tinsert(made.get(), member.name.c_str(), member.offset, held.get()) < 0)
        return fail(unreadable());
    }
  } else {  // a sequence or an array
    const TypeHandle base(H5Tget_super(type));
    const TypeHandle same = same_base(other, kind);
    BENTO_ASSIGN(const TypeHandle held, held_type(base.get(), same.get(), side));
    std::array<hsize_t, H5S_MAX_RANK> dims{};
    if (kind == H5T_VLEN)
      made = TypeHandle(H5Tvlen_create(held.get()));
    else if (const int rank = H5Tget_array_dims2(type, dims.data()); rank > 0)
      made = TypeHandle(H5Tarray_create2(held.get(), static_cast<unsigned>(rank), dims.data()));
  }
  if (!made.valid()) return fail(unreadable());
  return made;
}

}  // namespace

Result<HeldTypes> held_types(hid_t memory, hid_t file) {
  HeldTypes types;
  BENTO_ASSIGN(types.memory, held_type(memory, file, Side::kMemory));
  BENTO_ASSIGN(types.file, held_type(file, memory, Side::kFile));
  return types;
}

}  // namespace bento::vol
