// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// For tests of the streams of closed containers: sessions in a memory file system, and what the
/// streams then say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/fti/verify.hpp"
#include "core/offline/offline.hpp"
#include "core/offline/verify_streams.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento::test {

class StreamSessions {
 public:
  using Body = std::function<Status(Container&)>;

  explicit StreamSessions(fti::HashKind hash = fti::HashKind::kXxh3, std::uint32_t files = 1)
      : options_(small_options(disk_.opener())) {
    options_.stream.hash = hash;
    options_.files = files;
  }
  [[nodiscard]] const MemoryFileSystem& disk() const { return disk_; }
  [[nodiscard]] ContainerOptions& options() { return options_; }

  /// A session that creates the container; closed behind `body`.
  void create(int ranks, const Body& body) {
    run(ranks, body,
        [&](Communicator& comm) { return Container::create("box", false, options_, share(comm)); });
  }
  void reopen(int ranks, const Body& body) {
    run(ranks, body,
        [&](Communicator& comm) { return Container::open("box", true, options_, share(comm)); });
  }
  /// The same, but all ranks are gone before the close.
  void killed(int ranks, const Body& body) {
    run(
        ranks, body,
        [&](Communicator& comm) { return Container::open("box", true, options_, share(comm)); },
        false);
  }

  /// Every stream is sound by the library's own check; returns it.
  StreamsVerdict sound() const {
    auto verdict = verify_streams("box", disk_.opener());
    if (!verdict) FAIL(verdict.error().text);
    for (const auto& wrong : verdict->findings)
      FAIL_CHECK("writer " << wrong.writer << ", stream byte " << wrong.finding.offset << ": "
                           << wrong.finding.text);
    return *verdict;
  }
  fti::Verdict stream(std::uint32_t writer) const {
    auto box = OfflineContainer::open("box", disk_.opener());
    if (!box) FAIL(box.error().text);
    auto place = (*box)->place(writer);
    REQUIRE(place);
    StreamSource source(*place, (*box)->fill(writer), "box");
    fti::VerifyOptions options;
    options.rules = fti::Rules::kStream;
    auto verdict = fti::verify(source, options);
    if (!verdict) FAIL(verdict.error().text);
    return *verdict;
  }
  /// The bytes of a writer's stream.
  std::vector<std::byte> stream_bytes_of(std::uint32_t writer) const {
    auto box = OfflineContainer::open("box", disk_.opener());
    if (!box) FAIL(box.error().text);
    auto place = (*box)->place(writer);
    REQUIRE(place);
    StreamSource source(*place, (*box)->fill(writer), "box");
    std::vector<std::byte> bytes(static_cast<std::size_t>(*source.size()));
    REQUIRE(source.read_at(0, bytes));
    return bytes;
  }
  /// For each container of `dataset` in a writer's stream, in file order: "3+800" for a live one
  /// (dptr + chunksize), "-" for a dead one.
  std::string containers(std::uint32_t writer, std::int32_t dataset) const {
    std::string text;
    const fti::Verdict verdict = stream(writer);
    for (const auto& block : verdict.checkpoint.blocks)
      for (const auto& c : block.containers)
        if (c.id == dataset && &c != fti::find_gate(verdict.checkpoint))
          text += (text.empty() ? "" : " ") +
                  (c.hascontent ? std::to_string(c.dptr) + "+" + std::to_string(c.chunksize)
                                : std::string("-"));
    return text;
  }

 private:
  static std::shared_ptr<Communicator> share(Communicator& comm) {
    return {&comm, [](Communicator*) {}};
  }

  template <class Make>
  void run(int ranks, const Body& body, Make&& make, bool close = true) {
    for (const auto& status : run_ranks(ranks, [&](Communicator& comm) -> Status {
           BENTO_ASSIGN(auto container, make(comm));
           BENTO_TRY(body(*container));
           if (close) return container->close();
           container->abandon();
           return {};
         })) {
      INFO((status ? std::string() : status.error().text));
      REQUIRE(status);
    }
  }

  MemoryFileSystem disk_;
  ContainerOptions options_;
};

/// Writes a box of the 2-D dataset with the values of a step.
inline Status write_box(Container& container, DatasetNumber dataset, const Box& box,
                        std::uint64_t step) {
  return container.write(dataset, box, 8, bytes_of(band_values(box, step)));
}

}  // namespace bento::test
