// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The HDF5 file that a native view is, while the library writes it: metadata gathers in memory at
/// addresses in fresh catalogue space, and a dataset's raw data can be *adopted*: its storage is
/// said to be where a rank's record already lies, and what the library writes there is dropped.
///
/// The library must never see a failure of this driver: it gives up half-way through whatever it
/// was doing, cannot close what it had open, and goes down at the next flush or at the end of the
/// process (docs/hdf5-traps.md). So the first failure is kept for us, and the library goes on in
/// memory, to a file that nobody will see. Source: docs/format.md, "Native view".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/superblock.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// Where an HDF5 file lies that is being made.
class ViewPlace {
 public:
  virtual ~ViewPlace() = default;
  /// `bytes` in one piece. Returns the absolute address. Errors: kNoSpace.
  virtual Result<std::uint64_t> allocate(std::uint64_t bytes) = 0;
  /// What takes the bytes.
  [[nodiscard]] virtual File& file() const = 0;
  /// Address of the superblock.
  [[nodiscard]] virtual std::uint64_t base() const = 0;
};

/// One physical file's view under construction. Used by one H5Fcreate; not thread-safe. The HDF5
/// file keeps it alive as long as it needs it.
class ViewFile {
 public:
  /// `place` must outlive it, or give_up() come first.
  explicit ViewFile(ViewPlace& place);

  /// The next raw-data allocation of exactly `bytes` gets `address`.
  void adopt_next(std::uint64_t address, std::uint64_t bytes);
  /// Was the last adopt_next() used? Asked after the dataset was created.
  [[nodiscard]] bool adopted() const { return next_bytes_ == 0; }

  /// Keeps a dataset of the HDF5 file open until forget_kept(), which has to come before H5Fclose.
  void keep(DatasetHandle dataset) { kept_.push_back(std::move(dataset)); }
  void forget_kept() { kept_.clear(); }

  /// Writes what gathered in memory into the file, after H5Fclose. Errors: kIo, kNoSpace.
  Status store();
  /// Of version 2 or 3, whichever the library wrote. Errors: as newer_superblock().
  [[nodiscard]] Result<Superblock> superblock() const;
  /// Address of the superblock: the file's user block ends there.
  [[nodiscard]] std::uint64_t base() const { return base_; }

  // What the driver does, by absolute address. None of them fails: see failure().
  std::uint64_t allocate(H5FD_mem_t type, std::uint64_t bytes) noexcept;
  /// What was not written, or not allocated, is zeros: the library reads ahead of itself.
  void read(std::uint64_t address, std::span<std::byte> into) noexcept;
  void write(std::uint64_t address, std::span<const std::byte> from) noexcept;

  /// The first error of the above: there will be no view, and nothing more reaches the file.
  [[nodiscard]] const Status& failure() const { return failure_; }
  /// From now on nothing reaches the file, and the space may go.
  void give_up();

  /// Has the library set the end of its address space, or allocated? Before, the file must look
  /// new.
  bool begun = false;

 private:
  /// Allocated bytes side by side. Large raw data goes straight to the file, and so does what
  /// belongs to a region that was stored early.
  struct Region {
    std::uint64_t bytes = 0;
    std::vector<std::byte> memory;  ///< empty for what is written through
  };
  using Regions = std::map<std::uint64_t, Region>;
  /// The first region that ends behind `address`.
  Regions::iterator region_behind(std::uint64_t address);
  Result<std::uint64_t> try_allocate(H5FD_mem_t type, std::uint64_t bytes);
  Status try_read(std::uint64_t address, std::span<std::byte> into);
  /// Of a region that is in the file, as far as that goes.
  Status read_stored(std::uint64_t address, std::span<std::byte> into);
  Status try_write(std::uint64_t address, std::span<const std::byte> from);
  /// How many bytes from there on are adopted; 0: not this one.
  [[nodiscard]] std::uint64_t adopted_from(std::uint64_t address) const;
  void keep_in_memory(std::uint64_t address, std::uint64_t bytes);
  Status store_early();
  /// Runs `body`, which returns a Status; the first failure is kept, exceptions too.
  template <class Body>
  void watch(Body&& body) noexcept;

  ViewPlace* place_;  ///< null when given up
  std::uint64_t base_;
  Status failure_;
  std::uint64_t nowhere_;          ///< next address that stands for no place in the file
  Regions regions_;                ///< by address
  std::uint64_t small_bytes_ = 0;  ///< of data in memory
  std::map<std::uint64_t, std::uint64_t> adopted_runs_;  ///< address -> bytes
  std::uint64_t next_address_ = 0;
  std::uint64_t next_bytes_ = 0;
  OldSuperblock superblock_{};  ///< or a newer one, which is shorter
  std::vector<DatasetHandle> kept_;
};

/// Makes `fapl` create `file`. Native connector, low bound 1.8.
herr_t set_fapl_view(hid_t fapl, std::shared_ptr<ViewFile> file);
/// Forgets the driver's id; called when the connector terminates.
void view_driver_forget();

}  // namespace bento::vol
