// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/catalogue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/layout/chunk_fill.hpp"

namespace bento {

namespace {

constexpr std::size_t kPlaceBytes = 8 + 16;
/// What is read in one go: a whole number of places of pages.
constexpr std::size_t kPieceBytes = (1u << 20) / kPlaceBytes * kPlaceBytes;
/// Of larger blobs the checksum is looked at before anything else: a hole in a file, of which it
/// may say that it has terabytes, is to cost no memory.
constexpr std::uint64_t kTrustedBytes = 16 * kPieceBytes;

/// For smaller blobs the file is not asked for its size each time.
constexpr std::uint64_t kSmallBytes = 64u << 10;

constexpr std::string_view kTable = "skeleton page table";

/// Parts that lie in each other would make much of little.
Status check_apart(std::vector<CatalogueRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CatalogueRange& a, const CatalogueRange& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      return fail(Code::kCorrupt,
                  fmt::format("catalogue: what begins at position {} is named again at {}",
                              ranges[i - 1].begin, ranges[i].begin));
  return {};
}

}  // namespace

Status Catalogue::transfer_write(Position at, std::span<const std::byte> bytes) {
  if (!gathers_) return write_now(at, bytes);
  if (at != gathered_at_ + gathered_.size() || gathered_.size() + bytes.size() > kPieceBytes) {
    BENTO_TRY(write_gathered());
    gathered_at_ = at;
  }
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  return {};
}

Status Catalogue::write_gathered() {
  if (gathered_.empty()) return {};
  auto written = write_now(gathered_at_, gathered_);
  gathered_.clear();
  return written;
}

bool Catalogue::waits(Position at, std::uint64_t bytes) const {
  return at >= gathered_at_ && at - gathered_at_ < gathered_.size() &&
         bytes <= gathered_.size() - (at - gathered_at_);
}

Status Catalogue::write_now(Position at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t here = static_cast<std::size_t>(
        std::min<std::uint64_t>(bytes.size(), plan_.chunk_bytes - at % plan_.chunk_bytes));
    const std::uint64_t address = plan_.address(plan_.catalogue_task(), at);
    if (address + here > limit_)
      return fail(
          Code::kNoSpace,
          fmt::format("metadata and index of '{}' would grow beyond {} bytes and cannot go on in "
                      "another physical file, as data can; use another chunk= (now {}) or more "
                      "files= (errno = {})",
                      file_.path(), limit_, plan_.chunk_bytes, EFBIG),
          EFBIG);
    BENTO_TRY(file_.write_at(address, bytes.first(here)));
    bytes = bytes.subspan(here);
    at += here;
  }
  return {};
}

Status Catalogue::transfer_read(Position at, std::span<std::byte> into) {
  if (at < gathered_at_ + gathered_.size() && gathered_at_ < at + into.size())
    BENTO_TRY(write_gathered());
  while (!into.empty()) {
    const std::size_t here = static_cast<std::size_t>(
        std::min<std::uint64_t>(into.size(), plan_.chunk_bytes - at % plan_.chunk_bytes));
    BENTO_TRY(file_.read_at(plan_.address(plan_.catalogue_task(), at), into.first(here)));
    into = into.subspan(here);
    at += here;
  }
  return {};
}

Result<CatalogueRef> Catalogue::append(CatalogueSpace& space, std::span<const std::byte> bytes) {
  const CatalogueRef ref{space.take(bytes.size()), bytes.size(), hash128(bytes)};
  BENTO_TRY(transfer_write(ref.position, bytes));
  return ref;
}

// A reference comes from a checksummed parent, but where it ends is still held against the file
// before its size becomes an allocation, or its position an address.
Status Catalogue::check_inside(Position position, std::uint64_t bytes, std::uint64_t file_bytes,
                               std::string_view what) {
  const auto end = checked_add(position, bytes);
  // Each block of the file holds one chunk of the catalogue.
  if (!end || *end > kMaxLogicalBytes || bytes > file_bytes || plan_.chunk_bytes == 0 ||
      (bytes != 0 && (*end - 1) / plan_.chunk_bytes > file_bytes / plan_.block_bytes()))
    return fail(Code::kCorrupt,
                fmt::format("'{}': {} of {} bytes at catalogue position {} lies outside the file",
                            file_.path(), what, bytes, position));
  return {};
}

