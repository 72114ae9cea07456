// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The catalogue's bytes: blobs in the last task of physical file 0, each found through a
/// checksummed reference. Only the owner (rank 0) writes; every rank may read.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/catalogue/catalogue_space.hpp"
#include "core/catalogue/paged_image.hpp"
#include "core/layout/root.hpp"
#include "core/steps/blob.hpp"

namespace bento {

class Catalogue {
 public:
  /// Writes nothing beyond file address `limit`.
  Catalogue(File& file, const FilePlan& plan, std::uint64_t limit = kMaxLogicalBytes)
      : file_(file), plan_(plan), limit_(limit) {}

  /// Writes `bytes` where `space` has room. Blobs may cross chunk ends. Errors: kNoSpace (also
  /// beyond the logical limit, naming chunk=), kIo.
  Result<CatalogueRef> append(CatalogueSpace& space, std::span<const std::byte> bytes);
  /// `most`: what is larger is refused before it costs memory. Errors: kCorrupt (outside the file,
  /// too large, checksum), kIo.
  Result<std::vector<std::byte>> read(const CatalogueRef& ref, std::string_view what,
                                      std::uint64_t most = kMaxBlobBytes);
  /// The same into `bytes`, whose memory is used again.
  Status read_into(const CatalogueRef& ref, std::string_view what, std::vector<std::byte>& bytes,
                   std::uint64_t most = kMaxBlobBytes);

  /// From now on what is written waits in memory for what is written beside it, and comes into the
  /// file with it: when other bytes come, when some of it is read, at the latest by
  /// write_gathered().
  void gather() { gathers_ = true; }
  /// Errors: as append(), which may have taken these bytes long before.
  Status write_gathered();

  /// Does the catalogue of this file reach up to `end`? A session writes on from there. Errors:
  /// kCorrupt, kIo.
  Status check_end(Position end);

  /// The apparent size of the file: no more can be stored in it. Errors: kIo.
  Result<std::uint64_t> file_bytes() { return file_.size(); }

  /// Stores the changed pages of `image` and a new page table; unchanged pages keep their place in
  /// `places`, which has one entry per page and is updated.
  struct PagePlace {
    Position position = 0;
    Hash128 hash{};
  };
  Result<CatalogueRef> store(const PagedImage& image, std::vector<PagePlace>& places,
                             CatalogueSpace& space);
  /// The page table alone. Errors: as load().
  Result<std::vector<PagePlace>> load_places(const CatalogueRef& table, std::uint64_t image_bytes);
  /// Reads an image back. `image_bytes` is its size; `places` gets the page table.
  Result<PagedImage> load(const CatalogueRef& table, std::uint64_t image_bytes,
                          std::vector<PagePlace>& places);

 private:
  Position take_aside(CatalogueSpace& space, std::uint64_t bytes) const;
  /// Does stock HDF5 look there for the beginning of a file? It tries all powers of two.
  [[nodiscard]] bool may_be_a_superblock(Position at) const;
  Status transfer_write(Position at, std::span<const std::byte> bytes);
  Status write_now(Position at, std::span<const std::byte> bytes);
  [[nodiscard]] bool waits(Position at, std::uint64_t bytes) const;
  Status transfer_read(Position at, std::span<std::byte> into);
  Status check_inside(Position position, std::uint64_t bytes, std::uint64_t file_bytes,
                      std::string_view what);
  using UsePiece = std::function<Status(std::span<const std::byte>)>;
  Status read_in_pieces(const CatalogueRef& ref, std::string_view what, const UsePiece& use);
  Status check_large(const CatalogueRef& ref, std::string_view what);
  Status check_hash(const Hash128& found, const CatalogueRef& ref, std::string_view what);

  File& file_;
  FilePlan plan_;
  std::uint64_t limit_;
  std::uint64_t file_bytes_ = 0;  ///< when it was asked last
  bool gathers_ = false;
  Position gathered_at_ = 0;
  std::vector<std::byte> gathered_;  ///< not written yet, from gathered_at_ on
};

/// The stream table that a root refers to, held against the sizes of the files before it is read.
/// `size_of(index)` -> Result<bytes> of a physical file. Errors: as read(), and those of `size_of`.
Result<std::vector<std::byte>> read_stream_table(
    Catalogue& catalogue, const CatalogueRef& ref, const ContainerPlan& plan,
    const std::function<Result<std::uint64_t>(std::uint32_t index)>& size_of);

}  // namespace bento
