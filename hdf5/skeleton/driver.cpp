// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/driver.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <H5FDdevelop.h>
#include <fmt/format.h>
#include <unistd.h>

#include "hdf5/base/driver_frame.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/skeleton/linked_file.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "hdf5/skeleton/plain_file.hpp"

namespace bento::vol {

namespace {

/// Driver info of a file access list: the list keeps the host alive.
struct SkeletonInfo {
  std::shared_ptr<SkeletonHost> host;
  /// Made by the connector, so that this name means the host. A list that the library got from an
  /// open file (to follow a link) may outlive the host, or be used after a chdir: there a name is
  /// only a name, and this is empty.
  std::string name;
};

// Never destroyed, since the library may close files after static destructors have run.
struct Registry {
  DriverId driver;
  ForeignOpener opener;
};
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

SkeletonFile* self(H5FD_t* file) {
  return reinterpret_cast<SkeletonFile*>(file);
}
const SkeletonFile* self(const H5FD_t* file) {
  return reinterpret_cast<const SkeletonFile*>(file);
}

FileIdentity identity_of(const SkeletonFile& file) {
  return file.host ? file.host->identity() : file.plain_identity;
}

// --- access lists
// -----------------------------------------------------------------------------------------

void* fapl_copy(const void* info) {
  return new (std::nothrow) SkeletonInfo(*static_cast<const SkeletonInfo*>(info));
}

herr_t fapl_free(void* info) {
  delete static_cast<SkeletonInfo*>(info);
  return 0;
}

void* fapl_get(H5FD_t* file) {
  const auto* const me = self(file);
  return new (std::nothrow) SkeletonInfo{me->host ? me->host : me->parent, {}};
}

// --- open and close
// ---------------------------------------------------------------------------------------

/// A container reached by name: open already, or opened now by the connector; null if it is an
/// ordinary file.
Result<std::shared_ptr<SkeletonHost>> foreign_host(const char* name, unsigned flags,
                                                   const std::shared_ptr<SkeletonHost>& parent) {
  FileIdentity identity = identity_of_name(name);
  if (identity == FileIdentity{}) return std::shared_ptr<SkeletonHost>{};
  identity.step = parent->identity().step;  // as the opener will open it
  if (auto open = host_of_identity(identity)) return open;
  if (!registry().opener || !parent->reaches_containers() || starts_like_hdf5(name))
    return std::shared_ptr<SkeletonHost>{};
  return registry().opener(name, flags, parent);
}

Status attach_host(SkeletonFile& file, const char* name, unsigned flags) {
  SkeletonHost& host = *file.host;
  // A host that somebody reads already gets past here: the library compares, and refuses in its own
  // words.
  if ((flags & H5F_ACC_RDWR) != 0 && !host.writable() && host.open_handles == 0)
    return fail(Code::kPermission, fmt::format("container '{}' can only be read here; a parallel "
                                               "program that wants to write it must open "
                                               "it by its own name, not through a link",
                                               name));
  // Never set in a tentative open. The host's image is empty already after a create.
  if ((flags & H5F_ACC_TRUNC) != 0 && host.writable()) host.image().resize(0);
  file.swmr_reader = (flags & H5F_ACC_SWMR_READ) != 0;
  file.has_name = host.descriptor() >= 0 && same_inode(identity_of_name(name), host.identity());
  ++host.open_handles;
  return {};
}

Result<H5FD_t*> open_file(const char* name, unsigned flags, hid_t fapl, haddr_t max_address) {
  const auto* const info = static_cast<const SkeletonInfo*>(H5Pget_driver_info(fapl));
  if (info == nullptr || !info->host)
    return fail(Code::kInvalidArgument,
                "the skeleton driver is opened by the bento connector only");
  auto file = std::make_unique<SkeletonFile>();
  std::memset(&file->pub, 0, sizeof file->pub);
  auto& open = open_skeleton_files();
  open.reserve(open.size() + 1);  // nothing below may fail once something is open
  const bool own = !info->name.empty() && info->name == name;
  if (own) {
    file->host = info->host;
  } else {
    BENTO_ASSIGN(file->host, foreign_host(name, flags, info->host));
  }
  if (file->host) {
    if (auto attached = attach_host(*file, name, flags); !attached) {
      // The library tries further names for a link, and forgets what it was told of this one.
      if (!own) fmt::print(stderr, "h5bento: {}\n", attached.error().text);
      return fail(attached.error());
    }
    // Nobody else will: the native library opens this one by itself.
    if (!own && !file->host->armed) file->host->reached_by_link = file->host->armed = true;
  } else {
    BENTO_ASSIGN(const PlainFile plain,
                 open_plain(name, flags, fapl, max_address, linked_lock(name, flags, *info->host)));
    file->plain = plain.file;
    file->plain_identity = plain.identity;
    file->plain_name = name;
    file->parent = info->host;
  }
  open.push_back(file.get());
  return reinterpret_cast<H5FD_t*>(file.release());
}

H5FD_t* drv_open(const char* name, unsigned flags, hid_t fapl, haddr_t max_address) {
  return guard<H5FD_t*>("skeleton open", [&] { return open_file(name, flags, fapl, max_address); });
}

herr_t drv_close(H5FD_t* file) {
  return guard<herr_t>("skeleton close", [&]() -> Status {
    const std::unique_ptr<SkeletonFile> me(self(file));
    std::erase(open_skeleton_files(), me.get());
    if (me->plain != nullptr) return close_plain(me->plain);
    if (--me->host->open_handles > 0 || !me->host->armed) return {};
    me->host->armed = false;
    return me->host->finalise();
  });
}

int drv_cmp(const H5FD_t* a, const H5FD_t* b) {
  const FileIdentity left = identity_of(*self(a));
  const FileIdentity right = identity_of(*self(b));
  if (left == right) return 0;
  return left < right ? -1 : 1;
}

// Also called without a file, to ask about the driver itself.
herr_t drv_query(const H5FD_t* file, unsigned long* flags) {
  if (file != nullptr && self(file)->plain != nullptr) {
    if (H5FDquery(self(file)->plain, flags) < 0) return -1;
    // Without the library's own buffers a write is refused when it is made, not at the close.
    if (self(file)->parent->ranks() > 1)
      *flags &= ~static_cast<unsigned long>(H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_ACCUMULATE_METADATA);
    return 0;
  }
  // No HAS_MPI and no ALLOCATE_EARLY: both would make the library reserve raw data in the skeleton.
  // Nor ACCUMULATE_METADATA: the library would copy each piece of metadata once more, and keep
  // bytes that no refresh forgets.
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
  // No SWMR writing by the library itself: the connector answers to its calls (vol/file/swmr.hpp).
  // Who comes here through a link that asks for it is refused.
  if (file != nullptr && self(file)->swmr_reader) *flags |= H5FD_FEAT_SUPPORTS_SWMR_IO;
  // Lets the library resolve a symbolic link to the container, to find relative external links from
  // its target.
  if (file != nullptr && self(file)->has_name) *flags |= H5FD_FEAT_POSIX_COMPAT_HANDLE;
  return 0;
}

herr_t drv_del(const char* name, hid_t) {
  return guard<herr_t>("skeleton delete", [&]() -> Status {
    if (starts_like_sion(name))
      return fail(
          Code::kUnsupported,
          fmt::format(
              "'{}' may be a container of several files: delete it through the bento connector",
              name));
    return delete_plain(name);
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
  return me->plain != nullptr ? H5FDget_eof(me->plain, type) : me->host->image().size();
}

herr_t drv_get_handle(H5FD_t* file, hid_t fapl, void** handle) {
  auto* const me = self(file);
  if (me->plain != nullptr) return H5FDget_vfd_handle(me->plain, fapl, handle);
  return guard<herr_t>("skeleton handle", [&]() -> Status {
    me->descriptor = me->host->descriptor();
    if (me->descriptor < 0)
      return fail(Code::kUnsupported,
                  "this rank holds no descriptor of the container's first file");
    *handle = &me->descriptor;
    return {};
  });
}

// --- data
// -------------------------------------------------------------------------------------------------

herr_t drv_read(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                void* buffer) {
  auto* const me = self(file);
  if (me->plain != nullptr) return H5FDread(me->plain, type, dxpl, address, size, buffer);
  me->host->image().read(address, {static_cast<std::byte*>(buffer), size});
  return 0;
}

herr_t drv_write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                 const void* buffer) {
  auto* const me = self(file);
  if (me->plain != nullptr) return write_linked(*me, type, dxpl, address, size, buffer);
  return guard<herr_t>("skeleton write", [&]() -> Status {
    if (!me->host->writable())
      return fail(Code::kPermission, "the container is open for reading only");
    me->host->image().write(address, {static_cast<const std::byte*>(buffer), size});
    return {};
  });
}

herr_t drv_flush(H5FD_t* file, hid_t dxpl, hbool_t closing) {
  auto* const me = self(file);
  return me->plain != nullptr ? H5FDflush(me->plain, dxpl, closing) : 0;
}

herr_t drv_truncate(H5FD_t* file, hid_t dxpl, hbool_t closing) {
  auto* const me = self(file);
  // The library cuts each file that it closes after r+ to the length that it found there, or
  // allocated; others may have made it longer since.
  if (me->plain != nullptr)
    return me->parent->ranks() > 1 ? 0 : H5FDtruncate(me->plain, dxpl, closing);
  return guard<herr_t>("skeleton truncate", [&]() -> Status {
    if (me->host->writable()) me->host->image().resize(me->eoa);
    return {};
  });
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t instance = [] {
    H5FD_class_t cls = driver_frame("bento_skeleton", 565, H5F_CLOSE_WEAK, H5FD_FLMAP_DICHOTOMY);
    cls.fapl_size = sizeof(SkeletonInfo);
    cls.fapl_get = fapl_get;
    cls.fapl_copy = fapl_copy;
    cls.fapl_free = fapl_free;
    cls.open = drv_open;
    cls.close = drv_close;
    cls.cmp = drv_cmp;
    cls.query = drv_query;
    cls.del = drv_del;
    cls.get_eoa = drv_get_eoa;
    cls.set_eoa = drv_set_eoa;
    cls.get_eof = drv_get_eof;
    cls.get_handle = drv_get_handle;
    cls.read = drv_read;
    cls.write = drv_write;
    cls.flush = drv_flush;
    cls.truncate = drv_truncate;
    // No lock callback: the connector locks the container itself, and the callback's mere presence
    // would make the library set status flags in the superblock, with which a killed program's file
    // stays "already open for write".
    return cls;
  }();
  return instance;
}

}  // namespace

hid_t skeleton_driver() {
  return registry().driver.get(driver_class());
}

void skeleton_driver_forget() {
  registry().driver.forget();
}

void set_foreign_opener(ForeignOpener opener) {
  registry().opener = std::move(opener);
}

herr_t set_fapl_skeleton(hid_t fapl, const std::shared_ptr<SkeletonHost>& host,
                         const std::string& name) {
  const SkeletonInfo info{host, name};
  return H5Pset_driver(fapl, skeleton_driver(), &info);
}

}  // namespace bento::vol
