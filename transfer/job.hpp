// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The way of one dataset from its source to its final name: copied, compared, verified, named,
/// recorded for SCR. What is left where it ends early is taken up by the next job for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/offline/one_file_container.hpp"
#include "transfer/assembly.hpp"
#include "transfer/destination.hpp"
#include "transfer/gate.hpp"
#include "transfer/parts_folder.hpp"
#include "transfer/scr_index.hpp"
#include "transfer/source.hpp"
#include "transfer/transfer_file.hpp"
#include "transfer/work_folder.hpp"

namespace bento::transfer {

struct JobOptions {
  bool verify = true;     ///< containers, against their checksums, before they get their name
  bool scr_files = true;  ///< summary and index
  Assembler assemble;     ///< none: containers arrive as they are
  ViewMaker make_view;    ///< none: what comes together from several nodes gets no native view
};

enum class JobEnd {
  kDone,      ///< it lies under its final name, and the transfer file says so
  kStopped,   ///< the gate said so
  kGone,      ///< its entries were taken away or submitted again
  kWaits,     ///< for daemons of other nodes; to be tried again soon
  kOutdated,  ///< nobody wants it any more: its entries are to be removed
};

class Job {
 public:
  /// Writes what changed in the entries to the transfer file. Returns false if they are gone.
  using Report = std::function<Result<bool>(const std::vector<Entry>& entries)>;

  /// `entries` belong together; those of a container in the order of its parts.
  Job(std::vector<Entry> entries, const AllowedFolders& allowed, JobOptions options);

  /// Errors: what went wrong, with errno where the operating system said it; is_transient() tells
  /// whether to try again.
  Result<JobEnd> run(Gate& gate, const Report& report);
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  Result<JobEnd> run_in(WorkFolder& work, int folder, Gate& gate, const Report& report);
  [[nodiscard]] Status check_folder_is_there() const;
  [[nodiscard]] Status check_lies_in_cache() const;
  Result<JobEnd> copy_all(const Source& source, WorkFolder& work, Gate& gate, const Report& report);
  Result<JobEnd> copy_one(std::size_t index, const Source& source, WorkFolder& work, Gate& gate,
                          const Report& report);
  // job_shares.cpp
  Result<JobEnd> gather_shares(const Source& source, WorkFolder& work, int folder, Gate& gate,
                               const Report& report);
  Result<JobEnd> await_shares(PartsFolder& parts, Gate& gate, const Report& report);
  Status set_lengths(PartsFolder& parts, WorkFolder& work, const Source& source);
  Status make_view(WorkFolder& work, const ViewWish& wish);
  Status bring_all_again(WorkFolder& work, int folder, const Report& report);
  Result<JobEnd> assemble(const Source& source, const std::string& path, WorkFolder& work,
                          Gate& gate, const Report& report);
  Result<JobEnd> assemble_whole(Arrive arrive, AssemblyJournal* journal, const Source& source,
                                const std::string& path, WorkFolder& work, Gate& gate,
                                const Report& report);
  // job_one_file.cpp
  Result<JobEnd> bring_streams(const OneFileContainer& one, const Source& source, WorkFolder& work,
                               Gate& gate, const Report& report);
  Result<JobEnd> copy_streams(const OneFileContainer& one, const Source& source, int target,
                              WorkFolder& work, Gate& gate, const Report& report);
  Result<std::unique_ptr<AssemblyJournal>> open_journal(const Source& source, WorkFolder& work);
  Result<ArrivedDataset> arrived_dataset(int folder) const;
  Status begin_anew(WorkFolder& work, const Source& source, const Report& report);
  Result<JobEnd> verify_copy(WorkFolder& work, int folder, Gate& gate, const Report& report);
  Status record(int folder, const ArrivedDataset& dataset) const;
  Status finish(WorkFolder& work, int folder, const Report& report);
  [[nodiscard]] bool is_container() const { return !entries_.front().container.empty(); }
  [[nodiscard]] bool arrives_as_container() const {
    return entries_.front().arrive != arrive_name(Arrive::kNative);
  }
  /// Is it made anew, one file of all parts?
  /// Does it come together from the caches of several nodes?
  [[nodiscard]] bool is_shared() const { return entries_.front().shares > 1; }
  [[nodiscard]] bool is_assembled() const { return !entries_.front().arrive.empty(); }
  /// Of what arrives, the master first.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::string> sources() const;

  std::vector<Entry> entries_;
  const AllowedFolders& allowed_;
  JobOptions options_;
};

/// May it work when it is tried again later? A full disk, an input or output error, a source that
/// is being written.
bool is_transient(const Error& error);

/// The entries that belong together, each group in the order of its parts, groups in the order of
/// their first entry.
std::vector<std::vector<Entry>> group_entries(const std::vector<Entry>& entries);

}  // namespace bento::transfer
