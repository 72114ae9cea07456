// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/callbacks/dataset_transfer.hpp"
#include "hdf5/skeleton/linked_file.hpp"

#include <set>
#include <span>
#include <vector>

#include "hdf5/base/counted_values.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/meant_selection.hpp"
#include "vol/callbacks/atomic_transfer.hpp"
#include "vol/callbacks/native_failed.hpp"
#include "vol/data/dataset_chunks.hpp"
#include "vol/data/region_transfer.hpp"
#include "vol/data/transfer.hpp"
#include "vol/data/virtual_transfer.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/native_dataset.hpp"
#include "vol/file/reserved_name.hpp"
#include "vol/file/stats.hpp"
#include "vol/file/swmr.hpp"
#include "vol/mpi/mpi_access.hpp"

namespace bento::vol {

namespace {

/// Native code on a skeleton refuses collective transfers, so it gets a list without them. The
/// library writes to that list once more when the application's call ends, so it has to live until
/// then: it is closed by the next of these calls.
hid_t independent_copy(hid_t dxpl) {
  static hid_t last = H5I_INVALID_HID;
  const ErrorStackKeeper keep;
  // The library itself closes the last one when it ends; it may have begun anew since.
  if (last >= 0 && H5Iis_valid(last) > 0 && H5Iget_type(last) == H5I_GENPROP_LST) H5Pclose(last);
  last = H5Pcopy(dxpl);
  if (last >= 0) make_independent(last);
  return last;
}

/// What every file of a collective transfer must do first, on all ranks, before anything can fail
/// locally. A write counts as a collective call; a read brings everybody's pending records.
template <class Action>
Status for_each_file(const std::vector<DatasetState*>& states, const Action& action) {
  std::set<FileContext*> seen;
  for (const auto* const state : states)
    if (state->file && seen.insert(state->file.get()).second) BENTO_TRY(action(*state->file));
  return {};
}

struct Batch {
  std::vector<Object*> objects;
  std::vector<DatasetState*> states;
  bool collective = false;
  bool all_native = true;
};

Result<Batch> batch_of(std::size_t count, void* dset[], hid_t dxpl) {
  Batch batch;
  for (std::size_t i = 0; i < count; ++i) {
    auto* const object = static_cast<Object*>(dset[i]);
    BENTO_ASSIGN(DatasetState* const state, resolve(object));
    batch.objects.push_back(object);
    batch.states.push_back(state);
    batch.all_native = batch.all_native && state->home == Home::kNative;
  }
  batch.collective = !batch.all_native && is_collective_transfer(dxpl);
  if (batch.collective)
    for (const auto* const state : batch.states)
      if (state->file && !state->file->access().parallel)
        return fail(Code::kInvalidArgument, "collective access for MPI-based drivers only");
  return batch;
}

/// To be called when the files have counted the write.
void note_written_together(const Batch& batch) {
  for (std::size_t i = 0; i < batch.states.size(); ++i) {
    DatasetState& state = *batch.states[i];
    if (state.home != Home::kDiverted || state.variable) continue;
    const auto filters = state.filters(batch.objects[i]);
    if (filters && *filters != nullptr) state.file->note_written_together(state.number);
  }
}

/// The files in which a collective write has begun.
class WrittenTogether {
 public:
  WrittenTogether() = default;
  WrittenTogether(const WrittenTogether&) = delete;
  WrittenTogether& operator=(const WrittenTogether&) = delete;
  ~WrittenTogether() { end(); }

  void begin(FileContext& file) {
    file.note_collective_write();
    files_.push_back(&file);
  }
  /// Also if the write failed: the others count it, too.
  void end() {
    for (FileContext* const file : files_) file->end_collective_write();
    files_.clear();
  }

 private:
  std::vector<FileContext*> files_;
};

std::uint64_t selected_bytes(const Object* object, hid_t file_space, hid_t mem_type) {
  std::uint64_t elements = 0;
  if (file_space == H5S_ALL) {
    const auto space = native_space(object);
    elements = space ? static_cast<std::uint64_t>(H5Sget_select_npoints(space->get())) : 0;
  } else if (file_space > H5S_PLIST) {
    elements = static_cast<std::uint64_t>(H5Sget_select_npoints(file_space));
  }
  return elements * H5Tget_size(mem_type);
}

/// Not of virtual datasets: what is counted are the transfers of their sources.
CallCounts& counts_of(Home home) {
  Stats& stats = Stats::get();
  if (home == Home::kDiverted) return stats.diverted;
  return home == Home::kSkeleton ? stats.skeleton : stats.passed_through;
}

/// The arguments for one dataset, with the elements that the program has selected.
class MeantTransfer {
 public:
  /// Ordinary files are handled as natively. Of diverted data transfer_read() and transfer_write()
  /// find out themselves.
  static Result<MeantTransfer> of(Home home, const TransferArgs& given) {
    MeantTransfer meant;
    meant.given_ = given;
    if (home == Home::kNative || home == Home::kDiverted) return meant;
    BENTO_ASSIGN(meant.memory_, MeantSelection::of(given.mem_space));
    BENTO_ASSIGN(meant.file_, MeantSelection::of(given.file_space));
    return meant;
  }
  [[nodiscard]] TransferArgs args() const {
    TransferArgs args = given_;
    if (memory_.rebuilt()) args.mem_space = memory_.get();
    if (file_.rebuilt()) args.file_space = file_.get();
    return args;
  }

