// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/fapl.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "hdf5/base/native_connector.hpp"
#include "hdf5/skeleton/driver.hpp"
#include "vol/file/info.hpp"
#include "vol/file/metadata_cache.hpp"
#include "vol/file/object.hpp"
#include "vol/file/page_buffer.hpp"
#include "vol/file/striping_use.hpp"
#include "vol/mpi/mpi_access.hpp"

namespace bento::vol {

bool serves_driver(hid_t fapl) {
  const hid_t driver = H5Pget_driver(fapl);
  if (driver < 0) return false;
  void* image = nullptr;
  std::size_t image_bytes = 0;
  if (H5Pget_file_image(fapl, &image, &image_bytes) >= 0 && image != nullptr) {
    H5free_memory(image);
    return false;
  }
#ifdef H5_HAVE_DIRECT
  if (driver == H5FD_DIRECT) return true;
#endif
  return driver == H5FD_SEC2 || driver == H5FD_STDIO || driver == H5FD_LOG || is_mpio(driver);
}

Result<RequestedConfig> config_of(hid_t fapl) {
  void* raw = nullptr;
  if (H5Pget_vol_info(fapl, &raw) < 0)
    return fail(Code::kInternal, "the connector's info cannot be read");
  const auto* const info = static_cast<const Info*>(raw);
  auto requested =
      load_requested(info != nullptr ? std::string_view(info->text) : std::string_view{},
                     [](const char* name) { return std::getenv(name); });
  // By hand: the library finds the connector's id by name only while an application holds one.
  if (raw != nullptr) kInfoClass.free(raw);
  return requested;
}

// Programs that try such a list, and go on without if it is refused, do the same here.
Status check_parallel_settings(hid_t fapl, int ranks) {
  if (page_buffer_of(fapl).bytes != 0)
    return fail(Code::kUnsupported, "page buffering is disabled for parallel");
  hbool_t evicts = false;
  if (ranks > 1 && H5Pget_evict_on_close(fapl, &evicts) >= 0 && evicts)
    return fail(Code::kUnsupported, "evict on close is currently not supported in parallel HDF5");
  return {};
}

Result<UserAccess> user_access(hid_t fapl) {
  UserAccess access;
  access.driver = H5Pget_driver(fapl);
  access.parallel = is_mpio(access.driver);
  access.page_buffer = page_buffer_of(fapl);
  if (H5Pget_alignment(fapl, &access.alignment.threshold, &access.alignment.multiple) < 0)
    access.alignment = {};
  if (!access.parallel) return access;
  BENTO_ASSIGN(access.mpi, mpi_access(fapl));
  return access;
}

Result<std::shared_ptr<Communicator>> make_communicator(const UserAccess& access, double timeout_s,
                                                        const std::string& path) {
  if (!access.parallel) return std::shared_ptr<Communicator>(make_self_communicator());
  return mpi_communicator(*access.mpi, timeout_s, path);
}

PlistHandle native_fapl(hid_t fapl) {
  PlistHandle copy(H5Pcopy(fapl));
  if (copy.valid() && H5Pset_vol(copy.get(), native_connector(), nullptr) < 0) copy.reset();
  return copy;
}

namespace {

template <class Value, class Get, class Set>
void carry(hid_t from, hid_t to, Get get, Set set) {
  Value value{};
  if (get(from, &value) >= 0) set(to, value);
}

// A parallel list is not copied as a whole: H5Pcopy would duplicate its communicator once more.
PlistHandle copy_without_mpi(hid_t fapl) {
  PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  const hid_t to = list.get();
  H5F_libver_t low{};
  H5F_libver_t high{};
  if (H5Pget_libver_bounds(fapl, &low, &high) >= 0) H5Pset_libver_bounds(to, low, high);
  int unused = 0;
  std::size_t slots = 0;
  std::size_t bytes = 0;
  double preempt = 0;
  if (H5Pget_cache(fapl, &unused, &slots, &bytes, &preempt) >= 0)
    H5Pset_cache(to, unused, slots, bytes, preempt);
  carry<hsize_t>(fapl, to, H5Pget_meta_block_size, H5Pset_meta_block_size);
  carry<hsize_t>(fapl, to, H5Pget_small_data_block_size, H5Pset_small_data_block_size);
  carry<unsigned>(fapl, to, H5Pget_elink_file_cache_size, H5Pset_elink_file_cache_size);
  carry<hbool_t>(fapl, to, H5Pget_evict_on_close, H5Pset_evict_on_close);
  carry<unsigned>(fapl, to, H5Pget_gc_references, H5Pset_gc_references);
  carry<H5F_close_degree_t>(fapl, to, H5Pget_fclose_degree, H5Pset_fclose_degree);
  return list;
}

}  // namespace

Result<PlistHandle> skeleton_fapl(hid_t fapl, const UserAccess& access,
                                  const std::shared_ptr<SkeletonHost>& host,
                                  const std::string& name) {
  PlistHandle list = access.parallel ? copy_without_mpi(fapl) : PlistHandle(H5Pcopy(fapl));
  if (!list.valid()) return fail(Code::kInternal, "file access list cannot be copied");
  if (H5Pset_vol(list.get(), native_connector(), nullptr) < 0 ||
      set_fapl_skeleton(list.get(), host, name) < 0)
    return fail(Code::kInternal, "skeleton driver refused");
  // It is for raw data, which does not lie here; metadata would leave holes, in memory.
  if (H5Pset_alignment(list.get(), 1, 1) < 0)
    return fail(Code::kInternal, "the alignment cannot be turned off");
  // HDF5's image of its metadata cache has nothing to speed up in a file that is all in memory, and
  // with shared header messages it leaves one that cannot be opened again.
  H5AC_cache_image_config_t image{};
  image.version = H5AC__CURR_CACHE_IMAGE_CONFIG_VERSION;
  image.entry_ageout = H5AC__CACHE_IMAGE__ENTRY_AGEOUT__NONE;
  if (!access.parallel && H5Pset_mdc_image_config(list.get(), &image) < 0)
    return fail(Code::kInternal, "the cache image cannot be turned off");
  // No other process changes it, so what a SWMR reader finds to be wrong is not read right later.
  // The library would double its pause a hundred times.
  if (H5Pset_metadata_read_attempts(list.get(), 1) < 0)
    return fail(Code::kInternal, "the number of attempts to read metadata cannot be set");
  // A refresh has no way to make the library forget the pages of the step before.
  if (!host->writable() && H5Pset_page_buffer_size(list.get(), 0, 0, 0) < 0)
    return fail(Code::kInternal, "the page buffer cannot be turned off");
  if (access.parallel && host->writable()) BENTO_TRY(forbid_eviction(list.get()));
  if (access.parallel) {
    // What the mpio driver would have made of the default.
    H5F_close_degree_t degree{};
    if (H5Pget_fclose_degree(list.get(), &degree) >= 0 && degree == H5F_CLOSE_DEFAULT)
      H5Pset_fclose_degree(list.get(), H5F_CLOSE_SEMI);
  }
  return list;
}

Status show_user_access(hid_t fapl, const Object* object, FileContext& file) {
  const UserAccess& access = file.access();
  herr_t done = 0;
  if (access.parallel)
    done = show_mpio(fapl, *access.mpi, used_striping_hints(file.container(), file.config()));
  else if (access.driver == H5FD_STDIO)
    done = H5Pset_fapl_stdio(fapl);
  else if (access.driver == H5FD_LOG)
    done = H5Pset_fapl_log(fapl, nullptr, 0, 0);
  else
    done = H5Pset_fapl_sec2(fapl);
  if (done < 0) return fail(Code::kInternal, "the file's access list cannot show its driver");
  if (H5Pset_alignment(fapl, access.alignment.threshold, access.alignment.multiple) < 0)
    return fail(Code::kInternal, "the file's access list cannot show its alignment");
  return show_page_buffer(fapl, object, file);
}

}  // namespace bento::vol
