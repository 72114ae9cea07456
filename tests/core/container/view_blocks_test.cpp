// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// A native view may have pieces that fit no chunk: they lie in whole blocks of the file, which no
// stream and no catalogue writes over while the view is in use, whoever goes on with how many
// ranks.
#include <array>
#include <cstdlib>
#include <new>
#include <random>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "core/layout/superblock.hpp"
#include "core/sion/reader.hpp"
#include "tests/core/container/fake_view.hpp"
#include "tests/core/container/liveness_support.hpp"
#include "tests/support/matchers.hpp"

namespace bento {
namespace {

using test::run_ranks;

constexpr std::uint64_t kChunk = 32u << 10;
constexpr std::uint64_t kElements =
    9000;  // of each rank and session: 72,000 bytes, over two chunks

std::shared_ptr<Communicator> share(Communicator& comm) {
  return {&comm, [](Communicator*) {}};
}

/// What a view's bytes are, so that nobody else's can be taken for them.
std::byte byte_of(std::uint64_t view, std::uint64_t address) {
  return static_cast<std::byte>((view * 101 + address * 7 + (address >> 8)) & 0xFF);
}

struct Piece {
  std::uint32_t file;
  std::uint64_t address;
  std::uint64_t bytes;
};

/// Stands for the HDF5 library: asks for pieces of all sizes, and remembers where they are.
class FakeViews {
 public:
  explicit FakeViews(const MemoryFileSystem& disk) : disk_(disk) {}

  ViewBuilder builder(std::uint64_t seed) {
    return [this, seed](ViewJob& job) -> Result<NativeView> {
      CHECK(intact());  // up to the switch
      std::minstd_rand random(static_cast<unsigned>(seed));
      std::vector<Piece> pieces;
      NativeView view;
      for (std::uint32_t index = 0; index < job.spaces.size(); ++index) {
        for (int i = 0; i < 12; ++i) {
          const std::uint64_t bytes =
              i % 3 == 0 ? kChunk + random() % 200'000 : random() % 9000 + 1;
          BENTO_ASSIGN(const std::uint64_t address, job.spaces[index].allocate(bytes));
          std::vector<std::byte> content(bytes);
          for (std::uint64_t b = 0; b < bytes; ++b) content[b] = byte_of(job.id, address + b);
          BENTO_TRY(job.spaces[index].file().write_at(address, content));
          pieces.push_back({index, address, bytes});
        }
        view.superblocks.emplace_back(superblock(job.id));
      }
      next_ = {job.id, std::move(pieces)};
      return view;
    };
  }
  void switched() { used_ = next_; }

  [[nodiscard]] bool intact() const {
    for (const Piece& piece : used_.second) {
      const auto content = disk_.content(physical_name("box", piece.file));
      if (content.size() < piece.address + piece.bytes) return false;
      for (std::uint64_t b = 0; b < piece.bytes; ++b)
        if (content[piece.address + b] != byte_of(used_.first, piece.address + b)) return false;
    }
    return true;
  }

 private:
  static Superblock superblock(std::uint64_t id) {
    Superblock bytes{};
    const std::array<unsigned char, 12> head{0x89, 'H',  'D', 'F', '\r', '\n',
                                             0x1a, '\n', 2,   8,   8,    0};
    for (std::size_t i = 0; i < head.size(); ++i) bytes[i] = static_cast<std::byte>(head[i]);
    bytes[20] = static_cast<std::byte>(id);
    return bytes;
  }