 private:
  TransferArgs given_;
  MeantSelection memory_;
  MeantSelection file_;
};

/// One for each dataset of the batch.
Result<std::vector<MeantTransfer>> meant_transfers(const Batch& batch, const hid_t mem_type[],
                                                   const hid_t mem_space[],
                                                   const hid_t file_space[], hid_t dxpl) {
  std::vector<MeantTransfer> transfers(batch.states.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    BENTO_ASSIGN(transfers[i], MeantTransfer::of(batch.states[i]->home,
                                                 {mem_type[i], mem_space[i], file_space[i], dxpl}));
  }
  return transfers;
}

/// The usual case, without a list of datasets: one of ours, which other ranks need not know of.
Result<DatasetState*> only_one(std::size_t count, void* dset[], hid_t dxpl) {
  if (count != 1 || is_collective_transfer(dxpl)) return nullptr;
  BENTO_ASSIGN(DatasetState* const state, resolve(static_cast<Object*>(dset[0])));
  return state->home == Home::kDiverted ? state : nullptr;
}

/// Of several datasets, the one that `args` are for; virtual ones have been written before.
Status write_one_of(const Batch& batch, std::size_t i, TransferArgs args, const void* buffer,
                    void** req) {
  DatasetState& state = *batch.states[i];
  if (state.home == Home::kVirtual) return {};
  CallCounts& counts = counts_of(state.home);
  ++counts.writes;
  if (state.home == Home::kDiverted) {
    BENTO_ASSIGN(const std::uint64_t bytes, transfer_write(batch.objects[i], state, args, buffer));
    counts.bytes_written += bytes;
    return {};
  }
  if (state.home == Home::kSkeleton) BENTO_TRY(state.file->container().check_home());
  if (state.home == Home::kSkeleton && state.file->access().parallel && state.refuses_parallel)
    return fail(Code::kUnsupported, state.refuses_parallel);
  const hid_t list = batch.collective ? independent_copy(args.dxpl) : args.dxpl;
  const TransferArgs native{args.mem_type, args.mem_space, args.file_space, list};
  const auto write = [&](TransferArgs changed, const void* elements) {
    return H5VLdataset_write(1, &batch.objects[i]->under, batch.objects[i]->under_vol_id,
                             &changed.mem_type, &changed.mem_space, &changed.file_space,
                             changed.dxpl, &elements, req);
  };
  if (state.home == Home::kSkeleton && state.file->keeps_regions() &&
      has_region_reference(args.mem_type))
    BENTO_TRY(write_selected_regions(batch.objects[i], *state.file, native, buffer, write));
  else if (write(native, buffer) < 0)
    return fail(native_failed("dataset write"));
  counts.bytes_written += selected_bytes(batch.objects[i], args.file_space, args.mem_type);
  return {};
}

Status write_source(Object* dataset, const TransferArgs& args, const void* buffer);

Status write(AtomicTransfer& alone, WrittenTogether& together, std::size_t count, void* dset[],
             hid_t mem_type[], hid_t mem_space[], hid_t file_space[], hid_t dxpl, const void* buf[],
             void** req) {
  BENTO_ASSIGN(DatasetState * one, only_one(count, dset, dxpl));
  if (one != nullptr) {
    BENTO_TRY(alone.begin({&one, 1}));
    ++Stats::get().diverted.writes;
    BENTO_ASSIGN(const std::uint64_t bytes,
                 transfer_write(static_cast<Object*>(dset[0]), *one,
                                {mem_type[0], mem_space[0], file_space[0], dxpl}, buf[0]));
    Stats::get().diverted.bytes_written += bytes;
    return {};
  }
  BENTO_ASSIGN(const Batch batch, batch_of(count, dset, dxpl));
  if (batch.collective) {
    BENTO_TRY(for_each_file(batch.states, [&](FileContext& file) -> Status {
      together.begin(file);
      return {};
    }));
    note_written_together(batch);
  }
  BENTO_ASSIGN(const auto transfers, meant_transfers(batch, mem_type, mem_space, file_space, dxpl));
  for (std::size_t i = 0; i < count; ++i)
    if (batch.states[i]->home == Home::kVirtual)
      BENTO_TRY(virtual_write(batch.objects[i], *batch.states[i], transfers[i].args(), buf[i],
                              write_source));
  BENTO_TRY(alone.begin(batch.states));
  for (std::size_t i = 0; i < count; ++i)
    if (batch.states[i]->home == Home::kNative) BENTO_TRY(refuse_linked_change(batch.objects[i]));
  if (batch.all_native && count > 0) {
    std::vector<void*> under(count);
    for (std::size_t i = 0; i < count; ++i) under[i] = batch.objects[i]->under;
    if (H5VLdataset_write(count, under.data(), batch.objects[0]->under_vol_id, mem_type, mem_space,
                          file_space, dxpl, buf, req) < 0)
      return fail(native_failed("dataset write"));
    for (std::size_t i = 0; i < count; ++i) {
      ++counts_of(Home::kNative).writes;
      counts_of(Home::kNative).bytes_written +=
          selected_bytes(batch.objects[i], file_space[i], mem_type[i]);
    }
    return {};
  }
  for (std::size_t i = 0; i < count; ++i)
    BENTO_TRY(write_one_of(batch, i, transfers[i].args(), buf[i], req));
  return {};
}

/// Natively nothing can be read of a dataset that has no storage yet, and no fill value. Asked when
/// the transfer is over: the answer may have to wait for other ranks, which must get at the file.
Status check_storage(Object* object, DatasetState& state, std::uint64_t bytes_read) {
  if (bytes_read == 0 || !state.lacks_fill_value()) return {};
  BENTO_ASSIGN(const Allocation allocation, allocation_of(object, state));
  if (allocation.status == H5D_SPACE_STATUS_NOT_ALLOCATED)
    return fail(Code::kNotFound, "nothing was written to the dataset, and it has no fill value");
  state.needs_no_fill_value();
  return {};
}

/// Of several datasets, the one that `args` are for; virtual ones have been read before. Gives the
/// number of bytes.
Result<std::uint64_t> read_one_of(const Batch& batch, std::size_t i, TransferArgs args,
                                  void* buffer, void** req) {
  DatasetState& state = *batch.states[i];
  if (state.home == Home::kVirtual) return 0;
  CallCounts& counts = counts_of(state.home);
  ++counts.reads;
  if (state.home == Home::kDiverted) {
    BENTO_ASSIGN(const std::uint64_t bytes, transfer_read(batch.objects[i], state, args, buffer));
    counts.bytes_read += bytes;
    return bytes;
  }
  const hid_t list = batch.collective ? independent_copy(args.dxpl) : args.dxpl;
  const bool got =
      H5VLdataset_read(1, &batch.objects[i]->under, batch.objects[i]->under_vol_id, &args.mem_type,
                       &args.mem_space, &args.file_space, list, &buffer, req) >= 0;
  if (!got) return fail(native_failed("dataset read"));
  if (state.home == Home::kSkeleton && state.file->keeps_regions() &&
      has_region_reference(args.mem_type))
    BENTO_TRY(take_selected_regions(batch.objects[i], *state.file, args, buffer));
  const std::uint64_t bytes = selected_bytes(batch.objects[i], args.file_space, args.mem_type);
  counts.bytes_read += bytes;
  return bytes;
}

Status read(std::size_t count, void* dset[], hid_t mem_type[], hid_t mem_space[],
            hid_t file_space[], hid_t dxpl, void* buf[], void** req);

Status read_source(Object* dataset, const TransferArgs& args, void* buffer) {
  void* object = dataset;
  TransferArgs its = args;
  return read(1, &object, &its.mem_type, &its.mem_space, &its.file_space, its.dxpl, &buffer,
              nullptr);
}

Status read(std::size_t count, void* dset[], hid_t mem_type[], hid_t mem_space[],
            hid_t file_space[], hid_t dxpl, void* buf[], void** req) {
  AtomicTransfer alone;
  BENTO_ASSIGN(DatasetState * one, only_one(count, dset, dxpl));
  if (one != nullptr) {
    auto* const object = static_cast<Object*>(dset[0]);
    BENTO_TRY(alone.begin({&one, 1}));
    ++Stats::get().diverted.reads;
    BENTO_ASSIGN(
        const std::uint64_t bytes,
        transfer_read(object, *one, {mem_type[0], mem_space[0], file_space[0], dxpl}, buf[0]));
    Stats::get().diverted.bytes_read += bytes;
    alone.end();
    return check_storage(object, *one, bytes);
  }
  BENTO_ASSIGN(const Batch batch, batch_of(count, dset, dxpl));
  if (batch.collective)
    BENTO_TRY(for_each_file(batch.states, [](FileContext& file) -> Status {
      return file.writable() ? file.container().exchange() : Status{};
    }));
  BENTO_ASSIGN(const auto transfers, meant_transfers(batch, mem_type, mem_space, file_space, dxpl));
  // Their sources are transfers of their own, which may have to be alone.
  for (std::size_t i = 0; i < count; ++i) {
    if (batch.states[i]->home != Home::kVirtual) continue;
    TransferArgs args = transfers[i].args();
    if (batch.collective) args.dxpl = independent_copy(dxpl);
    BENTO_TRY(virtual_read(batch.objects[i], *batch.states[i], args, buf[i], read_source));
  }
  BENTO_TRY(alone.begin(batch.states));
  if (batch.all_native && count > 0) {
    std::vector<void*> under(count);
    for (std::size_t i = 0; i < count; ++i) under[i] = batch.objects[i]->under;
    if (H5VLdataset_read(count, under.data(), batch.objects[0]->under_vol_id, mem_type, mem_space,
                         file_space, dxpl, buf, req) < 0)
      return fail(native_failed("dataset read"));
    for (std::size_t i = 0; i < count; ++i) {
      ++counts_of(Home::kNative).reads;
      counts_of(Home::kNative).bytes_read +=
          selected_bytes(batch.objects[i], file_space[i], mem_type[i]);
    }
    return {};
  }
  std::vector<std::uint64_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(bytes[i], read_one_of(batch, i, transfers[i].args(), buf[i], req));
  }
  alone.end();
  for (std::size_t i = 0; i < count; ++i)
    if (batch.states[i]->home == Home::kDiverted)
      BENTO_TRY(check_storage(batch.objects[i], *batch.states[i], bytes[i]));
  return {};
}

// Also what there is of a write that failed, as natively; and in other files if it fails in one. A
// collective write ends with this, wherever its datasets are.
Status publish(std::size_t count, void* dset[]) {
  Status first_failure;
  for (std::size_t i = 0; i < count; ++i) {
    const auto state = resolve(static_cast<Object*>(dset[i]));
    Status done = state ? Status{} : fail(state.error());
    if (done && (*state)->file) done = (*state)->file->container().publish();
    if (first_failure && !done) first_failure = std::move(done);
  }
  return first_failure;
}

Status write_and_publish(std::size_t count, void* dset[], hid_t mem_type[], hid_t mem_space[],
                         hid_t file_space[], hid_t dxpl, const void* buf[], void** req) {
  const std::uint64_t refused = refused_writes().count;
  AtomicTransfer alone;
  WrittenTogether together;
  const Status wrote =
      write(alone, together, count, dset, mem_type, mem_space, file_space, dxpl, buf, req);
  together.end();
  const Status published = publish(count, dset);
  BENTO_TRY(wrote);
  BENTO_TRY(published);
  if (refused_writes().count == refused) return {};
  return fail(Code::kPermission, refused_writes().last);
}

Status write_source(Object* dataset, const TransferArgs& args, const void* buffer) {
  void* object = dataset;
  TransferArgs its = args;
  return write_and_publish(1, &object, &its.mem_type, &its.mem_space, &its.file_space, its.dxpl,
                           &buffer, nullptr);
}

}  // namespace

