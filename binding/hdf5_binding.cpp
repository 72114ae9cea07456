// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "binding/hdf5_binding.hpp"

#include <link.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "binding/stand_ins.hpp"

namespace bento::binding {

namespace {

/// Where the bound library begins in memory; null before the first one.
const void* bound_base = nullptr;
bool held = false;

struct CloseLibrary {
  void operator()(void* handle) const { ::dlclose(handle); }
};
using LibraryHandle = std::unique_ptr<void, CloseLibrary>;

struct Place {
  const void* base = nullptr;
  std::string name;  ///< of the file, or of the program
};

Place place_of(const void* code) {
  Dl_info info{};
  if (::dladdr(code, &info) == 0) return {};
  return {info.dli_fbase, info.dli_fname == nullptr ? "" : info.dli_fname};
}

/// A handle of the library that `code` is in. It keeps the library in memory no longer than the
/// binding takes.
LibraryHandle open_library(const void* code) {
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(code, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr)
    return nullptr;
  // The program itself has an empty name.
  const char* const name = map->l_name == nullptr || *map->l_name == '\0' ? nullptr : map->l_name;
  return LibraryHandle(::dlopen(name, RTLD_LAZY | (name == nullptr ? 0 : RTLD_NOLOAD)));
}

/// What of a library is mapped. Some 700 addresses are looked for in it: dladdr() would go through
/// all its symbols for each, which took 25 ms of every program's start.
class Segments {
 public:
  /// Of the library that `code` is in; none if it is gone.
  explicit Segments(const void* code) : code_(reinterpret_cast<std::uintptr_t>(code)) {
    ::dl_iterate_phdr(&look_at, this);
  }
  [[nodiscard]] bool contain(const void* address) const {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    for (const auto& [begin, end] : ranges_)
      if (begin <= place && place < end) return true;
    return false;
  }

 private:
  /// 1 ends the iteration: it is this one.
  static int look_at(dl_phdr_info* info, std::size_t /*size*/, void* data) {
    auto& own = *static_cast<Segments*>(data);
    own.ranges_.clear();
    for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum))
      if (segment.p_type == PT_LOAD)
        own.ranges_.emplace_back(info->dlpi_addr + segment.p_vaddr,
                                 info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    if (own.contain(reinterpret_cast<const void*>(own.code_))) return 1;
    own.ranges_.clear();
    return 0;
  }

  std::uintptr_t code_;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges_;
};

class Library {
 public:
  /// The one that `code` is in.
  explicit Library(const void* code)
      : handle_(open_library(code)), place_(place_of(code)), segments_(code) {}

  /// Null if the library has no such name; one of a library that it depends on is not its own.
  [[nodiscard]] void* find(const char* name) const {
    if (!handle_) return nullptr;
    void* const address = ::dlsym(handle_.get(), name);
    return address != nullptr && segments_.contain(address) ? address : nullptr;
  }
  /// Where a call from within the library would lead; null if nowhere.
  [[nodiscard]] void* reach(const char* name) const {
    void* const address = ::dlsym(RTLD_DEFAULT, name);
    return address != nullptr || !handle_ ? address : ::dlsym(handle_.get(), name);
  }
  [[nodiscard]] const Place& place() const { return place_; }

 private:
  LibraryHandle handle_;
  Place place_;
  Segments segments_;
};

/// The library may look for plugins because a call has failed: its error stack stays as it is.
class StackKeeper {
 public:
  explicit StackKeeper(const Library& library)
      : set_(reinterpret_cast<herr_t (*)(hid_t)>(library.find("H5Eset_current_stack"))) {
    const auto get = reinterpret_cast<hid_t (*)()>(library.find("H5Eget_current_stack"));
    if (get != nullptr && set_ != nullptr) saved_ = get();
  }
  ~StackKeeper() {
    if (saved_ >= 0) set_(saved_);
  }
  StackKeeper(const StackKeeper&) = delete;
  StackKeeper& operator=(const StackKeeper&) = delete;

