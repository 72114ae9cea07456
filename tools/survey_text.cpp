// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/survey_text.hpp"

#include "core/base/printable.hpp"

namespace bento::tools {

std::string state_name(const Survey& survey) {
  if (survey.writing() == Writing::kNow) return "being written";
  if (!survey.committed()) return "empty";
  return survey.writing() == Writing::kEnded ? "not closed" : "closed";
}

std::string state_text(const Survey& survey) {
  std::string name = state_name(survey);
  if (name == "empty") return "without any committed data";
  if (name == "not closed") return "not closed by its last writer";
  return name;
}

std::string writer_text(const Survey& survey) {
  switch (survey.writing()) {
    case Writing::kNow:
      return survey.holder().empty() ? "a program that holds the lock" : survey.holder();
    case Writing::kEnded:
      return fmt::format("nobody; {} ended without closing the file",
                         survey.holder().empty() ? std::string("a program") : survey.holder());
    case Writing::kNobody:
      break;
  }
  return "nobody";
}

std::string view_name(ViewState view) {
  switch (view) {
    case ViewState::kThere:
      return "there";
    case ViewState::kEdited:
      return "edited";
    case ViewState::kNone:
      break;
  }
  return "none";
}

std::string view_text(const Survey& survey) {
  switch (survey.view()) {
    case ViewState::kThere:
      return survey.closed() ? "there: HDF5 without h5bento reads the file"
                             : "there, of the last close: HDF5 without h5bento sees that";
    case ViewState::kEdited:
      return "changed by another program (see h5bento view)";
    case ViewState::kNone:
      break;
  }
  return "none: only h5bento reads the file";
}

void print_problems(Output& out, const std::vector<std::string>& problems) {
  out.answer()["problems"] = problems;
  for (const auto& text : problems) out.print("  problem: {}\n", printable(text));
}

}  // namespace bento::tools
