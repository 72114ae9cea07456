// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/virtual_sources.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
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

std::string prefix_in(hid_t dapl) {
  std::string prefix(4096, '\0');
  const ssize_t length = H5Pget_virtual_prefix(dapl, prefix.data(), prefix.size());
  prefix.resize(length > 0 ? std::min(static_cast<std::size_t>(length), prefix.size()) : 0);
  return prefix == "." ? std::string() : prefix;
}

void tell(const Status& closed) {
  if (!closed)
    std::fprintf(stderr, "h5bento: the source of a virtual dataset: %s\n",
                 closed.error().text.c_str());
}

}  // namespace

VirtualSources::VirtualSources(const Object* holder, PlistHandle dapl)
    : holder_(holder),
      dapl_(std::move(dapl)),
      prefix_(prefix_in(dapl_.get())),
      file_(place_of_holder(holder)) {
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

Status VirtualSources::close(OpenSource& source) {
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
  std::map<Key, OpenSource> sources = std::exchange(sources_, {});
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
    OpenSource source = std::move(at->second);
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

Result<OpenSource> VirtualSources::open_source(const Key& key, SourcePurpose purpose) {
  const auto& [file, name] = key;
  if (file == ".") {
    OpenSource source;
    source.writable = true;
    BENTO_ASSIGN(source.dataset, open_source_dataset(holder_, name, dapl_.get()));
    return source;
  }
  const auto path = find_source(places_of_source(file_, file, prefix_));
  if (!path) return OpenSource{};
  return open_source_in(*path, name, {holder_, dapl_.get()}, purpose);
}

Result<Object*> VirtualSources::open(const std::string& file, const std::string& name,
                                     SourcePurpose purpose) {
  const Key key{file, name};
  const auto there = sources_.find(key);
  if (there != sources_.end() && (purpose == SourcePurpose::kReading || there->second.writable))
    return there->second.dataset;
  // What is open for reading cannot be opened for writing beside that.
  if (purpose == SourcePurpose::kWriting) BENTO_TRY(let_go_of_readers(*this));
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
  if (is_opening_source()) return;
  const ErrorStackKeeper keep;
  (void)guard<herr_t>("closing the sources of virtual datasets", []() -> Status {
    tell(let_go_of_sources());
    return {};
  });
}

}  // namespace bento::vol
