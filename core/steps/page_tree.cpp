// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/page_tree.hpp"

#include <algorithm>
#include <utility>

namespace bento {

namespace {

constexpr std::size_t kInsideBytes = 1024;

}  // namespace

void grow(Box& bounds, const Box& box, bool first) {
  if (first)
    bounds = box;
  else
    grow(bounds, box);
}

PageTree::PageTree(SegmentSink& sink, unsigned rank)
    : sink_(&sink), bounds_{Dims(rank), Dims(rank)} {}

Result<PageEntry> PageTree::store(std::span<const std::byte> page, std::uint64_t records,
                                  const Box& bounds) {
  BENTO_ASSIGN(const BlobRef ref, sink_->append(page));
  return PageEntry{ref, records, bounds};
}

Status PageTree::add_leaf(std::vector<std::byte> page, std::uint64_t records, const Box& bounds) {
  grow(bounds_, bounds, records_ == 0);
  records_ += records;
  if (level_.empty() && page.size() <= kInsideBytes) {
    only_ = std::move(page);
    level_.push_back({{}, records, bounds});
    return {};
  }
  if (!only_.empty()) {
    BENTO_ASSIGN(level_.front(), store(only_, level_.front().records, level_.front().bounds));
    only_.clear();
  }
  BENTO_ASSIGN(const PageEntry stored, store(page, records, bounds));
  level_.push_back(stored);
  return {};
}

Status PageTree::join() {
  while (level_.size() > 1) {
    std::vector<PageEntry> above;
    for (std::size_t first = 0; first < level_.size(); first += kPageChildren) {
      const auto children =
          std::span(level_).subspan(first, std::min(kPageChildren, level_.size() - first));
      std::uint64_t records = 0;
      Box bounds;
      for (const auto& child : children) {
        grow(bounds, child.bounds, records == 0);
        records += child.records;
      }
      BENTO_ASSIGN(const PageEntry stored, store(encode_inner_page(children), records, bounds));
      above.push_back(stored);
    }
    level_ = std::move(above);
  }
  return {};
}

void PageTree::put_root(ByteWriter& out) const {
  if (level_.empty()) {
    out.u8(kNoPage);
  } else if (!only_.empty()) {
    out.u8(kPageInside);
    out.bytes(only_);
  } else {
    out.u8(kPageOutside);
    put_ref(out, level_.front().ref);
  }
}

}  // namespace bento
