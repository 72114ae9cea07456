// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/joined/stream_driver.hpp"

#include <memory>
#include <new>
#include <utility>

#include <H5FDdevelop.h>
#include <fmt/format.h>

#include "core/joined/joined_container.hpp"
#include "core/joined/joined_place.hpp"
#include "hdf5/base/driver_frame.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/relaxed_checks.hpp"

namespace bento::vol {

namespace {

using SetInfo = std::shared_ptr<StreamSet>;

struct StreamFile {
  H5FD_t pub;  // must be first: the library knows only this part
  SetInfo set;
  JoinedPlace place;
  std::uint64_t bytes;
  std::uint32_t task;
  haddr_t eoa = 0;
};

StreamFile* self(H5FD_t* file) {
  return reinterpret_cast<StreamFile*>(file);
}
const StreamFile* self(const H5FD_t* file) {
  return reinterpret_cast<const StreamFile*>(file);
}

void* drv_fapl_get(H5FD_t* file) {
  return new (std::nothrow) SetInfo(self(file)->set);
}
void* drv_fapl_copy(const void* info) {
  return new (std::nothrow) SetInfo(*static_cast<const SetInfo*>(info));
}
herr_t drv_fapl_free(void* info) {
  delete static_cast<SetInfo*>(info);
  return 0;
}

H5FD_t* drv_open(const char* name, unsigned flags, hid_t fapl, haddr_t) {
  return guard<H5FD_t*>("stream open", [&]() -> Result<H5FD_t*> {
    const auto* const info = static_cast<const SetInfo*>(H5Pget_driver_info(fapl));
    if (info == nullptr || (flags & H5F_ACC_RDWR) != 0)
      return fail(Code::kPermission, fmt::format("'{}' is read only", name));
    const Slot* const slot = (*info)->find(name);
    if (slot == nullptr)
      return fail(Code::kNotFound, fmt::format("'{}' is no stream of the container", name));
    auto file = std::make_unique<StreamFile>(StreamFile{
        {}, *info, JoinedPlace((*info)->files(), slot->task), slot->length(), slot->task});
    return reinterpret_cast<H5FD_t*>(file.release());
  });
}

herr_t drv_close(H5FD_t* file) {
  delete self(file);
  return 0;
}

int drv_cmp(const H5FD_t* a, const H5FD_t* b) {
  const std::pair left(self(a)->set.get(), self(a)->task);
  const std::pair right(self(b)->set.get(), self(b)->task);
  if (left == right) return 0;
  return left < right ? -1 : 1;
}

herr_t drv_query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t drv_get_eoa(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->eoa;
}
herr_t drv_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file)->eoa = address;
  return 0;
}
haddr_t drv_get_eof(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->bytes;
}

herr_t drv_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  return guard<herr_t>("stream read", [&] {
    return self(file)->place.read(self(file)->bytes, address,
                                  {static_cast<std::byte*>(buffer), size});
  });
}
herr_t drv_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) {
  return -1;
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t instance = [] {
    H5FD_class_t cls = driver_frame("bento_stream", 567, H5F_CLOSE_WEAK, H5FD_FLMAP_DICHOTOMY);
    cls.fapl_size = sizeof(SetInfo);
    cls.fapl_get = drv_fapl_get;
    cls.fapl_copy = drv_fapl_copy;
    cls.fapl_free = drv_fapl_free;
    cls.open = drv_open;
    cls.close = drv_close;
    cls.cmp = drv_cmp;
    cls.query = drv_query;
    cls.get_eoa = drv_get_eoa;
    cls.set_eoa = drv_set_eoa;
    cls.get_eof = drv_get_eof;
    cls.read = drv_read;
    cls.write = drv_write;
    return cls;
  }();
  return instance;
}

DriverId& driver_id() {
  static DriverId id;
  return id;
}

}  // namespace

Result<std::shared_ptr<StreamSet>> StreamSet::of(JoinedFiles& files) {
  std::shared_ptr<StreamSet> set(new StreamSet(files));
  BENTO_TRY(files.visit([&](const Slot& slot) {
    if (slot.used()) set->by_name_.emplace(slot.name, slot);
    return true;
  }));
  return set;
}

const Slot* StreamSet::find(const std::string& file) const {
  // As path_of() says it, whatever its folders are by now; else as a program would have to say it.
  const std::string beside = path_of(Slot{});
  auto found =
      file.starts_with(beside) ? by_name_.find(file.substr(beside.size())) : by_name_.end();
  if (found == by_name_.end()) found = by_name_.find(name_in_container(files_->path(), file));
  return found == by_name_.end() ? nullptr : &found->second;
}

std::string StreamSet::path_of(const Slot& slot) const {
  const std::string& container = files_->path();
  const std::size_t slash = container.rfind('/');
  return (slash == std::string::npos ? std::string() : container.substr(0, slash + 1)) + slot.name;
}

Result<FileHandle> open_stream_file(const std::shared_ptr<StreamSet>& set, const Slot& slot) {
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  if (H5Pset_vol(list.get(), native_connector(), nullptr) < 0 ||
      H5Pset_driver(list.get(), driver_id().get(driver_class()), &set) < 0)
    return fail(Code::kInternal, "the driver of the streams is refused");
  BENTO_TRY(relax_integrity_checks(list.get()));
  FileHandle file(H5Fopen(set->path_of(slot).c_str(), H5F_ACC_RDONLY, list.get()));
  if (!file.valid())
    return fail(Code::kCorrupt, fmt::format("HDF5 cannot open it ({})", innermost_error()));
  return file;
}

void stream_driver_forget() {
  driver_id().forget();
}

}  // namespace bento::vol
