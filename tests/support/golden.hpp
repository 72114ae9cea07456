// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The golden SION containers of tests/data/sion with what their manifest says about them. A file
/// that is missing, or not the one that SIONlib wrote, is an error and never a skip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/sion/mapping.hpp"

namespace bento::test {

using Bytes = std::vector<std::byte>;

struct GoldenFile {
  std::string name;
  std::uint32_t file_number = 0;
  std::uint32_t tasks = 0;
  std::uint64_t data_start = 0;
  std::uint64_t block_bytes = 0;
  std::vector<std::uint64_t> start_addresses;
  std::uint32_t max_blocks = 0;
  std::uint64_t meta2_address = 0;
  std::string after_sizes_hex;  ///< what follows the size rows
  Bytes content;
};

struct GoldenContainer {
  std::string name;
  bool serial = false;
  bool keyval = false;
  std::uint32_t fsblksize = 0;
  std::vector<std::int64_t> global_ranks;
  std::vector<std::uint64_t> chunk_requested;
  std::vector<std::uint64_t> chunk_stored;
  std::vector<std::optional<std::uint64_t>> record_bytes;  ///< empty for key-value
  std::vector<std::vector<std::uint64_t>> chunk_used;      ///< [task][block]
  std::vector<std::uint64_t> stream_bytes;
  std::vector<std::string> stream_sha256;
  std::map<std::string, std::string> key_sha256;  ///< "task_key", zero padded as sionsplit does
  SionMapping mapping;                            ///< several physical files only
  std::vector<GoldenFile> files;

  [[nodiscard]] std::size_t tasks() const { return stream_bytes.size(); }
};

/// All containers, read once, or why they cannot be used.
const Result<std::vector<GoldenContainer>>& golden_sion();

/// The containers for a test that needs them: a failed requirement when they cannot be used.
const std::vector<GoldenContainer>& require_golden_sion();
const GoldenContainer& require_golden_sion(const std::string& name);

/// Bytes of the golden streams: the i-th of task t.
Bytes golden_stream(std::uint64_t task, std::uint64_t bytes);

std::string sha256_hex(std::span<const std::byte> bytes);

/// A file of tests/data. Errors: kNotFound, kIo.
Result<Bytes> read_test_data(const std::string& path);

}  // namespace bento::test
