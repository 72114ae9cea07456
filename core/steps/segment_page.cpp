// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/segment_page.hpp"

#include <array>
#include <functional>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/base/scratch_memory.hpp"
#include "core/bytes/zigzag.hpp"
#include "core/records/box_tree.hpp"
#include "core/steps/packed_column.hpp"
#include "core/steps/short_run.hpp"

namespace bento {

namespace {

/// Persistent: never renumber.
enum PageKind : std::uint8_t { kRuns = 1, kRecords = 2, kInner = 3 };

// Fields that may be small negative numbers modulo 2^64.
bool is_signed(const RowShape& shape, unsigned f) {
  return f == shape.field(kFieldRankGap) || f == shape.field(kFieldExcess);
}

/// One by one: to see a short run as loops costs more.
Status find_in_short_run(const RecordRun& run, const Box* selection, QueryBudget& budget,
                         const RunView::Visit& visit) {
  std::uint64_t ordinal = 0;
  Status done;
  run.for_each([&](std::span<const std::uint64_t> row) {
    const std::uint64_t here = ordinal++;
    if (!done || (selection != nullptr && !corner_overlaps(row.data(), *selection))) return;
    done = budget.spend();
    if (done) done = visit(here, row);
  });
  return done;
}

Status find_in_runs(ByteReader& in, const RowShape& shape, const Box* selection,
                    QueryBudget& budget, const RunView::Visit& visit) {
  constexpr std::uint64_t kShort = 32;
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, shape.width()));
  std::uint64_t before = 0;
  ScratchMemory scratch;
  ShortRun brief;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (brief.decode(in, shape.width())) {
      Status done;
      std::uint64_t ordinal = before;
      (void)brief.all_of([&](std::span<const std::uint64_t> row) {
        const std::uint64_t here = ordinal++;
        if (selection != nullptr && !corner_overlaps(row.data(), *selection)) return true;
        done = budget.spend();
        if (done) done = visit(here, row);
        return done.has_value();
      });
      if (!done) return done;
      before += brief.records();
      continue;
    }
    BENTO_ASSIGN(const RecordRun run, RecordRun::decode(in, shape.width(), scratch.turn()));
    const auto shifted = [&](std::uint64_t ordinal, std::span<const std::uint64_t> row) {
      return visit(before + ordinal, row);
    };
    if (run.records() <= kShort) {
      BENTO_TRY(find_in_short_run(run, selection, budget, std::cref(shifted)));
      before += run.records();
      continue;
    }
    BENTO_ASSIGN(const RunView view, RunView::make(run, shape.rank));
    if (selection == nullptr || overlaps(view.bounds(), *selection)) {
      BENTO_TRY(view.find(selection == nullptr ? view.bounds() : *selection, budget, shifted));
    }
    before += run.records();
  }
  return {};
}

Status find_in_records(ByteReader& in, const RowShape& shape, const Box* selection,
                       QueryBudget& budget, const RunView::Visit& visit) {
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  if (count > kPageRecords)
    return fail(Code::kCorrupt,
                fmt::format("index page: {} records, {} at most", count, kPageRecords));
  const unsigned width = shape.width();
  const auto records = static_cast<std::size_t>(count);
  Row only;  // that of a single record, as most small datasets have, takes no memory
  std::vector<std::uint64_t> several(records == 1 ? 0 : width * records);
  const std::span<std::uint64_t> columns =
      records == 1 ? std::span(only).first(width) : std::span(several);
  for (unsigned f = 0; f < width; ++f) {
    const auto column = columns.subspan(f * records, records);
    BENTO_TRY(get_packed(in, column));
    if (is_signed(shape, f))
      for (auto& value : column) value = unzigzag(value);
  }
  Row row;
  for (std::size_t i = 0; i < count; ++i) {
    for (unsigned f = 0; f < width; ++f) row[f] = columns[f * records + i];
    if (selection != nullptr && !corner_overlaps(row.data(), *selection)) continue;
    BENTO_TRY(budget.spend());
    BENTO_TRY(visit(i, std::span<const std::uint64_t>(row).first(width)));
  }
  return {};
}

