// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An array over 64-bit keys, mostly of neighbouring ones, in pages of 16 slots: any entry is found
/// through as many pages as its key has hexadecimal digits in use (3 for the first 4096 steps).
/// Copy-on-write: a change stores the pages on its way and nothing that an older root refers to
/// is touched. A page knows the checksum and a summary of each page below it. Source:
/// docs/format.md, "Step index".
///
/// Traits give the types Entry and Summary and, as const members: put_entry(ByteWriter&, Entry),
/// get_entry(ByteReader&, Entry&) -> Status, put_summary, get_summary, summary_of(Entry) and
/// add(Summary&, Summary) for neighbours.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/steps/blob.hpp"

namespace bento {

template <class Traits>
class PagedArray {
 public:
  using Entry = typename Traits::Entry;
  using Summary = typename Traits::Summary;
  struct Root {
    unsigned levels = 0;  ///< 0: empty; else keys are below 16^levels
    BlobRef ref;
    Summary summary;
  };

  explicit PagedArray(Traits traits = {}) : traits_(std::move(traits)) {}

  /// The pages on the way to the entry that was asked for last: who asks for its neighbours next,
  /// or for itself once more, need not decode them again. Pages never change.
  class Way;

  Result<std::optional<Entry>> get(SegmentSource& source, const Root& root,
                                   std::uint64_t key) const {
    Way none;
    return get(source, root, key, none);
  }
  Result<std::optional<Entry>> get(SegmentSource& source, const Root& root, std::uint64_t key,
                                   Way& way) const {
    BENTO_ASSIGN(const Entry* const entry, look(source, root, key, way));
    return entry != nullptr ? std::optional<Entry>(*entry) : std::nullopt;
  }
  /// The same entry where it lies in `way`; null if there is none. Valid until `way` is used for
  /// another key.
  Result<const Entry*> look(SegmentSource& source, const Root& root, std::uint64_t key,
                            Way& way) const {
    if (root.levels == 0 || !in_reach(root.levels, key)) return nullptr;
    BlobRef at = root.ref;
    for (unsigned level = root.levels; level-- > 0;) {
      BENTO_ASSIGN(const Page* const page, way.at(*this, source, at, level));
      const Slot& slot = (*page)[digit(key, level)];
      if (!slot.used) return nullptr;
      if (level == 0) return &slot.entry;
      at = slot.ref;
    }
    return nullptr;
  }

  using Change = std::pair<std::uint64_t, Entry>;
  /// Stores `changes`, by ascending key without repetition; each page is written once.
  Result<Root> put(SegmentSource& source, SegmentSink& sink, Root root,
                   std::span<const Change> changes) const {
    if (changes.empty()) return root;
    while (root.levels == 0 || !in_reach(root.levels, changes.back().first)) {
      if (root.ref.bytes != 0) {
        Page page;
        page[0] = {true, root.ref, root.summary, {}};
        BENTO_ASSIGN(root.ref, store(sink, page, root.levels));
      }
      ++root.levels;
    }
    BENTO_ASSIGN(const Slot slot, put_below(source, sink, root.ref, root.levels - 1, changes.data(),
                                            changes.data() + changes.size()));
    return Root{root.levels, slot.ref, slot.summary};
  }

  /// Removes all keys below `key`.
  Result<Root> drop_before(SegmentSource& source, SegmentSink& sink, const Root& root,
                           std::uint64_t key) const {
    if (root.levels == 0 || key == 0) return root;
    if (!in_reach(root.levels, key)) return Root{};
    BENTO_ASSIGN(const Slot slot, drop_below(source, sink, root.ref, root.levels - 1, key));
    return slot.used ? Root{root.levels, slot.ref, slot.summary} : Root{};
  }

  /// Removes `keys`, ascending; those that are not there are no error.
  Result<Root> remove(SegmentSource& source, SegmentSink& sink, const Root& root,
                      std::span<const std::uint64_t> keys) const {
    while (!keys.empty() && !in_reach(root.levels, keys.back())) keys = keys.first(keys.size() - 1);
    if (root.levels == 0 || keys.empty()) return root;
    BENTO_ASSIGN(const Slot slot, remove_below(source, sink, root.ref, root.levels - 1, keys));
    return slot.used ? Root{root.levels, slot.ref, slot.summary} : Root{};
  }

