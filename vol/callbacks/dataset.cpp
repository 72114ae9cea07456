// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Dataset callbacks but for reads and writes (dataset_transfer.hpp). Descriptions live in the
/// skeleton; raw data of fixed-size types is diverted.
#include <cstdio>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/meant_selection.hpp"
#include "hdf5/data/reference_places.hpp"
#include "hdf5/data/reference_values.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "vol/callbacks/atomic_transfer.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/dataset_transfer.hpp"
#include "vol/callbacks/entry.hpp"
#include "vol/callbacks/native_failed.hpp"
#include "vol/data/dataset_chunks.hpp"
#include "vol/data/virtual_creation.hpp"
#include "vol/data/virtual_dataset.hpp"
#include "vol/file/arguments.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/destination.hpp"
#include "vol/file/refresh.hpp"
#include "vol/file/reserved_name.hpp"
#include "vol/file/skeleton_regions.hpp"
#include "vol/file/swmr.hpp"

namespace bento::vol {

namespace {

// --- create and open
// --------------------------------------------------------------------------------------

/// Are its elements not of fixed size, or do they lead to objects?
bool is_variable(hid_t type) {
  return has_variable_length(type) || has_reference(type);
}

/// Can records hold such elements? Only in a file of ranks, which have no other way: those of a
/// serial program lie in its skeleton, but for references to regions if the file keeps these
/// elsewhere. Containers of older versions have none.
bool takes_variable(FileContext& file, hid_t type) {
  const bool wanted =
      file.access().parallel || (file.keeps_regions() && has_region_reference(type));
  return wanted && file.container().root().version >= kFormatVersion &&
         VariableElements::of(type).has_value();
}

/// For a list with a fill value that the program has set. Fill values lie in the skeleton, where
/// such references are others than in records.
Status refuse_reference_fill(hid_t dcpl, hid_t type) {
  if (!has_new_reference(type)) return {};
  BENTO_ASSIGN(const auto places, ReferencePlaces::of(type, type));
  std::vector<std::byte> element(H5Tget_size(type));
  if (H5Pget_fill_value(dcpl, type, element.data()) < 0)
    return fail(Code::kInternal, "the fill value is unreadable");
  return places.visit(element.data(), 1, [](std::byte* at, ReferencePlaces::Stored) -> Status {
    if (is_null_reference(at)) return {};
    return fail(Code::kUnsupported,
                "a fill value that is a reference of HDF5 1.12, in a file of a parallel program");
  });
}

/// Stored where? Everything with a simple or scalar extent, whatever its layout, is diverted;
/// virtual and external layouts describe other files and stay with the native code.
bool divertable(FileContext& file, hid_t type, hid_t space, const CreationFacts& facts) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return false;
  if (facts.layout == H5D_VIRTUAL || facts.external > 0) return false;
  return !is_variable(type) || takes_variable(file, type);
}

struct CreationList {
  PlistHandle edited;       ///< valid if the user's had to be changed
  std::uint32_t flags = 0;  ///< DatasetFlags
};

/// What of the user's list would make the library allocate or look for data in the skeleton, so
/// that its list says otherwise there. The flags say what the user is shown.
Result<CreationList> creation_list(hid_t dcpl, const CreationFacts& facts) {
  CreationList list;
  if (facts.layout != H5D_COMPACT && facts.allocated == H5D_ALLOC_TIME_EARLY)
    list.flags |= kUserAllocatedEarly;
  if ((facts.options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0)
    list.flags |= kUserSparesPartialChunks;
  if (list.flags == 0) return list;
  list.edited = PlistHandle(H5Pcopy(dcpl));
  bool done = list.edited.valid();
  if ((list.flags & kUserAllocatedEarly) != 0)
    done = done && H5Pset_alloc_time(list.edited.get(), facts.layout == H5D_CHUNKED
                                                            ? H5D_ALLOC_TIME_INCR
                                                            : H5D_ALLOC_TIME_LATE) >= 0;
  if ((list.flags & kUserSparesPartialChunks) != 0)
    done = done && H5Pset_chunk_opts(list.edited.get(), 0) >= 0;
  if (!done) return fail(Code::kInternal, "the creation list cannot be changed");
  return list;
}

std::uint64_t stored_bytes(hid_t type) {
  if (is_predefined_number(type)) return H5Tget_size(type);
  const TypeHandle stored(H5Tcopy(type));
  return H5Tget_size(stored.get());
}

/// Gives its extent.
Result<Dims> declare(const TokenBytes& token, const std::shared_ptr<FileContext>& file, hid_t type,
                     hid_t space, std::uint32_t flags) {
  std::array<hsize_t, kMaxRank> now{};
  std::array<hsize_t, kMaxRank> limit{};
  const int rank = H5Sget_simple_extent_dims(space, now.data(), limit.data());
  if (rank < 0) return fail(Code::kInternal, "extent unreadable");
  Dims extent(static_cast<unsigned>(rank));
  bool unlimited = false;
  for (unsigned d = 0; d < extent.rank(); ++d) {
    extent[d] = now[d];
    unlimited = unlimited || limit[d] == H5S_UNLIMITED;
  }
  const std::uint64_t element_bytes = stored_bytes(type);
  // How long values are is not known before they are written, so room is made for many.
  unlimited = unlimited || (flags & kVariableElements) != 0;
  file->declare(token, element_bytes, extent.rank(), flags, extent.bytes(element_bytes), unlimited);
  return extent;
}

/// Does the native library let no rank leave the creation before all have come to it? To be called
/// when it has succeeded: what fails is over before. `flags`: DatasetFlags.
void note_meeting_in_creation(const Object* where, const CreationFacts& facts, hid_t space,
                              std::uint32_t flags) {
  const auto file = context_of(where);
  if (!file || !file->access().parallel || file->ranks() == 1) return;
  const EarlyFill fill(facts, allocated_early(flags));
  if (!fill.ever_at_creation() || H5Sget_simple_extent_type(space) == H5S_NULL) return;
  const auto extent = extent_of(space);
  if (extent && fill.at_creation(*extent)) file->container().note_meeting();
}

Result<void*> create(Object* where, const H5VL_loc_params_t* loc, const char* name, hid_t lcpl,
                     hid_t type, hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl, void** req) {
  const Destination destination = destination_of(where, *loc, name);
  const CreationFactsOf facts(dcpl);
  CreationList list;
  bool divert = false;
  note_collective(where, "dataset_create", [&] {
    return fmt::format("{}: {}, {}, {}", name != nullptr ? name : "(no name)", extent_text(space),
                       type_text(type), creation_text(dcpl, *facts, type));
  });
  if (facts->layout == H5D_VIRTUAL) {
    BENTO_ASSIGN(list.edited, list_of_meant_mappings(dcpl));
  }
  if (destination.container) {
    if (facts->user_fill() && destination.container->keeps_regions())
      BENTO_TRY(refuse_region_fill(dcpl, type));
    divert = divertable(*destination.container, type, space, *facts);
    if (divert) {
      BENTO_ASSIGN(list, creation_list(dcpl, *facts));
      if (facts->user_fill()) BENTO_TRY(refuse_reference_fill(dcpl, type));
      if (is_variable(type)) list.flags |= kVariableElements;
    }
    if (destination.container->access().parallel && facts->filters == 0)
      list.flags |= kAllocatedByRanks;
  }
  void* const under =
      H5VLdataset_create(where->under, loc, where->under_vol_id, name, lcpl, type, space,
                         list.edited.valid() ? list.edited.get() : dcpl, dapl, dxpl, req);
  if (list.edited.valid()) {
    const ErrorStackKeeper keep;
    list.edited.reset();
  }
  if (under == nullptr) return fail(native_failed("dataset create"));
  note_meeting_in_creation(where, *facts, space, list.flags);
  Object* const dataset = wrap_new(under, where->under_vol_id, H5I_DATASET);
  (void)refuse_linked_change(dataset);
  if (!destination.container) return dataset;
  Status declared = [&]() -> Status {
    BENTO_ASSIGN(const ObjectIdentity identity, identity_of(dataset));
    const auto file = std::static_pointer_cast<FileContext>(host_of_fileno(identity.fileno));
    if (!file) return {};
    if (!divert) {
      file->undeclare(identity.token);
      return {};
    }
    BENTO_ASSIGN(const Dims extent, declare(identity.token, file, type, space, list.flags));
    const bool unfiltered = facts->layout != H5D_CHUNKED || facts->filters == 0;
    dataset->created = std::make_shared<CreatedDataset>(
        CreatedDataset{identity, is_predefined_number(type) ? type : H5I_INVALID_HID, unfiltered,
                       extent, file->extent_version()});
    return {};
  }();
  if (!declared) {
    const ErrorStackKeeper keep;
    H5VLdataset_close(under, where->under_vol_id, dxpl, nullptr);
    wrap_free(dataset);
    return fail(std::move(declared).error());
  }
  return dataset;
}

void* dataset_create(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t lcpl,
                     hid_t type, hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl, void** req) {
  return guard<void*>("dataset create", [&]() -> Result<void*> {
    if (refuses_reserved_name(static_cast<Object*>(obj), name))
      return fail(Code::kPermission, "the dataset's name is reserved");
    return create(static_cast<Object*>(obj), loc, name, lcpl, type, space, dcpl, dapl, dxpl, req);
  });
}

void* dataset_open(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t dapl,
                   hid_t dxpl, void** req) {
  return guard<void*>("dataset open", [&]() -> Result<void*> {
    auto* const where = static_cast<Object*>(obj);
    BENTO_TRY(check_not_outdated(where, *loc, name));
    void* const under =
        H5VLdataset_open(where->under, loc, where->under_vol_id, name, dapl, dxpl, req);
    if (under == nullptr) return fail(native_failed("dataset open"));
    Object* const dataset = wrap_new(under, where->under_vol_id, H5I_DATASET);
    if (dataset != nullptr) resolve_opened(dataset);
    return dataset;
  });
}

// --- get, specific, optional, close
// -----------------------------------------------------------------------

/// Puts back what creation_list() took out.
Status show_user_list(const DatasetState& state, hid_t dcpl) {
  const bool early = (state.flags & kUserAllocatedEarly) != 0;
  const bool spares = (state.flags & kUserSparesPartialChunks) != 0;
  if ((early && H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY) < 0) ||
      (spares && H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) < 0))
    return fail(Code::kInternal, "the creation list cannot be shown as it was given");
  return {};
}