Status find_in_children(SegmentSource& source, ByteReader& in, const RowShape& shape,
                        const Box* selection, QueryBudget& budget, const RunView::Visit& visit,
                        unsigned depth) {
  if (depth >= kMaxPageDepth) return fail(Code::kCorrupt, "index page: nested too deeply");
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  if (count > kPageChildren)
    return fail(Code::kCorrupt,
                fmt::format("index page: {} children, {} at most", count, kPageChildren));
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(const BlobRef ref, get_ref(in));
    BENTO_ASSIGN(const std::uint64_t records, in.varint());
    Box bounds{Dims(shape.rank), Dims(shape.rank)};
    for (unsigned d = 0; d < shape.rank; ++d) {
      BENTO_ASSIGN(bounds.start[d], in.varint());
      BENTO_ASSIGN(bounds.count[d], in.varint());
      const auto end = checked_add(bounds.start[d], bounds.count[d]);
      if (!end || *end >> 63 != 0)
        return fail(Code::kCorrupt, "index page: bounds that leave the space of 2^63 elements");
    }
    if (selection == nullptr || overlaps(bounds, *selection)) {
      BENTO_TRY(budget.spend(1 + ref.bytes / 4096));
      BENTO_ASSIGN(const Blob page, source.read(ref));
      const auto shifted = [&](std::uint64_t ordinal, std::span<const std::uint64_t> row) {
        return visit(before + ordinal, row);
      };
      BENTO_TRY(find_in_page(source, *page, shape, selection, budget, shifted, depth + 1));
    }
    before += records;
  }
  return {};
}

/// Of a page of few rows visit(row) -> bool is shown one after the other until it says false; says
/// whether all were shown, and nothing is wrong with the page.
template <class Visit>
bool show_few(std::span<const std::byte> page, const RowShape& shape, const Visit& visit) {
  constexpr std::size_t kFew = 16;
  ByteReader in(page, std::endian::little, "index page");
  const std::uint8_t kind = in.next_u8();
  const std::uint64_t count = in.next_varint();
  if (kind == kRuns) {
    ShortRun run;
    return count == 1 && run.decode(in, shape.width()) && in.remaining() == 0 && run.all_of(visit);
  }
  if (kind != kRecords || count > kFew) return false;
  Row row;
  if (count == 1) {  // as most small datasets of one process have
    for (unsigned f = 0; f < shape.width(); ++f) {
      const std::uint64_t value = in.next_varint();
      if (in.next_u8() != 0 || in.next_u8() > 63) return false;  // as get_packed() reads them
      row[f] = is_signed(shape, f) ? unzigzag(value) : value;
    }
    return in.is_settled() && in.remaining() == 0 &&
           visit(std::span<const std::uint64_t>(row).first(shape.width()));
  }
  const auto records = static_cast<std::size_t>(count);
  std::array<std::uint64_t, kFew * kMaxRowWidth> columns;
  for (unsigned f = 0; f < shape.width(); ++f) {
    const auto column = std::span(columns).subspan(f * records, records);
    if (!get_packed(in, column)) return false;
    if (is_signed(shape, f))
      for (auto& value : column) value = unzigzag(value);
  }
  if (in.remaining() != 0) return false;
  for (std::size_t i = 0; i < records; ++i) {
    for (unsigned f = 0; f < shape.width(); ++f) row[f] = columns[f * records + i];
    if (!visit(std::span<const std::uint64_t>(row).first(shape.width()))) return false;
  }
  return true;
}

}  // namespace

bool find_only_record(std::span<const std::byte> page, const RowShape& shape, const Box& selection,
                      Row& found) {
  unsigned touching = 0;
  const bool shown = show_few(page, shape, [&](std::span<const std::uint64_t> row) {
    if (!corner_overlaps(row.data(), selection)) return true;
    std::ranges::copy(row, found.begin());
    return ++touching == 1;
  });
  return shown && touching == 1;
}

