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

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/skeleton/plain_file.hpp"

namespace bento::vol {

namespace {

constexpr H5FD_class_value_t kDriverValue = static_cast<H5FD_class_value_t>(565);
constexpr haddr_t kMaxAddress = (static_cast<haddr_t>(1) << 62) - 1;

/// Driver info of a file access list: the list keeps the host alive.
struct SkeletonInfo {
  std::shared_ptr<SkeletonHost> host;
  /// Made by the connector, so that this name means the host. A list that the library got from an
  /// open file (to follow a link) may outlive the host, or be used after a chdir: there a name is
  /// only a name, and this is empty.
  std::string name;
};

/// One open file. Either a skeleton (host) or an ordinary file reached by name, served by sec2
/// (plain).
struct SkeletonFile {
  H5FD_t pub;  // must be first: the library knows only this part
  std::shared_ptr<SkeletonHost> host;
  std::shared_ptr<SkeletonHost> parent;  ///< plain: whose list led here; its fapl is shown
  H5FD_t* plain = nullptr;
  FileIdentity plain_identity;
  std::string plain_name;
  pid_t process = ::getpid();  ///< that opened it, not one that was forked since
  bool refused = false;        ///< plain: somebody has been told that it cannot be changed
  haddr_t eoa = 0;
  int descriptor = -1;
  bool has_name = false;  ///< the name it was opened by leads to physical file 0
};

// Never destroyed, since the library may close files after static destructors have run.
struct Registry {
  hid_t driver = H5I_INVALID_HID;
  ForeignOpener opener;
  std::vector<SkeletonFile*> open;
  RefusedWrites refused;
  std::uint64_t reached = 0;  ///< containers that the library came to by itself
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
  if (auto open = host_of_identity(identity)) {
    ++registry().reached;
    return open;
  }
  if (!registry().opener || !parent->reaches_containers() || !starts_like_sion(name))
    return std::shared_ptr<SkeletonHost>{};
  BENTO_ASSIGN(auto opened, registry().opener(name, flags, parent));
  if (opened) ++registry().reached;
  return opened;
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
  file.has_name = host.descriptor() >= 0 && same_inode(identity_of_name(name), host.identity());
  ++host.open_handles;
  return {};
}

// As natively: who writes a file has it for itself, who reads it shares it. The ranks of a parallel
// program each have the linked file open, and cannot change it. The library opens a file that is
// open already once more, before it finds that out.
PlainLock plain_lock(const char* name, unsigned flags, const SkeletonHost& parent) {
  const FileIdentity wanted = identity_of_name(name);
  for (const auto* const file : registry().open)
    if (file->plain != nullptr && same_inode(file->plain_identity, wanted) &&
        file->process == ::getpid())
      return PlainLock::kHeldAlready;
  const bool writes = (flags & H5F_ACC_RDWR) != 0 && parent.ranks() == 1;
  return writes ? PlainLock::kExclusive : PlainLock::kShared;
}

Result<H5FD_t*> open_file(const char* name, unsigned flags, hid_t fapl, haddr_t max_address) {
  const auto* const info = static_cast<const SkeletonInfo*>(H5Pget_driver_info(fapl));
  if (info == nullptr || !info->host)
    return fail(Code::kInvalidArgument,
                "the skeleton driver is opened by the bento connector only");
  auto file = std::make_unique<SkeletonFile>();
  std::memset(&file->pub, 0, sizeof file->pub);
  registry().open.reserve(registry().open.size() +
                          1);  // nothing below may fail once something is open
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
                 open_plain(name, flags, fapl, max_address, plain_lock(name, flags, *info->host)));
    file->plain = plain.file;
    file->plain_identity = plain.identity;
    file->plain_name = name;
    file->parent = info->host;
  }
  registry().open.push_back(file.get());
  return reinterpret_cast<H5FD_t*>(file.release());
}

H5FD_t* drv_open(const char* name, unsigned flags, hid_t fapl, haddr_t max_address) {
  return guard<H5FD_t*>("skeleton open", [&] { return open_file(name, flags, fapl, max_address); });
}

