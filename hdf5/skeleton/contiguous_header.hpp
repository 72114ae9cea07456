// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the object header of a dataset says, read from the skeleton's bytes without opening the
/// dataset. Sources: the HDF5 File Format Specification, version 3.0, section
/// IV.A.2 (messages); checked against HDF5 1.14.5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/bytes/byte_writer.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/skeleton/header_messages.hpp"

namespace bento::vol {

/// A dataset of contiguous layout for whose data no place was ever taken.
struct ContiguousHeader {
  Dims extent;                      ///< rank 0: a scalar
  std::uint64_t element_bytes = 0;  ///< size of its type
  std::uint64_t address_at = 0;  ///< offset in the image of the 8 bytes that say where its data is
  struct Message : HeaderMessage {
    /// Where in its bytes those of an attribute's text begin that is of any length; 0: it has none.
    std::size_t texts_at = 0;
  };
  std::vector<Message> messages;  ///< all that say something
};

/// The header at `address` of `image`, an HDF5 file without a user block. Nothing if it is anything
/// else than a header of version 1 of such a dataset, or has something in it that is more than
/// bytes to copy: a committed or shared type, a reference, a compound, a sequence, attributes
/// elsewhere. So nothing is no error: the library has to be asked.
std::optional<ContiguousHeader> read_contiguous_header(std::span<const std::byte> image,
                                                       std::uint64_t address);

/// Bytes that write_contiguous_header() appends.
std::uint64_t bytes_of_contiguous_header(const ContiguousHeader& header);
/// What stands in an attribute for a text of any length: its length and where it is in the file.
/// Returns false if the text cannot be had.
inline constexpr std::size_t kTextBytes = 16;
using MoveText = std::function<bool(std::span<std::byte, kTextBytes> text)>;
/// Appends a header that says the same, in one piece, of a dataset with one link whose data is at
/// `data`; `move` is to make each text that of the other file. False: it could not.
bool write_contiguous_header(const ContiguousHeader& header, std::uint64_t data,
                             const MoveText& move, ByteWriter& out);

/// The extent of the dataset whose header, of version 1 or 2, lies at `address`; rank 0 for a
/// scalar. Nothing if it is stored elsewhere, there is none, or the image is damaged.
std::optional<Dims> read_header_extent(std::span<const std::byte> image, std::uint64_t address);

}  // namespace bento::vol
