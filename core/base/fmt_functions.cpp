// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the headers of fmt leave to its library, if not told to do without one (CMakeLists.txt).
#ifndef FMT_HEADER_ONLY

#include <fmt/format-inl.h>

// Declared in fmt/format.h as instances that are elsewhere.
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(
    fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
// Declared there, defined in fmt/format-inl.h.
template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(
    float) noexcept;
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(
    double) noexcept;
template std::locale fmt::detail::locale_ref::get<std::locale>() const;

#endif
