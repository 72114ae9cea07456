// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/core/container/fake_view.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/layout/root.hpp"

namespace bento::test {

namespace {

constexpr std::size_t kPage = 512;
constexpr std::size_t kRootAt = 36;  // of a superblock
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

/// View, step, how many files of it, previous view's first page in this file, next page.
struct Page {
  std::uint64_t id = 0;
  std::uint64_t step = 0;
  std::uint64_t files = 0;
  std::uint64_t older = kNowhere;
  std::uint64_t next = kNowhere;
};

std::vector<std::byte> encode(const Page& page) {
  ByteWriter out;
  out.u64(page.id);
  out.u64(page.step);
  out.u64(page.files);
  out.u64(page.older);
  out.u64(page.next);
  std::vector<std::byte> bytes(kPage, static_cast<std::byte>(page.id * 37 + 1));
  std::copy(out.view().begin(), out.view().end(), bytes.begin());
  const Hash128 hash = hash128(std::span(bytes).first(kPage - 16));
  std::copy(hash.begin(), hash.end(), bytes.end() - 16);
  return bytes;
}

std::optional<Page> decode(std::span<const std::byte> bytes) {
  const Hash128 hash = hash128(bytes.first(kPage - 16));
  if (!std::equal(hash.begin(), hash.end(), bytes.end() - 16)) return std::nullopt;
  ByteReader in(bytes);
  return Page{in.u64().value(), in.u64().value(), in.u64().value(), in.u64().value(),
              in.u64().value()};
}

Superblock superblock_at(std::uint64_t first_page) {
  Superblock bytes{};
  constexpr std::array<unsigned char, 12> kHead = {0x89, 'H',  'D', 'F', '\r', '\n',
                                                   0x1A, '\n', 2,   8,   8,    0};
  for (std::size_t i = 0; i < kHead.size(); ++i) bytes[i] = static_cast<std::byte>(kHead[i]);
  for (std::size_t i = 0; i < 8; ++i)
    bytes[kRootAt + i] = static_cast<std::byte>(first_page >> (8 * i));
  return bytes;
}

std::uint64_t first_page_of(const Superblock& bytes) {
  const auto address = std::span(bytes).subspan(kRootAt, 8);
  ByteReader in(address);
  return in.u64().value();
}

Result<Superblock> superblock_of(File& file, const FilePlan& plan) {
  Superblock bytes{};
  BENTO_TRY(file.read_some(plan.superblock_address(), bytes));
  return bytes;
}

/// The first page that the superblock of a file leads to; nothing if there is no superblock.
Result<std::optional<Page>> first_page(File& file, const FilePlan& plan, std::uint64_t& at) {
  BENTO_ASSIGN(const Superblock superblock, superblock_of(file, plan));
  if (!is_superblock(superblock)) return std::optional<Page>();
  at = first_page_of(superblock);
  std::vector<std::byte> bytes(kPage);
  BENTO_TRY(file.read_at(at, bytes));
  const auto page = decode(bytes);
  if (!page) return fail(Code::kCorrupt, "the view before was written over");
  return page;
}

}  // namespace

ViewBuilder fake_view(std::uint64_t pages) {
  return [pages](ViewJob& job) -> Result<NativeView> {
    NativeView view;
    std::uint64_t at = kNowhere;
    auto& zero = job.spaces.front();
    BENTO_ASSIGN(const auto published, first_page(zero.file(), zero.plan(), at));
    for (auto& space : job.spaces) {
      Page page{job.id, job.committed.steps().newest().number(), job.spaces.size(), kNowhere,
                kNowhere};
      if (&space != &zero) {
        at = kNowhere;
        BENTO_ASSIGN(const auto before, first_page(space.file(), space.plan(), at));
        if (before && published) page.older = before->id == published->id ? at : before->older;
      }
      for (std::uint64_t i = 0; i < pages; ++i) {
        BENTO_ASSIGN(const std::uint64_t here, space.allocate(kPage));
        BENTO_TRY(space.file().write_at(here, encode(page)));
        page.next = here;
      }
      view.superblocks.emplace_back(superblock_at(page.next));
    }
    return view;
  };
}

namespace {

/// Walks the pages of one view in one file.
std::string walk(std::span<const std::byte> bytes, std::uint64_t at, SeenView& seen, Page& first) {
  for (bool begin = true; at != kNowhere; begin = false) {
    if (at + kPage > bytes.size()) return fmt::format("a page at {}, behind the end", at);
    const auto page = decode(bytes.subspan(static_cast<std::size_t>(at), kPage));
    if (!page) return fmt::format("the page at {} was written over", at);
    if (begin) first = *page;
    if (page->id != first.id) return fmt::format("the page at {} is of another view", at);
    ++seen.pages;
    at = page->next;
  }
  return {};
}

}  // namespace

SeenView look_at_view(const MemoryFileSystem& disk, const std::string& path) {
  SeenView seen;
  std::uint64_t files = 1;
  for (std::uint64_t index = 0; index < files && seen.wrong.empty(); ++index) {
    const auto bytes = disk.content(physical_name(path, static_cast<std::uint32_t>(index)));
    if (bytes.size() < 28) return seen;
    const auto tasks = std::span(bytes).subspan(24, 4);
    ByteReader in(tasks);
    const std::uint64_t at = superblock_address(in.u32().value());
    Superblock superblock{};
    if (at + superblock.size() > bytes.size()) return seen;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), superblock.size(),
                superblock.begin());
    if (index == 0 && superblock == Superblock{}) return seen;
    const auto where = [&] { return fmt::format("file {}: ", index); };
    if (!is_superblock(superblock)) {
      seen.wrong = where() + "no superblock";
      return seen;
    }
    Page first;
    seen.wrong = walk(bytes, first_page_of(superblock), seen, first);
    if (index == 0) {
      seen.id = first.id;
      seen.step = first.step;
      files = first.files;
    } else if (seen.wrong.empty() && first.id != *seen.id) {
      // A file k > 0 may be one view ahead: it then leads to the pages of file 0's view as well.
      Page older;
      if (first.older == kNowhere)
        seen.wrong = "it knows no older view";
      else
        seen.wrong = walk(bytes, first.older, seen, older);
      if (seen.wrong.empty() && older.id != *seen.id) seen.wrong = "file 0's view is not there";
    }
    if (!seen.wrong.empty()) seen.wrong = where() + seen.wrong;
  }
  return seen;
}

}  // namespace bento::test
