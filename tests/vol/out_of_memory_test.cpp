// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Memory that runs out inside a callback of the library: a C++ exception must not pass through the
// library's C functions, which would leave what they have open for ever.
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/test_memory.hpp"
#include "tests/vol/skeleton_support.hpp"
#include "vol/library/bento_list.hpp"

namespace bento::vol {
namespace {

using test::WorkFolder;

constexpr int kMembers = 12;

TEST_CASE("Memory that runs out during a copy leaves nothing open in the library", "[memory]") {
  const WorkFolder folder;
  auto list = bento_list("view=off");
  REQUIRE(list);
  {
    const FileHandle file(H5Fcreate("memory.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list->get()));
    const Handle<&H5Gclose> group(
        H5Gcreate2(file.get(), "from", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (int i = 0; i < kMembers; ++i)
      test::fill_file(group.get(), i, fmt::format("a name that is not kept in place, {}", i));
  }
  const FileHandle file(H5Fopen("memory.h5", H5F_ACC_RDWR, list->get()));
  const ssize_t open = H5Fget_obj_count(file.get(), H5F_OBJ_ALL);
  int failed = 0;
  for (std::uint64_t at = 1;; ++at) {
    INFO("allocation " << at);
    const std::string name = fmt::format("to {}", at);
    herr_t copied = -1;
    bool out_of_memory = false;
    {
      const test::Quiet quiet;
      const bento::test::FailingMemory memory(at);
      copied = H5Ocopy(file.get(), "from", file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      out_of_memory = bento::test::FailingMemory::failed();
    }
    CHECK(H5Fget_obj_count(file.get(), H5F_OBJ_ALL) == open);
    CHECK(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) == open);
    if (copied >= 0) {
      const Handle<&H5Gclose> copy(H5Gopen2(file.get(), name.c_str(), H5P_DEFAULT));
      for (int i = 0; i < kMembers; ++i)
        CHECK(
            test::is_filled(copy.get(), i, fmt::format("a name that is not kept in place, {}", i)));
    } else {
      ++failed;
    }
    if (!out_of_memory) break;
  }
  CHECK(failed > 0);
}

}  // namespace
}  // namespace bento::vol
