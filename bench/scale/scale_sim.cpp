// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// A container in the hands of up to a million ranks, in one process, without MPI; see --help.
#include <malloc.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/scale/fiber_comm.hpp"
#include "bench/scale/fibers.hpp"
#include "bench/scale/scenario.hpp"
#include "bench/scale/sparse_disk.hpp"
#include "bench/scale/view_stage.hpp"

namespace {

using namespace bento;
using namespace bento::scale;

constexpr char kHelp[] =
    R"(usage: scale_sim [--ranks N[,N...]] [--node K|env] [--pattern slab|irregular] [--datasets D]
                 [--elements E] [--files F] [--chunk BYTES] [--until PHASE] [--view] [--path FILE]
                 [--json FILE] [--counts]

Creates, writes, commits, closes, opens and reads a container as N ranks would, K of them on a node
(default 128; env: they take turns on as many nodes as H5BENTO_TEST_NODES says, by default one),
each a fiber of this process: the code of core/ that the connector runs, over a communicator that
sends along the same ways as the one over MPI. Files are in memory; an empty FILE (default: in a
folder of its own in /tmp) stands for the lock. Prints a table.

columns
  owner s      processor time of rank 0
  other us     processor time of each of the others, on average, in us
  messages     sent and got by the rank that has most; total of all
  bytes        the same in bytes
  owner kB     memory that rank 0 has more after the phase than before, and while it runs it at most
  other B      memory that each of the others has more after the phase
  file         bytes that rank 0 writes; calls of all ranks to read, and to write

--counts     only messages and bytes of each phase: rank 0's, the largest, all
--until      the last phase to run (a name of the table)
--view       the close builds the native view (only if built with HDF5)
)";

struct Arguments {
  std::vector<std::uint64_t> ranks;
  std::uint64_t node = 128;
  std::string pattern = "slab";
  std::string until;
  std::string path;
  std::string json;
  unsigned datasets = 2;
  std::uint64_t elements = 1024;
  std::uint64_t files = 1;
  std::uint64_t chunk = 0;
  bool counts = false;
  bool view = false;
};

/// Of this process, which has one thread.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::int64_t heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// What one phase cost.
struct Cost {
  std::string phase;
  double owner_seconds = 0;
  double seconds = 0;
  std::int64_t owner_bytes = 0;  ///< that stay
  std::int64_t bytes = 0;
  Traffic owner;
  std::uint64_t most_messages = 0;
  std::uint64_t most_bytes = 0;
  std::uint64_t all_messages = 0;
  std::uint64_t all_bytes = 0;
  SparseDisk::Counts owner_file;
  SparseDisk::Counts files;
};