Status Catalogue::check_end(Position end) {
  BENTO_ASSIGN(const std::uint64_t file_bytes, file_.size());
  return check_inside(0, end, file_bytes, "catalogue");
}

Status Catalogue::read_in_pieces(const CatalogueRef& ref, std::string_view what,
                                 const UsePiece& use) {
  Hasher hasher;
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < ref.bytes; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, ref.bytes - done)));
    BENTO_TRY(transfer_read(ref.position + done, piece));
    hasher.update(piece);
    BENTO_TRY(use(piece));
  }
  return check_hash(hasher.digest(), ref, what);
}

Status Catalogue::check_hash(const Hash128& found, const CatalogueRef& ref, std::string_view what) {
  if (found == ref.hash) return {};
  return fail(
      Code::kCorrupt,
      fmt::format("'{}': {} at byte {} ({} bytes) does not match its checksum", file_.path(), what,
                  plan_.address(plan_.catalogue_task(), ref.position), ref.bytes));
}

Status Catalogue::check_large(const CatalogueRef& ref, std::string_view what) {
  if (ref.bytes <= kTrustedBytes) return {};
  return read_in_pieces(ref, what, [](std::span<const std::byte>) -> Status { return {}; });
}

Result<std::vector<std::byte>> Catalogue::read(const CatalogueRef& ref, std::string_view what,
                                               std::uint64_t most) {
  std::vector<std::byte> bytes;
  BENTO_TRY(read_into(ref, what, bytes, most));
  return bytes;
}

Status Catalogue::read_into(const CatalogueRef& ref, std::string_view what,
                            std::vector<std::byte>& bytes, std::uint64_t most) {
  // What waits may lie behind the end of the file.
  if (waits(ref.position, ref.bytes)) {
    const auto from = gathered_.begin() + static_cast<std::ptrdiff_t>(ref.position - gathered_at_);
    bytes.assign(from, from + static_cast<std::ptrdiff_t>(ref.bytes));
    return check_hash(hash128(bytes), ref, what);
  }
  // A file that has become smaller is found out when it is read.
  if (ref.bytes > kSmallBytes || !check_inside(ref.position, ref.bytes, file_bytes_, what)) {
    BENTO_ASSIGN(file_bytes_, file_.size());
    BENTO_TRY(check_inside(ref.position, ref.bytes, file_bytes_, what));
  }
  if (ref.bytes > most)
    return fail(Code::kCorrupt, fmt::format("'{}': {} of {} bytes, it can have {} at most",
                                            file_.path(), what, ref.bytes, most));
  BENTO_TRY(check_large(ref, what));
  bytes.resize(static_cast<std::size_t>(ref.bytes));
  BENTO_TRY(transfer_read(ref.position, bytes));
  return check_hash(hash128(bytes), ref, what);
}

// The first page begins as an HDF5 file does.
Position Catalogue::take_aside(CatalogueSpace& space, std::uint64_t bytes) const {
  std::vector<CatalogueRange> passed;
  Position at = space.take(bytes);
  for (; may_be_a_superblock(at); at = space.take(bytes)) passed.push_back({at, at + bytes});
  for (const auto& range : passed) space.give_back(range);
  return at;
}

bool Catalogue::may_be_a_superblock(Position at) const {
  return std::has_single_bit(plan_.address(plan_.catalogue_task(), at));
}

Result<CatalogueRef> Catalogue::store(const PagedImage& image, std::vector<PagePlace>& places,
                                      CatalogueSpace& space) {
  std::vector<PagePlace> fresh = places;
  fresh.resize(image.pages());
  const auto changed = [&](std::size_t page) { return page >= places.size() || image.dirty(page); };
  // Runs of pages that fill one hole or lie at the end are one write.
  for (std::size_t page = 0; page < image.pages();) {
    if (!changed(page)) {
      ++page;
      continue;
    }
    constexpr std::size_t kMostPages = 256;
    ByteWriter run;
    std::size_t next = page;
    for (; next < image.pages() && next - page < kMostPages && changed(next); ++next)
      run.bytes(image.page(next));
    Position at = page == 0 ? take_aside(space, run.size()) : space.take(run.size());
    BENTO_TRY(transfer_write(at, run.view()));
    for (; page < next; ++page) {
      fresh[page] = {at, hash128(image.page(page))};
      at += image.page(page).size();
    }
  }

  ByteWriter table;
  for (const auto& place : fresh) {
    table.u64(place.position);
    table.bytes(place.hash);
  }
  BENTO_ASSIGN(const CatalogueRef ref, append(space, table.view()));
  places = std::move(fresh);
  return ref;
}

