// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/transfer_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

namespace bento::transfer {
namespace {

constexpr std::string_view kFiles = "FILES";
constexpr std::string_view kOurs = "H5BENTO";

/// As SCR reads them: decimal, 0x.., or octal behind a 0.
std::optional<std::uint64_t> parse_count(const std::string& text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 0);
  if (errno != 0 || end == text.c_str() || *end != '\0') return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str()) return std::nullopt;
  return value;
}

std::optional<Entry> read_entry(const KvTree::Element& element) {
  const KvTree& keys = element.below;
  const std::string* const destination = keys.only_value("DESTINATION");
  const std::string* const size = keys.only_value("SIZE");
  const std::string* const written = keys.only_value("WRITTEN");
  if (destination == nullptr || size == nullptr || written == nullptr) return std::nullopt;
  const auto size_bytes = parse_count(*size);
  const auto written_bytes = parse_count(*written);
  if (!size_bytes || !written_bytes) return std::nullopt;
  Entry entry;
  entry.source = element.key;
  entry.destination = *destination;
  entry.size = *size_bytes;
  entry.written = *written_bytes;
  if (const KvTree* const ours = keys.find(kOurs)) {
    entry.container = ours->value("CONTAINER");
    entry.part =
        static_cast<std::uint32_t>(parse_count(std::string(ours->value("PART"))).value_or(0));
    entry.ticket = ours->value("TICKET");
    entry.problem = ours->value("PROBLEM");
    entry.failed = ours->find("FAILED") != nullptr;
    entry.named = ours->find("NAMED") != nullptr;
    entry.evict = ours->find("EVICT") != nullptr;
    entry.stamp = ours->value("STAMP");
    entry.cached = ours->find("CACHED") != nullptr;
    entry.arrive = ours->value("ARRIVE");
    if (entry.arrive == "container") entry.arrive.clear();
    entry.root = ours->value("ROOT");
    entry.keep = parse_count(std::string(ours->value("KEEP"))).value_or(0);
    const auto count = [&](const char* key) {
      return static_cast<std::uint32_t>(parse_count(std::string(ours->value(key))).value_or(0));
    };
    entry.share = count("SHARE");
    entry.shares = count("SHARES");
    entry.copy = ours->value("COPY");
    entry.made = parse_count(std::string(ours->value("MADE"))).value_or(0);
  }
  return entry;
}

KvTree ours_of(const Entry& entry) {
  KvTree ours;
  if (!entry.container.empty()) {
    ours.append("CONTAINER", entry.container);
    ours.append("PART", fmt::format("{}", entry.part));
  }
  if (!entry.ticket.empty()) ours.append("TICKET", entry.ticket);
  if (entry.evict) ours.append("EVICT");
  if (!entry.stamp.empty() && !entry.named) ours.append("STAMP", entry.stamp);
  if (entry.cached) ours.append("CACHED");
  if (!entry.arrive.empty()) ours.append("ARRIVE", entry.arrive);
  if (!entry.root.empty()) ours.append("ROOT", entry.root);
  if (entry.keep > 0) ours.append("KEEP", fmt::format("{}", entry.keep));
  if (entry.shares > 0) {
    ours.append("SHARE", fmt::format("{}", entry.share));
    ours.append("SHARES", fmt::format("{}", entry.shares));
    ours.append("COPY", entry.copy);
  }
  if (entry.made > 0 && !entry.named) ours.append("MADE", fmt::format("{}", entry.made));
  if (!entry.problem.empty()) ours.append("PROBLEM", entry.problem);
  if (entry.failed) ours.append("FAILED");
  if (entry.named) ours.append("NAMED");
  return ours;
}

/// Changes a value where it stands: what the daemon does must not put files into another order.
void set_in_place(KvTree& tree, std::string_view key, const std::string& value) {
  KvTree& below = tree.at(key);
  below.clear();
  below.append(value);
}

