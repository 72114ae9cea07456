// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// The step index as many ranks would fill it, in one process, without MPI and HDF5; see --help.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/steps/blob_cache.hpp"
#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"

namespace {

using namespace bento;
using Clock = std::chrono::steady_clock;

constexpr char kHelp[] =
    R"(usage: index_sim [--ranks N[,N...]] [--datasets D] [--steps S] [--pattern P[,P...]] [--queries Q]
       index_sim --scaling [--ranks N[,N...]] [--pattern P]

Builds the step index of D datasets and S steps that N simulated ranks write, one record per rank,
dataset and step, in memory; then opens it and looks up selections. Prints a table.

patterns (default: all but the irregular ones)
  slab            one dimension, equal slabs
  slab-rest       one dimension, some slabs one element longer (the first ones)
  slab-floor      one dimension, slab r begins at floor(r * n / N)
  block           three dimensions, a grid of equal blocks
  block-rest      three dimensions, in each some blocks one element longer (the first ones)
  block-edge      three dimensions, the last block of each dimension shorter
  block-floor     three dimensions, blocks begin at floor(i * n / p)
  irregular       blocks of chance size, place and owner, at positions by chance, not overlapping
  irregular-times the same, and the exact time of each record is kept

columns
  bytes/record    everything ever written (segments, directory, tables, all roots) per record
  in use          what the newest root refers to, per record; the rest is space for later commits
  top B           the merged contribution that reaches the owner, per step
  tree s          all merges of one step; group: built in memory for 1024 ranks, then merged as bytes
  commit ms       owner, per step: proof that no order is needed, segments, directory
  find ms         open from nothing and find the records of one selection: median and slowest of Q, by
                  the wall clock; the other times are processor time
  read kB         what one such question reads and holds: median and largest
  peak MB         largest memory of this process, with the whole index in it

--scaling: one step of D datasets for growing N, with every rank's own contribution and every merge of
the tree: bytes at the owner, time of the merges on the way to the owner (one per level), owner's time,
bytes written.
)";

struct Options {
  std::vector<std::uint64_t> ranks;
  unsigned datasets = 8;
  std::uint64_t steps = 10;
  unsigned queries = 101;
  bool scaling = false;
  std::vector<std::string> patterns;
};

/// Of this process, which has one thread: what others do on the machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

template <class T>
T checked(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "index_sim: %s\n", result.error().text.c_str());
  std::exit(1);
}
void checked(Status status) {
  if (status) return;
  std::fprintf(stderr, "index_sim: %s\n", status.error().text.c_str());
  std::exit(1);
}

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 29)) * 0xBF58476D1CE4E5B9ull;
  return value ^ (value >> 32);
}

/// Who writes what.
class Pattern {
 public:
  Pattern(const std::string& name, std::uint64_t ranks) : name_(name), ranks_(ranks) {
    const bool blocks = name.starts_with("block") || irregular();
    const unsigned rank = blocks ? 3 : 1;
    grid_ = Dims(rank, 1);
    grid_[0] = ranks;
    if (blocks && !irregular()) {
      // The most cubic factors.
      std::uint64_t best = ~0ull;
      for (std::uint64_t a = 1; a * a * a <= ranks; ++a)
        for (std::uint64_t b = a; ranks % a == 0 && b * b <= ranks / a; ++b)
          if (ranks / a % b == 0 && ranks / a / b - a < best) {
            best = ranks / a / b - a;
            grid_[0] = a;
            grid_[1] = b;
            grid_[2] = ranks / a / b;
          }
    }
    if (irregular()) {
      std::uint64_t side = 1;
      while (side * side * side < ranks) ++side;
      grid_ = Dims(3, side);
      owner_.resize(ranks);
      for (std::uint64_t r = 0; r < ranks; ++r) owner_[r] = static_cast<std::uint32_t>(r);
      std::mt19937_64 random(1);
      std::shuffle(owner_.begin(), owner_.end(), random);
    }
    const std::uint64_t per = irregular() ? kCell : blocks ? 16 : 4096;
    extent_ = Dims(rank);
    for (unsigned d = 0; d < rank; ++d) {
      extent_[d] = grid_[d] * per;
      if (name.ends_with("-rest") || name.ends_with("-floor")) extent_[d] += grid_[d] * 3 / 8;
      if (name.ends_with("-edge") && grid_[d] > 1) extent_[d] -= per / 2;
    }
  }
  [[nodiscard]] bool irregular() const { return name_.starts_with("irregular"); }
  [[nodiscard]] bool with_times() const { return name_ == "irregular-times"; }
  [[nodiscard]] unsigned rank() const { return extent_.rank(); }
  [[nodiscard]] const Dims& extent() const { return extent_; }