herr_t dataset_get(void* obj, H5VL_dataset_get_args_t* args, hid_t dxpl, void** req) {
  return guard<herr_t>("dataset get", [&]() -> Status {
    auto* const object = static_cast<Object*>(obj);
    if (args->op_type == H5VL_DATASET_GET_SPACE && !object->outdated) {
      BENTO_ASSIGN(DatasetState* const state, resolve(object));
      if (state->home == Home::kVirtual) {
        BENTO_ASSIGN(SpaceHandle space, virtual_space(object, *state));
        args->args.get_space.space_id = space.release();
        return {};
      }
    }
    if (H5VLdataset_get(object->under, object->under_vol_id, args, dxpl, req) < 0)
      return fail(native_failed("dataset get"));
    if (args->op_type != H5VL_DATASET_GET_DCPL && args->op_type != H5VL_DATASET_GET_SPACE_STATUS &&
        args->op_type != H5VL_DATASET_GET_STORAGE_SIZE)
      return {};
    BENTO_ASSIGN(DatasetState* const state, resolve(object));
    if (state->home != Home::kDiverted) return {};
    if (args->op_type == H5VL_DATASET_GET_DCPL) {
      return show_user_list(*state, args->args.get_dcpl.dcpl_id);
    }
    Allocation allocation;
    BENTO_TRY(read_beside_writer(1, &obj, [&]() -> Status {
      BENTO_ASSIGN(DatasetState* const now, resolve(object));
      BENTO_ASSIGN(allocation, allocation_of(object, *now));
      return {};
    }));
    if (args->op_type == H5VL_DATASET_GET_SPACE_STATUS)
      *args->args.get_space_status.status = allocation.status;
    else
      *args->args.get_storage_size.storage_size = allocation.bytes;
    return {};
  });
}

