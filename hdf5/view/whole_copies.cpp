// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/whole_copies.hpp"

#include <algorithm>

#include "hdf5/base/tokens.hpp"
#include "hdf5/view/dataset_view.hpp"

namespace bento::vol {

Result<TreeCopy::WholeCopy> WholeCopies::copy(const TreeCopy::HardLink& from,
                                              const TreeCopy::Destination& to, hid_t lcpl) {
  const TreeCopy::WholeCopy none;
  const DatasetDeclaration* const declared = diverted_.find(from.object);
  if (declared == nullptr || (declared->flags & kVariableElements) != 0) return none;
  const auto header = read_contiguous_header(skeleton_.bytes(), address_of(from.object));
  if (!header || header->extent.rank() != declared->rank ||
      header->element_bytes != declared->element_bytes)
    return none;
  const auto all = read_elements(*declared, header->extent);
  // Who makes it anew finds out the same, and leaves it out by name.
  if (!all && !costs_one_dataset(all.error())) return fail(all.error());
  if (!all || !*all) return none;
  if (to.table) {
    BENTO_ASSIGN(const auto copy, put(*header));
    if (!copy) return none;
    links_[address_of(to.token)].push_back({from.name, *copy});
    return TreeCopy::WholeCopy{true, token_of(*copy)};
  }
  skeleton_.give(header->address_at, elements_);
  return TreeCopy::WholeCopy{
      H5Ocopy(from.group, from.name, to.group, from.name, H5P_DEFAULT, lcpl) >= 0, std::nullopt};
}

Result<std::optional<std::uint64_t>> WholeCopies::put(const ContiguousHeader& header) {
  const std::uint64_t header_bytes = bytes_of_contiguous_header(header);
  const std::uint64_t absolute = view_.allocate(H5FD_MEM_DRAW, header_bytes + elements_.size());
  BENTO_TRY(view_.failure());
  const std::uint64_t address = absolute - view_.base();
  object_.clear();
  const bool written = write_contiguous_header(
      header, address + header_bytes, [this](auto text) { return texts_.move(text); }, object_);
  BENTO_TRY(view_.failure());
  if (!written) return std::nullopt;
  object_.bytes(elements_);
  view_.write(absolute, object_.view());
  BENTO_TRY(view_.failure());
  return address;
}

Status WholeCopies::link_all() {
  BENTO_TRY(texts_.finish());
  for (const auto& [group, links] : links_) BENTO_TRY(add_to_symbol_table(view_, group, links));
  links_.clear();
  return {};
}

Result<bool> WholeCopies::read_elements(const DatasetDeclaration& declared, const Dims& extent) {
  const std::uint64_t bytes = extent.bytes(declared.element_bytes);
  if (bytes == 0 || bytes > kSmallDatasetBytes) return false;
  const Box box = Box::whole(extent);
  BENTO_ASSIGN(const RecordLookup seen, job_.committed.find(declared.number, box));
  // Where nobody wrote there is the fill value, and filters want the library.
  const bool plain = std::ranges::all_of(
      seen.records, [](const Record& record) { return record.encoding == Encoding::kPlain; });
  if (seen.pieces.empty() || !seen.uncovered.empty() || !plain) return false;
  elements_.resize(static_cast<std::size_t>(bytes));
  for (const Piece& piece : seen.pieces)
    BENTO_TRY(job_.reader.read(seen.records[piece.record], declared.element_bytes, piece.part, box,
                               elements_.data()));
  return true;
}

}  // namespace bento::vol
