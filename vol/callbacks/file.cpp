// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// File callbacks. Decides for each file whether it is a container of ours or passes straight
/// through to the native connector.
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/library_version.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/skeleton/driver.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/entry.hpp"
#include "vol/callbacks/file_optional.hpp"
#include "vol/callbacks/left_open.hpp"
#include "vol/callbacks/native_failed.hpp"
#include "vol/callbacks/region_call.hpp"
#include "vol/file/cached_file.hpp"
#include "vol/file/container_open.hpp"
#include "vol/file/fapl.hpp"
#include "vol/file/file_agreement.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/file_place.hpp"
#include "vol/file/flush.hpp"
#include "vol/file/found_by_search.hpp"
#include "vol/file/made_names.hpp"
#include "vol/file/native_of_ranks.hpp"
#include "vol/file/native_writing.hpp"
#include "vol/file/object.hpp"
#include "vol/file/own_connector.hpp"
#include "vol/file/reference_call.hpp"
#include "vol/file/spread_cache.hpp"
#include "vol/file/stats.hpp"
#include "vol/file/striping_use.hpp"
#include "vol/file/swmr.hpp"
#include "vol/file/virtual_sources.hpp"
#include "vol/mpi/mpi_access.hpp"

namespace bento::vol {

namespace {

Object* wrap_native(void* under, hid_t fapl) {
  Object* const file = wrap_new(under, native_connector(), H5I_FILE);
  if (file == nullptr || !is_mpio(H5Pget_driver(fapl))) return file;
  if (const auto fileno = fileno_of(file)) note_native_of_ranks(*fileno);
  return file;
}

Result<void*> pass_create(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
                          void** req) {
  void* under = nullptr;
  {
    PlistHandle list = native_fapl(fapl);
    under = H5VLfile_create(name, flags, fcpl, list.get(), dxpl, req);
    const ErrorStackKeeper keep;
    list.reset();
  }
  if (under == nullptr) return fail(native_failed("file create"));
  Stats::get().note_file(name, false);
  return wrap_native(under, fapl);
}

Result<void*> pass_open(const char* name, unsigned flags, hid_t fapl, hid_t dxpl, void** req) {
  void* under = nullptr;
  {
    PlistHandle list = native_fapl(fapl);
    under = H5VLfile_open(name, flags, list.get(), dxpl, req);
    const ErrorStackKeeper keep;
    list.reset();
  }
  if (under == nullptr) return fail(native_failed("file open"));
  Stats::get().note_file(name, false);
  return wrap_native(under, fapl);
}

/// Opens or creates the skeleton through the native connector and arms the host.
template <class NativeCall>
Result<void*> open_skeleton(const char* name, hid_t fapl, const UserAccess& access,
                            const std::shared_ptr<FileContext>& host, NativeCall native) {
  // From there the library follows external links.
  const std::string place = place_elsewhere(name, *host).value_or(name);
  BENTO_ASSIGN(PlistHandle list, skeleton_fapl(fapl, access, host, place));
  const bool begins_swmr = !host->armed && host->swmr() == Swmr::kWriter;
  if (begins_swmr) {
    BENTO_TRY(ask_for_swmr_format(list.get()));
    begin_swmr_writing(*host);
  }
  void* const under = native(place.c_str(), list.get());
  {
    const ErrorStackKeeper keep;
    list.reset();
  }
  if (under == nullptr) return fail(native_failed("opening the skeleton"));
  host->armed = true;
  close_at_library_end();
  Stats::get().note_file(name, true);
  note_striping_in_use(name, host->container(), host->config());
  Object* const file = wrap_new(under, native_connector(), H5I_FILE);
  if (file == nullptr || !begins_swmr) return file;
  if (auto right = check_swmr_format(file); !right) {
    const ErrorStackKeeper keep;
    (void)close_object(file, H5VLfile_close, H5P_DATASET_XFER_DEFAULT, nullptr);
    return fail(std::move(right).error());
  }
  return file;
}

ContainerOptions options_of(const AgreedFile& file, const CachePlace& place, hid_t fapl) {
  ContainerOptions options = container_options(file.settings.requested.config, fapl);
  options.lock = static_cast<decltype(options.lock)>(file.decision.locking);
  options.must_share =
      options.share_uncommitted && file.settings.requested.given.contains("visible");
  // The daemon asks the lock whether the copy in the cache is complete.
  if (place.cached && options.lock == Locking::kOff) options.lock = Locking::kBestEffort;
  if (place.cached) {
    options.other_name = place.cached->final_name;
    if (place.cached->spread)
      use_spread(options, place.cached->spread);
    else
      options.opener =
          opener_in(*place.cached, file.settings.requested.config, std::move(options.opener));
  }
  return options;
}

// Each rank comes to its calls at another time, and a commit is a call of them all.
Status check_timed_commits(const char* name, const AgreedFile& file) {
  const double seconds = file.settings.requested.config.commit;
  if (seconds == 0 || file.comm->size() == 1) return {};
  return fail(Code::kUnsupported,
              fmt::format("'{}': commit={:g} is for files that one process has open, and {} ranks "
                          "open this one to write: call H5Fflush on all of them instead",
                          name, seconds, file.comm->size()));
}

/// Why a file passes straight through, whatever it is. Empty if it does not.
std::string_view native_because(hid_t fcpl, hid_t fapl) {
  if (!serves_driver(fapl)) return "a driver or file image that h5bento does not serve";
  if (fcpl < 0) return {};
  hsize_t user_block = 0;  // belongs to the application
  const bool has_block = H5Pget_userblock(fcpl, &user_block) >= 0 && user_block != 0;
  return has_block ? "a user block" : std::string_view{};
}

/// Is it the core driver without a backing store?
bool stays_in_memory(hid_t fapl) {
  std::size_t increment = 0;
  hbool_t stored = 1;
  const QuietErrors quiet;  // it is asked of any driver: HDF5 2 has no function that names core's
  const ErrorStackKeeper keep;
  return H5Pget_fapl_core(fapl, &increment, &stored) >= 0 && !stored;
}

/// Such a driver would change a container's native view, and what h5bento has committed would
/// overlay that, or no longer fit it. Only what the core driver keeps to its memory may change.
Status check_pass_to_write(const char* name, unsigned flags, hid_t fapl) {
  if ((flags & H5F_ACC_RDWR) == 0 || !is_container(name) || stays_in_memory(fapl)) return {};
  return fail(
      Code::kUnsupported,
      fmt::format("'{}' is a container of h5bento, which does not serve this driver and "
                  "would not know of the change: open it with HDF5's default driver, read-only, or "
                  "with the core driver without a backing store",
                  name));
}

/// The creation list for a skeleton. With small pages and free space that persists, HDF5 1.14.5
/// never comes to an end of closing a file that holds metadata alone: such pages are made larger.
PlistHandle skeleton_creation_list(hid_t fcpl) {
  constexpr hsize_t kSmallestPage = 4096;
  H5F_fspace_strategy_t strategy = H5F_FSPACE_STRATEGY_FSM_AGGR;
  hbool_t persist = 0;
  hsize_t threshold = 0;
  hsize_t page = 0;
  if (H5Pget_file_space_strategy(fcpl, &strategy, &persist, &threshold) < 0 ||
      strategy != H5F_FSPACE_STRATEGY_PAGE || !persist ||
      H5Pget_file_space_page_size(fcpl, &page) < 0 || page >= kSmallestPage)
    return {};
  PlistHandle list(H5Pcopy(fcpl));
  if (list.valid()) H5Pset_file_space_page_size(list.get(), kSmallestPage);
  return list;
}

/// Creates it natively. It takes the place of what a cache holds of the names that are made, too.
/// Collective over `comm`.
Result<void*> create_natively(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
                              void** req, const std::vector<std::string>& makes,
                              Communicator& comm) {
  BENTO_ASSIGN(void* const made, pass_create(name, flags, fcpl, fapl, dxpl, req));
  Status dropped;
  for (const std::string& one : makes)
    if (dropped) dropped = drop_copies_of(one.c_str(), comm);
  if (dropped) return made;
  (void)close_object(static_cast<Object*>(made), H5VLfile_close, dxpl, nullptr);
  return fail(dropped.error());
}

Result<void*> create_file(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
                          void** req) {
  const auto native = native_because(fcpl, fapl);
  // Ranks that create a file together must agree on this, too.
  if (!native.empty() && !is_mpio(H5Pget_driver(fapl))) {
    if (stays_in_memory(fapl)) return pass_create(name, flags, fcpl, fapl, dxpl, req);
    const auto makes = made_names(name, fapl);
    for (const std::string& one : makes) BENTO_TRY(check_may_replace(one.c_str(), flags));
    return create_natively(name, flags, fcpl, fapl, dxpl, req, makes, *make_self_communicator());
  }
  const PlistHandle changed = skeleton_creation_list(fcpl);
  const auto native_create = [&](const char* place, hid_t list) {
    return H5VLfile_create(place, skeleton_flags(flags), changed.valid() ? changed.get() : fcpl,
                           list, dxpl, req);
  };
  const FileRequest request{"H5Fcreate", name, flags, fapl, native};
  BENTO_ASSIGN(AgreedFile file, agree_on_create(request));
  if (file.passes()) return create_natively(name, flags, fcpl, fapl, dxpl, req, {name}, *file.comm);
  BENTO_TRY(check_swmr(name, flags, file.access));
  if (file.open) return open_skeleton(name, fapl, file.access, file.open, native_create);
  BENTO_TRY(check_timed_commits(name, file));
  BENTO_ASSIGN(CachePlace place, place_to_create(request, file));
  const auto create_there = [&] {
    const bool spread = place.cached && place.cached->spread;
    return Container::create(
        place.name_or(name), (flags & H5F_ACC_EXCL) != 0, options_of(file, place, fapl),
        spread ? spread_communicator(place.cached->spread, file.comm) : file.comm);
  };
  auto created = create_there();
  if (!created && give_up_place(place, request, file, created.error())) created = create_there();
  BENTO_ASSIGN(auto container, std::move(created));
  BENTO_TRY(take_place_of_copies(place, request, file));
  warn_of_locks(name, *container);
  tell_of_visibility(name, *container);
  auto context =
      std::make_shared<FileContext>(name, std::move(file.settings), file.access, file.comm,
                                    std::move(container), std::move(place.cached));
  context->set_swmr(swmr_of(flags));
  auto opened = open_skeleton(name, fapl, file.access, context, native_create);
  if (!opened && file.comm->size() > 1) {
    const std::string path = context->container().path();
    context.reset();
    if (file.comm->rank() == 0) await_unlocked(path);
  }
  return opened;
}

/// Nothing if the file has become a container.
Result<std::optional<void*>> pass_open_to_write(const char* name, unsigned flags, hid_t fapl,
                                                hid_t dxpl, void** req, const AgreedFile& file) {
  const NativeCalls native{[&](unsigned asked) { return pass_open(name, asked, fapl, dxpl, req); },
                           [&](void* opened) {
                             (void)close_object(static_cast<Object*>(opened), H5VLfile_close, dxpl,
                                                nullptr);
                           }};
  return open_to_write(name, flags, file, native);
}

Result<void*> open_container(const FileRequest& request, AgreedFile file, hid_t dxpl, void** req) {
  const char* const name = request.name;
  const unsigned flags = request.flags;
  const hid_t fapl = request.fapl;
  const auto native_open = [&](const char* place, hid_t list) {
    return H5VLfile_open(place, skeleton_flags(flags), list, dxpl, req);
  };
  if (file.open) {
    BENTO_TRY(check_swmr_again(name, flags, *file.open));
    return open_skeleton(name, fapl, file.open->access(), file.open, native_open);
  }
  const bool writable = (flags & H5F_ACC_RDWR) != 0;
  BENTO_TRY(check_swmr(name, flags, file.access));
  if (writable) BENTO_TRY(check_timed_commits(name, file));
  BENTO_ASSIGN(CachePlace place, place_to_open(request, file));
  BENTO_ASSIGN(auto container, Container::open(place.name_or(name), writable,
                                               options_of(file, place, fapl), file.comm));
  warn_of_locks(name, *container);
  tell_of_visibility(name, *container);
  if (container->view_edited() && file.comm->rank() == 0)
    fmt::print(
        stderr,
        "h5bento: warning: '{}' was changed by another program through its native HDF5 view; "
        "what h5bento committed is read, not that change\n",
        name);
  auto context =
      std::make_shared<FileContext>(name, std::move(file.settings), file.access, file.comm,
                                    std::move(container), std::move(place.cached));
  context->set_swmr(swmr_of(flags));
  return open_skeleton(name, fapl, file.access, context, native_open);
}

Result<void*> open_file(const char* name, unsigned flags, hid_t fapl, hid_t dxpl, void** req) {
  const auto native = native_because(H5I_INVALID_HID, fapl);
  if (!native.empty() && !is_mpio(H5Pget_driver(fapl))) {
    BENTO_TRY(check_pass_to_write(name, flags, fapl));
    return pass_open(name, flags, fapl, dxpl, req);
  }
  const FileRequest request{"H5Fopen", name, flags, fapl, native};
  constexpr int kAttempts = 5;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    BENTO_ASSIGN(AgreedFile file, agree_on_open(request));
    if (!file.passes()) return open_container(request, std::move(file), dxpl, req);
    if ((flags & H5F_ACC_RDWR) == 0 || !native.empty())
      return pass_open(name, flags, fapl, dxpl, req);
    BENTO_ASSIGN(const auto opened, pass_open_to_write(name, flags, fapl, dxpl, req, file));
    if (opened) return *opened;
  }
  return fail(Code::kBusy,
              fmt::format("'{}' is created anew by another process again and again (errno = {})",
                          name, EWOULDBLOCK),
              EWOULDBLOCK);
}

Result<void*> with_place(Result<void*> opened, const char* name) {
  if (opened && *opened != nullptr) note_place(static_cast<Object*>(*opened), name);
  return opened;
}

void* file_create(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
                  void** req) {
  let_go_of_sources_aloud();
  return guard<void*>("file create", [&] {
    remember_connector(fapl, kConnectorValue);
    return with_place(create_file(name, flags, fcpl, fapl, dxpl, req), name);
  });
}

void* file_open(const char* name, unsigned flags, hid_t fapl, hid_t dxpl, void** req) {
  if (is_asked_for_state(name)) return nullptr;
  const bool found = is_found_by_search();
  let_go_of_sources_aloud();
  return guard<void*>("file open", [&]() -> Result<void*> {
    remember_connector(fapl, kConnectorValue);
    if (!found) return with_place(open_file(name, flags, fapl, dxpl, req), name);
    const SearchList list(fapl);
    KeptLibraryState chosen;
    BENTO_TRY(keep_chosen_state(chosen));
    const KeptLibraryState::Use as_chosen(chosen);
    return with_place(open_file(name, flags, fapl, dxpl, req), name);
  });
}

herr_t file_get(void* file, H5VL_file_get_args_t* args, hid_t dxpl, void** req) {
  auto* const object = static_cast<Object*>(file);
  return guard<herr_t>("file get", [&]() -> Status {
    if (object->under == nullptr)
      return fail(Code::kInvalidArgument, "the file was closed by a failed H5Fclose");
    if (H5VLfile_get(object->under, object->under_vol_id, args, dxpl, req) < 0)
      return fail(native_failed("file get"));
    if (args->op_type == H5VL_FILE_GET_CONT_INFO) RegionCall::sizes_were_asked(object);
    if (args->op_type == H5VL_FILE_GET_NAME) ReferenceTarget::name_was_asked(object);
    if (args->op_type != H5VL_FILE_GET_FAPL && args->op_type != H5VL_FILE_GET_INTENT) return {};
    const auto context = context_of(object);
    if (!context) return {};
    if (args->op_type == H5VL_FILE_GET_FAPL)
      return show_user_access(args->args.get_fapl.fapl_id, object, *context);
    if (context->swmr() == Swmr::kWriter) *args->args.get_intent.flags |= H5F_ACC_SWMR_WRITE;
    return {};
  });
}

Status file_specific_body(Object* object, H5VL_file_specific_args_t* args, hid_t dxpl, void** req) {
  switch (args->op_type) {
    case H5VL_FILE_FLUSH:
      return flush(object, args->args.flush.scope);
    case H5VL_FILE_REOPEN: {
      if (H5VLfile_specific(object->under, object->under_vol_id, args, dxpl, req) < 0)
        return fail(native_failed("reopen"));
      *args->args.reopen.file = wrap_new(*args->args.reopen.file, object->under_vol_id, H5I_FILE);
      return {};
    }
    case H5VL_FILE_IS_ACCESSIBLE: {
      // The library asks this in two cases. It looks for a connector after the native open of some
      // file has failed, in every program that has this module in its plugin path: the answer must
      // be quick, print nothing and make no MPI call, and the errors of the failed open must stay
      // on the stack. Or the application calls H5Fis_accessible: the stack is empty then, and
      // ordinary files count, too.
      const bool looking_for_connector = H5Eget_num(H5E_DEFAULT) > 0;
      const ErrorStackKeeper native_errors;
      // HDF5 2 would take what the connector that it finds opens for a file of its native one, and
      // die.
      *args->args.is_accessible.accessible = !(looking_for_connector && is_hdf5_2()) &&
                                             is_container(args->args.is_accessible.filename);
      if (!is_ours(args->args.is_accessible.filename)) {  // its native view is no way round that
        *args->args.is_accessible.accessible = false;
        return {};
      }
      if (*args->args.is_accessible.accessible && looking_for_connector) note_found_by_search();
      if (*args->args.is_accessible.accessible || looking_for_connector) return {};
      PlistHandle list = native_fapl(args->args.is_accessible.fapl_id);
      H5VL_file_specific_args_t native = *args;
      native.args.is_accessible.fapl_id = list.get();
      const herr_t done = H5VLfile_specific(nullptr, native_connector(), &native, dxpl, req);
      const ErrorStackKeeper keep;
      list.reset();
      if (done < 0) return fail(native_failed("is accessible"));
      return {};
    }
    case H5VL_FILE_DELETE: {
      let_go_of_sources_aloud();
      const char* const name = args->args.del.filename;
      BENTO_ASSIGN(const bool deleted, delete_container(name, args->args.del.fapl_id));
      if (deleted) return {};
      PlistHandle list = native_fapl(args->args.del.fapl_id);
      H5VL_file_specific_args_t native = *args;
      native.args.del.fapl_id = list.get();
      const herr_t done = H5VLfile_specific(nullptr, native_connector(), &native, dxpl, req);
      const ErrorStackKeeper keep;
      list.reset();
      if (done < 0) return fail(native_failed("delete"));
      return {};
    }
    case H5VL_FILE_IS_EQUAL:  // obj2 arrives unwrapped
      if (H5VLfile_specific(object->under, object->under_vol_id, args, dxpl, req) < 0)
        return fail(native_failed("is equal"));
      return {};
  }
  return fail(Code::kUnsupported, "unknown file operation");
}

herr_t file_specific(void* file, H5VL_file_specific_args_t* args, hid_t dxpl, void** req) {
  return guard<herr_t>("file specific", [&] {
    return file_specific_body(static_cast<Object*>(file), args, dxpl, req);
  });
}

herr_t file_optional(void* file, H5VL_optional_args_t* args, hid_t dxpl, void** req) {
  return guard<herr_t>("file optional", [&] {
    return file_optional_body(static_cast<Object*>(file), args, dxpl, req);
  });
}

herr_t file_close(void* file, hid_t dxpl, void** req) {
  auto* const object = static_cast<Object*>(file);
  // The id outlives a close whose commit failed, because the library keeps ids whose close failed;
  // the native file is gone then, and closing again only frees the wrapper.
  if (object->under == nullptr) {
    wrap_free(object);
    return 0;
  }
  const auto context = [&]() -> std::shared_ptr<FileContext> {
    try {
      notice_linked_changes();
      return context_of(object);
    } catch (...) {
      return nullptr;
    }
  }();
  const herr_t done = H5VLfile_close(object->under, object->under_vol_id, dxpl, req);
  const bool gone = context && context->finalised();
  if (done >= 0 && gone && context->writable() && context->container().inherited()) {
    object->under = nullptr;
    return guard<herr_t>("file close", [&] { return context->container().check_home(); });
  }
  if (done >= 0) {
    wrap_free(object);
  } else if (gone) {
    object->under = nullptr;
  }
  return done;
}

}  // namespace

const H5VL_file_class_t kFileClass = {kEntry<file_create>,   kEntry<file_open>,
                                      kEntry<file_get>,      kEntry<file_specific>,
                                      kEntry<file_optional>, kEntry<file_close>};

}  // namespace bento::vol