/// All that have this virtual dataset open learn its extent anew.
void forget_mapped(const Object* changed) {
  const auto mine = identity_of(changed);
  for (Object* const other : open_objects()) {
    if (other->type != H5I_DATASET || !other->dataset || !other->dataset->mapped) continue;
    const auto identity = identity_of(other);
    if (!mine || !identity || *mine == *identity) other->dataset->mapped.reset();
  }
}

Status set_extent(Object* object, H5VL_dataset_specific_args_t* args, hid_t dxpl, void** req) {
  BENTO_ASSIGN(DatasetState* const state, resolve(object));
  Dims before;
  if (state->home == Home::kDiverted) {
    BENTO_ASSIGN(before, state->extent(object));
  }
  note_collective(object, "set_extent", [&] {
    return state->home == Home::kDiverted
               ? extent_text(std::span<const hsize_t>(args->args.set_extent.size, before.rank()))
               : std::string();
  });
  const bool done = H5VLdataset_specific(object->under, object->under_vol_id, args, dxpl, req) >= 0;
  // Also if that failed: it may have changed all the same.
  if (state->home == Home::kVirtual) forget_mapped(object);
  if (!done) {
    if (state->file) state->file->note_extent_unknown();
    return fail(native_failed("set extent"));
  }
  if (state->home != Home::kDiverted) return {};
  Dims after(before.rank());
  bool shrinks = false;
  for (unsigned d = 0; d < before.rank(); ++d) {
    after[d] = args->args.set_extent.size[d];
    shrinks = shrinks || after[d] < before[d];
  }
  if (state->file->access().parallel && state->file->ranks() > 1) {
    BENTO_ASSIGN(const EarlyFill* const fill, state->early_fill(object));
    if (fill->at_change(before, after)) state->file->container().note_meeting();
  }
  BENTO_TRY(
      state->file->set_extent(state->number, after, shrinks, after.bytes(state->element_bytes)));
  state->extent_is(after);
  return {};
}

