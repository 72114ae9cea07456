// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/paged_image.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch_test_macros.hpp>

using namespace bento;

namespace {

std::vector<std::byte> bytes_of(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

std::vector<std::size_t> dirty_pages(const PagedImage& image) {
  std::vector<std::size_t> pages;
  for (std::size_t page = 0; page < image.pages(); ++page)
    if (image.dirty(page)) pages.push_back(page);
  return pages;
}

using Pages = std::vector<std::size_t>;

}  // namespace

TEST_CASE("paged image: stored bytes are clean", "[core][container]") {
  const PagedImage image(bytes_of(2 * kPageBytes + 10, 7));
  CHECK(image.size() == 2 * kPageBytes + 10);
  CHECK(image.pages() == 3);
  CHECK_FALSE(image.any_dirty());
  CHECK(dirty_pages(image).empty());
  CHECK(image.page(0).size() == kPageBytes);
  CHECK(image.page(2).size() == 10);
  CHECK_FALSE(image.dirty(99));
  CHECK(PagedImage().pages() == 0);
}

TEST_CASE("paged image: only pages whose bytes change become dirty", "[core][container]") {
  PagedImage image(bytes_of(4 * kPageBytes, 7));

  SECTION("when a write repeats what is there") {
    image.write(0, bytes_of(4 * kPageBytes, 7));
    CHECK_FALSE(image.any_dirty());
  }
  SECTION("when a write over three pages changes the middle one") {
    auto data = bytes_of(3 * kPageBytes, 7);
    data[kPageBytes + 5] = std::byte{8};
    image.write(0, data);
    CHECK(dirty_pages(image) == Pages{1});
  }
  SECTION("when a write crosses a page boundary") {
    image.write(kPageBytes - 1, bytes_of(2, 9));
    CHECK(dirty_pages(image) == Pages{0, 1});
    CHECK(image.page(0)[kPageBytes - 1] == std::byte{9});
    CHECK(image.page(1)[0] == std::byte{9});
    CHECK(image.page(1)[1] == std::byte{7});
  }
  SECTION("when a write is empty, wherever it is") {
    image.write(1u << 30, {});
    CHECK(image.size() == 4 * kPageBytes);
    CHECK_FALSE(image.any_dirty());
  }
  image.clear_dirty();
  CHECK_FALSE(image.any_dirty());
  CHECK(dirty_pages(image).empty());
}

TEST_CASE("paged image: a write beyond the end grows it with zeros", "[core][container]") {
  PagedImage image(bytes_of(10, 7));
  image.write(2 * kPageBytes + 3, bytes_of(1, 9));
  CHECK(image.size() == 2 * kPageBytes + 4);
  CHECK(dirty_pages(image) == Pages{0, 1, 2});
  CHECK(image.bytes()[9] == std::byte{7});
  CHECK(image.bytes()[10] == std::byte{0});
  CHECK(image.bytes()[2 * kPageBytes + 3] == std::byte{9});
}

TEST_CASE("paged image: a resize marks pages that appear, shrink or grow", "[core][container]") {
  PagedImage image(bytes_of(kPageBytes + 10, 7));

  SECTION("when it grows") {
    image.resize(3 * kPageBytes);
    CHECK(dirty_pages(image) == Pages{1, 2});
    CHECK(image.bytes()[kPageBytes + 10] == std::byte{0});
  }
  SECTION("when it shrinks into the first page") {
    image.resize(100);
    CHECK(dirty_pages(image) == Pages{0});
    CHECK(image.any_dirty());
  }
  SECTION("when it shrinks to a page boundary, its length is the only change") {
    image.resize(kPageBytes);
    CHECK(dirty_pages(image).empty());
    CHECK(image.any_dirty());
  }
  SECTION("when it stays") {
    image.resize(kPageBytes + 10);
    CHECK_FALSE(image.any_dirty());
  }
  SECTION("when it shrinks and grows again, old bytes are gone") {
    image.resize(5);
    image.resize(kPageBytes + 10);
    CHECK(image.bytes()[4] == std::byte{7});
    CHECK(image.bytes()[5] == std::byte{0});
    CHECK(dirty_pages(image) == Pages{0, 1});
  }
  SECTION("when it becomes empty") {
    image.resize(0);
    CHECK(image.pages() == 0);
    CHECK(image.any_dirty());
  }
}

TEST_CASE("paged image: reads beyond the end are zeros", "[core][container]") {
  const PagedImage image(bytes_of(10, 7));
  auto into = bytes_of(20, 1);
  image.read(5, into);
  CHECK(std::count(into.begin(), into.end(), std::byte{7}) == 5);
  CHECK(std::count(into.begin(), into.end(), std::byte{0}) == 15);
  image.read(std::uint64_t{1} << 40, into);
  CHECK(std::count(into.begin(), into.end(), std::byte{0}) == 20);
  image.read(0, {});
}

TEST_CASE("paged image: random writes and resizes agree with a plain buffer", "[core][container]") {
  std::mt19937 random(42);
  const auto up_to = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % (limit + 1));
  };
  PagedImage image;
  std::vector<std::byte> model;
  std::vector<std::byte> clean;  // as of the last clear_dirty()
  for (int round = 0; round < 2000; ++round) {
    switch (up_to(9)) {
      case 0: {
        const std::size_t size = up_to(20 * kPageBytes);
        image.resize(size);
        model.resize(size);
        break;
      }
      case 1:
        image.clear_dirty();
        clean = model;
        break;
      default: {
        const std::size_t at = up_to(20 * kPageBytes);
        const auto data = bytes_of(up_to(3 * kPageBytes), static_cast<int>(up_to(3)));
        image.write(at, data);
        if (!data.empty() && model.size() < at + data.size()) model.resize(at + data.size());
        std::copy(data.begin(), data.end(),
                  model.begin() + static_cast<std::ptrdiff_t>(std::min(at, model.size())));
      }
    }
    REQUIRE(std::equal(model.begin(), model.end(), image.bytes().begin(), image.bytes().end()));
    // Whatever differs from the clean state is in a dirty page: a commit that stores those misses
    // nothing.
    for (std::size_t page = 0; page < image.pages(); ++page) {
      const auto now = image.page(page);
      const std::size_t begin = page * kPageBytes;
      const std::size_t end = std::min(begin + kPageBytes, clean.size());
      const bool same =
          begin < end &&
          std::equal(now.begin(), now.end(), clean.begin() + static_cast<std::ptrdiff_t>(begin),
                     clean.begin() + static_cast<std::ptrdiff_t>(end));
      REQUIRE((same || image.dirty(page)));
    }
    REQUIRE((image.any_dirty() || model == clean));
  }
}
