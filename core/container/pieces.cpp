// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/pieces.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace bento {

namespace {

/// A record and what is visible of it.
struct Visible {
  Record record;
  std::vector<Box> parts;
  std::uint32_t file = 0;
  std::uint64_t address = 0;

  [[nodiscard]] bool whole() const {
    return record.encoding == Encoding::kPlain && parts.size() == 1 && parts[0] == record.box;
  }
};

bool less(const Dims& a, const Dims& b) {
  return std::ranges::lexicographical_compare(a.view(), b.view());
}

// Boxes that were cut apart because something else lay beside them become one again: along each
// dimension, fastest first, those that meet and agree in all others.
void merge_boxes(std::vector<Box>& boxes) {
  if (boxes.size() < 2) return;
  const unsigned rank = boxes.front().rank();
  for (unsigned step = 0; step < rank; ++step) {
    const unsigned d = rank - 1 - step;
    std::ranges::sort(boxes, [d, rank](const Box& a, const Box& b) {
      for (unsigned e = 0; e < rank; ++e) {
        if (e == d) continue;
        if (a.start[e] != b.start[e]) return a.start[e] < b.start[e];
        if (a.count[e] != b.count[e]) return a.count[e] < b.count[e];
      }
      return a.start[d] < b.start[d];
    });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < boxes.size(); ++i) {
      Box& last = boxes[kept];
      bool meets = last.start[d] + last.count[d] == boxes[i].start[d];
      for (unsigned e = 0; e < rank && meets; ++e)
        meets =
            e == d || (last.start[e] == boxes[i].start[e] && last.count[e] == boxes[i].count[e]);
      if (meets)
        last.count[d] += boxes[i].count[d];
      else
        boxes[++kept] = boxes[i];
    }
    boxes.resize(kept + 1);
  }
}

Result<std::vector<Visible>> visible_records(const RecordLookup& lookup,
                                             const ContainerPlan& plan) {
  std::vector<const Piece*> pieces;
  pieces.reserve(lookup.pieces.size());
  for (const Piece& piece : lookup.pieces) pieces.push_back(&piece);
  std::ranges::sort(pieces, {}, [](const Piece* piece) { return piece->record; });
  std::vector<Visible> all;
  for (std::size_t i = 0; i < pieces.size();) {
    Visible visible;
    const std::size_t position = pieces[i]->record;
    visible.record = lookup.records[position];
    for (; i < pieces.size() && pieces[i]->record == position; ++i)
      if (!pieces[i]->part.empty()) visible.parts.push_back(pieces[i]->part);
    if (visible.parts.empty()) continue;
    merge_boxes(visible.parts);
    const Location where = visible.record.where;
    if (where.task >= plan.writers() || where.offset > kMaxLogicalBytes)
      return fail(Code::kCorrupt,
                  fmt::format("dataset {}: a record of writer {} at position {} lies outside the "
                              "container's {} writers",
                              visible.record.dataset, where.task, where.offset, plan.writers()));
    visible.file = plan.file_of(where.task);
    visible.address = plan.file(visible.file).address(plan.local_task(where.task), where.offset);
    all.push_back(std::move(visible));
  }
  std::ranges::sort(all, [](const Visible& a, const Visible& b) {
    return std::tie(a.file, a.address) < std::tie(b.file, b.address);
  });
  return all;
}

/// Whole records that lie side by side in the file, as long as one mapping can describe them.
class Run {
 public:
  explicit Run(const Visible& first)
      : unit_(first.record.box),
        source_{first.file, first.address, first.record.stored_bytes, {}, Encoding::kPlain, 0} {}

  bool take(const Visible& next) {
    if (next.file != source_.file || next.address != source_.address + source_.bytes) return false;
    const Box& box = next.record.box;
    if (repeat_ == 1 ? !(append_row_major(unit_, box) || begin_stride(box)) : !goes_on(box))
      return false;
    source_.bytes += next.record.stored_bytes;
    return true;
  }

  void finish(ViewPieces& out) {
    source_.shape = unit_.count;
    if (repeat_ > 1) source_.shape[dim_] *= repeat_;
    out.mappings.push_back(
        {out.sources.size(), Box::whole(source_.shape), unit_, dim_, repeat_, stride_});
    out.sources.push_back(source_);
  }

 private:
  // Equal boxes that differ in one coordinate only, with nothing slower than it but single layers:
  // then a regular hyperslab visits them in the order in which they are stored.
  bool begin_stride(const Box& box) {
    if (!(box.count == unit_.count)) return false;
    unsigned d = 0;
    while (d < box.rank() && box.start[d] == unit_.start[d]) ++d;
    if (d == box.rank() || box.start[d] < unit_.start[d] + unit_.count[d]) return false;
    for (unsigned e = d + 1; e < box.rank(); ++e)
      if (box.start[e] != unit_.start[e]) return false;
    for (unsigned e = 0; e < d; ++e)
      if (unit_.count[e] != 1) return false;
    dim_ = d;
    stride_ = box.start[d] - unit_.start[d];
    repeat_ = 2;
    return true;
  }

  bool goes_on(const Box& box) {
    Box expected = unit_;
    expected.start[dim_] += repeat_ * stride_;
    if (!(box == expected)) return false;
    ++repeat_;
    return true;
  }

  Box unit_;
  ViewSource source_;
  unsigned dim_ = 0;
  std::uint64_t repeat_ = 1;
  std::uint64_t stride_ = 1;
};

void add_partial(const Visible& visible, ViewPieces& out) {
  const Record& record = visible.record;
  for (const Box& part : visible.parts) {
    Box from = part;
    for (unsigned d = 0; d < part.rank(); ++d) from.start[d] -= record.box.start[d];
    out.mappings.push_back({out.sources.size(), from, part, 0, 1, 1});
  }
  out.sources.push_back({visible.file, visible.address, record.stored_bytes, record.box.count,
                         record.encoding, record.filter_mask});
}

}  // namespace

Result<ViewPieces> view_pieces(const RecordLookup& seen, const ContainerPlan& plan) {
  BENTO_ASSIGN(const auto all, visible_records(seen, plan));
  ViewPieces out;
  for (std::size_t i = 0; i < all.size();) {
    if (!all[i].whole()) {
      add_partial(all[i++], out);
      continue;
    }
    Run run(all[i++]);
    while (i < all.size() && all[i].whole() && run.take(all[i])) ++i;
    run.finish(out);
  }
  std::ranges::sort(out.mappings, [](const ViewMapping& a, const ViewMapping& b) {
    return less(a.to.start, b.to.start);
  });
  return out;
}

}  // namespace bento
