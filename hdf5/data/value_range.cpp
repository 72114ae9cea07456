// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/value_range.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace bento::vol {

namespace {

template <class T>
T swap_bytes(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

/// Half precision as an integer that orders like it; a NaN is beyond both infinities.
struct Half {
  static constexpr std::int16_t kInfinity = 0x7C00;
  static std::int16_t key(std::int16_t bits) {
    return static_cast<std::int16_t>(bits ^ ((bits >> 15) & 0x7FFF));
  }
  static double value(std::int16_t key) {
    const std::int16_t bits = Half::key(key);  // its own inverse
    const int exponent = (bits >> 10) & 0x1F;
    const int mantissa = bits & 0x3FF;
    double size = 0;
    if (exponent == 0x1F)
      size = std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      size = std::ldexp(mantissa, -24);
    else
      size = std::ldexp(mantissa + 0x400, exponent - 25);
    return bits < 0 ? -size : size;
  }
};

template <class T>
struct Extremes {
  T low;
  T high;
  bool nan;
};

/// Several extremes side by side, each over every kLanes-th element: a loop that the compiler turns
/// into vector instructions without being allowed to reorder floating-point operations.
template <class T, bool kSwap, class Key>
Extremes<T> extremes(std::span<const std::byte> bytes, Key key) {
  constexpr std::size_t kLanes = 64 / sizeof(T);
  using Lanes = std::array<T, kLanes>;
  const std::size_t count = bytes.size() / sizeof(T);
  const auto load = [&](std::size_t at, std::size_t number, Lanes& lanes) {
    std::memcpy(lanes.data(), bytes.data() + at * sizeof(T), number * sizeof(T));
    for (std::size_t i = 0; i < kLanes; ++i)
      lanes[i] = key(kSwap ? swap_bytes(lanes[i]) : lanes[i]);
  };
  Lanes lanes{};
  T first{};
  std::memcpy(&first, bytes.data(), sizeof(T));
  first = key(kSwap ? swap_bytes(first) : first);
  Lanes low;
  Lanes high;
  low.fill(first);
  high.fill(first);
  std::array<std::uint8_t, kLanes> nan{};
  const auto take = [&](std::size_t number) {
    for (std::size_t i = 0; i < number; ++i) {
      low[i] = lanes[i] < low[i] ? lanes[i] : low[i];
      high[i] = lanes[i] > high[i] ? lanes[i] : high[i];
      if constexpr (std::is_floating_point_v<T>)
        // NOLINTNEXTLINE(misc-redundant-expression): a NaN is what differs from itself
        nan[i] = static_cast<std::uint8_t>(nan[i] | (lanes[i] != lanes[i] ? 1 : 0));
    }
  };
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    load(at, kLanes, lanes);
    take(kLanes);
  }
  lanes.fill(T{});
  if (at < count) load(at, count - at, lanes);
  take(count - at);
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end()),
          std::any_of(nan.begin(), nan.end(), [](std::uint8_t lane) { return lane != 0; })};
}

template <class T>
Extremes<T> extremes_of(std::span<const std::byte> bytes, bool swapped) {
  const auto as_is = [](T value) { return value; };
  return swapped ? extremes<T, true>(bytes, as_is) : extremes<T, false>(bytes, as_is);
}

template <class T>
ValueRange integers(std::span<const std::byte> bytes, bool swapped) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  const auto found = extremes_of<T>(bytes, swapped);
  return {sortable(static_cast<Wide>(found.low)), sortable(static_cast<Wide>(found.high))};
}

template <class T>
ValueRange floats(std::span<const std::byte> bytes, bool swapped) {
  const auto found = extremes_of<T>(bytes, swapped);
  if (found.nan) return ValueRange::everything();
  return {sortable(static_cast<double>(found.low)), sortable(static_cast<double>(found.high))};
}

ValueRange halves(std::span<const std::byte> bytes, bool swapped) {
  const auto found = swapped ? extremes<std::int16_t, true>(bytes, &Half::key)
                             : extremes<std::int16_t, false>(bytes, &Half::key);
  if (found.high > Half::kInfinity || found.low < static_cast<std::int16_t>(~Half::kInfinity))
    return ValueRange::everything();
  return {sortable(Half::value(found.low)), sortable(Half::value(found.high))};
}

