// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container of many physical files brought into one by arithmetic: streams and catalogue are
/// copied as they are, to other addresses; what depends on the number of tasks is made anew. All
/// kept steps stay, and so do id and session: it is the same container. Whoever copies the bytes
/// does it by himself, since there are many, and the limits are his. Source: docs/format.md,
/// "Physical layout".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/one_file.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/offline/survey.hpp"

namespace bento {

class OneFileContainer {
 public:
  /// Where everything will lie; nothing of the one file ends beyond `limit`. Errors: kUnsupported
  /// (the streams as they are cannot be in one file: says why), kCorrupt, kIo.
  static Result<OneFileContainer> of(Survey& survey, std::uint64_t limit = kMaxLogicalBytes);

  /// To be copied first. This must outlive it.
  [[nodiscard]] StreamParts streams() const { return {from_, to_, fills_}; }
  [[nodiscard]] std::uint64_t stream_bytes() const { return stream_bytes_; }
  /// Then these; what lies there was perhaps changed by what came after an earlier finish().
  [[nodiscard]] std::vector<StreamPart> catalogue() const;
  [[nodiscard]] std::uint64_t catalogue_bytes() const { return root_.catalogue_end; }
  /// Where the last of all these bytes ends.
  [[nodiscard]] std::uint64_t length() const { return length_; }
  /// Does stock HDF5 see the container? It will not see the one file before a view is built.
  [[nodiscard]] bool has_view() const { return has_view_; }

  /// All that is in front of the streams, and META2, the root last and synced. `name` is that which
  /// the file will have. May be called again after a crash. Errors: kIo, kNoSpace.
  Status finish(File& file, const std::string& name) const;

 private:
  OneFileContainer() = default;
  [[nodiscard]] Status check_limit(std::uint64_t limit) const;
  Status measure(const std::vector<SurveyedFile>& files);

  ContainerPlan from_;
  ContainerPlan to_;
  std::vector<ChunkFill> fills_;
  Root root_;  ///< of the one file, without what finish() finds out
  Identity identity_;
  std::uint64_t stream_bytes_ = 0;
  std::uint64_t length_ = 0;
  bool has_view_ = false;
};

}  // namespace bento
