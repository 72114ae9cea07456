// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <functional>
#include <new>

#include <H5FDdevelop.h>

#include "hdf5/base/driver_frame.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/library_version.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/regions/region_store.hpp"

namespace bento::vol {

namespace {

using StoreInfo = std::shared_ptr<RegionStore>;

struct RegionFile {
  H5FD_t pub;  // must be first: the library knows only this part
  StoreInfo store;
};

RegionFile* self(H5FD_t* file) {
  return reinterpret_cast<RegionFile*>(file);
}
const RegionFile* self(const H5FD_t* file) {
  return reinterpret_cast<const RegionFile*>(file);
}

void* drv_fapl_get(H5FD_t* file) {
  return new (std::nothrow) StoreInfo(self(file)->store);
}
void* drv_fapl_copy(const void* info) {
  return new (std::nothrow) StoreInfo(*static_cast<const StoreInfo*>(info));
}
herr_t drv_fapl_free(void* info) {
  delete static_cast<StoreInfo*>(info);
  return 0;
}

H5FD_t* drv_open(const char*, unsigned, hid_t fapl, haddr_t) {
  const auto* const info = static_cast<const StoreInfo*>(H5Pget_driver_info(fapl));
  auto* const file = info != nullptr ? new (std::nothrow) RegionFile{{}, *info} : nullptr;
  return reinterpret_cast<H5FD_t*>(file);
}

herr_t drv_close(H5FD_t* file) {
  delete self(file);
  return 0;
}

int drv_cmp(const H5FD_t* a, const H5FD_t* b) {
  const auto* const left = self(a)->store.get();
  const auto* const right = self(b)->store.get();
  if (left == right) return 0;
  return std::less<>{}(left, right) ? -1 : 1;
}

herr_t drv_query(const H5FD_t*, unsigned long* flags) {
  *flags = 0;  // every allocation is asked for by itself, every block written by itself
  return 0;
}

haddr_t drv_alloc(H5FD_t* file, H5FD_mem_t type, hid_t, hsize_t size) {
  return self(file)->store->allocate(type, size);
}

haddr_t drv_get_end(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->store->end();
}
herr_t drv_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file)->store->set_end(address);
  return 0;
}

herr_t drv_read(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t size, void* buffer) {
  return guard<herr_t>("region read", [&] {
    return self(file)->store->read(type, address, {static_cast<std::byte*>(buffer), size});
  });
}
herr_t drv_write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                 const void* buffer) {
  return guard<herr_t>("region write", [&] {
    return self(file)->store->write(address, {static_cast<const std::byte*>(buffer), size});
  });
}
herr_t drv_nothing(H5FD_t*, hid_t, hbool_t) {
  return 0;
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t instance = [] {
    H5FD_class_t cls = driver_frame("bento_regions", 568, H5F_CLOSE_WEAK, H5FD_FLMAP_DEFAULT);
    cls.fapl_size = sizeof(StoreInfo);
    cls.fapl_get = drv_fapl_get;
    cls.fapl_copy = drv_fapl_copy;
    cls.fapl_free = drv_fapl_free;
    cls.open = drv_open;
    cls.close = drv_close;
    cls.cmp = drv_cmp;
    cls.query = drv_query;
    cls.alloc = drv_alloc;
    cls.get_eoa = drv_get_end;
    cls.set_eoa = drv_set_eoa;
    cls.get_eof = drv_get_end;
    cls.read = drv_read;
    cls.write = drv_write;
    cls.flush = drv_nothing;
    cls.truncate = drv_nothing;
    return cls;
  }();
  return instance;
}

DriverId& driver_id() {
  static DriverId id;
  return id;
}

}  // namespace

herr_t set_fapl_regions(hid_t fapl, const std::shared_ptr<RegionStore>& store) {
  const hid_t driver = driver_id().get(driver_class());
  const bool set = driver >= 0 && H5Pset_vol(fapl, native_connector(), nullptr) >= 0 &&
                   H5Pset_driver(fapl, driver, &store) >= 0 &&
                   H5Pset_fclose_degree(fapl, H5F_CLOSE_WEAK) >= 0 &&
                   H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, newest_format()) >= 0;
  return set ? 0 : -1;
}

void region_driver_forget() {
  driver_id().forget();
}

}  // namespace bento::vol
