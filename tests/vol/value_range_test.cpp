// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Smallest and largest values of all types that have an order, against the library's own
// conversion.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"
#include "hdf5/data/value_range.hpp"

namespace bento::vol {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
  return bytes;
}

template <class T>
std::vector<T> converted(hid_t type, hid_t to, const Bytes& bytes) {
  const std::size_t count = bytes.size() / H5Tget_size(type);
  std::vector<T> values(count * std::max<std::size_t>(1, H5Tget_size(type) / sizeof(T) + 1));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  REQUIRE(H5Tconvert(type, to, count, values.data(), nullptr, H5P_DEFAULT) >= 0);
  values.resize(count);
  return values;
}

template <class T>
void check_type(hid_t type, hid_t to, unsigned seed, bool with_nan = false) {
  const ValueOrder order(type);
  REQUIRE(order.known());
  const std::size_t size = H5Tget_size(type);
  for (const std::size_t count : {1u, 2u, 7u, 15u, 16u, 17u, 31u, 64u, 65u, 1000u}) {
    const Bytes bytes = random_bytes(count * size, seed + static_cast<unsigned>(count));
    const auto values = converted<T>(type, to, bytes);
    ValueRange wanted{~0ull, 0};
    bool nan = false;
    for (const T value : values) {
      if constexpr (std::is_floating_point_v<T>) nan = nan || std::isnan(value);
      wanted.low = std::min(wanted.low, sortable(value));
      wanted.high = std::max(wanted.high, sortable(value));
    }
    if (nan) wanted = ValueRange::everything();
    if (!with_nan && nan) continue;
    INFO("size " << size << ", " << count << " elements, NaN " << nan);
    CHECK(order.range_of(bytes) == wanted);
  }
}

TEST_CASE("Ranges of integers of every size, sign and byte order", "[value_range]") {
  unsigned seed = 1;
  for (std::size_t size = 1; size <= 8; ++size)
    for (const H5T_order_t byte_order : {H5T_ORDER_LE, H5T_ORDER_BE})
      for (const H5T_sign_t sign : {H5T_SGN_NONE, H5T_SGN_2})
        for (const bool padded : {false, true}) {
          const TypeHandle type(H5Tcopy(H5T_STD_I64LE));
          if (padded) {
            REQUIRE(H5Tset_precision(type.get(), size * 8 - 3) >= 0);
            REQUIRE(H5Tset_offset(type.get(), 0) >= 0);
          } else {
            REQUIRE(H5Tset_precision(type.get(), size * 8) >= 0);
          }
          REQUIRE(H5Tset_size(type.get(), size) >= 0);
          if (padded) REQUIRE(H5Tset_offset(type.get(), 2) >= 0);
          REQUIRE(H5Tset_order(type.get(), byte_order) >= 0);
          REQUIRE(H5Tset_sign(type.get(), sign) >= 0);
          INFO("size " << size << " order " << byte_order << " sign " << sign << " padded "
                       << padded);
          if (sign == H5T_SGN_NONE)
            check_type<std::uint64_t>(type.get(), H5T_NATIVE_UINT64, ++seed);
          else
            check_type<std::int64_t>(type.get(), H5T_NATIVE_INT64, ++seed);
        }
}

TypeHandle half(H5T_order_t order) {
  TypeHandle type(H5Tcopy(H5T_IEEE_F32LE));
  REQUIRE(H5Tset_fields(type.get(), 15, 10, 5, 0, 10) >= 0);
  REQUIRE(H5Tset_precision(type.get(), 16) >= 0);
  REQUIRE(H5Tset_ebias(type.get(), 15) >= 0);
  REQUIRE(H5Tset_size(type.get(), 2) >= 0);
  REQUIRE(H5Tset_order(type.get(), order) >= 0);
  return type;
}

TEST_CASE("Ranges of floating point, NaN included", "[value_range]") {
  for (unsigned seed = 1; seed < 40; ++seed) {
    check_type<double>(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, seed, true);
    check_type<double>(H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, seed, true);
    check_type<double>(H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, seed, true);
    check_type<double>(H5T_IEEE_F32BE, H5T_NATIVE_DOUBLE, seed, true);
    check_type<double>(half(H5T_ORDER_LE).get(), H5T_NATIVE_DOUBLE, seed, true);
    check_type<double>(half(H5T_ORDER_BE).get(), H5T_NATIVE_DOUBLE, seed, true);
  }
  const ValueOrder order(H5T_NATIVE_DOUBLE);
  std::vector<double> values(100, 1.0);
  const auto range = [&] { return order.range_of(std::as_bytes(std::span(values))); };
  CHECK(range() == ValueRange{sortable(1.0), sortable(1.0)});
  for (const std::size_t at : {0u, 1u, 50u, 96u, 99u}) {
    values.assign(100, 1.0);
    values[at] = std::numeric_limits<double>::quiet_NaN();
    CHECK(range() == ValueRange::everything());
  }
  values.assign(100, -0.0);
  values[3] = 0.0;
  CHECK(range() == ValueRange{sortable(0.0), sortable(0.0)});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  values[0] = -kInfinity;
  values[99] = kInfinity;
  CHECK(range() == ValueRange{sortable(-kInfinity), sortable(kInfinity)});
  CHECK(order.range_of({}) == ValueRange::everything());
}