void put_ours(KvTree& keys, const Entry& entry) {
  KvTree ours = ours_of(entry);
  if (ours.empty()) {
    keys.remove(kOurs);
  } else if (KvTree* const before = keys.find(kOurs)) {
    *before = std::move(ours);
  } else {
    keys.append(kOurs) = std::move(ours);
  }
}

}  // namespace

TransferState read_state(const KvTree& tree) {
  TransferState state;
  const std::string_view command = tree.value("COMMAND");
  if (command == "RUN") {
    state.command = Command::kRun;
  } else if (command == "EXIT") {
    state.command = Command::kExit;
  } else if (!command.empty()) {
    state.command = Command::kStop;
    if (command != "STOP") state.unknown_command = command;
  }
  state.state = tree.value("STATE");
  if (const KvTree* const ours = tree.find(kOurs))
    state.rate = parse_number(ours->value("RATE")).value_or(0);
  state.done = tree.find({"FLAG", "DONE"}) != nullptr;
  state.bytes_per_second = parse_number(tree.value("BW"));
  state.cpu_percent = parse_number(tree.value("PERCENT"));
  if (const KvTree* const files = tree.find(kFiles)) {
    for (const auto& element : files->elements())
      if (auto entry = read_entry(element)) state.entries.push_back(std::move(*entry));
  }
  return state;
}

bool TransferState::to_do() const {
  return std::ranges::any_of(entries,
                             [](const Entry& entry) { return !entry.complete() && !entry.failed; });
}

bool TransferState::failed() const {
  return std::ranges::any_of(entries, [](const Entry& entry) { return entry.failed; });
}

bool TransferState::runs() const {
  return command == Command::kRun && !done && (to_do() || !failed());
}

void put_entry(KvTree& tree, const Entry& entry) {
  KvTree& files = tree.at(kFiles);
  files.remove(entry.source);
  KvTree& keys = files.append(entry.source);
  keys.append("DESTINATION", entry.destination);
  keys.append("SIZE", fmt::format("{}", entry.size));
  keys.append("WRITTEN", fmt::format("{}", entry.written));
  put_ours(keys, entry);
}

bool update_entry(KvTree& tree, const Entry& entry) {
  KvTree* const files = tree.find(kFiles);
  KvTree* const keys = files != nullptr ? files->find(entry.source) : nullptr;
  if (keys == nullptr) return false;
  const auto now = read_entry({entry.source, *keys});
  if (!now || now->destination != entry.destination) return false;
  // SCR's library gives no tickets; the daemon does, with its first report.
  if (now->ticket != entry.ticket && !now->ticket.empty()) return false;
  if (now->size != entry.size) set_in_place(*keys, "SIZE", fmt::format("{}", entry.size));
  if (now->written != entry.written)
    set_in_place(*keys, "WRITTEN", fmt::format("{}", entry.written));
  put_ours(*keys, entry);
  return true;
}

void remove_entry(KvTree& tree, std::string_view source) {
  tree.remove(kFiles, source);
}

void set_command(KvTree& tree, std::string_view command) {
  tree.set("COMMAND", command);
}

bool set_state(KvTree& tree, std::string_view state) {
  if (tree.value("STATE") == state) return false;
  tree.set("STATE", state);
  return true;
}

void set_flag(KvTree& tree, std::string_view flag, bool on) {
  if (!on) {
    tree.remove("FLAG", flag);
  } else if (KvTree& flags = tree.at("FLAG"); flags.find(flag) == nullptr) {
    flags.append(flag);
  }
}

void set_number(KvTree& tree, std::string_view key, double value) {
  tree.set(key, fmt::format("{:f}", value));
}

void set_rate(KvTree& tree, double bytes_per_second) {
  KvTree* ours = tree.find(kOurs);
  if (ours == nullptr) ours = &tree.append(kOurs);
  set_in_place(*ours, "RATE", fmt::format("{:.0f}", bytes_per_second));
}

std::string new_ticket() {
  static thread_local std::int64_t last = 0;
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  last = now > last ? now : last + 1;
  return fmt::format("{}", last);
}

}  // namespace bento::transfer
