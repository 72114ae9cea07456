// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Datasets that ranks cannot come to any more: a commit removes those of which all ranks say so.
#include <optional>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;
using Unreachable = std::optional<std::set<DatasetNumber>>;
using Numbers = std::vector<DatasetNumber>;

constexpr int kRanks = 3;
constexpr DatasetNumber kDatasets = 4;

Numbers numbers_in(const Container& box) {
  Numbers numbers;
  for (const auto& dataset : box.datasets()) numbers.push_back(dataset.number);
  return numbers;
}

/// What is there after a commit at which each rank says what `says` has for it, and after the file
/// was opened again. Commits once more behind it unless `killed`.
Numbers left_of(const std::vector<Unreachable>& says, bool killed) {
  const MemoryFileSystem disk;
  std::vector<Numbers> left(kRanks);
  for (const auto& status : run_ranks(kRanks, [&](Communicator& comm) -> Status {
         const auto rank = static_cast<std::size_t>(comm.rank());
         const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
         BENTO_ASSIGN(auto box,
                      Container::create("box", false, crash_options(disk.opener()), shared));
         for (DatasetNumber dataset = 0; dataset < kDatasets; ++dataset) {
           box->declare({std::byte(dataset)}, 8, 2, 0);
           BENTO_TRY(write_step(*box, dataset, 1));
         }
         BENTO_TRY(box->commit({}, says[rank]));
         left[rank] = numbers_in(*box);
         if (box->removed().size() + left[rank].size() != kDatasets)
           return fail(Code::kInternal, "what was removed is there, or was not said");
         // What is left can be written, and is right.
         for (const DatasetNumber dataset : left[rank]) BENTO_TRY(write_step(*box, dataset, 2));
         if (killed) {
           box->abandon();
           return {};
         }
         BENTO_TRY(box->commit());
         if (!box->removed().empty()) return fail(Code::kInternal, "removed twice");
         return box->close();
       }))
    REQUIRE(status);
  for (const auto& numbers : left) REQUIRE(numbers == left[0]);

  auto box = Container::open("box", false, crash_options(disk.opener()), make_self_communicator());
  REQUIRE(box);
  if (killed)
    REQUIRE(numbers_in(**box) == Numbers{0, 1, 2, 3});
  else
    REQUIRE(numbers_in(**box) == left[0]);
  for (const DatasetNumber dataset : numbers_in(**box)) {
    const auto values = read_all(**box, dataset);
    REQUIRE(values);
    REQUIRE(*values == band_values(Box::whole(Dims{kRows, kColumns}), killed ? 1 : 2));
  }
  return left[0];
}

}  // namespace

TEST_CASE("unreachable datasets: removed if all ranks say so", "[core][container]") {
  const Numbers all{0, 1, 2, 3};
  const bool killed = GENERATE(false, true);
  using Set = std::set<DatasetNumber>;
  REQUIRE(left_of({Set{1, 3}, Set{1, 3}, Set{1, 3}}, killed) == Numbers{0, 2});
  REQUIRE(left_of({Set{0, 1, 2}, Set{1, 3}, Set{0, 1}}, killed) == Numbers{0, 2, 3});
  REQUIRE(left_of({Set{1}, Set{}, Set{1}}, killed) == all);
  // One that has not looked knows of none.
  REQUIRE(left_of({Set{1}, Set{1}, std::nullopt}, killed) == all);
  REQUIRE(left_of({std::nullopt, Set{1}, Set{1}}, killed) == all);
  REQUIRE(left_of({Set{1}, std::nullopt, Set{1}}, killed) == all);
  REQUIRE(left_of({std::nullopt, std::nullopt, std::nullopt}, killed) == all);
  // A number that nobody has.
  REQUIRE(left_of({Set{9}, Set{9}, Set{9}}, killed) == all);
}

}  // namespace bento
