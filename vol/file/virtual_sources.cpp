// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/virtual_sources.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/destination.hpp"
#include "vol/file/fapl.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/own_connector.hpp"
#include "vol/file/refresh.hpp"
#include "vol/file/source_names.hpp"

namespace bento::vol {

namespace {

/// Datasets that one virtual dataset keeps open between two transfers: each has its file open.
constexpr std::size_t kMostKept = 256;

// Never destroyed: datasets may be closed after static destructors have run.
std::set<VirtualSources*>& all_sources() {
  static auto* const instance = new std::set<VirtualSources*>;
  return *instance;
}

/// The connector opens a file on its own account just now.
bool opening = false;

std::string prefix_in(hid_t dapl) {
  std::string prefix(4096, '\0');
  const ssize_t length = H5Pget_virtual_prefix(dapl, prefix.data(), prefix.size());
  prefix.resize(length > 0 ? std::min(static_cast<std::size_t>(length), prefix.size()) : 0);
  return prefix == "." ? std::string() : prefix;
}

PlistHandle access_of(const Object* file) {
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_FAPL;
  if (H5VLfile_get(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    return {};
  return PlistHandle(args.args.get_fapl.fapl_id);
}

/// The library gives the native file for an identifier.
const Object* wrapper_of(hid_t file) {
  const void* const native = H5VLobject(file);
  for (const Object* const object : open_objects())
    if (object->type == H5I_FILE && object->under == native) return object;
  return nullptr;
}

/// As natively: the access list of the file that the virtual dataset is in. That of ranks would be
/// collective; each of them opens the sources by itself.
Result<PlistHandle> source_access(const Object* holder) {
  const auto context = context_of(holder);
  const auto fileno = fileno_of(holder);
  const Object* const file = fileno ? open_file_with(*fileno) : nullptr;
  PlistHandle list;
  if (file != nullptr && !(context && context->access().parallel)) list = access_of(file);
  if (list.valid() && context) BENTO_TRY(show_user_access(list.get(), file, *context));
  if (!list.valid()) list = PlistHandle(H5Pcreate(H5P_FILE_ACCESS));
  // A page buffer is for this file's own pages; other files may have none.
  if (list.valid() && H5Pset_page_buffer_size(list.get(), 0, 0, 0) < 0)
    return fail(Code::kInternal, "no access list for the source of a virtual dataset");
  const ConnectorHandle connector = own_connector();
  if (!list.valid() || !connector.valid() ||
      H5Pset_fclose_degree(list.get(), H5F_CLOSE_DEFAULT) < 0 ||
      H5Pset_vol(list.get(), connector.get(), nullptr) < 0)
    return fail(Code::kInternal, "no access list for the source of a virtual dataset");
  return list;
}

/// Is the file of `object` open for SWMR? Its sources may be, too, in another process.
bool is_of_swmr(const Object* object) {
  const auto fileno = fileno_of(object);
  const Object* const file = fileno ? open_file_with(*fileno) : nullptr;
  const auto context = context_of(object);
  if (context && context->swmr() != Swmr::kNone) return true;
  unsigned flags = 0;
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_INTENT;
  args.args.get_intent.flags = &flags;
  return file != nullptr &&
         H5VLfile_get(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) >=
             0 &&
         (flags & (H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE)) != 0;
}

/// Has the program, or another virtual dataset, something open in the file of `file` and `dataset`?
/// (The library has a handle of its own for each open file, of the same native one.)
bool open_elsewhere(const Object* file, const Object* dataset) {
  const auto fileno = fileno_of(file);
  return std::any_of(open_objects().begin(), open_objects().end(), [&](const Object* other) {
    return other->under != nullptr && other->under != file->under && other != dataset &&
           fileno_of(other) == fileno;
  });
}

/// May the dataset stay open when the file is closed? Not where the program asked for another
/// degree of closing, nor where the last close is a meeting of ranks. A file that the program has
/// open as well shall be closed, and committed, when the program closes it.
bool may_stay(const Object* file, const Object* dataset) {
  if (open_elsewhere(file, dataset)) return false;
  const auto context = context_of(file);
  if (context && context->access().parallel) return false;
  const PlistHandle list = access_of(file);
  H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;
  return list.valid() && H5Pget_fclose_degree(list.get(), &degree) >= 0 && degree == H5F_CLOSE_WEAK;
}

/// Null if there is nothing of this name. Errors: there is, but no dataset, or it cannot be opened.
Result<Object*> open_dataset(const Object* where, const std::string& name, hid_t dapl) {
  const std::string path = name.empty() || name.front() != '/' ? "/" + name : name;
  const auto place = by_self(where->type);
  BENTO_TRY(check_not_outdated(where, place, path.c_str()));
  {
    const QuietErrors quiet;
    if (void* const under = H5VLdataset_open(where->under, &place, where->under_vol_id,
                                             path.c_str(), dapl, H5P_DATASET_XFER_DEFAULT, nullptr))
      return wrap_new(under, where->under_vol_id, H5I_DATASET);
  }
  if (const auto found = info_at(where, by_name(where->type, path.c_str())))
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}' {}", name,
                    found->type == H5O_TYPE_DATASET ? "cannot be opened" : "is no dataset"));
  H5Eclear2(H5E_DEFAULT);
  return nullptr;
}

void tell(const Status& closed) {
  if (!closed)
    std::fprintf(stderr, "h5bento: the source of a virtual dataset: %s\n",
                 closed.error().text.c_str());
}

}  // namespace