/// The layout of IEEE 754 binary16, binary32 or binary64, in full.
bool is_ieee(hid_t type, std::size_t bytes) {
  struct Layout {
    std::size_t sign, exponent, exponent_bits, mantissa_bits, bias;
  };
  Layout wanted{};
  if (bytes == 2)
    wanted = {15, 10, 5, 10, 15};
  else if (bytes == 4)
    wanted = {31, 23, 8, 23, 127};
  else if (bytes == 8)
    wanted = {63, 52, 11, 52, 1023};
  else
    return false;
  std::size_t sign = 0;
  std::size_t exponent = 0;
  std::size_t exponent_bits = 0;
  std::size_t mantissa = 0;
  std::size_t mantissa_bits = 0;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
    return false;
  return sign == wanted.sign && exponent == wanted.exponent &&
         exponent_bits == wanted.exponent_bits && mantissa == 0 &&
         mantissa_bits == wanted.mantissa_bits && H5Tget_ebias(type) == wanted.bias &&
         H5Tget_norm(type) == H5T_NORM_IMPLIED && H5Tget_offset(type) == 0;
}

// --- numbers of a question ---------------------------------------------------------------------

/// The first integer of type T that is not below (up) or the last that is not above `number`.
template <class T>
std::optional<T> nearest_integer(const Number& number, bool up) {
  using Limits = std::numeric_limits<T>;
  if (const auto* const real = std::get_if<double>(&number)) {
    if (std::isnan(*real)) return {};
    const double whole = up ? std::ceil(*real) : std::floor(*real);
    const double top = std::ldexp(1.0, Limits::digits);  // max() + 1, exactly
    const double bottom = std::is_signed_v<T> ? -top : 0.0;
    if (whole >= top) return up ? std::optional<T>() : Limits::max();
    if (whole < bottom) return up ? Limits::min() : std::optional<T>();
    return static_cast<T>(whole);
  }
  const auto clamp = [&](auto value) -> std::optional<T> {
    if (std::in_range<T>(value)) return static_cast<T>(value);
    const bool below = std::cmp_less(value, Limits::min());
    if (below) return up ? Limits::min() : std::optional<T>();
    return up ? std::optional<T>() : Limits::max();
  };
  if (const auto* const value = std::get_if<std::int64_t>(&number)) return clamp(*value);
  return clamp(std::get<std::uint64_t>(number));
}

std::optional<double> nearest_real(const Number& number, bool up) {
  if (const auto* const real = std::get_if<double>(&number)) {
    if (std::isnan(*real)) return {};
    return *real;
  }
  const auto real = std::visit([](auto value) { return static_cast<double>(value); }, number);
  if (std::abs(real) <= std::ldexp(1.0, 53)) return real;
  // May have been rounded, by less than one step.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return std::nextafter(real, up ? -kInfinity : kInfinity);
}

template <class T>
std::optional<ValueRange> range_between(const std::optional<T>& low, const std::optional<T>& high) {
  if (!low || !high || *high < *low) return {};
  return ValueRange{sortable(*low), sortable(*high)};
}

template <class T>
std::optional<ValueRange> integers_between(const Number& low, const Number& high) {
  return range_between(nearest_integer<T>(low, true), nearest_integer<T>(high, false));
}

}  // namespace

ValueOrder::ValueOrder(hid_t file_type) {
  const H5T_class_t type_class = H5Tget_class(file_type);
  if (type_class != H5T_INTEGER && type_class != H5T_FLOAT) return;
  bytes_ = H5Tget_size(file_type);
  const H5T_order_t order = H5Tget_order(file_type);
  if (bytes_ == 0 || bytes_ > 8 || (order != H5T_ORDER_LE && order != H5T_ORDER_BE)) return;
  swapped_ = bytes_ > 1 && (order == H5T_ORDER_LE) != (std::endian::native == std::endian::little);
  if (type_class == H5T_FLOAT) {
    if (is_ieee(file_type, bytes_)) kind_ = Kind::kFloat;
    return;
  }
  const int offset = H5Tget_offset(file_type);
  const std::size_t precision = H5Tget_precision(file_type);
  if (offset < 0 || precision == 0 || static_cast<std::size_t>(offset) + precision > bytes_ * 8)
    return;
  offset_ = static_cast<unsigned>(offset);
  precision_ = static_cast<unsigned>(precision);
  all_bits_ = precision == bytes_ * 8;
  kind_ = H5Tget_sign(file_type) == H5T_SGN_NONE ? Kind::kUnsigned : Kind::kSigned;
}

