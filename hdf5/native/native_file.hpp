// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container, as of one kept step, as an ordinary HDF5 file that stands nowhere: its metadata is
/// made at once, its data is found by the step index when it is read. No virtual dataset is made
/// and nothing in it is named after h5bento, so parallel stock HDF5 reads it, too. `export` writes
/// it out, `mount` shows it.
///
/// The address space begins with the superblock; metadata and data follow in the order in which the
/// library asked for them. A dataset keeps the layout that its program chose. What of a filtered
/// dataset is stored as HDF5 would store the chunk is taken over as it is; any other chunk is
/// filtered anew if the file is written out, and stands unfiltered, with a filter mask that says
/// so, if it is not.
///
/// A file that is written out is written in two phases: first the data, at addresses that are fixed
/// while the library makes the metadata in memory; then the metadata and the superblock, once. What
/// an assembly that was killed has written of the data is not written again if a journal says what
/// it is: everything is laid out anew, which takes the same addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/container/container.hpp"
#include "core/io/assembly_journal.hpp"
#include "core/io/write_behind.hpp"
#include "hdf5/native/memory_store.hpp"
#include "hdf5/native/native_datasets.hpp"
#include "hdf5/native/source_use.hpp"
#include "hdf5/native/virtual_place.hpp"
#include "hdf5/view/open_view.hpp"

namespace bento::vol {

/// Not thread-safe: all of them together are used by one thread at a time, because HDF5 is. That
/// thread is the only one that calls HDF5.
class NativeFile {
 public:
  /// Of what `container`, open for reading, shows. `output`: gets the chunks that are filtered
  /// anew, and all the rest from write_data(). Null: the metadata stays in memory. `journal`: says
  /// what an output that is not empty holds of the same container, and is told what is added;
  /// whoever knows when the output is durable stores it. Without one, what the output holds is
  /// lost. Errors: kCorrupt, kIo, kNoSpace (of the output, or memory), kUnsupported (larger than a
  /// file can be), kBusy (a writer dropped the step), kInternal (the library refused something;
  /// names the object).
  static Result<std::unique_ptr<NativeFile>> assemble(std::unique_ptr<Container> container,
                                                      File* output = nullptr,
                                                      AssemblyJournal* journal = nullptr);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] Container& container() { return *container_; }
  /// What the user should know: references that lead nowhere.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Bytes of all datasets in the file.
  [[nodiscard]] std::uint64_t data_bytes() const;
  /// Of a file that is written out: for each physical file of the container, how much of its
  /// beginning is read no more, as far as write_data() has come. While that is under way, it is for
  /// the thread that writes: `progress`, and calls of the output.
  [[nodiscard]] std::vector<std::uint64_t> source_done() const;

  /// Fills `into` from `offset`; it must lie inside the file. Only without an output. Errors: kBusy
  /// (a writer dropped the step: nothing of `into` holds then), kCorrupt, kIo.
  Status read(std::uint64_t offset, std::span<std::byte> into);

  /// Sets the output's length, writes the data of all datasets into it, and then the metadata.
  /// Places that hold zeros only are left out where 64 KiB of them come together. With a journal,
  /// what it says is written is left out, too, and the data is durable before the metadata comes.
  /// A thread of its own writes while this one reads, so the output is written, the journal told,
  /// and `progress` called by that thread, one at a time; a journal that somebody stores is stored
  /// by it, too. All of it has ended on return. `progress` gets the bytes gone through since its
  /// last call. Once. Errors: as assemble().
  using Progress = std::function<void(std::uint64_t bytes)>;
  Status write_data(const Progress& progress);

 private:
  /// Records of the container, and every hash that they have is checked if `verify`.
  class Records final : public RecordSource {
   public:
    explicit Records(Container& container) : container_(container) {}
    Result<RecordLookup> find(DatasetNumber dataset, const Box& selection) override {
      return container_.find(dataset, selection);
    }
    Status read(const Record& record, std::uint64_t element_bytes, const Box& part,
                const Box& to_box, std::byte* to) override {
      return container_.read(record, part, element_bytes, to_box, to);
    }
    Result<std::vector<std::byte>> read_stored(const Record& record) override {
      return container_.read_stored(record);
    }

   private:
    Container& container_;
  };

  NativeFile(std::unique_ptr<Container> container, File* output, AssemblyJournal* journal);
  Status lay_out();
  Status prepare_output();
  Status follow_journal();
  [[nodiscard]] Hash128 plan_hash() const;
  Status write_metadata();
  void reached(std::uint64_t address);
  Status assemble_once();
  Status read_once(std::uint64_t offset, std::span<std::byte> into);
  Status read_extent(const DataExtent& extent, std::uint64_t skip, std::span<std::byte> into);
  Status read_run(const LaidOutDataset& dataset, const Box& box, std::uint64_t skip,
                  std::span<std::byte> into);
  Result<const std::vector<std::byte>*> stored_chunk(const DataExtent& extent);
  Status write_extent(const DataExtent& extent, WriteBehind& writer);
  Status write_part(const DataExtent& extent, const Box& whole, const Box& part,
                    WriteBehind& writer);
  Status put(const WriteBehind::Part& part, const Progress& progress);

  std::unique_ptr<Container> container_;
  Records records_;
  std::unique_ptr<MemoryStore> memory_;
  File* store_;
  AssemblyJournal* journal_;  ///< or null
  SourceUse use_;
  WrittenOut out_;
  std::unique_ptr<VirtualPlace> place_;
  std::unique_ptr<OpenView> view_;    ///< holds the metadata until it is written
  bool laid_out_ = false;             ///< once at least
  std::uint64_t written_before_ = 0;  ///< below this address all data was there
  std::uint64_t written_ = 0;         ///< the same, as far as write_data() has come
  std::vector<LaidOutDataset> datasets_;
  std::vector<DataExtent> extents_;  ///< by address
  std::uint64_t bytes_ = 0;
  std::vector<std::string> notes_;
  DecodedCache decoded_;
  std::vector<std::byte> stored_;  ///< the stored chunk that was read last
  std::uint64_t stored_at_ = 0;    ///< its address; 0: none
  std::vector<std::byte> buffer_;
};

}  // namespace bento::vol
