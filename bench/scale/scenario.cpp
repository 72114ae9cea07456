// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "bench/scale/scenario.hpp"

#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/config/file_call.hpp"

namespace bento::scale {

namespace {

constexpr std::uint64_t kElementBytes = 8;
constexpr std::uint64_t kSide = 32;  // of an irregular box, at most

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 29)) * 0xBF58476D1CE4E5B9ull;
  return value ^ (value >> 32);
}

std::uint64_t my_rank(const RankState& rank) {
  return static_cast<std::uint64_t>(rank.comm->rank());
}
std::uint64_t ranks_of(const RankState& rank) {
  return static_cast<std::uint64_t>(rank.comm->size());
}

ContainerOptions options_of(const Scenario& scenario, const RankState& rank) {
  ContainerOptions options = scenario.options;
  options.opener = rank.opener;
  return options;
}

/// What H5Fcreate and H5Fopen agree on before anything else.
Status agree_on(const Scenario& scenario, const RankState& rank, std::string call, bool creates) {
  const FileCall mine{std::move(call), scenario.path, scenario.path, RequestedConfig{}, {}};
  const auto decide = [](std::span<const std::uint64_t>) -> Result<FileDecision> {
    return FileDecision{FileDecision::What::kBegin, 1, 1, {}};
  };
  BENTO_TRY(agree_on_call(*rank.comm, mine, creates, decide));
  return {};
}

/// Zeros but for one value that says who wrote them when.
std::vector<std::byte> data_of(const Box& box, std::uint64_t rank, std::uint64_t time) {
  std::vector<std::byte> data(static_cast<std::size_t>(box.count.bytes(kElementBytes)));
  const std::uint64_t mark = mix(rank + 1) + time;
  std::memcpy(data.data(), &mark, sizeof mark);
  return data;
}

Status write_all(const Scenario& scenario, RankState& rank, std::uint64_t time) {
  rank.container->note_collective("H5Dwrite", "collective");
  for (unsigned d = 0; d < scenario.datasets; ++d) {
    const Box box = box_of(scenario, d, my_rank(rank), ranks_of(rank));
    BENTO_TRY(rank.container->write(d, box, kElementBytes, data_of(box, my_rank(rank), time)));
  }
  return {};
}

Status create(const Scenario& scenario, RankState& rank) {
  BENTO_TRY(agree_on(scenario, rank, "H5Fcreate with H5F_ACC_TRUNC", true));
  BENTO_ASSIGN(rank.container,
               Container::create(scenario.path, false, options_of(scenario, rank), rank.comm));
  return {};
}

Status write_first(const Scenario& scenario, RankState& rank) {
  Container& container = *rank.container;
  if (my_rank(rank) == 0) container.skeleton().write(0, scenario.skeleton);
  const unsigned dims = scenario.irregular ? 2 : 1;
  for (unsigned d = 0; d < scenario.datasets; ++d) {
    container.note_collective("H5Dcreate", "dataset");
    container.declare(d < scenario.tokens.size() ? scenario.tokens[d] : std::array<std::byte, 16>{},
                      kElementBytes, dims, 0);
  }
  container.declared(scenario.datasets * scenario.elements * kElementBytes);
  return write_all(scenario, rank, 0);
}

Status write_again(const Scenario& scenario, RankState& rank) {
  return write_all(scenario, rank, 1);
}

Status commit(const Scenario&, RankState& rank) {
  return rank.container->commit();
}

Status close(const Scenario& scenario, RankState& rank) {
  BENTO_TRY(rank.container->close(scenario.view));
  rank.container.reset();
  return {};
}

Status open_to_read(const Scenario& scenario, RankState& rank) {
  BENTO_TRY(agree_on(scenario, rank, "H5Fopen with H5F_ACC_RDONLY", false));
  BENTO_ASSIGN(rank.container,
               Container::open(scenario.path, false, options_of(scenario, rank), rank.comm));
  return {};
}

/// Its neighbour's data of the last dataset, found in the index.
Status read(const Scenario& scenario, RankState& rank) {
  const std::uint64_t whose = (my_rank(rank) + 1) % ranks_of(rank);
  const unsigned dataset = scenario.datasets - 1;
  const Box box = box_of(scenario, dataset, whose, ranks_of(rank));
  std::vector<std::byte> got(static_cast<std::size_t>(box.count.bytes(kElementBytes)),
                             std::byte{1});
  BENTO_TRY(read_of_one_step(*rank.container, [&]() -> Status {
    BENTO_ASSIGN(const RecordLookup found, rank.container->find(dataset, box));
    for (const auto& piece : found.pieces)
      BENTO_TRY(rank.container->read(found.records[piece.record], piece.part, kElementBytes, box,
                                     got.data()));
    return {};
  }));
  if (got != data_of(box, whose, 1))
    return fail(Code::kInternal, fmt::format("rank {} read wrong data", my_rank(rank)));
  return {};
}

Status open_to_write(const Scenario& scenario, RankState& rank) {
  BENTO_TRY(agree_on(scenario, rank, "H5Fopen with H5F_ACC_RDWR", false));
  BENTO_ASSIGN(rank.container,
               Container::open(scenario.path, true, options_of(scenario, rank), rank.comm));
  return {};
}

}  // namespace

std::vector<std::byte> plain_skeleton(unsigned datasets) {
  return std::vector<std::byte>(2048 + std::size_t{512} * datasets, std::byte{1});
}

Box box_of(const Scenario& scenario, unsigned dataset, std::uint64_t rank, std::uint64_t ranks) {
  if (!scenario.irregular) {
    Box box{Dims(1), Dims(1)};
    box.start[0] = rank * scenario.elements;
    box.count[0] = scenario.elements;
    return box;
  }
  // Prime and larger than any number of ranks, so each cell has one owner.
  const std::uint64_t cell = (rank * 2654435761ull + 12345) % ranks;
  const std::uint64_t chance = mix(mix(rank * 64 + dataset));
  Box box{Dims(2), Dims(2)};
  for (unsigned d = 0; d < 2; ++d) {
    const std::uint64_t part = mix(chance + d);
    box.count[d] = 1 + part % kSide;
    box.start[d] = (part >> 20) % (kSide - box.count[d] + 1);
  }
  std::uint64_t columns = 1;
  while (columns * columns < ranks) ++columns;
  box.start[0] += cell / columns * kSide;
  box.start[1] += cell % columns * kSide;
  return box;
}

std::span<const Phase> phases() {
  static constexpr std::array kAll = {
      Phase{"create", &create},
      Phase{"write", &write_first},
      Phase{"commit", &commit},
      Phase{"overwrite", &write_again},
      Phase{"commit over it", &commit},
      Phase{"close", &close},
      Phase{"open to read", &open_to_read},
      Phase{"read", &read},
      Phase{"close of a reader", &close},
      Phase{"open to write", &open_to_write},
      Phase{"overwrite in a second session", &write_again},
      Phase{"close of a second session", &close},
  };
  return kAll;
}

}  // namespace bento::scale
