// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/findings_text.hpp"

#include "core/base/printable.hpp"
#include "tools/dataset_names.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

constexpr std::size_t kShown = 20;

Json to_json(const ContainerFinding& finding, const std::string& path) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"part", to_string(finding.part)},
          {"file", finding.file},
          {"offset", or_null(finding.address)},
          {"task", or_null(finding.writer)},
          {"dataset", or_null(finding.dataset)},
          {"dataset_path", path.empty() ? Json(nullptr) : Json(path)},
          {"step", or_null(finding.step)},
          {"text", finding.text}};
}

std::string line_of(const ContainerFinding& finding, const std::string& path) {
  std::string where = fmt::format("  {} in {}", to_string(finding.part), finding.file);
  if (finding.address) where += fmt::format(", byte {}", *finding.address);
  if (finding.writer) where += fmt::format(", task {}", *finding.writer);
  if (finding.dataset)
    where += path.empty() ? fmt::format(", dataset {}", *finding.dataset)
                          : fmt::format(", dataset {}", path);
  if (finding.step) where += fmt::format(", step {}", *finding.step);
  return fmt::format("{}\n      {}\n", printable(where), printable(finding.text));
}

}  // namespace

void print_findings(Output& out, Json& json, const std::string& path,
                    const ContainerVerdict& verdict) {
  json["older_verified"] = verdict.older_verified;
  json["unhashed"] = verdict.unhashed;
  json["damage_count"] = verdict.count;
  Json& damage = json["damage"] = Json::array();
  const auto names = verdict.sound() ? std::map<DatasetNumber, std::string>{} : dataset_names(path);
  for (std::size_t i = 0; i < verdict.findings.size(); ++i) {
    const ContainerFinding& finding = verdict.findings[i];
    const auto name = finding.dataset ? names.find(*finding.dataset) : names.end();
    const std::string text = name == names.end() ? std::string() : name->second;
    damage.push_back(to_json(finding, text));
    if (i < kShown) out.print("{}", line_of(finding, text));
  }
  if (verdict.count > kShown)
    out.print("  ... and {} more{}\n", count_text(verdict.count - kShown),
              verdict.findings.size() > kShown ? " (--json lists more)" : "");
  if (!verdict.older_verified)
    out.print("  so many steps are kept that data which only older ones show was not verified\n");
  if (verdict.unhashed > 0)
    out.print("  {} written with checksum=none: nothing tells whether they are right\n",
              count_text(verdict.unhashed, "record"));
}

}  // namespace bento::tools
