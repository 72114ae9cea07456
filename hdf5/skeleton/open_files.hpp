// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The files that this process has open with the skeleton driver: containers, and ordinary files
/// behind their links.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <H5FDdevelop.h>
#include <hdf5.h>
#include <unistd.h>

#include "hdf5/skeleton/host.hpp"

namespace bento::vol {

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
  int behind_descriptor = 0;  ///< PyTables reads the descriptor as 64 bits
  bool swmr_reader = false;   ///< opened with H5F_ACC_SWMR_READ
  bool has_name = false;      ///< the name it was opened by leads to physical file 0
};

/// All of them, for the driver itself.
std::vector<SkeletonFile*>& open_skeleton_files();

/// The host has another image now: files that show it may be read up to its end. What the library
/// has cached of the old one it must forget by itself (H5Drefresh).
void skeleton_changed(const SkeletonHost& host);

/// The host of the open native file with this file number (H5VL_FILE_GET_FILENO), null if it is no
/// skeleton.
std::shared_ptr<SkeletonHost> host_of_fileno(unsigned long fileno);
/// An armed host by device, inode and step, null if none is open in this process.
std::shared_ptr<SkeletonHost> host_of_identity(const FileIdentity& identity);
/// All armed hosts, each once.
std::vector<std::shared_ptr<SkeletonHost>> armed_hosts();
bool any_armed_host();

}  // namespace bento::vol