  [[nodiscard]] Record record(std::uint64_t r, unsigned dataset, std::uint64_t step) const {
    Record record;
    record.dataset = dataset;
    record.box = {Dims(rank()), Dims(rank())};
    const std::uint64_t chance = mix(mix(r * 64 + dataset) + step);
    std::uint64_t number = irregular() ? owner_[r] : r;
    for (unsigned d = rank(); d-- > 0;) {
      const std::uint64_t i = number % grid_[d];
      number /= grid_[d];
      if (irregular()) {
        const std::uint64_t part = mix(chance + d);
        const std::uint64_t count = 1 + part % kCell;
        record.box.start[d] = i * kCell + (part >> 20) % (kCell - count + 1);
        record.box.count[d] = count;
      } else {
        record.box.start[d] = begin(d, i);
        record.box.count[d] = begin(d, i + 1) - begin(d, i);
      }
    }
    const auto rank32 = static_cast<std::uint32_t>(r);
    record.order = {
        2 * step, 1'700'000'000'000'000'000 + step * 1'000'000'000 + chance % 300'000'000, rank32};
    record.stored_bytes = record.box.elements() * 8;
    record.where.task = rank32;
    if (irregular()) {
      record.where.offset = (chance >> 8) % (1u << 20) * 64;
      record.header_distance = 96 + static_cast<std::uint32_t>(chance % 4000);
      return record;
    }
    // A rank's datasets lie one behind the other, each at a page boundary behind its header.
    const std::uint64_t room = (record.stored_bytes + 4095) / 4096 * 4096 + 4096;
    record.where.offset = 4096 + (step * 8 + dataset) * room;
    record.header_distance = 4096 - 24;
    return record;
  }

 private:
  static constexpr std::uint64_t kCell = 40;
  [[nodiscard]] std::uint64_t begin(unsigned d, std::uint64_t i) const {
    const std::uint64_t n = extent_[d];
    const std::uint64_t p = grid_[d];
    if (name_.ends_with("-floor")) return i * n / p;
    if (name_.ends_with("-edge")) return std::min(n, i * ((n + p - 1) / p));
    return i * (n / p) + std::min(i, n % p);
  }
  std::string name_;
  std::uint64_t ranks_;
  Dims grid_;
  Dims extent_;
  std::vector<std::uint32_t> owner_;
};

std::vector<std::byte> one_rank(const Pattern& pattern, unsigned datasets, std::uint64_t r,
                                std::uint64_t step) {
  ContributionBuilder::Options options;
  options.all_exact_times = pattern.with_times();
  ContributionBuilder builder(options);
  for (unsigned d = 0; d < datasets; ++d) checked(builder.add(pattern.record(r, d, step), 8));
  return builder.encode();
}

/// A subtree of ranks as merging one by one would make it, without turning every rank into bytes.
RecordRun group_run(const Pattern& pattern, unsigned dataset, std::uint64_t step,
                    std::uint64_t first, std::uint64_t last) {
  if (last - first == 1) {
    Record record = pattern.record(first, dataset, step);
    record.order.time_ns = 0;
    Row row;
    checked(to_row({pattern.rank(), 8}, record, row));
    return RecordRun(RowShape{pattern.rank(), 8}.width(), row);
  }
  std::uint64_t half = 1;
  while (2 * half < last - first) half *= 2;
  RecordRun run = group_run(pattern, dataset, step, first, first + half);
  run.append(group_run(pattern, dataset, step, first + half, last));
  return run;
}

std::vector<std::byte> group(const Pattern& pattern, unsigned datasets, std::uint64_t step,
                             std::uint64_t first, std::uint64_t last) {
  std::vector<std::vector<std::byte>> pieces(datasets);
  std::vector<ContributionPart> parts(datasets);
  for (unsigned d = 0; d < datasets; ++d) {
    ByteWriter out;
    const RecordRun run = group_run(pattern, d, step, first, last);
    run.encode(out);
    pieces[d] = std::move(out).take();
    parts[d].dataset = d;
    parts[d].shape = {pattern.rank(), 8};
    parts[d].records = run.records();
    parts[d].pieces = {pieces[d]};
  }
  return encode_contribution(parts);
}

/// Ranks [first, last), by a tree of merges. `path`: seconds of the merges on rank 0's way.
std::vector<std::byte> tree(const Pattern& pattern, unsigned datasets, std::uint64_t step,
                            std::uint64_t first, std::uint64_t last, std::uint64_t leaf,
                            double& path) {
  if (last - first <= leaf) {
    if (leaf > 1) return group(pattern, datasets, step, first, last);
    return one_rank(pattern, datasets, first, step);
  }
  std::uint64_t half = leaf;
  while (2 * half < last - first) half *= 2;
  double other = 0;
  const auto left = tree(pattern, datasets, step, first, first + half, leaf, path);
  const auto right = tree(pattern, datasets, step, first + half, last, leaf, other);
  const double begin = cpu_seconds();
  auto merged = checked(merge_contributions(left, right));
  if (first == 0) path += cpu_seconds() - begin;
  return merged;
}

struct Built {
  MemoryBlobs blobs;
  BlobRef root;
  std::uint64_t records = 0;
  double tree_seconds = 0;
  double path_seconds = 0;
  double commit_seconds = 0;
  std::size_t top_bytes = 0;
};

void add_step(Built& built, const Pattern& pattern, const Options& options, std::uint64_t ranks,
              std::uint64_t step, std::uint64_t leaf) {
  double begin = cpu_seconds();
  const auto top = tree(pattern, options.datasets, step, 0, ranks, leaf, built.path_seconds);
  built.tree_seconds += cpu_seconds() - begin;
  built.top_bytes = std::max(built.top_bytes, top.size());

  begin = cpu_seconds();
  if (!checked(datasets_that_need_exact_times(top)).empty()) {
    std::fprintf(stderr, "index_sim: exact times were asked for\n");
    std::exit(1);
  }
  StepCommit commit;
  commit.step = AbsoluteStep(step);
  for (unsigned d = 0; step == 1 && d < options.datasets; ++d) {
    DatasetDeclaration dataset;
    dataset.number = d;
    dataset.rank = pattern.rank();
    dataset.element_bytes = 8;
    commit.declared.push_back(dataset);
  }
  commit.contribution = top;
  const auto done = checked(commit_step(built.blobs, built.blobs, built.root, commit));
  built.commit_seconds += cpu_seconds() - begin;
  built.root = done.root;
  built.records += done.records;
}

struct Asked {
  std::vector<double> milliseconds;
  std::vector<double> kilobytes;
  std::size_t hits = 0;
};

/// Bytes of all that the newest root refers to, with every step kept.
std::uint64_t bytes_in_use(Built& built) {
  std::uint64_t bytes = 0;
  StepIndex::BlobVisitor visitor;
  visitor.blob = [&](const BlobRef& blob) -> Status {
    bytes += blob.bytes;
    return {};
  };
  visitor.payload = [](std::span<const std::byte>) -> Status { return {}; };
  checked(StepIndex::visit_blobs(built.blobs, built.root, visitor));
  return bytes;
}

/// Each question opens the index from nothing, as of a step by chance, and checks the answer.
Asked ask(Built& built, const Pattern& pattern, const Options& options, std::uint64_t ranks) {
  Asked asked;
  std::mt19937_64 random(7);
  for (unsigned q = 0; q < options.queries; ++q) {
    const std::uint64_t step = 1 + random() % options.steps;
    const auto dataset = static_cast<DatasetNumber>(random() % options.datasets);
    const Record known = pattern.record(random() % ranks, dataset, step);
    Box selection = known.box;  // and a little beyond it
    for (unsigned d = 0; d < selection.rank(); ++d) {
      selection.count[d] += 3;
      selection.start[d] -= std::min<std::uint64_t>(selection.start[d], 2);
    }
    const std::uint64_t before = built.blobs.read_bytes();
    const auto begin = Clock::now();
    BlobCache kept;
    CachedSource cache(built.blobs, kept);
    const auto index = checked(StepIndex::open(cache, built.root, AbsoluteStep(step)));
    const auto found = checked(index.find(dataset, selection));
    asked.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    asked.kilobytes.push_back(static_cast<double>(built.blobs.read_bytes() - before) / 1024);
    bool right = false;
    for (const auto& piece : found.pieces) {
      const auto& record = found.records[piece.record];
      right = right || (record.step.number() == step && record.record.box == known.box &&
                        record.record.where == known.where &&
                        record.record.stored_bytes == known.stored_bytes &&
                        record.record.header_distance == known.header_distance);
    }
    if (!right) {
      std::fprintf(stderr, "index_sim: a record was not found\n");
      std::exit(1);
    }
    asked.hits = std::max(asked.hits, found.pieces.size());
  }
  std::sort(asked.milliseconds.begin(), asked.milliseconds.end());
  std::sort(asked.kilobytes.begin(), asked.kilobytes.end());
  return asked;
}

void table(const Options& options) {
  std::printf(
      "| pattern | ranks | records | bytes/record | in use | top B | tree s | commit ms | "
      "find ms | read kB | peak MB |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& name : options.patterns)
    for (const std::uint64_t ranks : options.ranks) {
      const Pattern pattern(name, ranks);
      Built built;
      const std::uint64_t leaf = pattern.irregular() ? 1 : 1024;
      for (std::uint64_t step = 1; step <= options.steps; ++step)
        add_step(built, pattern, options, ranks, step, leaf);
      const Asked asked = ask(built, pattern, options, ranks);
      const auto steps = static_cast<double>(options.steps);
      std::printf(
          "| %s | %llu | %llu | %.4f | %.4f | %zu | %.2f | %.2f | %.2f, %.2f | %.1f, %.1f | %.0f "
          "|\n",
          name.c_str(), static_cast<unsigned long long>(ranks),
          static_cast<unsigned long long>(built.records),
          static_cast<double>(built.blobs.bytes().size()) / static_cast<double>(built.records),
          static_cast<double>(bytes_in_use(built)) / static_cast<double>(built.records),
          built.top_bytes, built.tree_seconds / steps, built.commit_seconds / steps * 1000,
          asked.milliseconds[asked.milliseconds.size() / 2], asked.milliseconds.back(),
          asked.kilobytes[asked.kilobytes.size() / 2], asked.kilobytes.back(), peak_mb());
      std::fflush(stdout);
    }
}

void scaling(const Options& options) {
  std::printf(
      "| pattern | ranks | one rank B | owner gets B | merges to the owner ms | owner ms | "
      "written B |\n|---|---|---|---|---|---|---|\n");
  for (const auto& name : options.patterns)
    for (const std::uint64_t ranks : options.ranks) {
      const Pattern pattern(name, ranks);
      Built built;
      add_step(built, pattern, options, ranks, 1, 1);
      std::printf("| %s | %llu | %zu | %zu | %.3f | %.3f | %zu |\n", name.c_str(),
                  static_cast<unsigned long long>(ranks),
                  one_rank(pattern, options.datasets, 0, 1).size(), built.top_bytes,
                  built.path_seconds * 1000, built.commit_seconds * 1000,
                  built.blobs.bytes().size());
      std::fflush(stdout);
    }
}

std::vector<std::string> split(const char* text) {
  std::vector<std::string> parts(1);
  for (; *text != '\0'; ++text)
    if (*text == ',')
      parts.emplace_back();
    else
      parts.back() += *text;
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto number = [](const std::string& text) {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
    if (value == 0 || *end != '\0') {
      std::fprintf(stderr, "index_sim: '%s' is no number above 0\n", text.c_str());
      std::exit(2);
    }
    return value;
  };
  const std::vector<std::string> known = {"slab",        "slab-rest",  "slab-floor",
                                          "block",       "block-rest", "block-edge",
                                          "block-floor", "irregular",  "irregular-times"};
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--help" || key == "-h") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (key == "--scaling") {
      options.scaling = true;
      continue;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "index_sim: '%s'? see --help\n", key.c_str());
      return 2;
    }
    const char* const value = argv[++i];
    if (key == "--ranks") {
      for (const auto& part : split(value)) options.ranks.push_back(number(part));
    } else if (key == "--datasets") {
      options.datasets = static_cast<unsigned>(number(value));
    } else if (key == "--steps") {
      options.steps = number(value);
    } else if (key == "--queries") {
      options.queries = static_cast<unsigned>(number(value));
    } else if (key == "--pattern") {
      options.patterns = split(value);
    } else {
      std::fprintf(stderr, "index_sim: '%s'? see --help\n", key.c_str());
      return 2;
    }
  }
  for (const auto& pattern : options.patterns)
    if (std::find(known.begin(), known.end(), pattern) == known.end()) {
      std::fprintf(stderr, "index_sim: no pattern '%s'; see --help\n", pattern.c_str());
      return 2;
    }
  if (options.ranks.empty()) options.ranks = {1000, 10000, 100000};
  if (options.patterns.empty()) options.patterns.assign(known.begin(), known.end() - 2);
  if (options.scaling)
    scaling(options);
  else
    table(options);
  return 0;
}
