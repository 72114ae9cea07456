// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/strips.hpp"

#include <algorithm>

#include "core/base/verified_reads.hpp"
#include "core/geometry/box_run.hpp"
#include "vol/data/box_data.hpp"
#include "vol/file/stats.hpp"

namespace bento::vol {

namespace {

// Of the larger of both types: what is gathered, converted, hashed and written stays in the cache.
constexpr std::uint64_t kStripBytes = 256u << 10;
// Where several records lie beside each other, each strip has a part of all of them, and is
// verified by whole granules.
constexpr std::uint64_t kLongStripBytes = 16u << 20;
// Of less, HDF5 converts the members sooner than they are compared.
constexpr std::uint64_t kFewBytes = 16u << 10;

std::uint64_t elements_of_strip(const ElementTypes& types, std::uint64_t bytes) {
  return std::max<std::uint64_t>(1, bytes / std::max<std::size_t>(types.larger(), 1));
}

/// Elements of a strip of `box`, if it is read.
Result<std::uint64_t> strip_to_read(DatasetState& state, const ElementTypes& types,
                                    const Box& box) {
  const std::uint64_t least = elements_of_strip(types, kStripBytes);
  if (box.elements() <= least) return least;
  BENTO_ASSIGN(const RecordLookup seen, state.file->container().find(state.number, box));
  return seen.records.size() <= 1 ? least : elements_of_strip(types, kLongStripBytes);
}

/// How members are copied, where none is converted and there are enough elements to ask.
std::optional<MemberCopy> member_copy(const ElementTypes& types, const Box& box) {
  if (types.same || !types.compound || box.elements() * types.larger() < kFewBytes)
    return std::nullopt;
  return MemberCopy::between(types.memory, types.file);
}

/// May elements be converted where the program wants them? They come there in the file type, which
/// must not be larger, and nothing of what was there is needed.
bool can_convert_in_place(const ElementTypes& types, const ElementsInMemory& memory) {
  return memory.first() && !types.same && !types.compound && types.file_bytes <= types.memory_bytes;
}

constexpr const char* kNotToMemory = "the dataset's type cannot be converted to the memory type";

/// Natively the program's buffer stays as it is if the library has no such conversion.
Status check_conversion(const ElementTypes& types) {
  H5T_cdata_t* data = nullptr;
  if (H5Tfind(types.file, types.memory, &data) != nullptr) return {};
  return fail(Code::kInvalidArgument, kNotToMemory);
}

/// Reads strip by strip into the program's buffer, and converts each where it lies.
Status convert_in_place(Object* object, DatasetState& state, const ElementTypes& types,
                        const ElementsInMemory& memory, const Box& box, std::uint64_t most,
                        void* buffer) {
  BENTO_TRY(check_conversion(types));
  auto* to = static_cast<std::byte*>(buffer) + *memory.first() * types.memory_bytes;
  StripsOfBox strips(box, most);
  while (const auto part = strips.next()) {
    BENTO_TRY(read_box(object, state, *part, to));
    BENTO_TRY(convert_to_memory(types, part->elements(), to, nullptr));
    to += part->elements() * types.memory_bytes;
  }
  return {};
}

/// Strips that were read, in the memory type.
class StripsFromFile {
 public:
  StripsFromFile(Object* object, DatasetState& state, const ElementTypes& types,
                 const ElementsInMemory& memory, const Box& box, std::uint64_t most, void* buffer)
      : object_(object),
        state_(state),
        types_(types),
        memory_(memory),
        buffer_(buffer),
        strips_(box, most),
        members_(member_copy(types, box)),
        room_(static_cast<std::size_t>(std::min(most, box.elements()) * types.larger())) {}

  /// Elements that come before this strip, and how many it has: 0 at the end.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::byte* elements() const {
    return members_ ? background_.data() : room_.data();
  }

  Status next() {
    begin_ += count_;
    const auto part = strips_.next();
    count_ = part ? part->elements() : 0;
    if (!part) return {};
    BENTO_TRY(read_box(object_, state_, *part, room_.data()));
    if (types_.same) return {};
    // Members that the file type lacks keep their value in memory.
    if (types_.compound) {
      background_.resize(static_cast<std::size_t>(count_ * types_.memory_bytes));
      memory_.gather(buffer_, types_.memory_bytes, begin_, count_, background_.data());
    }
    if (!members_) return convert_to_memory(types_, count_, room_.data(), background_.data());
    members_->to_memory(count_, room_.data(), background_.data());
    return {};
  }

 private:
  Object* object_;
  DatasetState& state_;
  const ElementTypes& types_;
  const ElementsInMemory& memory_;
  void* buffer_;
  StripsOfBox strips_;
  std::optional<MemberCopy> members_;
  std::uint64_t begin_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::byte> room_;
  std::vector<std::byte> background_;
};

/// Reads strip by strip, and copies the members from each into the program's buffer.
Status copy_in_place(Object* object, DatasetState& state, const MemberCopy& members,
                     const ElementTypes& types, const ElementsInMemory& memory, const Box& box,
                     std::uint64_t most, void* buffer) {
  auto* to = static_cast<std::byte*>(buffer) + *memory.first() * types.memory_bytes;
  std::vector<std::byte> room(
      static_cast<std::size_t>(std::min(most, box.elements()) * types.file_bytes));
  StripsOfBox strips(box, most);
  while (const auto part = strips.next()) {
    BENTO_TRY(read_box(object, state, *part, room.data()));
    members.to_memory(part->elements(), room.data(), to);
    to += part->elements() * types.memory_bytes;
  }
  return {};
}

struct Scattering {
  StripsFromFile* strips;
  std::size_t element_bytes;
  Status read;
};

herr_t give_strip(const void** source, std::size_t* used, void* data) {
  auto* const scattering = static_cast<Scattering*>(data);
  scattering->read = scattering->strips->next();
  if (!scattering->read || scattering->strips->count() == 0) return -1;
  *source = scattering->strips->elements();
  *used = static_cast<std::size_t>(scattering->strips->count()) * scattering->element_bytes;
  return 0;
}

Status convert(hid_t from, hid_t to, const ElementTypes& types, std::uint64_t count,
               std::byte* elements, std::byte* background, const char* why) {
  std::byte* const behind = types.compound ? background : nullptr;
  Stats::get().elements_converted += count;
  if (H5Tconvert(from, to, static_cast<std::size_t>(count), elements, behind, types.dxpl) >= 0)
    return {};
  return fail(Code::kInvalidArgument, why);
}

}  // namespace

