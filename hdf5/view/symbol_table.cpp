// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/symbol_table.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/bytes/little_endian.hpp"
#include "hdf5/base/library_version.hpp"
#include "hdf5/skeleton/header_bytes.hpp"
#include "hdf5/skeleton/header_messages.hpp"

namespace bento::vol {

namespace {

constexpr std::uint16_t kSymbolTable = 0x11;  // message of an object header
constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};
constexpr unsigned kMostLevels = 16;

// Of a file whose superblock does not say otherwise.
constexpr std::size_t kLinksOfLeaf = 8;
constexpr std::size_t kChildrenOfNode = 32;

constexpr std::size_t kEntryBytes = 40;
constexpr std::size_t kLeafPrefix = 8;
constexpr std::size_t kLeafBytes = kLeafPrefix + kLinksOfLeaf * kEntryBytes;
constexpr std::size_t kNodePrefix = 24;
constexpr std::size_t kNodeBytes = kNodePrefix + (2 * kChildrenOfNode + 1) * 8;
constexpr std::size_t kHeapPrefix = 32;
constexpr std::size_t kNameAlignment = 8;

/// Of a file that the library has written, so this is no more than a guard.
tl::unexpected<Error> not_understood(const char* what) {
  return fail(Code::kInternal, fmt::format("native view: {} is not understood", what));
}

/// Addresses here count from the base of the file.
class ViewBytes final : public HeaderSource {
 public:
  explicit ViewBytes(ViewFile& view) : view_(view) {}

  Result<std::span<const std::byte>> bytes(std::uint64_t offset, std::uint64_t length) override {
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 32;
    if (length > kLargest) return not_of_this_kind();
    auto& block = blocks_.emplace_back(static_cast<std::size_t>(length));
    view_.read(view_.base() + offset, block);
    BENTO_TRY(view_.failure());
    return block;
  }
  Result<std::span<const std::byte>> up_to(std::uint64_t offset, std::uint64_t most) override {
    return bytes(offset, most);
  }

 private:
  ViewFile& view_;
  std::deque<std::vector<std::byte>> blocks_;
};

struct TablePlace {
  std::uint64_t tree = 0;
  std::uint64_t heap = 0;
};

Result<TablePlace> table_of(HeaderSource& source, std::uint64_t group) {
  std::optional<TablePlace> found;
  const auto read = visit_header(source, group, [&](const HeaderMessage& message) -> Status {
    if (message.kind != kSymbolTable) return {};
    ByteReader in = header_reader(message.bytes);
    TablePlace place;
    BENTO_ASSIGN(place.tree, in.u64());
    BENTO_ASSIGN(place.heap, in.u64());
    found = place;
    return {};
  });
  if (!read || !found) return not_understood("a group's header");
  return *found;
}

/// A name, and all of its entry that stands behind the place of the name.
struct Entry {
  std::string name;
  std::uint64_t name_at = 0;  ///< in the heap
  std::array<std::byte, kEntryBytes - 8> rest{};
};

Entry entry_of(const TableLink& link) {
  Entry entry;
  entry.name = link.name;
  put_little_endian(std::span(entry.rest).first<sizeof link.object>(), link.object);
  return entry;
}

class Table {
 public:
  Table(ViewFile& view, TablePlace place) : view_(view), source_(view), place_(place) {}

  Status read() {
    BENTO_ASSIGN(const auto heap, source_.bytes(place_.heap, kHeapPrefix));
    ByteReader in = header_reader(heap);
    BENTO_ASSIGN(const bool known, signature(in, "HEAP"));
    BENTO_TRY(in.skip(4));  // version
    BENTO_ASSIGN(const std::uint64_t size, in.u64());
    BENTO_ASSIGN(first_free_, in.u64());
    BENTO_ASSIGN(const std::uint64_t data, in.u64());
    if (!known || size % kNameAlignment != 0) return not_understood("a local heap");
    BENTO_ASSIGN(const auto names, source_.bytes(data, size));
    names_.bytes(names);
    return read_node(place_.tree, 0);
  }