VirtualSources::VirtualSources(const Object* holder, PlistHandle dapl)
    : holder_(holder), dapl_(std::move(dapl)), prefix_(prefix_in(dapl_.get())) {
  all_sources().insert(this);
}

VirtualSources::~VirtualSources() {
  const ErrorStackKeeper keep;
  all_sources().erase(this);
  tell(let_go());
}

VirtualSources::Use::~Use() {
  if (--sources_.uses_ > 0) return;
  const ErrorStackKeeper keep;
  tell(sources_.close_passing());
}

Status VirtualSources::close(Source& source) {
  Status done;
  const KeptLibraryState::Use as_opened(call_);
  Object* const dataset = std::exchange(source.dataset, nullptr);
  if (dataset != nullptr &&
      close_object(dataset, H5VLdataset_close, H5P_DATASET_XFER_DEFAULT, nullptr) < 0) {
    done = fail(Code::kIo, "it could not be closed: " + innermost_error());
    wrap_free(dataset);
  }
  const hid_t file = source.file.release();
  if (file >= 0 && H5Fclose(file) < 0 && done)
    done = fail(Code::kIo, "its file could not be closed: " + innermost_error());
  return done;
}

Status VirtualSources::let_go() {
  Status done;
  std::map<Key, Source> sources = std::exchange(sources_, {});
  for (auto& [key, source] : sources) {
    Status closed = close(source);
    if (!closed && done)
      done = fail(std::move(closed).error().with_context(
          fmt::format("'{}' in '{}'", key.second, key.first)));
  }
  return done;
}

Status VirtualSources::close_readers() {
  Status done;
  for (auto at = sources_.begin(); at != sources_.end();) {
    if (at->second.writable) {
      ++at;
      continue;
    }
    Source source = std::move(at->second);
    at = sources_.erase(at);
    Status closed = close(source);
    if (done) done = std::move(closed);
  }
  return done;
}

Status VirtualSources::let_go_of_readers(VirtualSources& own) {
  BENTO_TRY(own.close_readers());
  // Closing one may close a virtual dataset that is a source, and with it another one of these.
  for (bool closed = true; closed;) {
    closed = false;
    for (VirtualSources* const sources : all_sources()) {
      const auto reads = [](const auto& entry) { return !entry.second.writable; };
      if (sources->uses_ > 0 ||
          std::none_of(sources->sources_.begin(), sources->sources_.end(), reads))
        continue;
      BENTO_TRY(sources->close_readers());
      closed = true;
      break;
    }
  }
  return {};
}