  /// Calls visit(key, entry) -> Result<bool> by descending key from `last` on, until it says false.
  /// Pages for which enter(summary) says false are not loaded.
  template <class Enter, class Visit>
  Status visit_down(SegmentSource& source, const Root& root, std::uint64_t last, const Enter& enter,
                    const Visit& visit) const {
    if (root.levels == 0 || !enter(root.summary)) return {};
    if (!in_reach(root.levels, last)) last = ~0ull;
    auto going = down(source, root.ref, root.levels - 1, last, 0, enter, visit);
    if (!going) return fail(std::move(going).error());
    return {};
  }

  /// Calls page(ref) -> Status for every page and visit(entry) -> Status for every entry.
  template <class PageUse, class Visit>
  Status visit_all(SegmentSource& source, const Root& root, const PageUse& page,
                   const Visit& visit) const {
    if (root.levels == 0) return {};
    return all_below(source, root.ref, root.levels - 1, page, visit);
  }

  /// How many keys are not above `last`? Summary::steps must count them.
  Result<std::uint64_t> count_to(SegmentSource& source, const Root& root,
                                 std::uint64_t last) const {
    if (root.levels == 0) return 0;
    if (!in_reach(root.levels, last)) return root.summary.steps;
    std::uint64_t count = 0;
    BlobRef at = root.ref;
    for (unsigned level = root.levels; level-- > 0;) {
      BENTO_ASSIGN(const Page page, load(source, at, level));
      const unsigned slot = digit(last, level);
      for (unsigned i = 0; i < slot; ++i)
        if (page[i].used) count += level == 0 ? 1 : page[i].summary.steps;
      if (!page[slot].used) return count;
      at = page[slot].ref;
    }
    return count + 1;
  }

  /// The key with `n` keys below it. Summary::steps must count them.
  Result<std::optional<std::uint64_t>> nth(SegmentSource& source, const Root& root,
                                           std::uint64_t n) const {
    if (root.levels == 0 || n >= root.summary.steps) return std::optional<std::uint64_t>();
    std::uint64_t key = 0;
    BlobRef at = root.ref;
    for (unsigned level = root.levels; level-- > 0;) {
      BENTO_ASSIGN(const Page page, load(source, at, level));
      unsigned slot = 0;
      for (; slot < kSlots; ++slot) {
        if (!page[slot].used) continue;
        const std::uint64_t below = level == 0 ? 1 : page[slot].summary.steps;
        if (n < below) break;
        n -= below;
      }
      if (slot == kSlots)
        return fail(Code::kCorrupt, "step index page: fewer steps than its parent says");
      key |= std::uint64_t{slot} << (4 * level);
      at = page[slot].ref;
    }
    return std::optional(key);
  }

 private:
  static constexpr unsigned kSlots = 16;
  static constexpr unsigned kMaxLevels = 16;
  static constexpr std::size_t kUsualSlotBytes = 96;  ///< a page is to take memory once
  struct Slot {
    bool used = false;
    BlobRef ref;      ///< inner pages
    Summary summary;  ///< inner pages; made from the entry in leaves
    Entry entry;      ///< leaves
  };
  /// kSlots of them, of which only those that were asked for take memory: they are large, and most
  /// pages of most datasets have one, which needs no allocation.
  class Page {
   public:
    const Slot& operator[](unsigned at) const {
      static const Slot none{};
      return has(at) ? in_place(place_[at]) : none;
    }
    Slot& operator[](unsigned at) {
      if (!has(at)) {
        const std::size_t before = empty() ? 0 : 1 + others_.size();
        place_[at] = static_cast<std::uint8_t>(before);
        if (before > 0) others_.emplace_back();
        there_ = static_cast<std::uint16_t>(there_ | 1u << at);
      }
      return place_[at] == 0 ? first_ : others_[place_[at] - 1u];
    }
    void reserve(int slots) {
      if (slots > 1) others_.reserve(static_cast<std::size_t>(slots) - 1);
    }
    [[nodiscard]] bool empty() const { return there_ == 0; }
    /// Keeps the memory.
    void clear() {
      there_ = 0;
      first_ = {};
      others_.clear();
    }
    /// A bit for each slot that is used.
    [[nodiscard]] unsigned used() const {
      unsigned bits = 0;
      for (unsigned left = there_; left != 0; left = without_lowest(left))
        if ((*this)[lowest(left)].used) bits |= 1u << lowest(left);
      return bits;
    }