herr_t drv_close(H5FD_t* file) {
  return guard<herr_t>("skeleton close", [&]() -> Status {
    const std::unique_ptr<SkeletonFile> me(self(file));
    std::erase(registry().open, me.get());
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
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  // The accumulator keeps bytes of its own, which no refresh forgets.
  if (file != nullptr && !self(file)->host->writable())
    *flags &= ~static_cast<unsigned long>(H5FD_FEAT_ACCUMULATE_METADATA);
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

/// Does the file hold these bytes already? The library writes the superblock of a file that it
/// closes, also where nothing was changed.
bool holds_already(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                   const void* buffer) {
  std::vector<std::byte> there(size);
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  return H5FDread(file, type, dxpl, address, size, there.data()) >= 0 &&
         std::memcmp(there.data(), buffer, size) == 0;
}

// Each rank has the ordinary file open by itself, with metadata and chunks of its own in memory:
// what one writes of them would overwrite what another wrote. The library does not take an error
// well where it closes a file. So the bytes are dropped, and who calls the library looks at the
// count.
std::string refusal_of(const SkeletonFile& me) {
  return fmt::format(
      "'{}': an ordinary file cannot be changed through a link by a program of {} ranks, since "
      "they do not know of each other there: nothing is written; open the file by its own name",
      me.plain_name, me.parent->ranks());
}

herr_t write_plain(SkeletonFile& me, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                   const void* buffer) {
  if (me.parent->ranks() == 1) return H5FDwrite(me.plain, type, dxpl, address, size, buffer);
  return guard<herr_t>("write through a link", [&]() -> Status {
    if (holds_already(me.plain, type, dxpl, address, size, buffer)) return {};
    auto& refused = registry().refused;
    ++refused.count;
    refused.last = refusal_of(me);
    if (!std::exchange(me.refused, true)) fmt::print(stderr, "h5bento: {}\n", refused.last);
    me.parent->note_refused_change(refused.last);
    return {};
  });
}

herr_t drv_write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                 const void* buffer) {
  auto* const me = self(file);
  if (me->plain != nullptr) return write_plain(*me, type, dxpl, address, size, buffer);
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
    H5FD_class_t cls{};
    cls.version = H5FD_CLASS_VERSION;
    cls.value = kDriverValue;
    cls.name = "bento_skeleton";
    cls.maxaddr = kMaxAddress;
    cls.fc_degree = H5F_CLOSE_WEAK;
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
    constexpr H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), std::begin(cls.fl_map));
    return cls;
  }();
  return instance;
}

}  // namespace

hid_t skeleton_driver() {
  auto& driver = registry().driver;
  if (driver < 0 || H5Iis_valid(driver) <= 0) driver = H5FDregister(&driver_class());
  return driver;
}

void skeleton_driver_forget() {
  registry().driver = H5I_INVALID_HID;
}

const RefusedWrites& refused_writes() {
  return registry().refused;
}

Status refuse_plain_change(unsigned long fileno) {
  for (const auto* const file : registry().open) {
    if (file->plain == nullptr || file->pub.fileno != fileno || file->parent->ranks() == 1)
      continue;
    std::string why = refusal_of(*file);
    file->parent->note_refused_change(why);
    return fail(Code::kPermission, std::move(why));
  }
  return {};
}

std::uint64_t containers_reached() {
  return registry().reached;
}

bool any_plain_file() {
  return std::any_of(registry().open.begin(), registry().open.end(),
                     [](const SkeletonFile* file) { return file->plain != nullptr; });
}

void set_foreign_opener(ForeignOpener opener) {
  registry().opener = std::move(opener);
}

herr_t set_fapl_skeleton(hid_t fapl, const std::shared_ptr<SkeletonHost>& host,
                         const std::string& name) {
  const SkeletonInfo info{host, name};
  return H5Pset_driver(fapl, skeleton_driver(), &info);
}

void skeleton_changed(const SkeletonHost& host) {
  for (auto* const file : registry().open)
    if (file->host.get() == &host) file->eoa = std::max(file->eoa, file->host->image().size());
}

std::shared_ptr<SkeletonHost> host_of_fileno(unsigned long fileno) {
  for (const auto* const file : registry().open)
    if (file->host && file->pub.fileno == fileno) return file->host;
  return nullptr;
}

std::shared_ptr<SkeletonHost> host_of_identity(const FileIdentity& identity) {
  for (const auto& host : armed_hosts())
    if (const auto known = host->identity(); same_inode(known, identity) &&
                                             known.step == identity.step &&
                                             known.inherited == identity.inherited)
      return host;
  return nullptr;
}

std::vector<std::shared_ptr<SkeletonHost>> armed_hosts() {
  std::vector<std::shared_ptr<SkeletonHost>> hosts;
  for (const auto* const file : registry().open)
    if (file->host && file->host->armed &&
        std::find(hosts.begin(), hosts.end(), file->host) == hosts.end())
      hosts.push_back(file->host);
  return hosts;
}

}  // namespace bento::vol