Status VirtualSources::close_passing() {
  Status done;
  std::size_t kept = 0;
  for (auto at = sources_.begin(); at != sources_.end();) {
    if (at->second.stays && kept < kMostKept) {
      ++kept;
      ++at;
      continue;
    }
    Status closed = close(at->second);
    if (done) done = std::move(closed);
    at = sources_.erase(at);
  }
  return done;
}

Result<VirtualSources::Source> VirtualSources::open_in_file(const std::string& path,
                                                            const std::string& name, For purpose) {
  Source source;
  source.writable = purpose == For::kWriting;
  BENTO_ASSIGN(const PlistHandle access, source_access(holder_));
  FileHandle file;
  {
    const QuietErrors quiet;
    opening = true;
    const unsigned flags = source.writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY;
    if (!source.writable && is_of_swmr(holder_))
      file = FileHandle(H5Fopen(path.c_str(), flags | H5F_ACC_SWMR_READ, access.get()));
    if (!file.valid()) file = FileHandle(H5Fopen(path.c_str(), flags, access.get()));
    opening = false;
  }
  if (!file.valid())
    return fail(Code::kIo, fmt::format("'{}' cannot be opened: {}", path, innermost_error()));
  const Object* const object = wrapper_of(file.get());
  if (object == nullptr) return fail(Code::kInternal, fmt::format("'{}' has no handle", path));
  BENTO_ASSIGN(source.dataset, open_dataset(object, name, dapl_.get()));
  source.stays = source.dataset != nullptr && may_stay(object, source.dataset);
  if (!source.stays && source.dataset != nullptr) source.file = std::move(file);
  return source;
}

Result<VirtualSources::Source> VirtualSources::open_source(const Key& key, For purpose) {
  const auto& [file, name] = key;
  if (file == ".") {
    Source source;
    source.writable = true;
    BENTO_ASSIGN(source.dataset, open_dataset(holder_, name, dapl_.get()));
    return source;
  }
  const auto path = find_source(places_of_source(holder_, file, prefix_));
  if (!path) return Source{};
  return open_in_file(*path, name, purpose);
}

Result<Object*> VirtualSources::open(const std::string& file, const std::string& name,
                                     For purpose) {
  const Key key{file, name};
  const auto there = sources_.find(key);
  if (there != sources_.end() && (purpose == For::kReading || there->second.writable))
    return there->second.dataset;
  // What is open for reading cannot be opened for writing beside that.
  if (purpose == For::kWriting) BENTO_TRY(let_go_of_readers(*this));
  if (sources_.size() >= kMostKept) BENTO_TRY(let_go());
  call_.keep();
  auto opened = open_source(key, purpose);
  if (!opened)
    return fail(std::move(opened).error().with_context(
        fmt::format("the source '{}' in '{}' of a virtual dataset", name, file)));
  if (opened->dataset == nullptr) return nullptr;
  return sources_.emplace(key, std::move(*opened)).first->second.dataset;
}

Status let_go_of_sources() {
  Status done;
  // Closing one may close a virtual dataset that is a source, and with it another one of these.
  for (bool closed = true; closed;) {
    closed = false;
    for (VirtualSources* const sources : all_sources()) {
      if (sources->uses_ > 0 || sources->sources_.empty()) continue;
      Status gone = sources->let_go();
      if (done) done = std::move(gone);
      closed = true;
      break;
    }
  }
  return done;
}

void let_go_of_sources_aloud() noexcept {
  if (opening) return;
  const ErrorStackKeeper keep;
  (void)guard<herr_t>("closing the sources of virtual datasets", []() -> Status {
    tell(let_go_of_sources());
    return {};
  });
}

}  // namespace bento::vol
