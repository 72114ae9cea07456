// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/memory_file.hpp"

#include <atomic>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "hdf5/base/library_version.hpp"
#include "hdf5/base/native_connector.hpp"

namespace bento::vol {

// Open memory files are told apart by their names.
Result<FileHandle> make_memory_file(const char* purpose, std::size_t increment,
                                    MemoryFormat format) {
  static std::atomic<std::uint64_t> serial{0};
  const std::string name = fmt::format("h5bento {} {}", purpose, ++serial);
  const PlistHandle access(H5Pcreate(H5P_FILE_ACCESS));
  const bool prepared =
      H5Pset_vol(access.get(), native_connector(), nullptr) >= 0 &&
      H5Pset_fapl_core(access.get(), increment, false) >= 0 &&
      H5Pset_fclose_degree(access.get(), H5F_CLOSE_WEAK) >= 0 &&
      (format == MemoryFormat::kUsual ||
       H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, newest_format()) >= 0);
  FileHandle file;
  if (prepared)
    file = FileHandle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  if (!file.valid())
    return fail(Code::kInternal, fmt::format("HDF5 makes no file in memory for {}", purpose));
  return file;
}

}  // namespace bento::vol