   private:
    [[nodiscard]] bool has(unsigned at) const { return (there_ >> at & 1u) != 0; }
    [[nodiscard]] const Slot& in_place(unsigned place) const {
      return place == 0 ? first_ : others_[place - 1];
    }
    std::uint16_t there_ = 0;                   ///< a bit for each slot that was asked for
    std::array<std::uint8_t, kSlots> place_{};  ///< of those that are there
    Slot first_;
    std::vector<Slot> others_;
  };

  static bool in_reach(unsigned levels, std::uint64_t key) {
    return levels >= kMaxLevels || key >> (4 * levels) == 0;
  }
  // Of bits that stand for slots.
  static unsigned lowest(unsigned bits) { return static_cast<unsigned>(std::countr_zero(bits)); }
  static unsigned without_lowest(unsigned bits) { return bits & (bits - 1); }

  static unsigned digit(std::uint64_t key, unsigned level) {
    return static_cast<unsigned>(key >> (4 * level) & 0xFu);
  }

  // u8 level, u16 bits of the slots in use, then each: an entry, or a reference and a summary.
  Result<BlobRef> store(SegmentSink& sink, const Page& page, unsigned level) const {
    ByteWriter out;
    const unsigned used = page.used();
    out.reserve(kUsualSlotBytes * (1 + static_cast<std::size_t>(std::popcount(used))));
    out.u8(static_cast<std::uint8_t>(level));
    out.u16(static_cast<std::uint16_t>(used));
    for (unsigned left = used; left != 0; left = without_lowest(left)) {
      const Slot& slot = page[lowest(left)];
      if (level == 0) {
        traits_.put_entry(out, slot.entry);
      } else {
        put_ref(out, slot.ref);
        traits_.put_summary(out, slot.summary);
      }
    }
    return sink.append(out.view());
  }

  Result<Page> load(SegmentSource& source, const BlobRef& ref, unsigned level) const {
    Page page;
    BENTO_TRY(load_into(page, source, ref, level));
    return page;
  }
  /// `page` must be empty.
  Status load_into(Page& page, SegmentSource& source, const BlobRef& ref, unsigned level) const {
    BENTO_ASSIGN(const Blob blob, source.read(ref));
    ByteReader in(*blob, std::endian::little, "step index page");
    BENTO_ASSIGN(const unsigned stored, in.u8());
    BENTO_ASSIGN(const unsigned used, in.u16());
    if (stored != level)
      return fail(Code::kCorrupt,
                  fmt::format("step index page of level {} where {} was expected", stored, level));
    page.reserve(std::popcount(used));
    for (unsigned left = used; left != 0; left = without_lowest(left)) {
      Slot& slot = page[lowest(left)];
      slot.used = true;
      if (level == 0) {
        BENTO_TRY(traits_.get_entry(in, slot.entry));
      } else {
        BENTO_ASSIGN(slot.ref, get_ref(in));
        BENTO_ASSIGN(slot.summary, traits_.get_summary(in));
      }
    }
    if (in.remaining() != 0)
      return fail(Code::kCorrupt,
                  fmt::format("step index page: {} bytes left over", in.remaining()));
    return {};
  }

  Result<Slot> finish(SegmentSink& sink, const Page& page, unsigned level) const {
    Slot slot;
    for (unsigned left = page.used(); left != 0; left = without_lowest(left)) {
      const Slot& below = page[lowest(left)];
      const Summary summary = level == 0 ? traits_.summary_of(below.entry) : below.summary;
      if (slot.used)
        traits_.add(slot.summary, summary);
      else
        slot.summary = summary;
      slot.used = true;
    }
    if (slot.used) {
      BENTO_ASSIGN(slot.ref, store(sink, page, level));
    }
    return slot;
  }

