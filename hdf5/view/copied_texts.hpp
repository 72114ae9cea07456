// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Texts of any length, which h5py makes of every attribute that is a string, lie in global heaps
/// beside the object headers: this takes them from the skeleton's into some of the native view's.
/// Source: the HDF5 File Format Specification, version 3.0, III.E (global heap); checked against
/// HDF5 1.14.5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "hdf5/skeleton/contiguous_header.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

class CopiedTexts {
 public:
  /// Of the file that `image` is, without a user block, into `view`. Both must outlive it.
  CopiedTexts(std::span<const std::byte> image, ViewFile& view) : image_(image), view_(view) {}

  /// As MoveText. False also if the view has failed.
  bool move(std::span<std::byte, kTextBytes> text);
  /// Puts what is left into the view. Errors: those of the view.
  Status finish();

 private:
  /// An object of a heap with what stands in front of it.
  using Object = std::span<const std::byte>;
  /// The heap at `address` becomes read_. False: there is none.
  bool read_heap(std::uint64_t address);
  /// Makes room for one object. Errors: those of the view.
  Status begin_heap(std::uint64_t object_bytes);

  std::span<const std::byte> image_;
  ViewFile& view_;
  std::uint64_t read_at_ = 0;
  std::vector<Object> read_;   ///< by number
  std::uint64_t heap_at_ = 0;  ///< absolute address of the heap that is being filled; 0: none
  std::uint64_t heap_bytes_ = 0;
  std::uint16_t last_ = 0;  ///< number of its last object
  ByteWriter heap_;
};

}  // namespace bento::vol
