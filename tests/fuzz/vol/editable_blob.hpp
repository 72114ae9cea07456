// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A blob of the catalogue as a list of bytes and references, which edits may change, add and take
/// away; references are written anew when what they name has moved.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "tests/fuzz/vol/sample.hpp"

namespace bento::fuzz {

class EditableBlob {
 public:
  /// How a reference is stored: in an index blob, in a page table, in a table of value ranges.
  enum class Form { kVarints, kPosition, kFixed };
  struct Item {
    std::byte byte{};
    std::optional<std::size_t> target;  ///< a reference to this blob instead of a byte
    Form form = Form::kVarints;
    std::optional<std::uint64_t> position;  ///< a lie
    std::optional<std::uint64_t> bytes;     ///< a lie
  };

  /// `by_hash`: all blobs by the first eight bytes of their hash.
  EditableBlob(const SampleBlob& blob, const std::vector<SampleBlob>& all,
               const std::multimap<std::uint64_t, std::size_t>& by_hash);

  [[nodiscard]] std::vector<Item>& items() { return items_; }
  /// What it refers to.
  [[nodiscard]] std::vector<std::size_t> targets() const;
  /// Places in items() that are references.
  [[nodiscard]] std::vector<std::size_t> references() const;
  /// The varint of bytes that begins at an item, and how many items it takes; nothing if there is
  /// none.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::size_t>> varint_at(
      std::size_t at) const;
  void replace_varint(std::size_t at, std::size_t count, std::uint64_t value);

  /// The bytes, with references as `where` says.
  [[nodiscard]] Bytes encode(const std::function<CatalogueRef(std::size_t target)>& where) const;

 private:
  std::vector<Item> items_;
};

}  // namespace bento::fuzz