herr_t dataset_specific(void* obj, H5VL_dataset_specific_args_t* args, hid_t dxpl, void** req) {
  return guard<herr_t>("dataset specific", [&]() -> Status {
    auto* const object = static_cast<Object*>(obj);
    if (args->op_type == H5VL_DATASET_SET_EXTENT) return set_extent(object, args, dxpl, req);
    if (args->op_type == H5VL_DATASET_REFRESH) BENTO_TRY(refresh_file(object));
    if (args->op_type == H5VL_DATASET_FLUSH) BENTO_TRY(begin_object_flush(object));
    // A refresh closes and reopens this very object: nothing of it may be touched afterwards.
    void* const under = object->under;
    const hid_t under_vol_id = object->under_vol_id;
    if (H5VLdataset_specific(under, under_vol_id, args, dxpl, req) < 0)
      return fail(native_failed("dataset operation"));
    return {};
  });
}

/// The arguments of an operation on some elements with those that the program has selected.
class MeantOperation {
 public:
  static Result<MeantOperation> of(const DatasetState& state, const H5VL_optional_args_t& given) {
    MeantOperation meant;
    meant.outer_ = given;
    if (given.op_type != H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE || state.home == Home::kNative)
      return meant;
    meant.native_ = *static_cast<H5VL_native_dataset_optional_args_t*>(given.args);
    BENTO_ASSIGN(meant.selection_, MeantSelection::of(meant.native_->get_vlen_buf_size.space_id));
    meant.native_->get_vlen_buf_size.space_id = meant.selection_.get();
    return meant;
  }
  /// Valid as long as this.
  H5VL_optional_args_t* args() {
    if (native_) outer_.args = &*native_;
    return &outer_;
  }