ValueRange ValueOrder::range_of_bits(std::span<const std::byte> elements) const {
  const bool little = (std::endian::native == std::endian::little) != swapped_;
  ValueRange range{~0ull, 0};
  for (std::size_t at = 0; at + bytes_ <= elements.size(); at += bytes_) {
    std::uint64_t raw = 0;
    for (std::size_t i = 0; i < bytes_; ++i) {
      const std::size_t place = little ? bytes_ - 1 - i : i;  // the highest byte first
      raw = raw << 8 | std::to_integer<std::uint64_t>(elements[at + place]);
    }
    // To the top, and back with or without the sign.
    raw <<= 64 - offset_ - precision_;
    const auto value = kind_ == Kind::kSigned
                           ? sortable(static_cast<std::int64_t>(raw) >> (64 - precision_))
                           : sortable(raw >> (64 - precision_));
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

ValueRange ValueOrder::range_of(std::span<const std::byte> elements) const {
  if (!known() || elements.empty()) return ValueRange::everything();
  if (kind_ == Kind::kFloat) {
    if (bytes_ == 2) return halves(elements, swapped_);
    if (bytes_ == 4) return floats<float>(elements, swapped_);
    return floats<double>(elements, swapped_);
  }
  const bool sign = kind_ == Kind::kSigned;
  if (all_bits_) switch (bytes_) {
      case 1:
        return sign ? integers<std::int8_t>(elements, false)
                    : integers<std::uint8_t>(elements, false);
      case 2:
        return sign ? integers<std::int16_t>(elements, swapped_)
                    : integers<std::uint16_t>(elements, swapped_);
      case 4:
        return sign ? integers<std::int32_t>(elements, swapped_)
                    : integers<std::uint32_t>(elements, swapped_);
      case 8:
        return sign ? integers<std::int64_t>(elements, swapped_)
                    : integers<std::uint64_t>(elements, swapped_);
      default:
        break;
    }
  return range_of_bits(elements);
}

std::optional<ValueRange> ValueOrder::between(const Number& low, const Number& high) const {
  switch (kind_) {
    case Kind::kUnsigned:
      return integers_between<std::uint64_t>(low, high);
    case Kind::kSigned:
      return integers_between<std::int64_t>(low, high);
    case Kind::kFloat:
      return range_between(nearest_real(low, true), nearest_real(high, false));
    case Kind::kNone:
      break;
  }
  return ValueRange::everything();
}

bool filters_keep_values(hid_t dcpl) {
  // Those with numbers are registered: bzip2, lzf, blosc, lz4, bitshuffle, zstd.
  constexpr std::array<H5Z_filter_t, 11> kLossless = {H5Z_FILTER_DEFLATE,
                                                      H5Z_FILTER_SHUFFLE,
                                                      H5Z_FILTER_FLETCHER32,
                                                      H5Z_FILTER_SZIP,
                                                      307,
                                                      32000,
                                                      32001,
                                                      32004,
                                                      32008,
                                                      32015,
                                                      H5Z_FILTER_NBIT};
  const int filters = H5Pget_nfilters(dcpl);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::array<unsigned, 2> values{};
    std::size_t count = values.size();
    const H5Z_filter_t id = H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &count,
                                           values.data(), 0, nullptr, nullptr);
    if (id == H5Z_FILTER_SCALEOFFSET && values[0] == H5Z_SO_INT &&
        values[1] == H5Z_SO_INT_MINBITS_DEFAULT)
      continue;
    if (std::find(kLossless.begin(), kLossless.end(), id) == kLossless.end()) return false;
  }
  return true;
}

}  // namespace bento::vol
