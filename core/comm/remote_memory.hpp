// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Memory of ranks that others read, and write, without their help, where a group of ranks has such
/// a thing.
/// MPI's windows are behind it in vol/mpi; threads are behind it in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"

namespace bento {

/// What another rank has exposed, as this one finds it.
struct RemotePart {
  std::uint32_t rank = 0;
  std::uint64_t address = 0;  ///< in that rank's process
  std::span<std::byte> into;
};

class RemoteMemory {
 public:
  /// Where close() was not called, what was exposed stays exposed: others may still read it.
  virtual ~RemoteMemory() = default;

  /// Others may read and write this memory from now on. It must stay where it is until close().
  /// Some forty calls can be made. Not collective. Errors: kNoSpace (no more can be exposed).
  virtual Status expose(std::byte* begin, std::uint64_t bytes) = 0;
  /// Reads all parts, each of them within what one call of expose() was given. Aligned words of 8
  /// bytes are read whole. Not collective. Errors: kPeer (the deadline passed, or a rank is gone);
  /// none of the later calls succeeds then.
  virtual Status fetch(std::span<const RemotePart> parts) = 0;
  /// Writes `bytes` there, within what one call of expose() was given. It need not have arrived
  /// when this returns; it has when a fetch() of this rank shows it. Words as of fetch(). Not
  /// collective. Errors: as fetch().
  virtual Status put(std::uint32_t rank, std::uint64_t address,
                     std::span<const std::byte> bytes) = 0;
  /// Has every fetch() and put() come to its end? Then close() can be called. Errors: kPeer.
  [[nodiscard]] virtual Status settled() const = 0;
  /// Nobody fetches or puts any more; after all ranks have agreed to it. Collective, without a
  /// deadline.
  virtual void close() = 0;
};

}  // namespace bento