  void add(const std::vector<TableLink>& links) {
    entries_.reserve(entries_.size() + links.size());
    for (const TableLink& link : links) {
      Entry& entry = entries_.emplace_back(entry_of(link));
      entry.name_at = names_.size();
      names_.bytes(std::as_bytes(std::span(entry.name)));
      names_.zeros(round_up(entry.name.size() + 1, kNameAlignment) - entry.name.size());
    }
    std::ranges::sort(entries_, {}, &Entry::name);
  }

  /// The root of the tree and the heap's prefix stay where they are, since more than the group's
  /// header may say where. All else is new.
  Status write() {
    BENTO_ASSIGN(const std::uint64_t names_at, take(H5FD_MEM_LHEAP, names_.size()));
    put(names_at, names_);
    ByteWriter heap;
    heap.u64(names_.size());
    heap.u64(first_free_);
    heap.u64(names_at);
    BENTO_TRY(write_leaves());
    BENTO_TRY(write_nodes());
    put(place_.heap + 8, heap);
    return view_.failure();
  }

 private:
  /// A part of the table below one node: where it is, and where its last name is.
  struct Child {
    std::uint64_t address;
    std::uint64_t last_name;
  };

  static std::size_t pieces(std::size_t count, std::size_t most) {
    return (count + most - 1) / most;
  }

  static Result<bool> signature(ByteReader& in, std::string_view text) {
    BENTO_ASSIGN(const auto found, in.bytes(text.size()));
    return std::ranges::equal(found, std::as_bytes(std::span(text)));
  }

  Status read_node(std::uint64_t address, unsigned depth) {
    if (depth == kMostLevels) return not_understood("a group's B-tree");
    BENTO_ASSIGN(const auto bytes, source_.bytes(address, kNodeBytes));
    ByteReader in = header_reader(bytes);
    BENTO_ASSIGN(const bool known, signature(in, "TREE"));
    BENTO_ASSIGN(const std::uint8_t type, in.u8());
    BENTO_ASSIGN(const std::uint8_t level, in.u8());
    BENTO_ASSIGN(const std::uint16_t children, in.u16());
    if (!known || type != 0 || children > kChildrenOfNode)
      return not_understood("a group's B-tree");
    BENTO_TRY(in.skip(16));  // neighbours
    for (unsigned i = 0; i < children; ++i) {
      BENTO_TRY(in.skip(8));  // key
      BENTO_ASSIGN(const std::uint64_t child, in.u64());
      BENTO_TRY(level == 0 ? read_leaf(child) : read_node(child, depth + 1));
    }
    return {};
  }

  Status read_leaf(std::uint64_t address) {
    BENTO_ASSIGN(const auto bytes, source_.bytes(address, kLeafBytes));
    ByteReader in = header_reader(bytes);
    BENTO_ASSIGN(const bool known, signature(in, "SNOD"));
    BENTO_TRY(in.skip(2));  // version
    BENTO_ASSIGN(const std::uint16_t links, in.u16());
    if (!known || links > kLinksOfLeaf) return not_understood("a group's links");
    for (unsigned i = 0; i < links; ++i) {
      Entry entry;
      BENTO_ASSIGN(entry.name_at, in.u64());
      BENTO_ASSIGN(const auto rest, in.bytes(entry.rest.size()));
      std::ranges::copy(rest, entry.rest.begin());
      const auto names = names_.view();
      if (entry.name_at >= names.size()) return not_understood("a link's name");
      const auto name = names.subspan(static_cast<std::size_t>(entry.name_at));
      const auto end = std::ranges::find(name, std::byte{0});
      entry.name.assign(reinterpret_cast<const char*>(name.data()),
                        static_cast<std::size_t>(end - name.begin()));
      entries_.push_back(std::move(entry));
    }
    return {};
  }

  Result<std::uint64_t> take(H5FD_mem_t type, std::uint64_t bytes) {
    const std::uint64_t absolute = view_.allocate(type, bytes);
    BENTO_TRY(view_.failure());
    return absolute - view_.base();
  }

  void put(std::uint64_t address, const ByteWriter& bytes) {
    view_.write(view_.base() + address, bytes.view());
  }

