// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How the datasets of one stream appear in the native view of a joined container: where they lie,
/// as a copy, or not at all. Source: docs/vfd.md, "The view of all files".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/joined/joined_place.hpp"
#include "hdf5/data/stored_chunks.hpp"
#include "hdf5/joined/stream_driver.hpp"
#include "hdf5/view/tree_copy.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

class StreamDatasets {
 public:
  /// `view` is that of the physical file which holds the stream, `to` the HDF5 file it makes, and
  /// `budget` what may still be copied; all of them outlive this.
  StreamDatasets(const StreamSet& set, const Slot& slot, ViewFile& view, hid_t to,
                 std::uint64_t& budget)
      : set_(set),
        slot_(slot),
        place_(set.files(), slot.task),
        view_(view),
        to_(to),
        budget_(budget) {}

  /// TreeCopy::MakeDataset.
  Result<MadeDataset> make(hid_t from, hid_t type, const std::string& path);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// A dataset while it is looked at. Ids are borrowed.
  struct Subject {
    hid_t from;
    hid_t type;
    hid_t space;
    hid_t list;
    const std::string& path;
  };

  Result<MadeDataset> make_contiguous(const Subject& subject);
  Result<MadeDataset> make_chunked(const Subject& subject);
  Result<MadeDataset> make_copy(const Subject& subject, const char* what, hid_t list);
  MadeDataset left_out(const std::string& path, const std::string& why);
  [[nodiscard]] bool in_one_piece(std::uint64_t address, std::uint64_t bytes) const;
  Status adopt_chunks(hid_t dataset, const std::vector<StoredChunk>& chunks);
  Status copy_chunk(hid_t dataset, const StoredChunk& chunk);
  [[nodiscard]] std::string missing_source(hid_t list) const;

  const StreamSet& set_;
  const Slot& slot_;
  JoinedPlace place_;
  ViewFile& view_;
  hid_t to_;
  std::uint64_t& budget_;
  std::vector<std::string> notes_;
};

}  // namespace bento::vol
