// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/verify_container.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/paged_image.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/layout/names.hpp"
#include "core/offline/damaged_records.hpp"
#include "core/offline/older_records.hpp"
#include "core/offline/survey.hpp"
#include "core/offline/verify_streams.hpp"
#include "core/sion/reader.hpp"

namespace bento {

namespace {

/// Of each part; streams have a limit of their own.
constexpr std::uint64_t kKeptOfPart = 100;
/// A writer that commits all the time is gone after so often.
constexpr int kTries = 5;

class Check {
 public:
  Check(Survey& survey, const VerifyOptions& options) : survey_(survey), options_(options) {}

  Result<ContainerVerdict> run() {
    verdict_.step = survey_.root().step;
    verdict_.closed = survey_.settled();
    for (const auto& text : survey_.problems()) problem(text);
    bool whole = true;
    for (const auto& file : survey_.files()) whole = whole && file.found;
    // Before the first commit the root does not know how the file is laid out.
    if (!survey_.committed()) return std::move(verdict_);
    if (whole) sion();
    steps();
    view();
    if (whole) BENTO_TRY(streams());
    return std::move(verdict_);
  }

 private:
  void add(ContainerFinding finding) {
    ++verdict_.count;
    if (counts_[finding.part]++ < kKeptOfPart) verdict_.findings.push_back(std::move(finding));
  }
  void add(DamagedPart part, const std::string& file, std::string text) {
    add({part, file, {}, {}, {}, {}, std::move(text)});
  }
  /// What the survey met: about the root, the stream table, or the files.
  void problem(const std::string& text) {
    const bool root = text.find("copies of the root") != std::string::npos;
    const bool table = text.find("stream table") != std::string::npos;
    add(root    ? DamagedPart::kRoot
        : table ? DamagedPart::kIndex
                : DamagedPart::kFiles,
        survey_.path(), text);
  }

  // META1 must say what the root says; after a close META2 what the stream table says.
  void sion() {
    for (std::uint32_t index = 0; index < survey_.plan().files(); ++index) {
      const std::string& name = survey_.files()[index].path;
      const auto file = options_.opener(name, OpenMode::kRead);
      const Status same = file ? check_meta1(**file, survey_.plan(), index, survey_.settled())
                               : Status(fail(file.error()));
      if (!same) add(DamagedPart::kSion, name, same.error().text);
    }
    if (!survey_.settled() || survey_.fills().empty()) return;
    // Of a symbolic link the other files need not lie beside the link.
    const auto& files = survey_.files();
    const std::string beside = files.size() > 1 ? name_of_first(files[1].path) : std::string();
    const auto reader =
        SionReader::open(options_.opener, beside.empty() ? files.front().path : beside);
    if (!reader)
      add(DamagedPart::kSion, survey_.path(), reader.error().text);
    else
      sizes(*reader);
  }

  void sizes(const SionReader& reader) {
    const ContainerPlan& plan = survey_.plan();
    for (std::uint32_t writer = 0; writer < plan.writers(); ++writer) {
      const std::uint32_t index = plan.file_of(writer);
      if (index >= reader.files() || plan.local_task(writer) >= reader.file(index).meta2.tasks())
        return;  // check_meta1() has said it
      const Meta2& meta = reader.file(index).meta2;
      const ChunkFill& fill = survey_.fills()[writer];
      std::uint64_t last = fill.size();
      while (last > 0 && fill[static_cast<std::size_t>(last) - 1] == 0) --last;
      for (std::uint64_t chunk = 0; chunk < std::max(last, meta.blocks(plan.local_task(writer)));
           ++chunk) {
        const std::uint64_t want = chunk < last ? fill[static_cast<std::size_t>(chunk)] : 0;
        const std::uint64_t found = meta.size(plan.local_task(writer), chunk);
        if (want == found) continue;
        add({DamagedPart::kSion,
             survey_.files()[index].path,
             {},
             writer,
             {},
             {},
             fmt::format("META2 says that block {} of writer {} has {} bytes, the stream table {}",
                         chunk, writer, found, want)});
        break;
      }
    }
  }

  // The index of all steps, and what HDF5 knows of each.
  void steps() {
    Catalogue catalogue(survey_.first(), survey_.plan().file(0));
    CatalogueBlobs blobs(catalogue);
    StepIndex::BlobVisitor visitor;
    visitor.blob = [&](const BlobRef& ref) -> Status {
      const auto read = blobs.read(ref);
      return read ? Status{} : Status(fail(read.error()));
    };
    visitor.payload = [&](std::span<const std::byte> bytes) -> Status {
      BENTO_ASSIGN(const StepPayload payload, decode_payload(bytes));
      ++verdict_.steps;
      skeleton(catalogue, payload.skeleton, payload.skeleton_bytes);
      return {};
    };
    const Status done = StepIndex::visit_blobs(blobs, blob_ref(survey_.root().index), visitor);
    if (!done) add(DamagedPart::kIndex, survey_.path(), done.error().text);
    skeleton(catalogue, survey_.root().skeleton, survey_.root().skeleton_bytes);
  }