 private:
  H5VL_optional_args_t outer_{};
  std::optional<H5VL_native_dataset_optional_args_t> native_;
  MeantSelection selection_;
};

herr_t dataset_optional(void* obj, H5VL_optional_args_t* given, hid_t dxpl, void** req) {
  return guard<herr_t>("dataset optional", [&]() -> Status {
    auto* const object = static_cast<Object*>(obj);
    BENTO_ASSIGN(DatasetState* const state, resolve(object));
    BENTO_ASSIGN(MeantOperation meant, MeantOperation::of(*state, *given));
    H5VL_optional_args_t* const args = meant.args();
    if (state->home == Home::kDiverted) {
      AtomicTransfer alone;
      DatasetState* const here[] = {state};
      BENTO_TRY(alone.begin(here));
      bool answered = false;
      Status done = read_beside_writer(1, &obj, [&]() -> Status {
        BENTO_ASSIGN(DatasetState* const now, resolve(object));
        BENTO_ASSIGN(answered, diverted_optional(object, *now, args, dxpl));
        return {};
      });
      // Also what there is of a chunk whose write failed.
      Status published = answered || !done ? state->file->container().publish() : Status{};
      BENTO_TRY(std::move(done));
      BENTO_TRY(std::move(published));
      if (answered) return {};
    }
    if (state->home == Home::kSkeleton && args->op_type == H5VL_NATIVE_DATASET_GET_OFFSET) {
      // The native code knows where it lies in the skeleton, which is another file.
      *static_cast<H5VL_native_dataset_optional_args_t*>(args->args)->get_offset.offset =
          HADDR_UNDEF;
      return {};
    }
    if (state->home == Home::kVirtual && args->op_type == H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE) {
      const auto& asked =
          static_cast<H5VL_native_dataset_optional_args_t*>(args->args)->get_vlen_buf_size;
      BENTO_ASSIGN(*asked.size, virtual_buffer_bytes(object, asked.type_id, asked.space_id));
      return {};
    }
    if (H5VLdataset_optional(object->under, object->under_vol_id, args, dxpl, req) < 0)
      return fail(native_failed("dataset operation"));
    return {};
  });
}

// HDF5 frees what a dataset's id leads to also if this fails, and keeps the id: it would crash at
// its end, before other files are closed (docs/hdf5-traps.md). So a failure is said, not returned.
herr_t dataset_close(void* obj, hid_t dxpl, void** req) {
  auto* const object = static_cast<Object*>(obj);
  if (close_object(object, H5VLdataset_close, dxpl, req) < 0) {
    std::fprintf(stderr, "h5bento: a dataset could not be closed, and perhaps its file: %s\n",
                 innermost_error().c_str());
    H5Eclear2(H5E_DEFAULT);
    return close_object(object, H5VLdataset_close, dxpl, req);
  }
  return 0;
}

// H5Dwrite_multi may write to several files: the commit is that of the first dataset's.
constexpr auto kChangedByWrite = [](size_t count, void* datasets[], auto...) -> void* {
  return count > 0 ? datasets[0] : nullptr;
};
constexpr auto kChangedBySpecific = [](void* obj, const H5VL_dataset_specific_args_t* args,
                                       auto...) -> void* {
  return args->op_type == H5VL_DATASET_SET_EXTENT ? obj : nullptr;
};
constexpr auto kChangedByOptional = [](void* obj, const H5VL_optional_args_t* args,
                                       auto...) -> void* {
  return args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE ? obj : nullptr;
};

}  // namespace

const H5VL_dataset_class_t kDatasetClass = {kChangingEntry<dataset_create>,
                                            kEntry<dataset_open>,
                                            kEntry<dataset_read>,
                                            kChangingEntry<dataset_write, kChangedByWrite>,
                                            kEntry<dataset_get>,
                                            kChangingEntry<dataset_specific, kChangedBySpecific>,
                                            kChangingEntry<dataset_optional, kChangedByOptional>,
                                            kEntry<dataset_close>};

}  // namespace bento::vol