class Simulation {
 public:
  Simulation(const Arguments& arguments, std::uint64_t ranks)
      : group_(fibers_, static_cast<int>(ranks), static_cast<int>(arguments.node)),
        ranks_(static_cast<std::size_t>(ranks)) {
    scenario_.path = arguments.path;
    scenario_.datasets = arguments.datasets;
    scenario_.elements = arguments.elements;
    scenario_.irregular = arguments.pattern == "irregular";
    scenario_.options.files = static_cast<std::uint32_t>(arguments.files);
    scenario_.options.chunk_bytes = arguments.chunk;
    scenario_.options.ranks_are_processes = false;
    if (arguments.view) {
      view_ = make_view_stage(scenario_, ranks);
      scenario_.view = view_.view;
      scenario_.skeleton = view_.skeleton;
      scenario_.tokens = view_.tokens;
    } else {
      skeleton_ = plain_skeleton(arguments.datasets);
      scenario_.skeleton = skeleton_;
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].comm = group_.communicator(static_cast<int>(r));
      ranks_[r].opener = disk_.opener(r == 0 ? owner_file_ : others_file_, r == 0);
    }
    fibers_.watch_first = [this](bool begins) { watch(begins); };
  }

  Cost run(const Phase& phase) {
    Cost cost;
    cost.phase = phase.name;
    group_.reset_traffic();
    owner_file_ = {};
    others_file_ = {};
    owner_ = {};
    asking_ = 0;
    Status failed;
    const std::int64_t heap_before = heap_bytes() - disk_bytes();
    const double begin = cpu_seconds();
    const bool all = fibers_.run(ranks_.size(), [&](std::size_t rank) {
      Status done = phase.run(scenario_, ranks_[rank]);
      if (!done && failed) failed = std::move(done);
    });
    cost.seconds = cpu_seconds() - begin - asking_;
    if (!failed || !all) {
      std::fprintf(stderr, "scale_sim: %zu ranks, %s: %s\n", ranks_.size(), cost.phase.c_str(),
                   failed ? "ranks wait for ever" : failed.error().text.c_str());
      std::exit(1);
    }
    cost.bytes = heap_bytes() - disk_bytes() - heap_before - owner_.bytes;
    cost.owner_seconds = owner_.seconds;
    cost.owner_bytes = owner_.bytes;
    cost.owner = group_.traffic()[0];
    for (const auto& one : group_.traffic()) {
      cost.most_messages = std::max(cost.most_messages, one.sent + one.got);
      cost.most_bytes = std::max(cost.most_bytes, one.bytes_sent + one.bytes_got);
      cost.all_messages += one.sent;
      cost.all_bytes += one.bytes_sent;
    }
    cost.owner_file = owner_file_;
    cost.files = others_file_;
    return cost;
  }

  [[nodiscard]] std::size_t largest_stack() const { return fibers_.largest_stack(); }

 private:
  struct Watched {
    double seconds = 0;
    std::int64_t bytes = 0;
    double begin = 0;
    std::int64_t heap = 0;
  };

  // Asking for the heap's size takes long where much was freed: that is not the owner's time.
  void watch(bool begins) {
    const double now = cpu_seconds();
    const std::int64_t heap = heap_bytes() - disk_bytes();
    if (begins) {
      owner_.begin = cpu_seconds();
      owner_.heap = heap;
      asking_ += owner_.begin - now;
      return;
    }
    owner_.seconds += now - owner_.begin;
    owner_.bytes += heap - owner_.heap;
    asking_ += cpu_seconds() - now;
  }
  /// What malloc gives for a block, and for its place in the table.
  [[nodiscard]] std::int64_t disk_bytes() const {
    return static_cast<std::int64_t>(disk_.blocks() * (528 + 32));
  }

  Fibers fibers_;
  FiberGroup group_;
  SparseDisk disk_;
  SparseDisk::Counts owner_file_;
  SparseDisk::Counts others_file_;
  Scenario scenario_;
  ViewStage view_;
  std::vector<std::byte> skeleton_;
  std::vector<RankState> ranks_;
  Watched owner_;
  double asking_ = 0;  ///< seconds that measuring has taken
};

void print_row(std::uint64_t ranks, const Cost& cost) {
  const auto others = static_cast<double>(ranks > 1 ? ranks - 1 : 1);
  std::printf(
      "| %llu | %s | %.4f | %.1f | %llu, %llu | %llu, %llu | %.0f | %.0f | %llu, %llu, %llu |\n",
      static_cast<unsigned long long>(ranks), cost.phase.c_str(), cost.owner_seconds,
      (cost.seconds - cost.owner_seconds) * 1e6 / others,
      static_cast<unsigned long long>(cost.most_messages),
      static_cast<unsigned long long>(cost.all_messages),
      static_cast<unsigned long long>(cost.most_bytes),
      static_cast<unsigned long long>(cost.all_bytes), static_cast<double>(cost.owner_bytes) / 1024,
      static_cast<double>(cost.bytes) / others,
      static_cast<unsigned long long>(cost.owner_file.bytes_written),
      static_cast<unsigned long long>(cost.owner_file.reads + cost.files.reads),
      static_cast<unsigned long long>(cost.owner_file.writes + cost.files.writes));
  std::fflush(stdout);
}

void print_json(std::FILE* out, const Arguments& arguments, std::uint64_t ranks, const Cost& cost) {
  const auto others = static_cast<double>(ranks > 1 ? ranks - 1 : 1);
  std::fprintf(
      out,
      "{\"pattern\": \"%s\", \"ranks\": %llu, \"node\": %llu, \"files\": %llu, \"datasets\": %u, "
      "\"phase\": \"%s\", \"owner_s\": %.6f, \"other_us\": %.3f, \"most_messages\": %llu, "
      "\"all_messages\": %llu, \"most_bytes\": %llu, \"all_bytes\": %llu, \"owner_memory\": %lld, "
      "\"other_memory\": %.1f, \"owner_written\": %llu, \"reads\": %llu, \"writes\": %llu, "
      "\"opens\": %llu}\n",
      arguments.pattern.c_str(), static_cast<unsigned long long>(ranks),
      static_cast<unsigned long long>(arguments.node),
      static_cast<unsigned long long>(arguments.files), arguments.datasets, cost.phase.c_str(),
      cost.owner_seconds, (cost.seconds - cost.owner_seconds) * 1e6 / others,
      static_cast<unsigned long long>(cost.most_messages),
      static_cast<unsigned long long>(cost.all_messages),
      static_cast<unsigned long long>(cost.most_bytes),
      static_cast<unsigned long long>(cost.all_bytes), static_cast<long long>(cost.owner_bytes),
      static_cast<double>(cost.bytes) / others,
      static_cast<unsigned long long>(cost.owner_file.bytes_written),
      static_cast<unsigned long long>(cost.owner_file.reads + cost.files.reads),
      static_cast<unsigned long long>(cost.owner_file.writes + cost.files.writes),
      static_cast<unsigned long long>(cost.owner_file.opens + cost.files.opens));
  std::fflush(out);
}