std::vector<std::byte> encode_run_page(std::span<const RecordRun* const> runs,
                                       std::size_t run_bytes) {
  ByteWriter out;
  out.reserve(run_bytes + 1 + sizeof(std::uint64_t));
  out.u8(kRuns);
  out.varint(runs.size());
  for (const auto* const run : runs) run->encode(out);
  return std::move(out).take();
}

void put_run_page(ByteWriter& out, std::span<const std::byte> run) {
  out.u8(kRuns);
  out.varint(1);
  out.bytes(run);
}

std::vector<std::byte> encode_record_page(const RowShape& shape,
                                          std::span<const std::uint64_t> rows,
                                          std::span<const std::size_t> picked) {
  ByteWriter out;
  // Base, bits and shift of each column take about four bytes, and there are the values.
  out.reserve(64 + shape.width() * (4 + picked.size()));
  out.u8(kRecords);
  out.varint(picked.size());
  std::uint64_t only = 0;  // number of a single record
  std::vector<std::uint64_t> several(picked.size() == 1 ? 0 : picked.size());
  const std::span<std::uint64_t> column = picked.size() == 1 ? std::span(&only, 1) : several;
  for (unsigned f = 0; f < shape.width(); ++f) {
    for (std::size_t i = 0; i < picked.size(); ++i) {
      column[i] = rows[picked[i] * shape.width() + f];
      if (is_signed(shape, f)) column[i] = zigzag(column[i]);
    }
    put_packed(out, column);
  }
  return std::move(out).take();
}

std::vector<std::byte> encode_inner_page(std::span<const PageEntry> children) {
  ByteWriter out;
  out.u8(kInner);
  out.varint(children.size());
  for (const auto& child : children) {
    put_ref(out, child.ref);
    out.varint(child.records);
    for (unsigned d = 0; d < child.bounds.rank(); ++d) {
      out.varint(child.bounds.start[d]);
      out.varint(child.bounds.count[d]);
    }
  }
  return std::move(out).take();
}

Status find_in_page(SegmentSource& source, std::span<const std::byte> page, const RowShape& shape,
                    const Box* selection, QueryBudget& budget, const RunView::Visit& visit,
                    unsigned depth) {
  ByteReader in(page, std::endian::little, "index page");
  BENTO_ASSIGN(const std::uint8_t kind, in.u8());
  if (kind == kRuns) {
    BENTO_TRY(find_in_runs(in, shape, selection, budget, visit));
  } else if (kind == kRecords) {
    BENTO_TRY(find_in_records(in, shape, selection, budget, visit));
  } else if (kind == kInner) {
    BENTO_TRY(find_in_children(source, in, shape, selection, budget, visit, depth));
  } else {
    return fail(Code::kCorrupt, fmt::format("index page: kind {}", kind));
  }
  if (in.remaining() != 0)
    return fail(Code::kCorrupt, fmt::format("index page: {} bytes left over", in.remaining()));
  return {};
}

Status visit_page_refs(SegmentSource& source, std::span<const std::byte> page, unsigned rank,
                       const std::function<Status(const BlobRef&)>& use, unsigned depth) {
  ByteReader in(page, std::endian::little, "index page");
  BENTO_ASSIGN(const std::uint8_t kind, in.u8());
  if (kind != kInner) return {};
  if (depth >= kMaxPageDepth) return fail(Code::kCorrupt, "index page: nested too deeply");
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  if (count > kPageChildren)
    return fail(Code::kCorrupt,
                fmt::format("index page: {} children, {} at most", count, kPageChildren));
  for (std::uint64_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(const BlobRef ref, get_ref(in));
    for (unsigned k = 0; k < 1 + 2 * rank; ++k) {
      BENTO_ASSIGN([[maybe_unused]] const std::uint64_t skipped, in.varint());
    }
    BENTO_TRY(use(ref));
    BENTO_ASSIGN(const Blob below, source.read(ref));
    BENTO_TRY(visit_page_refs(source, *below, rank, use, depth + 1));
  }
  return {};
}

}  // namespace bento
