// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The messages of an object header in an HDF5 file in memory. Source: the HDF5 File Format
/// Specification, version 3.0, section IV.A.1; checked against HDF5 1.14.5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/base/error.hpp"

namespace bento::vol {

struct HeaderMessage {
  std::uint16_t kind = 0;
  std::uint8_t flags = 0;
  bool shared = false;               ///< it only says where the message is
  std::span<const std::byte> bytes;  ///< in the image
  std::uint64_t at = 0;              ///< their offset there
};

/// Where the bytes of a header are. What is returned lives as long as this.
class HeaderSource {
 public:
  virtual ~HeaderSource() = default;
  /// Errors: kUnsupported, without a text, if there are not so many.
  virtual Result<std::span<const std::byte>> bytes(std::uint64_t offset, std::uint64_t length) = 0;
  /// As many as there are, but no more than `most`.
  virtual Result<std::span<const std::byte>> up_to(std::uint64_t offset, std::uint64_t most) = 0;
};

/// Calls visit(message) for all of the header at `address` of `image`, continuations excepted, and
/// gives the header's version, 1 or 2. The image is a file without a user block, with addresses and
/// lengths of eight bytes. Errors: kUnsupported, without a text, for any other one; kCorrupt for
/// one that ends too early; those of `visit`.
Result<unsigned> visit_header(std::span<const std::byte> image, std::uint64_t address,
                              const std::function<Status(const HeaderMessage&)>& visit);

/// The same of a header with addresses and lengths of eight bytes, wherever it lies.
Result<unsigned> visit_header(HeaderSource& source, std::uint64_t address,
                              const std::function<Status(const HeaderMessage&)>& visit);

}  // namespace bento::vol
