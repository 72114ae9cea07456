// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/operation_log.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/container/container.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;
using Catch::Matchers::ContainsSubstring;

OperationLog log_of(std::initializer_list<std::pair<const char*, const char*>> calls) {
  OperationLog log;
  for (const auto& [what, detail] : calls) log.note(what, detail);
  return log;
}

TEST_CASE("operation log: the first call that differs is named", "[core][container]") {
  const auto zero = log_of({{"group_create", "/a"}, {"attr_create", "x"}, {"attr_write", "x"}});
  const auto same = log_of({{"group_create", "/a"}, {"attr_create", "x"}, {"attr_write", "x"}});
  const auto other = log_of({{"group_create", "/a"}, {"attr_create", "y"}, {"attr_write", "x"}});
  const auto shorter = log_of({{"group_create", "/a"}});
  CHECK(zero.hash() == same.hash());
  CHECK(zero.hash() != other.hash());
  CHECK(first_difference(std::vector<Bytes>{zero.encode(), same.encode(), other.encode()}) ==
        "call 2 since the last commit is attr_create 'x' on rank 0 and attr_create 'y' on rank 2");
  CHECK(first_difference(std::vector<Bytes>{zero.encode(), shorter.encode()}) ==
        "call 2 since the last commit is attr_create 'x' on rank 0 and none on rank 1");
}

TEST_CASE("operation log: more calls than are kept", "[core][container]") {
  OperationLog zero;
  OperationLog one;
  for (std::size_t i = 0; i < OperationLog::kKept + 5; ++i) {
    zero.note("flush", {});
    one.note("flush", {});
  }
  one.note("flush", {});
  CHECK_THAT(first_difference(std::vector<Bytes>{zero.encode(), one.encode()}),
             ContainsSubstring("has made"));
}

TEST_CASE("operation log: a commit tells every rank, and later ones as well", "[core][container]") {
  const MemoryFileSystem disk;
  const auto results = run_ranks(3, [&](Communicator& comm) -> Status {
    const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
    BENTO_ASSIGN(auto container,
                 Container::create("box", false, small_options(disk.opener()), shared));
    container->note_collective("group_create", "/all");
    BENTO_TRY(container->commit());
    container->note_collective("group_create", comm.rank() == 1 ? "/mine" : "/ours");
    return container->commit();
  });
  REQUIRE(results.size() == 3);
  for (const auto& result : results) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::kInvalidArgument);
    CHECK_THAT(
        result.error().text,
        ContainsSubstring("call 1 since the last commit is group_create '/ours' on rank 0 and "
                          "group_create '/mine' on rank 1"));
  }
}

}  // namespace
}  // namespace bento