Result<std::vector<Catalogue::PagePlace>> Catalogue::load_places(const CatalogueRef& table,
                                                                 std::uint64_t image_bytes) {
  const std::uint64_t pages = image_bytes / kPageBytes + (image_bytes % kPageBytes != 0 ? 1 : 0);
  BENTO_ASSIGN(const std::uint64_t file_bytes, file_.size());
  BENTO_TRY(check_inside(table.position, table.bytes, file_bytes, kTable));
  // Pages lie apart, so an image is no larger than the file.
  if (table.bytes / kPlaceBytes != pages || table.bytes % kPlaceBytes != 0 ||
      image_bytes > file_bytes)
    return fail(Code::kCorrupt,
                fmt::format("'{}': skeleton page table of {} bytes for an image of {}",
                            file_.path(), table.bytes, image_bytes));
  BENTO_TRY(check_large(table, kTable));
  std::vector<PagePlace> places;
  BENTO_TRY(read_in_pieces(table, kTable, [&](std::span<const std::byte> piece) -> Status {
    ByteReader in(piece, std::endian::little, kTable);
    while (in.remaining() != 0) {
      PagePlace place;
      BENTO_ASSIGN(place.position, in.u64());
      BENTO_ASSIGN(const auto hash, in.bytes(16));
      std::copy(hash.begin(), hash.end(), place.hash.begin());
      // All of them are looked at in load(); this ends a table that is a hole at once.
      if (!places.empty() && place.position == places.back().position)
        return fail(Code::kCorrupt, fmt::format("'{}': two skeleton pages at position {}",
                                                file_.path(), place.position));
      places.push_back(place);
    }
    return {};
  }));
  return places;
}

Result<PagedImage> Catalogue::load(const CatalogueRef& table, std::uint64_t image_bytes,
                                   std::vector<PagePlace>& places) {
  BENTO_ASSIGN(places, load_places(table, image_bytes));
  BENTO_ASSIGN(const std::uint64_t file_bytes, file_.size());
  std::vector<CatalogueRange> pages;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto bytes = std::min<std::uint64_t>(kPageBytes, image_bytes - i * kPageBytes);
    BENTO_TRY(check_inside(places[i].position, bytes, file_bytes, "skeleton page"));
    pages.push_back({places[i].position, places[i].position + bytes});
  }
  BENTO_TRY(check_apart(std::move(pages)));
  std::vector<std::byte> image(static_cast<std::size_t>(image_bytes));
  // Pages of one commit lie side by side: read runs, then check each page.
  for (std::size_t first = 0; first < places.size();) {
    std::size_t last = first + 1;
    while (last < places.size() && places[last].position == places[last - 1].position + kPageBytes)
      ++last;
    const std::size_t at = first * kPageBytes;
    const std::size_t length = std::min(last * kPageBytes, image.size()) - at;
    BENTO_TRY(transfer_read(places[first].position, std::span(image).subspan(at, length)));
    first = last;
  }
  PagedImage result(std::move(image));
  for (std::size_t page = 0; page < places.size(); ++page)
    if (hash128(result.page(page)) != places[page].hash)
      return fail(
          Code::kCorrupt,
          fmt::format("'{}': skeleton page {} at byte {} does not match its checksum", file_.path(),
                      page, plan_.address(plan_.catalogue_task(), places[page].position)));
  return result;
}

Result<std::vector<std::byte>> read_stream_table(
    Catalogue& catalogue, const CatalogueRef& ref, const ContainerPlan& plan,
    const std::function<Result<std::uint64_t>(std::uint32_t index)>& size_of) {
  constexpr std::string_view kStreams = "stream table";
  if (ref.bytes <= kMaxBlobBytes) return catalogue.read(ref, kStreams);
  std::uint64_t most = 0;
  for (std::uint32_t index = 0; index < plan.files(); ++index) {
    const FilePlan& file = plan.file(index);
    BENTO_ASSIGN(const std::uint64_t bytes, size_of(index));
    // Behind what is in the file a chunk may be begun in which nothing is, and the view's last.
    most += most_fill_bytes(file.writers, file.blocks_within(bytes) + 3);
  }
  return catalogue.read(ref, kStreams, most);
}

}  // namespace bento
