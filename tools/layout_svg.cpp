// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>

#include <fmt/format.h>

#include "tools/layout_table.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

constexpr double kWidth = 760;
constexpr double kLabels = 120;
constexpr double kFigures = 90;
constexpr double kRow = 16;
constexpr double kGap = 3;
constexpr double kHead = 28;

struct Kind {
  const char* name;
  const char* colour;
};
// Apart in grey, too.
constexpr Kind kLive{"newest step", "#1b5e8c"};
constexpr Kind kOlder{"older kept steps", "#6aaed6"};
constexpr Kind kDead{"dead, headers, fillers", "#d95f0e"};
constexpr Kind kCatalogue{"catalogue", "#4d4d4d"};
constexpr Kind kFree{"free (a hole in the file)", "#f2f2f2"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      out += '?';
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more, escaped(text));
}

std::string box_at(double x, double y, double width, double height, const char* colour,
                   const char* more = "") {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}/>\n", x, y,
      width, height, colour, more);
}

/// A chunk, or what several share: from the left as much of each kind as there is.
std::string cell_at(const LayoutCell& cell, double x, double y, double width) {
  std::string out =
      box_at(x, y, width, kRow, kFree.colour, " stroke=\"#999\" stroke-width=\"0.4\"");
  double at = x;
  const auto part = [&](std::uint64_t bytes, const Kind& kind) {
    if (bytes == 0 || cell.space == 0) return;
    const double share = static_cast<double>(bytes) / static_cast<double>(cell.space);
    const double wide = std::min(std::max(share * width, 0.6), x + width - at);
    if (wide <= 0) return;
    out += box_at(at, y, wide, kRow, kind.colour);
    at += wide;
  };
  part(cell.live, kLive);
  part(cell.older, kOlder);
  part(cell.catalogue, kCatalogue);
  part(cell.dead, kDead);
  return out;
}

std::string legend(double y) {
  std::string out;
  double x = 0;
  for (const Kind& kind : {kLive, kOlder, kDead, kCatalogue, kFree}) {
    out += box_at(x, y, 10, 10, kind.colour, " stroke=\"#999\" stroke-width=\"0.4\"");
    out += text_at(x + 14, y + 9, kind.name);
    x += 26 + 6.2 * static_cast<double>(std::string(kind.name).size());
  }
  return out;
}

std::string table_at(const LayoutTable& table, double y) {
  std::string blocks = count_text(table.blocks, "block");
  if (table.blocks_per_cell > 1)
    blocks += fmt::format(", {} in a column", count_text(table.blocks_per_cell));
  std::string out =
      text_at(0, y + 12,
              fmt::format("{}: {} of {} each, {}", table.path, count_text(table.tasks, "chunk"),
                          bytes_text(table.chunk_bytes), blocks));
  y += 20;
  for (const auto& row : table.rows) {
    out += text_at(kLabels - 6, y + kRow - 4, row.label, " text-anchor=\"end\"");
    const double width = (kWidth - kLabels - kFigures) / static_cast<double>(row.cells.size());
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      out += cell_at(row.cells[i], kLabels + static_cast<double>(i) * width, y, width);
    out += text_at(kWidth - kFigures + 6, y + kRow - 4, bytes_text(row.sum().used()));
    y += kRow + kGap;
  }
  return out;
}

double height_of(const LayoutTable& table) {
  return kHead + 8 + static_cast<double>(table.rows.size()) * (kRow + kGap);
}

}  // namespace

std::string layout_svg(const std::string& title, const std::vector<LayoutTable>& tables) {
  double height = 56;
  for (const auto& table : tables) height += height_of(table);
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"-8 -8 {2:.0f} {3:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
      "font-size=\"11\">\n",
      kWidth + 16, height + 16, kWidth + 16, height + 16);
  out += box_at(-8, -8, kWidth + 16, height + 16, "#ffffff");
  out += text_at(0, 12, title, " font-size=\"13\" font-weight=\"bold\"");
  out += legend(24);
  double y = 48;
  for (const auto& table : tables) {
    out += table_at(table, y);
    y += height_of(table);
  }
  return out + "</svg>\n";
}

}  // namespace bento::tools
