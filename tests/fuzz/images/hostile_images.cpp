// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Skeletons and native views with changed bytes: HDF5 images that the library itself reads. Each
/// is looked at in a process of its own, through the connector. If that dies, stock HDF5 is given
/// the same image: where it dies, too, the death is the library's and is recorded; where it does
/// not, it is ours and counted.
///
/// usage: hostile_images COUNT [FIRST]; exit status 0: no death of ours, 1: some, 2: usage
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/bytes/byte_reader.hpp"
#include "core/catalogue/view_table.hpp"
#include "core/comm/communicator.hpp"
#include "core/container/container.hpp"
#include "tests/fuzz/vol/hostile_file.hpp"
#include "tests/fuzz/vol/targets.hpp"
#include "vol/library/edited_view.hpp"

namespace bento::fuzz {
namespace {

constexpr unsigned kSeconds = 20;
constexpr rlim_t kMemory = 2ull << 30;

/// How a process ended that ran this: 0 as it should, else the signal.
int run_apart(const std::function<void()>& look) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit memory{kMemory, kMemory};
    const rlimit core{0, 0};
    (void)::setrlimit(RLIMIT_AS, &memory);
    (void)::setrlimit(RLIMIT_CORE, &core);
    ::alarm(kSeconds);
    const QuietFor quiet;
    look();
    // No cleanup: it is the image that is looked at, not the library's end.
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/// Bytes of the native view in file 0, changed here and there.
HostileFile change_view(const Sample& sample, std::mt19937_64& random) {
  HostileFile hostile;
  hostile.files = sample.files;
  const FilePlan& plan = sample.plan.file(0);
  ViewTable table;
  for (const auto& blob : sample.blobs)
    if (blob.kind == SampleBlob::Kind::kViewTable)
      if (auto found = decode_view_table(blob.bytes)) table = std::move(*found);
  const auto& ranges = table.ranges;
  for (auto n = random() % 4 + 1; n > 0 && !ranges.empty(); --n) {
    const auto& range = ranges[random() % ranges.size()];
    const Position at = range.begin + random() % (range.end - range.begin);
    hostile.files[0][plan.address(plan.catalogue_task(), at)] = static_cast<std::byte>(random());
  }
  return hostile;
}

void look_at_view(const std::string& name) {
  Seen seen;
  walk_container(name, seen);
  (void)vol::view_notes(name);
  (void)vol::drop_edited_view(name);
  (void)vol::take_over_view(name);
}

void stock_on_skeleton(const std::string& name) {
  ContainerOptions options;
  const auto opened = Container::open(name, false, options, make_self_communicator());
  if (!opened) return;
  const auto image = (*opened)->skeleton().bytes();
  const std::string plain = name + ".skeleton";
  std::ofstream(plain, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()),
             static_cast<std::streamsize>(image.size()));
  Seen seen;
  walk(plain.c_str(), H5P_DEFAULT, seen);
}

struct Tally {
  unsigned looked = 0;
  unsigned stock = 0;  ///< deaths that stock HDF5 dies, too
  unsigned ours = 0;
};

void one(std::uint64_t seed, Tally& tally) {
  std::mt19937_64 random(seed);
  const auto& sample = samples()[random() % samples().size()];
  const bool view = sample.root.view.bytes != 0 && random() % 2 == 0;
  Bytes script(4 + random() % 24);
  for (auto& byte : script) byte = static_cast<std::byte>(random());
  const HostileFile hostile =
      view ? change_view(sample, random) : make_hostile(sample, Dice(script), Edits::kSkeleton);
  const std::string name = in_folder("image.h5");
  put_files(name, hostile.files);
  ++tally.looked;
  const int died = run_apart([&] {
    if (view) return look_at_view(name);
    Seen seen;
    walk_container(name, seen);
    work_on_container(name);
  });
  if (died == 0) return;
  put_files(name, hostile.files);
  const int stock = run_apart([&] {
    if (!view) return stock_on_skeleton(name);
    Seen seen;
    walk(name.c_str(), H5P_DEFAULT, seen);
  });
  ++(stock != 0 ? tally.stock : tally.ours);
  std::printf("seed %llu: %s of '%s': signal %d through the connector, %d with stock HDF5%s\n",
              static_cast<unsigned long long>(seed), view ? "view" : "skeleton",
              sample.name.c_str(), died, stock, stock != 0 ? "" : ": OURS");
}

}  // namespace
}  // namespace bento::fuzz

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (count == 0) {
    std::fputs("usage: hostile_images COUNT [FIRST]\n", stderr);
    return 2;
  }
  bento::fuzz::Tally tally;
  (void)bento::fuzz::samples();
  for (std::uint64_t seed = first; seed < first + count; ++seed) bento::fuzz::one(seed, tally);
  std::printf("%u images, %u deaths that are stock HDF5's, too, %u of ours\n", tally.looked,
              tally.stock, tally.ours);
  return tally.ours == 0 ? 0 : 1;
}