  Result<Slot> put_below(SegmentSource& source, SegmentSink& sink, const BlobRef& ref,
                         unsigned level, const Change* begin, const Change* end) const {
    Page page;
    if (ref.bytes != 0) {
      BENTO_ASSIGN(page, load(source, ref, level));
    }
    page.reserve(static_cast<int>(std::min<std::ptrdiff_t>(kSlots, end - begin)));
    while (begin != end) {
      const unsigned at = digit(begin->first, level);
      const Change* next = begin + 1;
      while (next != end && digit(next->first, level) == at) ++next;
      if (level == 0) {
        page[at].used = true;
        page[at].entry = begin->second;
      } else {
        const BlobRef below = page[at].used ? page[at].ref : BlobRef{};
        BENTO_ASSIGN(page[at], put_below(source, sink, below, level - 1, begin, next));
      }
      begin = next;
    }
    return finish(sink, page, level);
  }

  Result<Slot> drop_below(SegmentSource& source, SegmentSink& sink, const BlobRef& ref,
                          unsigned level, std::uint64_t key) const {
    BENTO_ASSIGN(Page page, load(source, ref, level));
    const unsigned at = digit(key, level);
    for (unsigned i = 0; i < at; ++i) page[i] = {};
    if (level != 0 && page[at].used) {
      BENTO_ASSIGN(page[at], drop_below(source, sink, page[at].ref, level - 1, key));
    }
    return finish(sink, page, level);
  }

  Result<Slot> remove_below(SegmentSource& source, SegmentSink& sink, const BlobRef& ref,
                            unsigned level, std::span<const std::uint64_t> keys) const {
    BENTO_ASSIGN(Page page, load(source, ref, level));
    while (!keys.empty()) {
      const unsigned at = digit(keys.front(), level);
      std::size_t here = 1;
      while (here < keys.size() && digit(keys[here], level) == at) ++here;
      if (level == 0) {
        page[at] = {};
      } else if (page[at].used) {
        BENTO_ASSIGN(page[at],
                     remove_below(source, sink, page[at].ref, level - 1, keys.first(here)));
      }
      keys = keys.subspan(here);
    }
    return finish(sink, page, level);
  }

  template <class PageUse, class Visit>
  Status all_below(SegmentSource& source, const BlobRef& ref, unsigned level, const PageUse& use,
                   const Visit& visit) const {
    BENTO_TRY(use(ref));
    BENTO_ASSIGN(const Page page, load(source, ref, level));
    for (unsigned i = 0; i < kSlots; ++i) {
      const Slot& slot = page[i];
      if (!slot.used) continue;
      if (level == 0)
        BENTO_TRY(visit(slot.entry));
      else
        BENTO_TRY(all_below(source, slot.ref, level - 1, use, visit));
    }
    return {};
  }

  template <class Enter, class Visit>
  Result<bool> down(SegmentSource& source, const BlobRef& ref, unsigned level, std::uint64_t last,
                    std::uint64_t base, const Enter& enter, const Visit& visit) const {
    BENTO_ASSIGN(const Page page, load(source, ref, level));
    for (unsigned left = page.used(); left != 0;) {
      const auto i = static_cast<unsigned>(std::bit_width(left)) - 1;
      left &= ~(1u << i);
      const std::uint64_t first_key = base | std::uint64_t{i} << (4 * level);
      if (first_key > last) continue;
      if (level == 0) {
        BENTO_ASSIGN(const bool going, visit(first_key, page[i].entry));
        if (!going) return false;
      } else if (enter(page[i].summary)) {
        BENTO_ASSIGN(const bool going,
                     down(source, page[i].ref, level - 1, last, first_key, enter, visit));
        if (!going) return false;
      }
    }
    return true;
  }

  Traits traits_;
};

template <class Traits>
class PagedArray<Traits>::Way {
  friend class PagedArray;
  Result<const Page*> at(const PagedArray& array, SegmentSource& source, const BlobRef& ref,
                         unsigned level) {
    if (level >= pages_.size()) pages_.resize(level + 1);
    auto& [known, page] = pages_[level];
    if (page.empty() || !(known == ref)) {
      page.clear();
      auto loaded = array.load_into(page, source, ref, level);
      if (!loaded) {
        page.clear();
        return fail(std::move(loaded).error());
      }
      known = ref;
    }
    return &page;
  }
  std::vector<std::pair<BlobRef, Page>> pages_;  ///< by level
};

}  // namespace bento
