// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/run_view.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"

namespace bento {

namespace {

__extension__ using Wide = __int128;  // products of a shift below 2^64 and a power up to 2^40

bool narrow(Wide value) {
  return value >= std::numeric_limits<std::int64_t>::min() &&
         value <= std::numeric_limits<std::int64_t>::max();
}

Wide floor_div(Wide a, Wide b) {  // b > 0
  const Wide quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

/// Keeps of [first, last] the i with base + i * step <= bound.
void clamp(Wide base, std::int64_t step, Wide bound, Wide& first, Wide& last) {
  if (step == 0) {
    if (base > bound) last = first - 1;
  } else if (step > 0) {
    last = std::min(last, floor_div(bound - base, step));
  } else {  // i >= (base - bound) / -step
    first = std::max(first, -floor_div(bound - base, -static_cast<Wide>(step)));
  }
}

void step(Row& row, std::span<const std::uint64_t> shift, std::uint64_t times) {
  for (std::size_t f = 0; f < shift.size(); ++f) row[f] += shift[f] * times;
}

}  // namespace

Status RunView::annotate(const RecordRun& run, std::span<const RunToken> list,
                         std::pmr::vector<Node>& nodes) const {
  nodes.reserve(list.size() + 1);
  for (const auto& token : list) {
    Node node(memory());
    if (token.symbol == RunToken::kLoop) {
      BENTO_TRY(annotate(run, token.body, node.body));
      BENTO_TRY(sum_up(node.body, node));
    } else {
      const auto difference = run.symbol(token.symbol);
      node.shift.assign(difference.begin(), difference.end());
      node.low.assign(rank_, 0);
      node.high.assign(rank_, 0);
    }
    node.power = token.power;
    nodes.push_back(std::move(node));
  }
  return {};
}

Status RunView::sum_up(std::span<const Node> list, Node& out) const {
  out.records = 0;
  out.shift.assign(width_, 0);
  out.low.assign(rank_, std::numeric_limits<std::int64_t>::max());
  out.high.assign(rank_, std::numeric_limits<std::int64_t>::min());
  std::pmr::vector<Wide> start(rank_, memory());
  std::pmr::vector<Wide> end(rank_, memory());
  for (const auto& node : list) {
    for (unsigned d = 0; d < rank_; ++d) {
      const Wide by_start = start_shift(node, d);
      // Not end_shift(): the sum must not wrap unseen.
      const Wide by_end = by_start + static_cast<std::int64_t>(node.shift[rank_ + d]);
      const Wide travel_start = by_start * static_cast<Wide>(node.power - 1);
      const Wide travel_end = by_end * static_cast<Wide>(node.power - 1);
      const Wide low = start[d] + node.low[d] + std::min<Wide>(0, travel_start);
      const Wide high = end[d] + node.high[d] + std::max<Wide>(0, travel_end);
      start[d] += travel_start + by_start;
      end[d] += travel_end + by_end;
      if (!narrow(by_end) || !narrow(low) || !narrow(high) || !narrow(start[d]) || !narrow(end[d]))
        return fail(Code::kCorrupt, "step index: a run leaves the space of 2^63 elements");
      out.low[d] = std::min(out.low[d], static_cast<std::int64_t>(low));
      out.high[d] = std::max(out.high[d], static_cast<std::int64_t>(high));
    }
    for (unsigned f = 0; f < width_; ++f) out.shift[f] += node.shift[f] * node.power;
    out.records += node.records * node.power;
  }
  return {};
}

Result<RunView> RunView::make(const RecordRun& run, unsigned rank, Memory memory) {
  RunView view(memory);
  view.rank_ = rank;
  view.width_ = run.width();
  view.records_ = run.records();
  std::copy(run.first().begin(), run.first().end(), view.first_.begin());
  BENTO_TRY(view.annotate(run, run.list(), view.list_));
  for (std::uint32_t i = 0; i < run.symbols(); ++i)
    if (run.symbol(i)[2 * rank + kFieldCollective] != 0) view.same_collective_ = false;
  Node last(memory);
  last.shift.assign(view.width_, 0);
  last.low.assign(rank, 0);
  last.high.assign(rank, 0);
  view.list_.push_back(std::move(last));
  Node all(memory);
  BENTO_TRY(view.sum_up(view.list_, all));
  view.bounds_ = {Dims(rank), Dims(rank)};
  for (unsigned d = 0; d < rank; ++d) {
    const Wide start = view.first_[d];
    const Wide low = start + all.low[d];
    const Wide high = start + view.first_[rank + d] + all.high[d];
    if (low < 0 || high < low || !narrow(high))
      return fail(Code::kCorrupt, "step index: a run leaves the space of 2^63 elements");
    view.bounds_.start[d] = static_cast<std::uint64_t>(low);
    view.bounds_.count[d] = static_cast<std::uint64_t>(high - low);
  }
  return view;
}

Status RunView::find(const Box& selection, QueryBudget& budget, const Visit& visit) const {
  return find_in(list_, first_, 0, selection, budget, visit);
}

Status RunView::find_in(std::span<const Node> list, Row row, std::uint64_t ordinal,
                        const Box& selection, QueryBudget& budget, const Visit& visit) const {
  for (const auto& node : list) {
    BENTO_TRY(budget.spend());
    Wide first = 0;
    Wide last = static_cast<Wide>(node.power) - 1;
    for (unsigned d = 0; d < rank_ && first <= last; ++d) {
      const Wide low = static_cast<Wide>(row[d]) + node.low[d];
      const Wide high = static_cast<Wide>(row[d] + row[rank_ + d]) + node.high[d];
      const Wide from = selection.start[d];
      const Wide to = from + selection.count[d];
      clamp(low, start_shift(node, d), to - 1, first, last);
      // high + i * by > from; the negated bound, so that one rule does for both
      Wide low_side = 0;
      Wide high_side = last;
      const std::int64_t by = end_shift(node, d);
      if (by == std::numeric_limits<std::int64_t>::min())
        return fail(Code::kCorrupt, "step index: a run leaves the space of 2^63 elements");
      clamp(-high, -by, -(from + 1), low_side, high_side);
      first = std::max(first, low_side);
      last = std::min(last, high_side);
    }
    for (Wide i = first; i <= last; ++i) {
      BENTO_TRY(budget.spend());
      Row at;
      std::copy(row.begin(), row.begin() + width_, at.begin());
      step(at, node.shift, static_cast<std::uint64_t>(i));
      const std::uint64_t number = ordinal + static_cast<std::uint64_t>(i) * node.records;
      if (node.body.empty()) {
        BENTO_TRY(visit(number, std::span<const std::uint64_t>(at).first(width_)));
      } else {
        BENTO_TRY(find_in(node.body, at, number, selection, budget, visit));
      }
    }
    step(row, node.shift, node.power);
    ordinal += node.records * node.power;
  }
  return {};
}

bool RunView::keeps_shape(const Node& node) const {
  return std::all_of(node.shift.begin() + rank_, node.shift.begin() + 2 * std::ptrdiff_t{rank_},
                     [](std::uint64_t value) { return value == 0; });
}

/// `power` times `node`, beginning at `row`, and the box around all of that.
struct RunView::Span {
  const Node* node;
  Row row;
  std::uint64_t power;
  Box bounds;
};

RunView::Span RunView::span_of(const Node& node, const Row& row, std::uint64_t power) const {
  Span span{&node, row, power, {Dims(rank_), Dims(rank_)}};
  const Wide steps = static_cast<Wide>(power) - 1;
  for (unsigned d = 0; d < rank_; ++d) {
    const Wide low =
        static_cast<Wide>(row[d]) + node.low[d] + std::min<Wide>(0, start_shift(node, d) * steps);
    const Wide high = static_cast<Wide>(row[d] + row[rank_ + d]) + node.high[d] +
                      std::max<Wide>(0, end_shift(node, d) * steps);
    span.bounds.start[d] = static_cast<std::uint64_t>(low);
    span.bounds.count[d] = high > low ? static_cast<std::uint64_t>(high - low) : 0;
  }
  return span;
}

bool RunView::apart(Overlap allowed, QueryBudget& budget) const {
  if (records_ <= 1 || (rank_ != 0 && disjoint_lattice())) return true;
  return all_apart(list_, first_, allowed, budget);
}

bool RunView::apart(const RunView& other, Overlap allowed, QueryBudget& budget) const {
  if (!overlaps(bounds_, other.bounds_)) return true;
  const unsigned collective = 2 * rank_ + kFieldCollective;
  if (allowed == Overlap::kOfOneRankOrOrdered && same_collective_ && other.same_collective_ &&
      first_[collective] != other.first_[collective])
    return true;
  // Neighbours in a plane have bounds that overlap nearly everywhere, and few parts that do.
  const auto parts = parts_in(other.bounds_);
  const auto others = other.parts_in(bounds_);
  for (const auto& a : parts)
    for (const auto& b : others)
      if (!apart(a, b, allowed, budget)) return false;
  return true;
}

std::vector<RunView::Span> RunView::parts_in(const Box& box) const {
  std::vector<Span> parts;
  Row row = first_;
  for (const auto& node : list_) {
    Span span = span_of(node, row, node.power);
    if (overlaps(span.bounds, box)) parts.push_back(std::move(span));
    step(row, node.shift, node.power);
  }
  return parts;
}

bool RunView::all_apart(std::span<const Node> list, Row row, Overlap allowed,
                        QueryBudget& budget) const {
  constexpr std::size_t kFew = 16;
  std::vector<Span> spans;
  std::vector<std::uint64_t> corners;
  for (const auto& node : list) {
    if (!all_apart(node, row, node.power, allowed, budget)) return false;
    spans.push_back(span_of(node, row, node.power));
    append_corners(corners, spans.back().bounds);
    step(row, node.shift, node.power);
  }
  if (spans.size() > kFew && rank_ != 0) {
    BoxTree tree;
    tree.build(corners, rank_, spans.size());
    return tree.for_each_overlap(corners, [&](std::size_t one, std::size_t two) {
      return apart(spans[one], spans[two], allowed, budget);
    });
  }
  for (std::size_t i = 0; i < spans.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!apart(spans[i], spans[j], allowed, budget)) return false;
  return true;
}

bool RunView::all_apart(const Node& node, const Row& row, std::uint64_t power, Overlap allowed,
                        QueryBudget& budget) const {
  if (!budget.spend()) return false;
  if (power == 1) return node.body.empty() || all_apart(node.body, row, allowed, budget);
  Row rest = row;
  // Of one shape: what holds for the first time and each later one holds for any two.
  const bool repeats = keeps_shape(node);
  const std::uint64_t cut = repeats ? 1 : power / 2;
  step(rest, node.shift, cut);
  return all_apart(node, row, cut, allowed, budget) &&
         (repeats || all_apart(node, rest, power - cut, allowed, budget)) &&
         apart(span_of(node, row, cut), span_of(node, rest, power - cut), allowed, budget);
}

// Halves whichever of the two holds more records until the boxes around them part.
bool RunView::apart(const Span& a, const Span& b, Overlap allowed, QueryBudget& budget) const {
  if (!overlaps(a.bounds, b.bounds)) return true;
  if (!budget.spend()) return false;
  const auto held = [](const Span& span) { return span.node->records * span.power; };
  const Span& big = held(a) >= held(b) ? a : b;
  const Span& small = &big == &a ? b : a;
  if (held(big) == 1) {
    if (allowed == Overlap::kNone) return false;
    const auto field = [&](const Span& span, Field f) { return span.row[2 * rank_ + f]; };
    const auto writer = [&](const Span& span) {
      return field(span, kFieldTask) + field(span, kFieldRankGap);
    };
    return writer(a) == writer(b) || (allowed == Overlap::kOfOneRankOrOrdered &&
                                      field(a, kFieldCollective) != field(b, kFieldCollective));
  }
  if (big.power > 1) {
    const std::uint64_t half = big.power / 2;
    Row middle = big.row;
    step(middle, big.node->shift, half);
    return apart(span_of(*big.node, big.row, half), small, allowed, budget) &&
           apart(span_of(*big.node, middle, big.power - half), small, allowed, budget);
  }
  Row row = big.row;
  for (const auto& node : big.node->body) {
    if (!apart(span_of(node, row, node.power), small, allowed, budget)) return false;
    step(row, node.shift, node.power);
  }
  return true;
}

// A list whose records are those of nested loops with constant strides: [A^p X] is p + 1 records,
// [(body)^p rest] is p + 1 times the body if rest emits what the body does.
bool RunView::as_loops(std::span<const Node> list, std::pmr::vector<Loop>& loops) const {
  const auto same_but_last_step = [&](const auto& self, std::span<const Node> a, const Node* b,
                                      std::size_t count) -> bool {
    if (a.size() != count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool step_counts = i + 1 < count || a[i].power > 1;
      if (a[i].power != b[i].power || (step_counts && a[i].shift != b[i].shift) ||
          !self(self, a[i].body, b[i].body.data(), b[i].body.size()))
        return false;
    }
    return true;
  };
  const Node& head = list.front();
  if (!keeps_shape(head)) return false;
  Loop loop{head.power, {}};
  for (unsigned d = 0; d < rank_; ++d) loop.stride[d] = start_shift(head, d);
  if (head.body.empty()) {
    if (list.size() > 2 || (list.size() == 2 && (list[1].power != 1 || !list[1].body.empty())))
      return false;
    if (list.size() == 2) ++loop.times;
  } else {
    if (!as_loops(head.body, loops)) return false;
    if (list.size() > 1) {
      if (!same_but_last_step(same_but_last_step, head.body, list.data() + 1, list.size() - 1))
        return false;
      ++loop.times;
    }
  }
  if (loop.times > 1) loops.push_back(std::move(loop));
  return true;
}

bool RunView::disjoint_lattice() const {
  std::pmr::vector<Loop> loops(memory());
  if (!as_loops(list_, loops)) return false;
  for (const auto& loop : loops) {
    const auto strides = std::span(loop.stride).first(rank_);
    if (std::ranges::count_if(strides, [](std::int64_t by) { return by != 0; }) != 1) return false;
  }
  std::pmr::vector<std::pair<Wide, std::uint64_t>> along(memory());
  for (unsigned d = 0; d < rank_; ++d) {
    along.clear();
    for (const auto& loop : loops) {
      const Wide stride = loop.stride[d];
      if (stride != 0) along.emplace_back(stride < 0 ? -stride : stride, loop.times);
    }
    std::sort(along.begin(), along.end());
    Wide span = first_[rank_ + d];
    for (const auto& [stride, times] : along) {
      if (stride < span) return false;
      span += stride * static_cast<Wide>(times - 1);
    }
  }
  return true;
}

std::uint64_t RunView::volume() const {
  std::uint64_t sum = 0;
  return add_volume(list_, first_, sum) ? sum : 0;
}

bool RunView::add_volume(std::span<const Node> list, Row row, std::uint64_t& sum) const {
  constexpr std::uint64_t kOneByOne = 64;
  for (const auto& node : list) {
    const bool same = keeps_shape(node);
    if (!same && node.power > kOneByOne) return false;
    const std::uint64_t rounds = same ? 1 : node.power;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      Row at = row;
      step(at, node.shift, i);
      std::uint64_t one = 0;
      if (!node.body.empty()) {
        if (!add_volume(node.body, at, one)) return false;
      } else {
        one = 1;
        for (unsigned d = 0; d < rank_; ++d)
          if (__builtin_mul_overflow(one, at[rank_ + d], &one)) return false;
      }
      if (__builtin_mul_overflow(one, same ? node.power : 1, &one) ||
          __builtin_add_overflow(sum, one, &sum))
        return false;
    }
    step(row, node.shift, node.power);
  }
  return true;
}

}  // namespace bento
