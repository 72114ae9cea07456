// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Steps of a container that no program has written, with all checksums right up to the root.
#pragma once

#include <vector>

#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/layout/root.hpp"
#include "core/steps/step_commit.hpp"
#include "core/stream/record_hash.hpp"
#include "tests/core/steps/hostile_support.hpp"
#include "tests/support/matchers.hpp"

namespace bento::test {

/// All records of a dataset that can be seen in the newest step of a closed container, which has
/// one physical file.
inline std::vector<Record> seen_records(File& file, DatasetNumber dataset) {
  const Root root = must(probe(file)).root;
  const auto plan = must(ContainerPlan::of(root.groups, root.fs_block));
  CommittedIndex index = must(CommittedIndex::open(file, plan.file(0), root.index));
  const auto declared = must(index.steps().dataset(dataset));
  REQUIRE(declared);
  return must(index.find_all(dataset, declared->rank)).records;
}

struct AddedStep {
  std::vector<Record> records = {};  ///< later than all others; they lie where they say
  std::uint64_t element_bytes = 8;
  /// If there are any: what the step's segment holds, while the index speaks of `records`.
  std::vector<RecordRun> forged = {};
  /// How many it says that these are; 0: the truth.
  std::uint64_t said = 0;
  std::vector<DatasetNumber> deleted = {};
};

/// Adds a step to a closed container, with the skeleton of the one before. All steps are kept.
inline void add_step(File& file, AddedStep step) {
  Root root = must(probe(file)).root;
  const auto plan = must(ContainerPlan::of(root.groups, root.fs_block));
  Catalogue catalogue(file, plan.file(0));
  CatalogueSpace space(root.catalogue_end);
  if (const auto meta2 = must(meta2_in_use(file, plan, 0))) space.begin_behind(meta2->end);
  CatalogueBlobs blobs(catalogue, &space);
  const StepIndex index = must(StepIndex::open(blobs, blob_ref(root.index)));
  const StepInfo before = must(index.step(index.newest()));

  ++root.collective;
  ContributionBuilder builder;
  for (Record& record : step.records) {
    const auto address = plan.file(0).address(record.where.task, record.where.offset);
    record.hash = must(stored_hash(file, address, record));
    record.order.collective = root.collective;
    require_ok(builder.add(record, step.element_bytes));
  }
  const auto contribution = builder.encode();
  StepCommit commit;
  commit.step = AbsoluteStep(index.newest().number() + 1);
  if (!step.records.empty()) commit.contribution = contribution;
  commit.deleted = std::move(step.deleted);
  commit.payload = before.payload;
  step_test::ForgingSink sink(blobs, blobs);
  if (!step.forged.empty()) sink.forge(commit.step, std::move(step.forged), step.said);
  const StepCommitted done = must(commit_step(blobs, sink, blob_ref(root.index), commit));

  ++root.sequence;
  root.index = catalogue_ref(done.root);
  root.step = commit.step.number();
  root.oldest = done.oldest.number();
  root.catalogue_end = space.end();
  for (unsigned slot = 0; slot < 2; ++slot)
    require_ok(file.write_at(plan.file(0).root_address(slot), encode_root(root)));
}

}  // namespace bento::test