  const MemoryFileSystem& disk_;
  std::pair<std::uint64_t, std::vector<Piece>> used_;
  std::pair<std::uint64_t, std::vector<Piece>> next_;
};

Box share_of(std::uint64_t session, int rank) {
  return {Dims{session * 8 + static_cast<std::uint64_t>(rank), 0}, Dims{1, kElements}};
}

std::vector<std::uint64_t> values_of(std::uint64_t session, int rank) {
  std::vector<std::uint64_t> values(kElements);
  for (std::uint64_t i = 0; i < kElements; ++i)
    values[i] = (session << 40) + (static_cast<std::uint64_t>(rank) << 32) + i;
  return values;
}

struct Setting {
  MemoryFileSystem disk;
  FakeViews views{disk};
  ContainerOptions options = test::small_options(disk.opener());
};

/// A session of `ranks` ranks, each of which writes its row of the session and, over and over, one.
void session(Setting& box, std::uint64_t number, int ranks, bool closes) {
  const auto statuses = run_ranks(ranks, [&](Communicator& comm) -> Status {
    auto opened = number == 0 ? Container::create("box", false, box.options, share(comm))
                              : Container::open("box", true, box.options, share(comm));
    if (!opened) return fail(std::move(opened).error());
    Container& container = **opened;
    container.note_collective("session", {});
    if (number == 0) {
      container.declare({}, 8, 2, 0);
      container.skeleton().write(0, test::skeleton_bytes(0));
    }
    for (int round = 0; round < 3; ++round) {
      BENTO_TRY(container.write(0, share_of(number, comm.rank()), 8,
                                test::bytes_of(values_of(number, comm.rank()))));
      BENTO_TRY(container.commit());
    }
    if (comm.rank() == 0) CHECK(box.views.intact());
    if (closes) return container.close(box.views.builder(number + 1));
    container.abandon();
    return {};
  });
  for (const auto& status : statuses) {
    INFO((status ? "" : status.error().text));
    REQUIRE(status);
  }
  if (closes) box.views.switched();
  CHECK(box.views.intact());
}

void check_data(Setting& box, const std::vector<int>& ranks) {
  auto opened = Container::open("box", false, box.options, make_self_communicator());
  REQUIRE(opened);
  for (std::size_t number = 0; number < ranks.size(); ++number)
    for (int rank = 0; rank < ranks[number]; ++rank) {
      const Box where = share_of(number, rank);
      std::vector<std::uint64_t> values(kElements);
      const auto lookup = (*opened)->find(0, where);
      REQUIRE(lookup);
      CHECK(lookup->uncovered.empty());
      for (const auto& piece : lookup->pieces)
        REQUIRE((*opened)->read(lookup->records[piece.record], piece.part, 8, where,
                                reinterpret_cast<std::byte*>(values.data())));
      CHECK(values == values_of(number, rank));
    }
}

TEST_CASE("view: pieces larger than a chunk lie in blocks of their own", "[container][view]") {
  const std::uint32_t files = GENERATE(1u, 2u);
  Setting box;
  box.options.chunk_bytes = kChunk;
  box.options.files = files;
  // Fewer ranks than writers leave streams behind; more bring a physical file of their own.
  // Sessions that die leave blocks behind that no commit knows.
  std::vector<int> ranks;
  for (const int number : {3, 2, -3, 1, 4, -2, 3, 3}) {
    ranks.push_back(std::abs(number));
    session(box, ranks.size() - 1, ranks.back(), number > 0);
    check_data(box, ranks);
  }
  const auto verdict = verify_streams("box", box.disk.opener());
  REQUIRE(verdict);
  for (const auto& wrong : verdict->findings)
    FAIL_CHECK("writer " << wrong.writer << ": " << wrong.finding.text);
}

TEST_CASE("view: a builder that throws leaves a complete container", "[container][view]") {
  Setting box;
  const auto statuses = run_ranks(3, [&](Communicator& comm) -> Status {
    auto opened = Container::create("box", false, box.options, share(comm));
    if (!opened) return fail(std::move(opened).error());
    (*opened)->declare({}, 8, 2, 0);
    (*opened)->skeleton().write(0, test::skeleton_bytes(0));
    BENTO_TRY((*opened)->write(0, share_of(0, comm.rank()), 8,
                               test::bytes_of(values_of(0, comm.rank()))));
    BENTO_TRY((*opened)->close([](ViewJob&) -> Result<NativeView> { throw std::bad_alloc(); }));
    if (comm.rank() == 0) CHECK((*opened)->notes().size() == 1);
    return {};
  });
  for (const auto& status : statuses) REQUIRE(status);
  check_data(box, {3});
  CHECK(SionReader::open(box.disk.opener(), "box"));
}

TEST_CASE("view: one that has to be made and cannot be leaves the one that is there",
          "[container][view]") {
  const MemoryFileSystem disk;
  ContainerOptions options = test::small_options(disk.opener());
  {
    const auto made =
        test::must(Container::create("box", false, options, make_self_communicator()));
    const auto dataset = made->declare({}, 8, 2, 0);
    test::require_ok(test::write_step(*made, dataset, 1));
    test::require_ok(made->close(test::fake_view(3)));
  }
  const auto before = test::look_at_view(disk);
  REQUIRE(before.id);
  options.view_required = true;
  const auto again = test::must(Container::open("box", true, options, make_self_communicator()));
  again->complete_again();
  const auto fails = [](ViewJob&) -> Result<NativeView> {
    return fail(Code::kInternal, "it cannot be made");
  };
  test::require_error(again->close(fails), Code::kInternal, {"cannot be made"});
  const auto after = test::look_at_view(disk);
  CHECK(after.id == before.id);
  CHECK(after.pages == before.pages);
  CHECK(after.wrong.empty());
  // Without that it is a note, and there is no view.
  options.view_required = false;
  const auto last = test::must(Container::open("box", true, options, make_self_communicator()));
  CHECK(test::must(test::read_all(*last, 0)) == test::whole_values(1));
  last->complete_again();
  test::require_ok(last->close(fails));
  CHECK(last->notes().size() == 1);
  CHECK_FALSE(test::look_at_view(disk).id);
}

TEST_CASE("view: what the ranks wrote is committed before it is begun", "[container][view]") {
  Setting box;
  const auto statuses = run_ranks(3, [&](Communicator& comm) -> Status {
    auto opened = Container::create("box", false, box.options, share(comm));
    if (!opened) return fail(std::move(opened).error());
    (*opened)->declare({}, 8, 2, 0);
    (*opened)->skeleton().write(0, test::skeleton_bytes(0));
    BENTO_TRY((*opened)->write(0, share_of(0, comm.rank()), 8,
                               test::bytes_of(values_of(0, comm.rank()))));
    return (*opened)->close([&](ViewJob&) -> Result<NativeView> {
      check_data(box, {3});  // another process, at this moment
      return NativeView{};
    });
  });
  for (const auto& status : statuses) REQUIRE(status);
}

}  // namespace
}  // namespace bento
