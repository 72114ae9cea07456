// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vfd/driver.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "core/io/host.hpp"
#include "hdf5/base/driver_frame.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/joined/joined_view.hpp"
#include "vfd/open.hpp"
#include "vfd/plain.hpp"
#include "vfd/statistics.hpp"

namespace bento::vfd {

namespace {

using vol::driver_frame;
using vol::guard;
using vol::kMaxDriverAddress;

/// One open file: a stream, or an ordinary file.
struct DriverFile {
  H5FD_t pub;  // must be first: the library knows only this part
  std::shared_ptr<JoinedStream> stream;
  H5FD_t* plain = nullptr;
  /// Device, inode, task + 1 (0: ordinary file): what two names have in common that mean one file.
  std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> identity;
  haddr_t eoa = 0;
  int descriptor = -1;
  int behind_descriptor = 0;  ///< PyTables reads the descriptor as 64 bits
  std::string config;         ///< as it was opened with, for access lists made from this file
};

DriverFile* self(H5FD_t* file) {
  return reinterpret_cast<DriverFile*>(file);
}
const DriverFile* self(const H5FD_t* file) {
  return reinterpret_cast<const DriverFile*>(file);
}

// --- configuration: the text is the driver's info in lists that come from an open file
// ---------------------------------------

/// What a list that comes from the user has: HDF5_DRIVER_CONFIG, --vfd-info, H5Pset_driver_by_name.
std::string config_string(hid_t fapl) {
  const ssize_t bytes = H5Pget_driver_config_str(fapl, nullptr, 0);
  if (bytes <= 0) return {};
  std::string text(static_cast<std::size_t>(bytes) + 1, '\0');
  if (H5Pget_driver_config_str(fapl, text.data(), text.size()) < 0) return {};
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::string config_of(hid_t fapl) {
  // Asking for what is not there is an error to the library.
  const vol::QuietErrors quiet;
  const vol::ErrorStackKeeper keep;
  if (const auto* const info = static_cast<const std::string*>(H5Pget_driver_info(fapl));
      info != nullptr)
    return *info;
  return config_string(fapl);
}

Result<DriverConfig> load(const std::string& text) {
  BENTO_ASSIGN(DriverConfig config, load_driver_config(text, [](const char* name) {
                 return static_cast<const char*>(std::getenv(name));
               }));
  if (!config.shared.stats.empty()) statistics().path = config.shared.stats;
  return config;
}

void* fapl_copy(const void* info) {
  return new (std::nothrow) std::string(*static_cast<const std::string*>(info));
}

herr_t fapl_free(void* info) {
  delete static_cast<std::string*>(info);
  return 0;
}

void* fapl_get(H5FD_t* file) {
  return new (std::nothrow) std::string(self(file)->config);
}

// --- open and close
// ---------------------------------------------------------------------------------------

Result<H5FD_t*> open_file(const char* name, unsigned flags, hid_t fapl, haddr_t max_address) {
  auto file = std::make_unique<DriverFile>();
  std::memset(&file->pub, 0, sizeof file->pub);
  file->config = config_of(fapl);
  BENTO_ASSIGN(const DriverConfig config, load(file->config));
  BENTO_ASSIGN(file->stream, open_stream(name, flags, config));
  if (file->stream) {
    ++statistics().streams.opens;
    BENTO_ASSIGN(const auto inode, file_identity(file->stream->container().files().first()));
    file->identity = {inode.first, inode.second, std::uint64_t{file->stream->slot().task} + 1};
  } else {
    BENTO_ASSIGN(const PlainFile plain, open_plain(name, flags, fapl, max_address));
    ++statistics().plain.opens;
    file->plain = plain.file;
    file->identity = {plain.identity.first, plain.identity.second, 0};
  }
  return reinterpret_cast<H5FD_t*>(file.release());
}

H5FD_t* drv_open(const char* name, unsigned flags, hid_t fapl, haddr_t max_address) {
  return guard<H5FD_t*>("driver open", [&] { return open_file(name, flags, fapl, max_address); });
}

herr_t drv_close(H5FD_t* file) {
  return guard<herr_t>("driver close", [&]() -> Status {
    const std::unique_ptr<DriverFile> me(self(file));
    return me->plain != nullptr ? close_plain(me->plain) : me->stream->close();
  });
}

int drv_cmp(const H5FD_t* a, const H5FD_t* b) {
  const auto& left = self(a)->identity;
  const auto& right = self(b)->identity;
  if (left == right) return 0;
  return left < right ? -1 : 1;
}

// Also called without a file, to ask about the driver itself.
herr_t drv_query(const H5FD_t* file, unsigned long* flags) {
  if (file != nullptr && self(file)->plain != nullptr) return H5FDquery(self(file)->plain, flags);
  // Those of sec2 that decide how a file is laid out, so that a stream is the file that sec2
  // writes. No POSIX_COMPAT_HANDLE and no DEFAULT_VFD_COMPATIBLE: the name leads to nothing that
  // could be opened without the driver.
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

herr_t drv_del(const char* name, hid_t fapl) {
  return guard<herr_t>("driver delete", [&]() -> Status {
    BENTO_ASSIGN(const DriverConfig config, load(config_of(fapl)));
    BENTO_ASSIGN(const bool done, delete_stream(name, config));
    return done ? Status{} : delete_plain(name);
  });
}

// --- addresses
// --------------------------------------------------------------------------------------------

haddr_t drv_get_eoa(const H5FD_t* file, H5FD_mem_t type) {
  const auto* const me = self(file);
  return me->plain != nullptr ? H5FDget_eoa(me->plain, type) : me->eoa;
}

herr_t drv_set_eoa(H5FD_t* file, H5FD_mem_t type, haddr_t address) {
  auto* const me = self(file);
  if (me->plain != nullptr) return H5FDset_eoa(me->plain, type, address);
  me->eoa = address;
  return 0;
}

haddr_t drv_get_eof(const H5FD_t* file, H5FD_mem_t type) {
  const auto* const me = self(file);
  return me->plain != nullptr ? H5FDget_eof(me->plain, type) : me->stream->size();
}

herr_t drv_get_handle(H5FD_t* file, hid_t fapl, void** handle) {
  auto* const me = self(file);
  if (me->plain != nullptr) return H5FDget_vfd_handle(me->plain, fapl, handle);
  return guard<herr_t>("driver handle", [&]() -> Status {
    BENTO_ASSIGN(me->descriptor, me->stream->descriptor());
    *handle = &me->descriptor;
    return {};
  });
}

// --- data
// -------------------------------------------------------------------------------------------------

Status check_range(haddr_t address, std::size_t size) {
  if (address > kMaxDriverAddress || size > kMaxDriverAddress - address)
    return fail(Code::kInvalidArgument,
                fmt::format("{} bytes at address {}: there is no such place", size, address));
  return {};
}

herr_t drv_read(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                void* buffer) {
  auto* const me = self(file);
  Counts& counts = me->plain != nullptr ? statistics().plain : statistics().streams;
  ++counts.reads;
  counts.bytes_read += size;
  if (me->plain != nullptr) return H5FDread(me->plain, type, dxpl, address, size, buffer);
  return guard<herr_t>("driver read", [&]() -> Status {
    BENTO_TRY(check_range(address, size));
    return me->stream->read(address, {static_cast<std::byte*>(buffer), size});
  });
}

herr_t drv_write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                 const void* buffer) {
  auto* const me = self(file);
  Counts& counts = me->plain != nullptr ? statistics().plain : statistics().streams;
  ++counts.writes;
  counts.bytes_written += size;
  if (me->plain != nullptr) return H5FDwrite(me->plain, type, dxpl, address, size, buffer);
  return guard<herr_t>("driver write", [&]() -> Status {
    BENTO_TRY(check_range(address, size));
    return me->stream->write(address, {static_cast<const std::byte*>(buffer), size});
  });
}

herr_t drv_flush(H5FD_t* file, hid_t dxpl, hbool_t closing) {
  auto* const me = self(file);
  return me->plain != nullptr ? H5FDflush(me->plain, dxpl, closing) : 0;
}

herr_t drv_truncate(H5FD_t* file, hid_t dxpl, hbool_t closing) {
  auto* const me = self(file);
  if (me->plain != nullptr) return H5FDtruncate(me->plain, dxpl, closing);
  return guard<herr_t>("driver truncate", [&] { return me->stream->set_size(me->eoa); });
}

// --- locks: a writer has its stream's lock from the open on
// ------------------------------------------------------------------

herr_t drv_lock(H5FD_t* file, hbool_t rw) {
  auto* const me = self(file);
  if (me->plain != nullptr) return H5FDlock(me->plain, rw);
  return guard<herr_t>("driver lock", [&] { return me->stream->lock_for_reading(); });
}

herr_t drv_unlock(H5FD_t* file) {
  auto* const me = self(file);
  if (me->plain != nullptr) return H5FDunlock(me->plain);
  // H5Fstart_swmr_write asks no driver whether it can. It takes this away, changes the lock, and
  // only then the file.
  if ((file->feature_flags & H5FD_FEAT_ACCUMULATE_METADATA) != 0) return 0;
  return guard<herr_t>("driver unlock",
                       [&]() -> Status { return fail(no_swmr(me->stream->slot().name)); });
}

herr_t drv_terminate() {
  write_statistics();
  vol::joined_view_forget();
  vol::error_class_forget();
  return 0;
}

}  // namespace

const H5FD_class_t& driver_class() {
  static const H5FD_class_t instance = [] {
    H5FD_class_t cls = driver_frame("bento", 566, H5F_CLOSE_WEAK, H5FD_FLMAP_DICHOTOMY);
    cls.terminate = drv_terminate;
    cls.fapl_size = sizeof(std::string);
    cls.fapl_get = fapl_get;
    cls.fapl_copy = fapl_copy;
    cls.fapl_free = fapl_free;
    cls.open = drv_open;
    cls.close = drv_close;
    cls.cmp = drv_cmp;
    cls.query = drv_query;
    cls.get_eoa = drv_get_eoa;
    cls.set_eoa = drv_set_eoa;
    cls.get_eof = drv_get_eof;
    cls.get_handle = drv_get_handle;
    cls.read = drv_read;
    cls.write = drv_write;
    cls.flush = drv_flush;
    cls.truncate = drv_truncate;
    cls.lock = drv_lock;
    cls.unlock = drv_unlock;
    cls.del = drv_del;
    return cls;
  }();
  return instance;
}

}  // namespace bento::vfd
