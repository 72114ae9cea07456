// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One contradiction found in an FTI-FF file, and a bounded list of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bento::fti {

enum class Damage : std::uint8_t {
  kSize,       ///< the sizes in the file meta contradict the file or each other
  kMyHash,     ///< the file meta does not have its own hash
  kChecksum,   ///< the file checksum fits by no rule
  kChunkHash,  ///< bytes of a chunk, or its stored hash
  kHead,       ///< block head
  kRecord,     ///< container record: field out of range
  kOrder,      ///< containerid, dptr or hascontent against the rules of FTI, or of our streams
};

/// Short lower-case name ("chunk hash").
std::string_view to_string(Damage damage);

struct Finding {
  Damage damage = Damage::kSize;
  std::uint64_t offset = 0;  ///< first byte in the file or stream that may be wrong
  std::uint64_t bytes = 0;   ///< length of the region in which the damage lies
  /// Chunk hashes: offset of the container's record, where the damage may lie just as well; else
  /// kNoRecord.
  std::uint64_t record = kNoRecord;
  std::string text;  ///< what was found and what was wanted

  static constexpr std::uint64_t kNoRecord = UINT64_MAX;
};

/// Findings in the order of their discovery. Keeps the first ones only, so that a file of nothing
/// but damage does not fill the memory; counts all.
class Findings {
 public:
  static constexpr std::size_t kKept = 1000;

  void add(Damage damage, std::uint64_t offset, std::uint64_t bytes, std::string text,
           std::uint64_t record = Finding::kNoRecord) {
    ++count_;
    if (kept_.size() < kKept) kept_.push_back({damage, offset, bytes, record, std::move(text)});
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::vector<Finding>& kept() const { return kept_; }

 private:
  std::vector<Finding> kept_;
  std::uint64_t count_ = 0;
};

}  // namespace bento::fti
