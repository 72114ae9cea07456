// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/export_streams.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/offline/survey.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;

Status check_quiet(const Survey& survey) {
  if (survey.writing() == Writing::kNow)
    return fail(Code::kBusy, fmt::format("'{}' is being written: its streams are whole when its "
                                         "writer has closed it",
                                         survey.path()));
  if (!survey.committed())
    return fail(Code::kNotFound, fmt::format("'{}' holds no committed data", survey.path()));
  if (!survey.settled())
    return fail(Code::kBusy,
                fmt::format("'{}' was not closed by its last writer, so its streams are not those "
                            "of a step; 'h5bento repair {}' makes them whole",
                            survey.path(), survey.path()));
  if (!survey.problems().empty()) return fail(Code::kCorrupt, survey.problems().front());
  if (survey.fills().size() == survey.plan().writers()) return {};
  return fail(Code::kCorrupt, fmt::format("'{}' has no stream table", survey.path()));
}

Status copy_stream(StreamSource& from, File& to, std::vector<std::byte>& buffer,
                   const ExportStreamsOptions& options) {
  BENTO_ASSIGN(const std::uint64_t size, from.size());
  for (std::uint64_t at = 0; at < size;) {
    const auto piece =
        std::span(buffer).first(static_cast<std::size_t>(std::min(kPieceBytes, size - at)));
    BENTO_TRY(from.read_at(at, piece));
    BENTO_TRY(to.write_at(at, piece));
    at += piece.size();
    if (options.progress) options.progress(piece.size());
  }
  return {};
}

}  // namespace

std::string stream_file_name(std::uint64_t writer) {
  return fmt::format("rank-{:06}", writer);
}

Result<std::vector<ExportedStream>> export_streams(const std::string& path,
                                                   const std::string& folder,
                                                   const ExportStreamsOptions& options) {
  BENTO_ASSIGN(const Survey survey, Survey::open(path, options.read));
  BENTO_TRY(check_quiet(survey));
  std::uint64_t total = 0;
  for (const auto& fill : survey.fills()) total += stream_bytes(fill);
  if (options.total) options.total(total);
  std::vector<ExportedStream> made;
  std::vector<std::byte> buffer(kPieceBytes);
  std::unique_ptr<File> file;
  for (std::uint32_t writer = 0; writer < survey.plan().writers(); ++writer) {
    const std::uint32_t index = survey.plan().file_of(writer);
    if (!file || survey.plan().file_of(writer - 1) != index) {
      BENTO_ASSIGN(file, options.read(survey.files()[index].path, OpenMode::kRead));
    }
    const StreamPlace place{file.get(), survey.plan().file(index), survey.plan().local_task(writer),
                            writer};
    StreamSource stream(place, survey.fills()[writer], path);
    ExportedStream one{fmt::format("{}/{}", folder, stream_file_name(writer)),
                       stream_bytes(survey.fills()[writer])};
    BENTO_ASSIGN(const auto out, options.write(one.path, OpenMode::kCreate));
    BENTO_TRY(copy_stream(stream, *out, buffer, options));
    BENTO_TRY(out->close());
    made.push_back(std::move(one));
  }
  // A writer that came meanwhile may have changed what was copied.
  BENTO_ASSIGN(const Survey after, Survey::open(path, options.read));
  if (after.root().sequence != survey.root().sequence ||
      after.root().file_id != survey.root().file_id || !after.settled())
    return fail(Code::kBusy, fmt::format("'{}' was written to while it was copied", path));
  return made;
}

}  // namespace bento