herr_t dataset_write(size_t count, void* dset[], hid_t mem_type[], hid_t mem_space[],
                     hid_t file_space[], hid_t dxpl, const void* buf[], void** req) {
  return guard<herr_t>("dataset write", [&] {
    return write_and_publish(count, dset, mem_type, mem_space, file_space, dxpl, buf, req);
  });
}

herr_t dataset_read(size_t count, void* dset[], hid_t mem_type[], hid_t mem_space[],
                    hid_t file_space[], hid_t dxpl, void* buf[], void** req) {
  return guard<herr_t>("dataset read", [&] {
    return read_beside_writer(count, dset, [&] {
      return read(count, dset, mem_type, mem_space, file_space, dxpl, buf, req);
    });
  });
}

Result<hsize_t> virtual_buffer_bytes(Object* object, hid_t type, hid_t space) {
  const hssize_t elements = H5Sget_select_npoints(space);
  if (elements < 0) return fail(Code::kInvalidArgument, "the selection has no size");
  const auto count = static_cast<hsize_t>(elements);
  hsize_t bytes = 0;
  const hid_t list = independent_copy(H5P_DATASET_XFER_DEFAULT);
  if (!count_values(list, bytes)) return fail(Code::kInternal, "no transfer list that counts");
  std::vector<std::byte> buffer(count * H5Tget_size(type));
  const SpaceHandle memory(H5Screate_simple(1, &count, nullptr));
  const Status done = read_source(object, {type, memory.get(), space, list}, buffer.data());
  if (H5Treclaim(type, memory.get(), list, buffer.data()) < 0 && done)
    return fail(Code::kInternal, "what was read cannot be given back");
  BENTO_TRY(done);
  return bytes;
}

}  // namespace bento::vol
