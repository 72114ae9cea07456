// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The golden transfer files of tests/data/scr. One that is missing, or another than SCR wrote, is
/// an error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bento::test {

struct GoldenTransferFile {
  std::string name;
  std::vector<std::byte> content;
  std::string tree;    ///< as SCR's print tool prints it
  std::string keyval;  ///< empty if there is none
};

std::vector<GoldenTransferFile> require_golden_scr();
std::vector<std::byte> bytes_of_file(const std::string& path);
std::string text_of_file(const std::string& path);
void write_file(const std::string& path, const std::vector<std::byte>& bytes);

}  // namespace bento::test