TEST_CASE("Every half has its own value", "[value_range]") {
  const TypeHandle type = half(H5T_ORDER_LE);
  const ValueOrder order(type.get());
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto raw = static_cast<std::uint16_t>(bits);
    Bytes one(2);
    std::memcpy(one.data(), &raw, 2);
    const double value = converted<double>(type.get(), H5T_NATIVE_DOUBLE, one)[0];
    const ValueRange wanted =
        std::isnan(value) ? ValueRange::everything() : ValueRange{sortable(value), sortable(value)};
    if (!(order.range_of(one) == wanted)) FAIL("half with bits " << bits);
  }
}

TEST_CASE("Types without an order have ranges of everything", "[value_range]") {
  const Bytes bytes(64);
  const TypeHandle text(H5Tcopy(H5T_C_S1));
  const TypeHandle compound(H5Tcreate(H5T_COMPOUND, 8));
  const TypeHandle chosen(H5Tenum_create(H5T_NATIVE_INT));
  for (const hid_t type :
       {text.get(), compound.get(), chosen.get(), H5T_NATIVE_LDOUBLE, H5T_STD_B32LE, H5T_VAX_F64}) {
    const ValueOrder order(type);
    CHECK_FALSE(order.known());
    CHECK(order.range_of(bytes) == ValueRange::everything());
    CHECK(order.between(1.0, 2.0) == ValueRange::everything());
  }
}

TEST_CASE("Bounds of a question are rounded so that no value is missed", "[value_range]") {
  const ValueOrder whole(H5T_NATIVE_INT);
  const ValueOrder natural(H5T_NATIVE_UINT64);
  const ValueOrder real(H5T_NATIVE_FLOAT);
  const auto integer = [](std::int64_t low, std::int64_t high) {
    return ValueRange{sortable(low), sortable(high)};
  };
  CHECK(whole.between(-1.5, 2.5) == integer(-1, 2));
  CHECK_FALSE(whole.between(1.2, 1.8));
  CHECK_FALSE(whole.between(3.0, 2.0));
  CHECK_FALSE(whole.between(std::nan(""), 2.0));
  CHECK_FALSE(whole.between(1e30, 2e30));
  CHECK(whole.between(-1e30, 1e30) == integer(std::numeric_limits<std::int64_t>::min(),
                                              std::numeric_limits<std::int64_t>::max()));
  CHECK(natural.between(std::int64_t{-5}, std::int64_t{7}) ==
        ValueRange{sortable(std::uint64_t{0}), sortable(std::uint64_t{7})});
  CHECK_FALSE(natural.between(std::int64_t{-5}, std::int64_t{-1}));
  CHECK(natural.between(std::uint64_t{1}, ~std::uint64_t{0}) ==
        ValueRange{sortable(std::uint64_t{1}), sortable(~std::uint64_t{0})});
  CHECK(real.between(std::int64_t{1}, std::uint64_t{2}) ==
        ValueRange{sortable(1.0), sortable(2.0)});
  // 2^60 + 1 is no double: the bounds must hold it all the same.
  const std::uint64_t large = (std::uint64_t{1} << 60) + 1;
  const auto around = real.between(large, large);
  REQUIRE(around);
  CHECK(around->low <= sortable(std::ldexp(1.0, 60)));
  CHECK(around->high >= sortable(std::nextafter(std::ldexp(1.0, 60), 1e30)));
}

TEST_CASE("Which filters keep values", "[value_range]") {
  const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  CHECK(filters_keep_values(list.get()));
  REQUIRE(H5Pset_shuffle(list.get()) >= 0);
  REQUIRE(H5Pset_deflate(list.get(), 1) >= 0);
  CHECK(filters_keep_values(list.get()));
  const PlistHandle exact(H5Pcopy(list.get()));
  REQUIRE(H5Pset_scaleoffset(exact.get(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT) >= 0);
  CHECK(filters_keep_values(exact.get()));
  const PlistHandle lossy(H5Pcopy(list.get()));
  REQUIRE(H5Pset_scaleoffset(lossy.get(), H5Z_SO_FLOAT_DSCALE, 1) >= 0);
  CHECK_FALSE(filters_keep_values(lossy.get()));
  REQUIRE(H5Pset_filter(list.get(), 32013, H5Z_FLAG_OPTIONAL, 0, nullptr) >= 0);  // zfp
  CHECK_FALSE(filters_keep_values(list.get()));
}

}  // namespace
}  // namespace bento::vol
