// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <string>

#include "core/fti/names.hpp"
#include "tests/core/fti/golden.hpp"

using namespace bento;
using namespace bento::test;

TEST_CASE("fti names: those of the golden files, and back", "[core][fti]") {
  for (const Golden& file : golden_files()) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    const auto parsed = fti::parse_name(name);
    REQUIRE(parsed.has_value());
    CHECK(fti::format_name(*parsed) == name);
    CHECK(parsed->rank == static_cast<std::uint32_t>(file.rank));
    const auto kind = file.kind == "rank"           ? fti::FileKind::kRank
                      : file.kind == "partner_copy" ? fti::FileKind::kPartner
                      : file.kind == "rs_encoded"   ? fti::FileKind::kRsed
                                                    : fti::FileKind::kDifferential;
    CHECK(parsed->kind == kind);
    if (kind != fti::FileKind::kDifferential) CHECK(parsed->ckpt_id == file.checkpoint);
  }
}

TEST_CASE("fti names: others are refused", "[core][fti]") {
  for (const char* name :
       {"", "Ckpt1-Rank0", "Ckpt1-Rank0.fti ", "Ckpt01-Rank0.fti", "Ckpt1-Rank00.fti",
        "Ckpt1-Rank-1.fti", "Ckpt-Rank0.fti", "Ckpt1-Foo0.fti", "Ckpt1Rank0.fti", "ckpt1-Rank0.fti",
        "dCPFile-Rank.fti", "dCPFile-Rank99999999999.fti", "Ckpt99999999999-Rank0.fti",
        "Ckpt1-Rank0.fti.fti"})
    CHECK_FALSE(fti::parse_name(name).has_value());
}

TEST_CASE("fti names: folders of the levels", "[core][fti]") {
  CHECK(fti::local_folder("2024-05-01_10-00-00", 1, std::nullopt) == "2024-05-01_10-00-00/l1");
  CHECK(fti::local_folder("E", 3, 7) == "node7/E/l3");
  CHECK(fti::global_folder("E") == "E/l4");
}