 private:
  herr_t (*set_)(hid_t);
  hid_t saved_ = H5I_INVALID_HID;
};

std::optional<std::string> check_version(const Library& library) {
  const auto get = reinterpret_cast<herr_t (*)(unsigned*, unsigned*, unsigned*)>(
      library.find("H5get_libversion"));
  const auto start = reinterpret_cast<herr_t (*)()>(library.find("H5open"));
  if (get == nullptr || start == nullptr)
    return fmt::format(
        "'{}' has an HDF5 library inside that shows no function of its own ({} is missing): "
        "h5bento needs a shared libhdf5, or a program that has all of libhdf5.a (--whole-archive) "
        "and is linked with -rdynamic",
        library.place().name, get == nullptr ? "H5get_libversion" : "H5open");
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  const StackKeeper keep(library);
  if (start() < 0 || get(&major, &minor, &release) < 0)
    return fmt::format("'{}' cannot be started", library.place().name);
  if (major < 1 || (major == 1 && minor < 14) || major > 2)
    return fmt::format("'{}' is HDF5 {}.{}.{}: h5bento knows 1.14 and 2.x", library.place().name,
                       major, minor, release);
  return std::nullopt;
}

bool is_variable(std::string_view name) {
  return name.starts_with("H5") && name.ends_with("_g");
}

/// A program that uses a variable itself may have the only copy of it that counts: the linker has
/// made one in the program, and the library works on that. Its own then has no id in it. Null if
/// there is none, or none with an id in it yet.
hid_t* live_variable(const Library& library, const char* name) {
  for (void* const address : {library.find(name), ::dlsym(RTLD_DEFAULT, name)}) {
    auto* const variable = static_cast<hid_t*>(address);
    if (variable != nullptr && *variable > 0) return variable;
  }
  return nullptr;
}

/// What the library has under this name; null if nothing, or a variable without an id.
void* original(const Library& library, const char* name) {
  return is_variable(name) ? live_variable(library, name) : library.find(name);
}

/// The address for the name of a function, or null. A variable that it needs and that has no id yet
/// is left out.
void* resolve(const Library& library, const char* name) {
  if (!std::string_view(name).starts_with("H5")) return library.reach(name);
  const StandIn* const other = stand_in_for(name);
  if (other == nullptr || !other->always)
    if (void* const own = library.find(name); own != nullptr) return own;
  if (other == nullptr) return nullptr;
  if (other->original == nullptr) return other->function;
  void* const found = original(library, other->original);
  if (other->uses == nullptr) return found;
  *other->uses = found;
  const bool later = is_variable(other->original) && library.find(other->original) != nullptr;
  return found != nullptr || later ? other->function : nullptr;
}

/// Does what stands for a function, or the copy of a variable, wait for the library to begin?
bool is_waiting(const Library& library, const Symbol& symbol) {
  if (symbol.variable != nullptr) return live_variable(library, symbol.name) == nullptr;
  const StandIn* const other = stand_in_for(symbol.name);
  return other != nullptr && other->uses != nullptr && *other->uses == nullptr &&
         *symbol.slot == other->function;
}

/// Are there variables without an id among those that are bound?
bool waiting = false;

std::optional<std::string> fill(const Library& library, Variables variables) {
  std::string missing;
  std::size_t count = 0;
  waiting = false;
  for (const Symbol& symbol : std::span(h5bento_symbols, h5bento_symbol_count)) {
    void* address = nullptr;
    if (symbol.slot != nullptr) {
      address = resolve(library, symbol.name);
      if (address != nullptr) *symbol.slot = address;
    } else if (const hid_t* const variable = live_variable(library, symbol.name)) {
      *symbol.variable = *variable;
      continue;
    } else {
      address = library.find(symbol.name);
    }
    const bool waits = address != nullptr && is_waiting(library, symbol);
    waiting = waiting || waits;
    if (address == nullptr || (waits && variables == Variables::kNow))
      if (++count <= 5) missing += fmt::format("{}{}", count == 1 ? "" : ", ", symbol.name);
  }
  if (count == 0) return std::nullopt;
  return fmt::format("'{}' lacks what h5bento needs: {}{}", library.place().name, missing,
                     count > 5 ? fmt::format(" and {} more", count - 5) : "");
}

}  // namespace

bool serves_another(const void* code) {
  return held && bound_base != place_of(code).base &&
         place_of(bound_base).base == bound_base;  // it may be gone
}

std::optional<std::string> bind(const void* code, Variables variables) {
  const Library library(code);
  if (auto wrong = check_version(library)) return wrong;
  if (auto missing = fill(library, variables)) return missing;
  if (bound_base != library.place().base) held = false;
  bound_base = library.place().base;
  return std::nullopt;
}

std::optional<std::string> complete() {
  if (!waiting) return std::nullopt;
  return fill(Library(bound_base), Variables::kNow);
}

bool has(const void* code, const char* name) {
  return Library(code).find(name) != nullptr;
}

bool reaches(const void* code, const char* name) {
  return Library(code).reach(name) != nullptr;
}

void hold() {
  held = true;
}

}  // namespace bento::binding