  Status write_leaves() {
    const std::size_t count = pieces(entries_.size(), kLinksOfLeaf);
    ByteWriter out;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = i * entries_.size() / count;
      const std::size_t end = (i + 1) * entries_.size() / count;
      out.clear();
      out.bytes(std::as_bytes(std::span("SNOD", 4)));
      out.u16(1);  // version
      out.u16(static_cast<std::uint16_t>(end - first));
      for (std::size_t at = first; at < end; ++at) {
        out.u64(entries_[at].name_at);
        out.bytes(entries_[at].rest);
      }
      out.zeros((kLinksOfLeaf - (end - first)) * kEntryBytes);
      BENTO_ASSIGN(const std::uint64_t address, take(H5FD_MEM_BTREE, kLeafBytes));
      put(address, out);
      children_.push_back({address, entries_[end - 1].name_at});
    }
    return {};
  }

  /// Nodes that name their neighbours, so all of a level have their places first.
  void write_level(unsigned level, std::span<const Child> below,
                   std::span<const std::uint64_t> places) {
    ByteWriter out;
    const std::size_t count = places.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = i * below.size() / count;
      const std::size_t end = (i + 1) * below.size() / count;
      out.clear();
      out.bytes(std::as_bytes(std::span("TREE", 4)));
      out.u8(0);  // of links
      out.u8(static_cast<std::uint8_t>(level));
      out.u16(static_cast<std::uint16_t>(end - first));
      out.u64(i == 0 ? kNoAddress : places[i - 1]);
      out.u64(i + 1 == count ? kNoAddress : places[i + 1]);
      // No name is before the first one: a heap begins with an empty name.
      out.u64(first == 0 ? 0 : below[first - 1].last_name);
      for (const Child& child : below.subspan(first, end - first)) {
        out.u64(child.address);
        out.u64(child.last_name);
      }
      out.zeros((kChildrenOfNode - (end - first)) * 16);
      put(places[i], out);
      children_.push_back({places[i], below[end - 1].last_name});
    }
  }

  Status write_nodes() {
    for (unsigned level = 0;; ++level) {
      const std::vector<Child> below = std::exchange(children_, {});
      std::vector<std::uint64_t> places(pieces(below.size(), kChildrenOfNode), place_.tree);
      if (places.size() == 1) {
        write_level(level, below, places);
        return {};
      }
      for (auto& place : places) {
        BENTO_ASSIGN(place, take(H5FD_MEM_BTREE, kNodeBytes));
      }
      write_level(level, below, places);
    }
  }

  ViewFile& view_;
  ViewBytes source_;
  TablePlace place_;
  ByteWriter names_;  ///< the heap's data: what was there, and the new names behind it
  std::uint64_t first_free_ = 0;
  std::vector<Entry> entries_;
  std::vector<Child> children_;  ///< of the level that is being written
};

}  // namespace

namespace {

/// How many links are in the group's table; nothing if it has none.
std::optional<hsize_t> links_of_table(hid_t group) {
  H5G_info_t info{};
  if (H5Gget_info(group, &info) < 0 || info.storage_type != H5G_STORAGE_TYPE_SYMBOL_TABLE)
    return std::nullopt;
  return info.nlinks;
}

}  // namespace

bool has_symbol_table(hid_t group) {
  return links_of_table(group).has_value();
}

// Each change of the bound makes the library write all metadata, so few links are not worth it.
GroupHandle make_group_as_before(hid_t file, hid_t from, hid_t gcpl) {
  constexpr hsize_t kManyLinks = 32;
  const bool table = links_of_table(from).value_or(0) >= kManyLinks;
  if (table && H5Fset_libver_bounds(file, H5F_LIBVER_EARLIEST, newest_format()) < 0) return {};
  GroupHandle made(H5Gcreate_anon(file, gcpl, H5P_DEFAULT));
  if (table && H5Fset_libver_bounds(file, H5F_LIBVER_V18, newest_format()) < 0) return {};
  return made;
}

Status add_to_symbol_table(ViewFile& view, std::uint64_t group,
                           const std::vector<TableLink>& links) {
  if (links.empty()) return {};
  ViewBytes source(view);
  BENTO_ASSIGN(const TablePlace place, table_of(source, group));
  Table table(view, place);
  BENTO_TRY(table.read());
  table.add(links);
  return table.write();
}

}  // namespace bento::vol
