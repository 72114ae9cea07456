// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A skeleton opened a second time, for reading, beside or after the application's own open of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/catalogue/paged_image.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/skeleton/host.hpp"

namespace bento::vol {

/// Opens a copy of `image` with the native connector. `path` serves messages. The copy lives as
/// long as the file is open. Errors: kInternal.
Result<FileHandle> open_skeleton_copy(const std::string& path, const PagedImage& image);

/// Such a copy in which datasets can be given data. The library copies an object with its data in
/// one call, which costs a fraction of opening it, making another and writing that.
class SkeletonWithData {
 public:
  /// With room for `most` bytes of data. Errors: as open_skeleton_copy().
  static Result<SkeletonWithData> open(const std::string& path, const PagedImage& image,
                                       std::uint64_t most);

  /// Id of the open file, borrowed.
  [[nodiscard]] hid_t file() const { return file_.get(); }
  /// Of the skeleton, without data.
  [[nodiscard]] std::span<const std::byte> bytes() const;
  /// From here on `data` is the data of the dataset whose header says at `address_at` (see
  /// ContiguousHeader) where it is, until the next one is given some. The library must not have
  /// read that header yet.
  void give(std::uint64_t address_at, std::span<const std::byte> data);

 private:
  FileHandle file_;
  std::shared_ptr<SkeletonHost> host_;
  std::uint64_t data_at_ = 0;
};

}  // namespace bento::vol