void print_counts(std::uint64_t ranks, const Cost& cost) {
  std::printf("%llu ranks, %s: %llu %llu %llu %llu %llu %llu\n",
              static_cast<unsigned long long>(ranks), cost.phase.c_str(),
              static_cast<unsigned long long>(cost.owner.sent),
              static_cast<unsigned long long>(cost.owner.bytes_sent),
              static_cast<unsigned long long>(cost.most_messages),
              static_cast<unsigned long long>(cost.most_bytes),
              static_cast<unsigned long long>(cost.all_messages),
              static_cast<unsigned long long>(cost.all_bytes));
}

void simulate(const Arguments& arguments, std::FILE* json) {
  if (!arguments.counts)
    std::printf(
        "| ranks | phase | owner s | other us | messages | bytes | owner kB | other B | file |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
  for (const std::uint64_t ranks : arguments.ranks) {
    Simulation simulation(arguments, ranks);
    for (const auto& phase : phases()) {
      const Cost cost = simulation.run(phase);
      if (arguments.counts)
        print_counts(ranks, cost);
      else
        print_row(ranks, cost);
      if (json != nullptr) print_json(json, arguments, ranks, cost);
      if (phase.name == arguments.until) break;
    }
    if (!arguments.counts)
      std::printf("%llu ranks: peak memory %.0f MB, stack of a rank that waits %zu bytes\n",
                  static_cast<unsigned long long>(ranks), peak_mb(), simulation.largest_stack());
    std::error_code ignored;
    std::filesystem::remove(arguments.path, ignored);
  }
}

std::vector<std::uint64_t> numbers_of(const std::string& text) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    char* behind = nullptr;
    const std::string part = text.substr(at, end - at);
    numbers.push_back(std::strtoull(part.c_str(), &behind, 10));
    if (part.empty() || *behind != '\0' || numbers.back() == 0) {
      std::fprintf(stderr, "scale_sim: '%s' is no number above 0\n", part.c_str());
      std::exit(2);
    }
    at = end + 1;
  }
  return numbers;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--help" || key == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (key == "--counts" || key == "--view") {
      (key == "--counts" ? arguments.counts : arguments.view) = true;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (key == "--ranks") {
      arguments.ranks = numbers_of(value);
    } else if (key == "--node") {
      arguments.node = value == "env" ? 0 : numbers_of(value).front();
    } else if (key == "--datasets") {
      arguments.datasets = static_cast<unsigned>(numbers_of(value).front());
    } else if (key == "--elements") {
      arguments.elements = numbers_of(value).front();
    } else if (key == "--files") {
      arguments.files = numbers_of(value).front();
    } else if (key == "--chunk") {
      arguments.chunk = numbers_of(value).front();
    } else if (key == "--pattern" && (value == "slab" || value == "irregular")) {
      arguments.pattern = value;
    } else if (key == "--until" && !value.empty()) {
      arguments.until = value;
    } else if (key == "--path" && value.starts_with('/')) {
      arguments.path = value;
    } else if (key == "--json" && !value.empty()) {
      arguments.json = value;
    } else {
      std::fprintf(stderr, "scale_sim: '%s %s'? see --help\n", key.c_str(), value.c_str());
      std::exit(2);
    }
  }
  if (arguments.ranks.empty()) arguments.ranks = {16, 256, 4096};
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  if (arguments.view && !has_view_stage()) {
    std::fprintf(stderr, "scale_sim: built without HDF5, there is no view\n");
    return 2;
  }
  std::string folder;
  if (arguments.path.empty()) {
    folder = "/tmp/scale_sim.XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
      std::perror("scale_sim: mkdtemp");
      return 1;
    }
    arguments.path = folder + "/scale.h5";
  }
  std::FILE* const json =
      arguments.json.empty() ? nullptr : std::fopen(arguments.json.c_str(), "a");
  simulate(arguments, json);
  if (json != nullptr) std::fclose(json);
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  return 0;
}
