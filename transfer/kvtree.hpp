// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// KVTree: the tree of keys in which SCR keeps its transfer, summary and index files. A value is a
/// key without children. Order has no meaning but that the first of several counts where one is
/// asked for; like the reference, a key that is set goes to the front of its level, and reading
/// keeps the order of the file. Source: docs/formats/scr-transfer.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace bento::transfer {

class KvTree {
 public:
  struct Element;

  KvTree();
  ~KvTree();
  KvTree(const KvTree&);
  KvTree& operator=(const KvTree&);
  KvTree(KvTree&&) noexcept;
  KvTree& operator=(KvTree&&) noexcept;

  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const std::vector<Element>& elements() const { return elements_; }
  [[nodiscard]] std::vector<Element>& elements() { return elements_; }

  /// What is below a key; null if there is no such key.
  [[nodiscard]] const KvTree* find(std::string_view key) const;
  [[nodiscard]] KvTree* find(std::string_view key);
  /// The same along several keys.
  [[nodiscard]] const KvTree* find(std::initializer_list<std::string_view> path) const;
  /// The first key below `key`, which is its value; empty if there is none.
  [[nodiscard]] std::string_view value(std::string_view key) const;
  /// The value of a key that has exactly one child; null for none or several.
  [[nodiscard]] const std::string* only_value(std::string_view key) const;

  /// What is below `key`, which is made at the front of its level if it is not there.
  KvTree& at(std::string_view key);
  /// Gives `key` this one value, and moves it to the front of its level.
  void set(std::string_view key, std::string_view value);
  /// Appends, behind what is there: for trees that are written from the first key to the last.
  KvTree& append(std::string_view key);
  void append(std::string_view key, std::string_view value);
  /// Removes a key with all that is below it. Returns whether it was there.
  bool remove(std::string_view key);
  /// Removes one value of a key, and the key if it was the last (SCR's unset_kv).
  void remove(std::string_view key, std::string_view value);
  void clear();

  bool operator==(const KvTree&) const;

 private:
  std::vector<Element> elements_;
};

struct KvTree::Element {
  std::string key;  ///< bytes without NUL
  KvTree below;
  bool operator==(const Element&) const = default;
};

/// A file larger than this is refused: it holds some 60,000 entries of a transfer file.
inline constexpr std::uint64_t kMaxKvBytes = std::uint64_t{32} << 20;
/// A tree deeper than this is refused. SCR's own have at most eight levels.
inline constexpr unsigned kMaxKvDepth = 200;

/// The bytes of a file, checksum included. Errors: kInvalidArgument (a key with a NUL, deeper or
/// larger than what decode accepts).
Result<std::vector<std::byte>> encode_kvtree(const KvTree& tree);
/// The tree in the bytes of a file; nothing at all is an empty tree, what follows the length that
/// the header says is ignored. Keys that occur twice in a level are merged as the reference does.
/// Errors: kCorrupt (magic, length, checksum, counts), kUnsupported (type, version, limits); the
/// text names the byte.
Result<KvTree> decode_kvtree(std::span<const std::byte> bytes);

/// How `print_kvtree` shows a key that has one child, which has none.
enum class KvPrint {
  kTree,    ///< as any other
  kKeyval,  ///< KEY = VALUE
};

/// What SCR's print tool prints of a tree, byte for byte.
std::string print_kvtree(const KvTree& tree, KvPrint mode);

}  // namespace bento::transfer
