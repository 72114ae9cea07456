// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the driver has done in this process, as one line of JSON at its end. Source: docs/vfd.md,
/// "Statistics".
#pragma once

#include <cstdint>
#include <string>

namespace bento::vfd {

struct Counts {
  std::uint64_t opens = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t reads = 0;
  std::uint64_t bytes_read = 0;
};

struct Statistics {
  Counts streams;
  Counts plain;      ///< ordinary files
  std::string path;  ///< where the line goes; empty: nowhere
};

/// Of this process. Never destroyed.
Statistics& statistics();
/// Appends the line, and begins anew.
void write_statistics();

}  // namespace bento::vfd