Status convert_to_file(const ElementTypes& types, std::uint64_t count, std::byte* elements,
                       std::byte* background) {
  return convert(types.memory, types.file, types, count, elements, background,
                 "the memory type cannot be converted to the dataset's type");
}

Status convert_to_memory(const ElementTypes& types, std::uint64_t count, std::byte* elements,
                         std::byte* background) {
  return convert(types.file, types.memory, types, count, elements, background, kNotToMemory);
}

std::optional<Box> StripsOfBox::next() {
  if (todo_.empty()) return std::nullopt;
  const Box box = todo_.back();
  todo_.pop_back();
  return cut_front(box, most_, todo_);
}

StripsToFile::StripsToFile(Object* object, DatasetState& state, const ElementTypes& types,
                           const ElementsInMemory& memory, const void* buffer, const Box& box,
                           bool keeps_members)
    : object_(object),
      state_(state),
      types_(types),
      memory_(memory),
      buffer_(buffer),
      keeps_members_(keeps_members),
      box_(box),
      strips_(box, 1) {}

Result<std::span<const std::byte>> StripsToFile::next(std::uint64_t most) {
  if (strip_.empty()) BENTO_TRY(next_strip());
  const auto taken =
      strip_.first(static_cast<std::size_t>(std::min<std::uint64_t>(most, strip_.size())));
  strip_ = strip_.subspan(taken.size());
  return taken;
}

Status StripsToFile::next_strip() {
  if (done_ == 0) {
    std::uint64_t most = elements_of_strip(types_, kStripBytes);
    if (keeps_members_) {
      BENTO_ASSIGN(most, strip_to_read(state_, types_, box_));
    }
    strips_ = StripsOfBox(box_, most);
    members_ = member_copy(types_, box_);
    room_.resize(static_cast<std::size_t>(std::min(most, box_.elements()) * types_.larger()));
  }
  const auto part = strips_.next();
  if (!part) return fail(Code::kInternal, "more bytes were asked for than a selection has");
  const std::uint64_t count = part->elements();
  if (members_) {
    BENTO_TRY(take_members(*part));
  } else {
    memory_.gather(buffer_, types_.memory_bytes, done_, count, room_.data());
    if (types_.compound && !types_.same) {
      background_.resize(static_cast<std::size_t>(count) * types_.file_bytes);
      BENTO_TRY(read_background(*part, background_.data()));
    }
    if (!types_.same) BENTO_TRY(convert_to_file(types_, count, room_.data(), background_.data()));
  }
  done_ += count;
  strip_ = std::span(room_).first(static_cast<std::size_t>(count) * types_.file_bytes);
  return {};
}

/// Of members that are not written.
Status StripsToFile::read_background(const Box& part, std::byte* to) {
  if (!keeps_members_) {
    std::fill_n(to, part.elements() * types_.file_bytes, std::byte{0});
    return {};
  }
  const VerifiedReads verified;
  return read_of_one_step(state_.file->container(),
                          [&] { return read_box(object_, state_, part, to); });
}

Status StripsToFile::take_members(const Box& part) {
  const std::uint64_t count = part.elements();
  BENTO_TRY(read_background(part, room_.data()));
  const std::byte* from = nullptr;
  if (memory_.first()) {
    from =
        static_cast<const std::byte*>(buffer_) + (*memory_.first() + done_) * types_.memory_bytes;
  } else {
    background_.resize(static_cast<std::size_t>(count) * types_.memory_bytes);
    memory_.gather(buffer_, types_.memory_bytes, done_, count, background_.data());
    from = background_.data();
  }
  members_->to_file(count, from, room_.data());
  return {};
}

Status read_in_strips(Object* object, DatasetState& state, const ElementTypes& types,
                      const ElementsInMemory& memory, hid_t space, const Box& box, void* buffer) {
  BENTO_ASSIGN(const std::uint64_t most, strip_to_read(state, types, box));
  if (can_convert_in_place(types, memory))
    return convert_in_place(object, state, types, memory, box, most, buffer);
  if (memory.first()) {
    if (const auto members = member_copy(types, box))
      return copy_in_place(object, state, *members, types, memory, box, most, buffer);
  }
  StripsFromFile strips(object, state, types, memory, box, most, buffer);
  if (!memory.in_parts()) {
    Scattering scattering{&strips, types.memory_bytes, {}};
    const herr_t done = H5Dscatter(give_strip, &scattering, types.memory, space, buffer);
    BENTO_TRY(std::move(scattering.read));
    if (done < 0) return fail(Code::kInternal, "H5Dscatter failed on the memory selection");
    return {};
  }
  for (;;) {
    BENTO_TRY(strips.next());
    if (strips.count() == 0) return {};
    memory.scatter(strips.elements(), types.memory_bytes, strips.begin(), strips.count(), buffer);
  }
}

}  // namespace bento::vol
