// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/one_file_container.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/catalogue_space.hpp"
#include "core/catalogue/catalogue_sweep.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/layout/superblock.hpp"

namespace bento {

namespace {

/// What copies of it would not bring in order, or would hide.
Status check_at_rest(const Survey& survey) {
  const auto not_as_it_is = [](const std::string& why) { return fail(Code::kUnsupported, why); };
  if (!survey.problems().empty()) return not_as_it_is(survey.problems().front());
  if (!survey.committed() || !survey.settled())
    return not_as_it_is(
        "a program began to write it and has not closed it, which 'h5bento repair' does");
  if (survey.view() == ViewState::kEdited)
    return not_as_it_is("another program changed it through its native view");
  return {};
}

/// Without the native view, which goes, and what is in use no more.
Result<Position> end_of_catalogue(File& first, const FilePlan& plan, const Root& root) {
  BENTO_ASSIGN(const auto ranges, ranges_in_use(first, plan, root));
  Position end = 0;
  for (const CatalogueRange& range : ranges) end = std::max(end, range.end);
  // Of a last page that is shorter, the range is that of a whole one.
  end = std::min(end, root.catalogue_end);
  BENTO_TRY(Catalogue(first, plan).check_end(end));
  return end;
}

/// Without a native view stock HDF5 goes on looking for the beginning of a file, at all powers of
/// two, and takes the first page of an embedded image for it.
Status check_not_misread(File& first, const FilePlan& old, const FilePlan& one, Position end) {
  const std::uint64_t begin = one.address(0, 0);
  for (std::uint64_t at = 512; at < kMaxLogicalBytes; at *= 2) {
    if (at < begin) continue;
    const std::uint64_t block = (at - begin) / one.block_bytes();
    const std::uint64_t inside = (at - begin) % one.block_bytes();
    if (inside / one.chunk_bytes != one.catalogue_task()) continue;
    const Position position = block * one.chunk_bytes + inside % one.chunk_bytes;
    if (position + kHdf5Signature.size() > end) continue;
    std::array<std::byte, kHdf5Signature.size()> found{};
    BENTO_TRY(first.read_some(old.address(old.catalogue_task(), position), found));
    if (has_hdf5_signature(found))
      return fail(Code::kUnsupported,
                  fmt::format("its HDF5 metadata would come to byte {}, where HDF5 without h5bento "
                              "looks for a file",
                              at));
  }
  return {};
}

}  // namespace

Result<OneFileContainer> OneFileContainer::of(Survey& survey, std::uint64_t limit) {
  BENTO_TRY(check_at_rest(survey));
  OneFileContainer one;
  one.from_ = survey.plan();
  one.fills_ = survey.fills();
  one.root_ = survey.root();
  one.has_view_ = survey.view() == ViewState::kThere;
  BENTO_ASSIGN(one.to_, in_one_file(one.from_, one.root_.fs_block));
  const FilePlan& file = one.from_.file(0);
  BENTO_ASSIGN(const auto said, read_identity(survey.first(), file.superblock_address()));
  if (!said)
    return fail(Code::kCorrupt, fmt::format("'{}' does not say what it is", survey.path()));
  one.identity_ = *said;

  Root& root = one.root_;
  root.groups.assign(one.to_.groups().begin(), one.to_.groups().end());
  ++root.sequence;
  root.flags &= ~static_cast<std::uint32_t>(kRootLiveViews);
  root.view = root.view_before = {};
  root.superblock = root.superblock_before = {};
  BENTO_ASSIGN(root.catalogue_end, end_of_catalogue(survey.first(), file, root));
  BENTO_TRY(one.check_limit(limit));
  if (!one.has_view_)
    BENTO_TRY(check_not_misread(survey.first(), file, one.to_.file(0), root.catalogue_end));
  BENTO_TRY(one.measure(survey.files()));
  return one;
}

Status OneFileContainer::check_limit(std::uint64_t limit) const {
  const FilePlan& file = to_.file(0);
  std::uint64_t blocks = (root_.catalogue_end + file.chunk_bytes - 1) / file.chunk_bytes;
  for (const ChunkFill& fill : fills_) blocks = std::max<std::uint64_t>(blocks, fill.size());
  // Who opens it to write, also to build its view, adds a file if it might need two blocks more.
  const std::uint64_t more = has_view_ ? 2 : 0;
  if (blocks + more <= file.blocks_within(limit)) return {};
  return fail(
      Code::kUnsupported,
      fmt::format("up to {} chunks of {} bytes for each of its {} writers end, in one file, "
                  "beyond {} bytes",
                  blocks, file.chunk_bytes, file.writers, limit));
}

Status OneFileContainer::measure(const std::vector<SurveyedFile>& files) {
  const auto count = [&](const StreamPart& part, std::uint64_t& sum) -> Status {
    if (part.bytes > files[part.file].apparent ||
        part.from > files[part.file].apparent - part.bytes)
      return fail(
          Code::kCorrupt,
          fmt::format("'{}' has {} bytes, and a stream goes on up to byte {}",
                      files[part.file].path, files[part.file].apparent, part.from + part.bytes));
    sum += part.bytes;
    length_ = std::max(length_, part.to + part.bytes);
    return {};
  };
  StreamParts parts = streams();
  while (const auto part = parts.next()) BENTO_TRY(count(*part, stream_bytes_));
  std::uint64_t in_catalogue = 0;
  for (const StreamPart& part : catalogue()) BENTO_TRY(count(part, in_catalogue));
  return {};
}

std::vector<StreamPart> OneFileContainer::catalogue() const {
  std::vector<StreamPart> parts;
  for (std::uint64_t block = 0;; ++block) {
    const StreamPart part = catalogue_part(from_, to_, block, root_.catalogue_end);
    if (part.bytes == 0) return parts;
    parts.push_back(part);
  }
}

// Until the root is there the file is no container: whoever opens it finds none, or is told so.
Status OneFileContainer::finish(File& file, const std::string& name) const {
  const FilePlan& part = to_.file(0);
  const std::vector<std::byte> nothing(static_cast<std::size_t>(part.data_start()));
  BENTO_TRY(file.write_at(0, nothing));
  BENTO_TRY(write_unfinished_meta1(file, to_, 0, name));
  Identity identity = identity_;
  identity.name = name;
  BENTO_TRY(write_identity(file, part.superblock_address(), std::move(identity)));
  CatalogueSpace space(root_.catalogue_end);
  BENTO_TRY(complete_sion(file, to_, 0, fills_, space, [&file] { return file.sync(); }));
  Root root = root_;
  root.catalogue_end = space.end();
  BENTO_TRY(file.sync());
  const auto sector = encode_root(root);
  BENTO_TRY(file.write_at(part.root_address(1), sector));
  BENTO_TRY(file.write_at(part.root_address(0), sector));
  return file.sync();
}

}  // namespace bento