  // Steps share most of their pages.
  void skeleton(Catalogue& catalogue, const CatalogueRef& table, std::uint64_t bytes) {
    if (!tables_.insert(table.position).second) return;
    const auto places = catalogue.load_places(table, bytes);
    if (!places) {
      add(DamagedPart::kSkeleton, survey_.path(), places.error().text);
      return;
    }
    const FilePlan& plan = survey_.plan().file(0);
    for (std::size_t page = 0; page < places->size(); ++page) {
      const auto& place = (*places)[page];
      const std::uint64_t length = std::min<std::uint64_t>(kPageBytes, bytes - page * kPageBytes);
      if (!pages_.insert({place.position, length}).second) continue;
      const auto read = catalogue.read({place.position, length, place.hash}, "skeleton page");
      if (read) continue;
      ContainerFinding finding{DamagedPart::kSkeleton, survey_.path(), {}, {}, {}, {},
                               read.error().text};
      if (place.position < kMaxLogicalBytes)
        finding.address = plan.address(plan.catalogue_task(), place.position);
      add(std::move(finding));
    }
  }

  void view() {
    if (survey_.view() == ViewState::kEdited) {
      add(DamagedPart::kView, survey_.path(),
          "another program changed the file through its native view; 'h5bento view' takes the "
          "change over or drops it");
      return;
    }
    const auto whole = survey_.view_is_whole();
    if (!whole)
      add(DamagedPart::kView, survey_.path(), whole.error().text);
    else if (!*whole)
      add(DamagedPart::kView, survey_.path(),
          "the metadata of the native view do not have their checksum; 'h5bento view drop' makes "
          "them anew");
  }

  Status streams() {
    if (options_.total) {
      std::uint64_t bytes = 0;
      for (const auto& fill : survey_.fills()) bytes += stream_bytes(fill);
      options_.total(bytes);
    }
    auto found =
        verify_streams(survey_.path(), options_.opener, {options_.jobs, options_.progress});
    if (!found) {
      if (found.error().code == Code::kIo) return fail(std::move(found).error());
      add(DamagedPart::kIndex, survey_.path(), found.error().text);
      return {};
    }
    verdict_.streams = found->streams;
    verdict_.records = found->records;
    verdict_.unhashed = found->unhashed;
    verdict_.count += found->count;
    const std::size_t before = verdict_.findings.size();
    for (const auto& one : found->findings)
      verdict_.findings.push_back(
          {DamagedPart::kStream,
           one.file,
           one.address,
           one.writer,
           {},
           {},
           fmt::format("{}: {}", fti::to_string(one.finding.damage), one.finding.text)});
    std::vector<DamagedPlace> places;
    for (std::size_t i = 0; i < found->findings.size(); ++i) {
      const StreamFinding& one = found->findings[i];
      const std::uint64_t length = std::max<std::uint64_t>(one.finding.bytes, 1);
      places.push_back({&verdict_.findings[before + i], one.position,
                        one.position + std::min(length, kMaxLogicalBytes)});
    }
    // What it cannot find stays without a name.
    if (!places.empty()) (void)name_records(survey_, places);
    return older();
  }

  // The streams are held against the newest step: this is what only older kept steps show.
  Status older() {
    auto found = verify_older_records(survey_, options_);
    if (!found) {
      if (found.error().code == Code::kIo) return fail(std::move(found).error());
      add(DamagedPart::kIndex, survey_.path(), found.error().text);
      return {};
    }
    verdict_.older_records = found->records;
    verdict_.older_verified = found->complete;
    for (auto& finding : found->findings) add(std::move(finding));
    verdict_.count += found->count - found->findings.size();
    return {};
  }

  Survey& survey_;
  const VerifyOptions& options_;
  ContainerVerdict verdict_;
  std::map<DamagedPart, std::uint64_t> counts_;
  std::set<Position> tables_;
  std::set<std::pair<Position, std::uint64_t>> pages_;
};

}  // namespace

std::string_view to_string(DamagedPart part) {
  switch (part) {
    case DamagedPart::kRoot:
      return "root";
    case DamagedPart::kFiles:
      return "files";
    case DamagedPart::kSion:
      return "sion";
    case DamagedPart::kIndex:
      return "index";
    case DamagedPart::kSkeleton:
      return "skeleton";
    case DamagedPart::kView:
      return "view";
    case DamagedPart::kStream:
      return "stream";
  }
  return "unknown";
}

Result<ContainerVerdict> verify_container(const std::string& path, const VerifyOptions& options) {
  for (int tries = 0; tries < kTries; ++tries) {
    BENTO_ASSIGN(Survey survey, Survey::open(path, options.opener));
    auto verdict = Check(survey, options).run();
    if (verdict && verdict->sound()) return verdict;
    // A writer may have gone on, and written over what was verified.
    const auto now = probe(survey.first());
    if (!now || now->kind != FileKind::kContainer || now->root.sequence == survey.root().sequence)
      return verdict;
  }
  return fail(Code::kBusy,
              fmt::format("'{}': its writer commits faster than it can be verified; verify it when "
                          "that program has ended",
                          path));
}

}  // namespace bento
