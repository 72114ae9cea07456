// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento ls [-r] [-l] FILE [PATH]`: objects, types, extents, filters, pieces.
#include <algorithm>
#include <limits>
#include <memory>

#include "core/base/printable.hpp"
#include "core/offline/survey.hpp"
#include "tools/command.hpp"
#include "tools/hdf5/start.hpp"
#include "tools/units.hpp"
#include "vol/library/objects.hpp"

namespace bento::tools {

namespace {

using vol::ListedObject;
using vol::ObjectKind;

struct Options {
  std::string path;
  vol::ListOptions list;
};

const char* kind_name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kGroup:
      return "group";
    case ObjectKind::kDataset:
      return "dataset";
    case ObjectKind::kType:
      return "type";
    case ObjectKind::kSoftLink:
      return "soft link";
    case ObjectKind::kExternalLink:
      return "external link";
    case ObjectKind::kOther:
      break;
  }
  return "other";
}

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::string extent_text(const ListedObject& object) {
  if (object.null_space) return "null";
  if (object.dims.empty()) return "scalar";
  std::string text = "{";
  for (std::size_t d = 0; d < object.dims.size(); ++d) {
    text += fmt::format("{}{}", d == 0 ? "" : ", ", object.dims[d]);
    if (object.limit[d] == object.dims[d]) continue;
    text +=
        object.limit[d] == kUnlimited ? std::string("/Inf") : fmt::format("/{}", object.limit[d]);
  }
  return text + "}";
}

void print_details(Output& out, const ListedObject& object) {
  if (object.kind == ObjectKind::kDataset && object.target.empty()) {
    if (!object.chunk.empty())
      out.print("    chunks   {}\n", fmt::format("{{{}}}", fmt::join(object.chunk, ", ")));
    if (!object.filters.empty()) out.print("    filters  {}\n", fmt::join(object.filters, ", "));
    if (object.number)
      out.print("    data     {} in {}, as dataset {}\n", bytes_text(object.stored),
                count_text(object.pieces, "piece"), *object.number);
    else
      out.print("    data     in the embedded HDF5 image\n");
  }
  if (object.attributes > 0)
    out.print("    has      {}\n", count_text(object.attributes, "attribute"));
}

void print(Output& out, const ListedObject& object, std::size_t width) {
  std::string what = kind_name(object.kind);
  if (object.kind == ObjectKind::kDataset && object.target.empty())
    what += fmt::format(" {} {}", extent_text(object), object.type);
  if (object.kind == ObjectKind::kType) what += " " + object.type;
  if (!object.target.empty())
    what +=
        fmt::format("{} {}",
                    object.kind == ObjectKind::kSoftLink || object.kind == ObjectKind::kExternalLink
                        ? " to"
                        : ", same as",
                    printable(object.target));
  out.print("{:<{}}  {}\n", printable(object.path), width, what);
}

Json to_json(const ListedObject& object, bool details) {
  Json json = {{"path", object.path}, {"kind", kind_name(object.kind)}};
  if (!object.target.empty()) json["target"] = object.target;
  if (details) json["attributes"] = object.attributes;
  if (!object.type.empty()) json["type"] = object.type;
  if (object.kind != ObjectKind::kDataset || !object.target.empty()) return json;
  json["extent"] = object.null_space ? Json(nullptr) : Json(object.dims);
  Json limit = Json::array();
  for (const std::uint64_t one : object.limit)
    limit.push_back(one == kUnlimited ? Json(nullptr) : Json(one));
  json["largest_extent"] = limit;
  json["chunk"] = object.chunk.empty() ? Json(nullptr) : Json(object.chunk);
  json["filters"] = object.filters;
  json["number"] = object.number ? Json(*object.number) : Json(nullptr);
  if (details) json["pieces"] = object.pieces;
  if (details) json["stored_bytes"] = object.stored;
  return json;
}

Result<ExitStatus> list(Output& out, const Options& options) {
  BENTO_TRY(check_is_container(options.path));
  BENTO_TRY(start_hdf5());
  BENTO_ASSIGN(const auto objects, vol::list_objects(options.path, options.list));
  constexpr std::size_t kWidest = 40;
  std::size_t width = 0;
  for (const auto& object : objects) width = std::max(width, object.path.size());
  width = std::min(width, kWidest);
  Json& json = out.answer()["objects"] = Json::array();
  for (const auto& object : objects) {
    if (out.json()) json.push_back(to_json(object, options.list.details));
    print(out, object, width);
    if (options.list.details) print_details(out, object);
  }
  return ExitStatus::kDone;
}

}  // namespace

void add_ls(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add("ls", "List groups, datasets, types and links",
           [options](Output& out) { return list(out, *options); })
      .flag("-r,--recursive", options->list.recursive, "also what is in groups")
      .flag("-l,--long", options->list.details,
            "also chunks, filters, attributes, and pieces of data")
      .argument("FILE", options->path, "the container: its first physical file")
      .optional_argument("PATH", options->list.path, "a group or another object (default: /)");
}

}  // namespace bento::tools
