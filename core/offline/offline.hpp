// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A committed container opened by one process for looking at it as a whole: root, layout, how full
/// the streams are, and the index. For checks and exports; a program's reads go through Container.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/names.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/records/index.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

class OfflineContainer {
 public:
  /// Reads root, stream table and the step index; takes no lock. Errors: kNotFound (no file, or
  /// nothing committed), kCorrupt, kUnsupported, kIo.
  static Result<std::unique_ptr<OfflineContainer>> open(const std::string& path,
                                                        const FileOpener& opener);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Root& root() const { return root_; }
  [[nodiscard]] bool closed() const { return (root_.flags & kRootClosed) != 0; }
  /// Closed, and nobody has begun to write since: what only a close writes must be right.
  [[nodiscard]] bool settled() const { return closed() && !begun_; }
  [[nodiscard]] const ContainerPlan& plan() const { return plan_; }
  /// What can be seen as of the newest step; records of which nothing can be seen are not in it.
  /// Hashes are those in the streams.
  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] const ChunkFill& fill(std::uint32_t writer) const { return fills_[writer]; }
  /// A step of a dataset whose records are all there, but not with the hashes that it was committed
  /// with: something of it never reached the device, and what was there before lies in its place.
  struct LostStep {
    DatasetNumber dataset = 0;
    AbsoluteStep step;
    Location first;  ///< of its first record
  };
  [[nodiscard]] const std::vector<LostStep>& lost_steps() const { return lost_; }
  /// Where a writer's stream lies. Errors: those of the opener.
  Result<StreamPlace> place(std::uint32_t writer);
  /// Bytes of all physical files, for CommittedIndex::set_room(). Errors: those of the opener.
  Result<std::uint64_t> room();
  /// Opens a physical file once more, held against the container. Errors: those of the opener,
  /// kCorrupt.
  Result<std::unique_ptr<File>> open_file(std::uint32_t index, OpenMode mode);
  [[nodiscard]] const ContainerNames& names() const { return names_; }

 private:
  OfflineContainer(std::string path, FileOpener opener)
      : path_(std::move(path)), opener_(std::move(opener)) {}
  Result<File*> file(std::uint32_t index);
  Status load(CommittedIndex& committed, const DatasetDeclaration& dataset);
  [[nodiscard]] Status check(const Record& record) const;
  /// Hashes of what can be seen, by place and collective count: records of older steps may have
  /// lain in the same place.
  using Hashes = std::map<std::pair<Location, std::uint64_t>, Hash128>;
  Status compare_digest(CommittedIndex& committed, const StepSegment& segment,
                        const Hashes& hashes);

  std::string path_;
  FileOpener opener_;
  ContainerNames names_;
  PartRule rule_;
  Root root_;
  ContainerPlan plan_;
  std::vector<ChunkFill> fills_;
  Index index_;
  bool begun_ = false;  ///< there is a note of a writer
  std::vector<LostStep> lost_;
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace bento
