// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/fuzz/vol/sample.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/catalogue_sweep.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/io/file.hpp"

namespace bento::fuzz {

namespace {

template <class T>
T value_of(Result<T> result, const std::string& what) {
  if (!result) throw std::runtime_error(what + ": " + result.error().text);
  return std::move(*result);
}

Bytes content_of(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Collects the blobs that a root leads to, each once.
class Walk {
 public:
  Walk(Sample& sample, File& file)
      : sample_(sample), catalogue_(file, sample.plan.file(0)), blobs_(catalogue_) {}

  void run() {
    const Root& root = sample_.root;
    skeleton(root.skeleton, root.skeleton_bytes);
    add(SampleBlob::Kind::kStreams, root.streams);
    if (root.view.bytes != 0) add(SampleBlob::Kind::kViewTable, root.view);
    StepIndex::BlobVisitor visitor;
    visitor.blob = [this](const BlobRef& ref) -> Status {
      add(SampleBlob::Kind::kIndex, catalogue_ref(ref));
      return {};
    };
    visitor.payload = [this](std::span<const std::byte> bytes) -> Status {
      BENTO_ASSIGN(const StepPayload payload, decode_payload(bytes));
      skeleton(payload.skeleton, payload.skeleton_bytes);
      return {};
    };
    if (const auto done = StepIndex::visit_blobs(blobs_, blob_ref(root.index), visitor); !done)
      throw std::runtime_error(sample_.name + ": " + done.error().text);
  }

 private:
  void add(SampleBlob::Kind kind, const CatalogueRef& ref) {
    if (ref.bytes == 0 || seen_[ref.position]) return;
    seen_[ref.position] = true;
    sample_.blobs.push_back({kind, ref, value_of(catalogue_.read(ref, "blob"), sample_.name)});
  }

  void skeleton(const CatalogueRef& table, std::uint64_t bytes) {
    if (seen_[table.position]) return;
    add(SampleBlob::Kind::kSkeletonTable, table);
    const auto places = value_of(catalogue_.load_places(table, bytes), sample_.name);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t here = std::min<std::uint64_t>(kPageBytes, bytes - i * kPageBytes);
      add(SampleBlob::Kind::kSkeletonPage, {places[i].position, here, places[i].hash});
    }
  }

  Sample& sample_;
  Catalogue catalogue_;
  CatalogueBlobs blobs_;
  std::map<Position, bool> seen_;
};

void find_records(Sample& sample, File& file) {
  auto index =
      value_of(CommittedIndex::open(file, sample.plan.file(0), sample.root.index), sample.name);
  const auto datasets = value_of(index.steps().datasets(), sample.name);
  for (const auto& dataset : datasets) {
    const auto found = value_of(index.find_all(dataset.number, dataset.rank), sample.name);
    for (const auto& record : found.records) {
      if (sample.plan.file_of(record.where.task) != 0) continue;
      const std::uint64_t data = sample.plan.file(0).address(
          sample.plan.local_task(record.where.task), record.where.offset);
      sample.records.push_back({data - record.header_distance, data, record.stored_bytes});
    }
  }
}

/// Gone with the process; one that crashes leaves it for the next look.
struct Folder {
  std::filesystem::path path;
  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    const bool there = std::filesystem::is_directory(memory);
    std::string name =
        ((there ? memory : std::filesystem::temp_directory_path()) / "h5bento-fuzz-XXXXXX")
            .string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for fuzzing");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

std::string in_folder(const std::string& name) {
  static const Folder folder;
  return (folder.path / name).string();
}

Sample take_apart(const std::string& name) {
  Sample sample;
  sample.name = name;
  const auto file = value_of(open_posix_file(name, OpenMode::kRead), name);
  const Probe seen = value_of(probe(*file), name);
  if (seen.kind != FileKind::kContainer) throw std::runtime_error(name + " is no container");
  sample.root = seen.root;
  sample.plan = value_of(ContainerPlan::of(seen.root.groups, seen.root.fs_block), name);
  for (std::uint32_t index = 0; index < sample.plan.files(); ++index)
    sample.files.push_back(content_of(physical_name(name, index)));
  Walk(sample, *file).run();
  find_records(sample, *file);
  return sample;
}

void put_files(const std::string& name, std::span<const Bytes> files) {
  for (std::uint32_t index = 0; index < files.size(); ++index) {
    std::ofstream out(physical_name(name, index), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(files[index].data()),
              static_cast<std::streamsize>(files[index].size()));
    if (!out) throw std::runtime_error("cannot write " + name);
  }
}

}  // namespace bento::fuzz
