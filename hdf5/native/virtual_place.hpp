// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The addresses of an assembled file: handed out one behind the other, metadata in groups between
/// the data.
#pragma once

#include <cstdint>

#include "hdf5/view/view_file.hpp"

namespace bento::vol {

class VirtualPlace final : public ViewPlace {
 public:
  /// `store` takes what the library writes; it must outlive this.
  explicit VirtualPlace(File& store) : store_(store) {}

  Result<std::uint64_t> allocate(std::uint64_t bytes) override;
  [[nodiscard]] File& file() const override { return store_; }
  [[nodiscard]] std::uint64_t base() const override { return 0; }

  /// For elements or stored bytes of a dataset, which no write of the library reaches. Errors:
  /// kUnsupported (more than a file can have).
  Result<std::uint64_t> allocate_data(std::uint64_t bytes);
  /// Length of the file.
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  File& store_;
  std::uint64_t end_ = 96;        ///< behind the superblock
  std::uint64_t group_next_ = 0;  ///< small pieces of metadata lie side by side
  std::uint64_t group_end_ = 0;
};

}  // namespace bento::vol
