// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The steps of one dataset, by absolute step: an array of pages, or, as of most small datasets,
/// one step that lies in the dataset's own entry, so that it needs no page. Source: docs/format.md,
/// "Step index".
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/steps/paged_array.hpp"
#include "core/steps/segment_traits.hpp"

namespace bento {

class SegmentArray {
 public:
  using Pages = PagedArray<SegmentTraits>;
  using Entry = StepEntry;
  using Change = Pages::Change;

  /// In the place of the levels of an array: one step, and no page. Persistent.
  static constexpr unsigned kInPlace = 17;
  struct Root : Pages::Root {
    std::uint64_t step = 0;  ///< if `levels` is kInPlace
    StepEntry only;          ///< of that step
  };

  explicit SegmentArray(SegmentTraits traits) : traits_(traits), pages_(traits) {}

  /// Levels; then, unless there are none, the step and its entry, or the reference and the summary.
  void put_root(ByteWriter& out, const Root& root) const {
    out.u8(static_cast<std::uint8_t>(root.levels));
    if (root.levels == kInPlace) {
      out.varint(root.step);
      traits_.put_entry(out, root.only);
    } else if (root.levels != 0) {
      put_ref(out, root.ref);
      traits_.put_summary(out, root.summary);
    }
  }
  /// Into a new root. Errors: kCorrupt.
  [[nodiscard]] Status get_root(ByteReader& in, Root& root) const {
    BENTO_ASSIGN(root.levels, in.u8());
    if (root.levels > kInPlace)
      return fail(Code::kCorrupt, fmt::format("step index: an array of {} levels", root.levels));
    if (root.levels == kInPlace) {
      root.step = in.next_varint();
      BENTO_TRY(traits_.get_entry(in, root.only));
      root.summary = traits_.summary_of(root.only);
    } else if (root.levels != 0) {
      BENTO_ASSIGN(root.ref, get_ref(in));
      BENTO_ASSIGN(root.summary, traits_.get_summary(in));
    }
    return {};
  }

  /// The array of this one step.
  [[nodiscard]] Root of_one(std::uint64_t step, StepEntry entry) const {
    Root root;
    root.levels = kInPlace;
    root.summary = traits_.summary_of(entry);
    root.step = step;
    root.only = std::move(entry);
    return root;
  }

  [[nodiscard]] Result<std::optional<Entry>> get(SegmentSource& source, const Root& root,
                                                 std::uint64_t step) const {
    if (root.levels != kInPlace) return pages_.get(source, root, step);
    return root.step == step ? std::optional(root.only) : std::nullopt;
  }

  /// Adds a step, or replaces it. Errors: those of PagedArray::put().
  [[nodiscard]] Result<Root> put(SegmentSource& source, SegmentSink& sink, const Root& root,
                                 std::uint64_t step, StepEntry entry) const {
    if (root.levels == 0 || (root.levels == kInPlace && root.step == step))
      return of_one(step, std::move(entry));
    const Change added{step, std::move(entry)};
    if (root.levels != kInPlace)
      return in_pages(pages_.put(source, sink, root, std::span(&added, 1)));
    std::vector<Change> both{{root.step, root.only}, added};
    if (root.step > step) std::swap(both.front(), both.back());
    return in_pages(pages_.put(source, sink, {}, both));
  }

  [[nodiscard]] Result<Root> drop_before(SegmentSource& source, SegmentSink& sink, const Root& root,
                                         std::uint64_t step) const {
    if (root.levels == kInPlace) return root.step < step ? Root{} : root;
    return in_pages(pages_.drop_before(source, sink, root, step));
  }

  [[nodiscard]] Result<Root> remove(SegmentSource& source, SegmentSink& sink, const Root& root,
                                    std::span<const std::uint64_t> steps) const {
    if (root.levels == kInPlace)
      return std::ranges::find(steps, root.step) != steps.end() ? Root{} : root;
    return in_pages(pages_.remove(source, sink, root, steps));
  }

  template <class Enter, class Visit>
  Status visit_down(SegmentSource& source, const Root& root, std::uint64_t last, const Enter& enter,
                    const Visit& visit) const {
    if (root.levels != kInPlace) return pages_.visit_down(source, root, last, enter, visit);
    if (root.step > last || !enter(root.summary)) return {};
    auto going = visit(root.step, root.only);
    if (!going) return fail(std::move(going).error());
    return {};
  }

  template <class PageUse, class Visit>
  Status visit_all(SegmentSource& source, const Root& root, const PageUse& page,
                   const Visit& visit) const {
    if (root.levels != kInPlace) return pages_.visit_all(source, root, page, visit);
    return visit(root.only);
  }

  [[nodiscard]] Result<std::uint64_t> count_to(SegmentSource& source, const Root& root,
                                               std::uint64_t last) const {
    if (root.levels != kInPlace) return pages_.count_to(source, root, last);
    return root.step <= last ? 1 : 0;
  }

  [[nodiscard]] Result<std::optional<std::uint64_t>> nth(SegmentSource& source, const Root& root,
                                                         std::uint64_t n) const {
    if (root.levels != kInPlace) return pages_.nth(source, root, n);
    return n == 0 ? std::optional(root.step) : std::nullopt;
  }

 private:
  static Result<Root> in_pages(Result<Pages::Root> pages) {
    if (!pages) return fail(std::move(pages).error());
    Root root;
    static_cast<Pages::Root&>(root) = std::move(*pages);
    return root;
  }

  SegmentTraits traits_;
  Pages pages_;
};

}  // namespace bento
