// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/whole_copies.hpp"

#include <algorithm>

#include "hdf5/skeleton/contiguous_header.hpp"
#include "hdf5/skeleton/header_bytes.hpp"
#include "hdf5/view/dataset_view.hpp"

namespace bento::vol {

Result<bool> WholeCopies::copy(hid_t from, const char* name, hid_t to, hid_t lcpl,
                               const H5O_token_t& token) {
  const DatasetDeclaration* const declared = diverted_.find(token);
  if (declared == nullptr || (declared->flags & kVariableElements) != 0) return false;
  const auto header = read_contiguous_header(
      skeleton_.bytes(), header_address(std::as_bytes(std::span(token.__data))));
  if (!header || header->extent.rank() != declared->rank ||
      header->element_bytes != declared->element_bytes)
    return false;
  const auto all = read_elements(*declared, header->extent);
  // Who makes it anew finds out the same, and leaves it out by name.
  if (!all && all.error().code != Code::kCorrupt) return fail(all.error());
  if (!all || !*all) return false;
  skeleton_.give(header->address_at, elements_);
  return H5Ocopy(from, name, to, name, H5P_DEFAULT, lcpl) >= 0;
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
