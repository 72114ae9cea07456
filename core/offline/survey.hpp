// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container seen from outside, cheaply: what its root, stream table and file sizes say, without
/// the records' data. Goes as far as it can: what cannot be read is a problem in the answer. Takes
/// no lock. Source: docs/format.md, "Root", "Physical layout".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/names.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/records/record.hpp"
#include "core/steps/step.hpp"

namespace bento {

/// What a file is that somebody took for a container: "a folder", "an ordinary HDF5 file", ...
std::string describe_file(const std::string& path);

/// Is it a container of ours? Errors: kInvalidArgument (no: says what it is instead, and what to do
/// with it), kNotFound, kPermission, kIo.
Status check_is_container(const std::string& path, const FileOpener& opener = &open_posix_file);

struct SurveyedFile {
  std::string path;  ///< where it is, or should be
  bool found = false;
  std::uint64_t apparent = 0;   ///< bytes, holes included
  std::uint64_t allocated = 0;  ///< bytes that the file system gave; apparent where it does not say
};

/// Who may be writing.
enum class Writing {
  kNobody,
  kNow,   ///< somebody holds the writers' lock
  kEnded  ///< a program began to write and did not come to its close
};

/// What stock HDF5 sees.
enum class ViewState {
  kNone,    ///< nothing: there is no native view
  kThere,   ///< a view that was built by h5bento
  kEdited,  ///< another program changed the file through its view
};

/// Bytes of a chunk of a writer's stream.
struct ChunkUse {
  std::uint64_t used = 0;   ///< the stream's part of the chunk
  std::uint64_t live = 0;   ///< of records that the newest step shows
  std::uint64_t older = 0;  ///< of records that only older kept steps show
};

struct SpaceUse {
  std::vector<std::vector<ChunkUse>> chunks;  ///< shape [writers][chunks that the writer began]
  std::uint64_t used = 0;
  std::uint64_t live = 0;
  std::uint64_t older = 0;
  /// What no kept step shows: overwritten records, and headers and fillers around all records.
  std::uint64_t dead = 0;
  std::uint64_t records = 0;   ///< that the newest step shows
  bool older_counted = true;   ///< false: so many steps are kept that `older` went into `dead`
  std::uint64_t datasets = 0;  ///< whose data lies in records
};

class Survey {
 public:
  /// Errors: those of check_is_container() and kUnsupported; everything else is a problem.
  static Result<Survey> open(const std::string& path, const FileOpener& opener = &open_posix_file);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Root& root() const { return root_; }
  [[nodiscard]] bool committed() const { return (root_.flags & kRootProvisional) == 0; }
  [[nodiscard]] bool closed() const { return (root_.flags & kRootClosed) != 0; }
  [[nodiscard]] const ContainerPlan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<SurveyedFile>& files() const { return files_; }
  /// By writer; empty if nothing is committed or the table cannot be read.
  [[nodiscard]] const std::vector<ChunkFill>& fills() const { return fills_; }
  [[nodiscard]] Writing writing() const { return writing_; }
  /// Closed, and nobody has begun to write since: what only a close writes must be right.
  [[nodiscard]] bool settled() const { return writing_ == Writing::kNobody; }
  [[nodiscard]] const std::string& holder() const { return holder_; }
  [[nodiscard]] ViewState view() const { return view_; }
  /// What contradicts the rest or cannot be read; the first ones.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] File& first() { return *first_; }

  /// Hands out the records that some kept step shows: all of the newest step first, then those of
  /// the others, each with the step as of which it is seen; a record may come several times. Hashes
  /// are zero. False: so many states of datasets are kept that only the newest step's came. Errors:
  /// kCorrupt, kIo, kUnsupported, those of `visit`.
  using VisitRecord = std::function<Status(const Record& record, AbsoluteStep as_of)>;
  Result<bool> visit_records(std::uint64_t most_states, const VisitRecord& visit);
  /// Goes through the index; reads no data. Errors: as visit_records().
  Result<SpaceUse> space();
  /// Does the metadata of the native view have the checksum that it was built with? True without a
  /// view. Errors: kCorrupt, kIo.
  Result<bool> view_is_whole();
  /// As view(), and kEdited also if only the metadata behind the superblock were changed. Errors:
  /// as view_is_whole().
  Result<ViewState> examined_view();
  /// Bytes of the catalogue of file 0 that something refers to. Errors: kCorrupt, kIo.
  Result<std::uint64_t> catalogue_in_use();

 private:
  Survey() = default;
  Status look();
  void look_at_files();
  void look_at_view();
  void problem(std::string text);
  [[nodiscard]] std::uint64_t room() const;

  std::string path_;
  FileOpener opener_;
  std::unique_ptr<File> first_;
  Root root_;
  bool root_is_mirrored_ = false;  ///< both its copies are whole
  ContainerPlan plan_;
  ContainerNames names_;
  std::vector<SurveyedFile> files_;
  std::vector<ChunkFill> fills_;
  Writing writing_ = Writing::kNobody;
  std::string holder_;
  ViewState view_ = ViewState::kNone;
  std::vector<std::string> problems_;
};

}  // namespace bento
