// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento check`: is the connector, or the file driver, active for programs in this environment,
/// and if not, why? Asks the HDF5 library itself, with a small file.
#include <stdlib.h>  // NOLINT: mkdtemp()

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include <dlfcn.h>
#include <hdf5.h>

#include "core/config/config.hpp"
#include "core/offline/survey.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "tools/command.hpp"

namespace bento::tools {

namespace {

using namespace vol;

constexpr std::string_view kModule = "libh5bento_vol";
constexpr std::string_view kDriverModule = "libh5bento_vfd";
constexpr std::string_view kSerial = "_serial";  ///< so ends the name of one for HDF5 without MPI
/// Where HDF5 looks if nothing is said, unless it was built otherwise.
constexpr const char* kUsualFolder = "/usr/local/hdf5/lib/plugin";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

struct Answer {
  std::vector<std::string> reasons;  ///< why it is not active
  std::vector<std::string> remarks;  ///< what a user may not expect
  std::string module;                ///< the file that HDF5 will load
  bool driver = false;               ///< HDF5_DRIVER asks for the file driver: that is looked at
};

std::vector<std::string> plugin_folders() {
  const std::string path = variable("HDF5_PLUGIN_PATH");
  if (path.empty()) return {kUsualFolder};
  std::vector<std::string> folders;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (end > at) folders.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

/// The files of plugins whose names begin so, in the order of the folders; a reason if there is
/// none, or if none can be loaded.
std::vector<std::string> look_for_modules(std::string_view name,
                                          std::vector<std::string>& reasons) {
  std::string searched;
  std::vector<std::string> found;
  for (const auto& folder : plugin_folders()) {
    std::error_code error;
    std::vector<std::string> here;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
      if (entry.path().filename().string().starts_with(name) && entry.path().extension() == ".so")
        here.push_back(entry.path().string());
    std::sort(here.begin(), here.end());
    found.insert(found.end(), here.begin(), here.end());
    searched += (searched.empty() ? "" : ", ") + folder;
  }
  if (found.empty()) {
    reasons.push_back(
        fmt::format("{}.so is in none of the folders where HDF5 looks for plugins ({}): set "
                    "HDF5_PLUGIN_PATH to "
                    "the folder that has it",
                    name, searched.empty() ? std::string("none") : searched));
    return found;
  }
  // Says which library one lacks; the HDF5 library says only that it found no plugin.
  std::vector<std::string> failures;
  for (const auto& file : found)
    if (void* const module = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL); module == nullptr)
      failures.push_back(fmt::format("the plugin cannot be loaded: {}", ::dlerror()));
    else
      ::dlclose(module);
  if (failures.size() == found.size())
    reasons.insert(reasons.end(), failures.begin(), failures.end());
  return found;
}

bool is_serial(const std::string& file) {
  return std::filesystem::path(file).stem().string().ends_with(kSerial);
}

/// Which of these files HDF5 has in memory: one that does not fit is let go after it was asked.
std::string loaded_of(const std::vector<std::string>& files) {
  for (const auto& file : files)
    if (void* const module = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD); module != nullptr) {
      ::dlclose(module);
      return file;
    }
  return {};
}

/// HDF5 says no more than that it found no plugin.
void explain_variants(const std::vector<std::string>& files, std::vector<std::string>& reasons) {
  if (files.empty() || !std::all_of(files.begin(), files.end(), is_serial)) return;
  reasons.push_back(fmt::format(
      "'{}' is for an HDF5 without MPI, such as the one in the h5py wheel; the one asked here has "
      "MPI. Programs with MPI need the folder of libh5bento_vol.so in HDF5_PLUGIN_PATH",
      files.front()));
}

void look_at_variables(Answer& answer) {
  const std::string connector = variable("HDF5_VOL_CONNECTOR");
  answer.driver = variable("HDF5_DRIVER") == "bento";
  if (answer.driver && !connector.empty())
    answer.remarks.emplace_back(
        "HDF5_DRIVER and HDF5_VOL_CONNECTOR are both set: files go to the driver");
  else if (!answer.driver && connector.empty())
    answer.reasons.emplace_back(
        "HDF5_VOL_CONNECTOR is not set: HDF5 uses its native connector; set it to bento");
  else if (!answer.driver && connector.substr(0, connector.find(' ')) != "bento")
    answer.reasons.push_back(
        fmt::format("HDF5_VOL_CONNECTOR is '{}', which is another connector", connector));
  const std::size_t blank = connector.find(' ');
  const std::string settings = blank == std::string::npos ? "" : connector.substr(blank + 1);
  const auto config = load_config(settings, [](const char* name) { return std::getenv(name); });
  if (!config)
    answer.reasons.push_back(
        fmt::format("every create and open will fail: {}", config.error().text));
  if (variable("HDF5_PLUGIN_PRELOAD") == "::")
    answer.reasons.emplace_back("HDF5_PLUGIN_PRELOAD is '::', which switches all plugins off");
  const std::string driver = variable("HDF5_DRIVER");
  if (answer.driver)
    answer.remarks.emplace_back(
        "HDF5_DRIVER is bento: programs that set a driver themselves (H5Pset_fapl_sec2, mpio, ...) "
        "are not reached by it");
  else if (!driver.empty() && driver != "sec2" && driver != "stdio" && driver != "log" &&
           driver != "direct" && driver != "mpio")
    answer.reasons.push_back(
        fmt::format("HDF5_DRIVER is '{}': files opened with that driver pass straight through, and "
                    "if HDF5 has no such driver every call of it fails",
                    driver));
  answer.remarks.emplace_back(
      "this is what the HDF5 of h5bento itself finds: one with MPI. A program that brings another "
      "HDF5 "
      "(as the h5py wheel does) may find another plugin in these folders, and one that chooses a "
      "connector itself (H5Pset_vol) is not reached by these variables");
}

/// What HDF5 makes of a new file here. Errors: what keeps it from making one.
Result<bool> makes_container(const std::string& folder) {
  const std::string name = folder + "/check.h5";
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0)
    return fail(Code::kInternal, "the HDF5 library cannot be started; it prints the reason");
  {
    const FileHandle file(H5Fcreate(name.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    if (!file.valid())
      return fail(Code::kInternal, fmt::format("H5Fcreate failed: {}", innermost_error()));
  }
  return static_cast<bool>(check_is_container(name));
}

void try_it(Answer& answer) {
  std::error_code none;  // TMPDIR may name anything
  const std::string temporary = std::filesystem::temp_directory_path(none).string();
  std::string folder = temporary + "/h5bento-check-XXXXXX";
  if (none || ::mkdtemp(folder.data()) == nullptr) {
    answer.remarks.push_back(fmt::format(
        "no file could be tried: no folder can be made in {} ({}); TMPDIR names another one",
        none ? "the folder for temporary files" : "'" + temporary + "'",
        none ? none.message() : std::error_code(errno, std::generic_category()).message()));
    return;
  }
  const auto made = makes_container(folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!made)
    answer.reasons.push_back(made.error().text);
  else if (!*made && answer.reasons.empty())
    answer.reasons.emplace_back("HDF5 made an ordinary file when it was asked for a new one");
}

/// A new file might go into a container of the user's. So the library opens one for reading that is
/// not there: the driver first looks at its configuration.
void try_driver(Answer& answer) {
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0) return;
  const PlistHandle access(H5Pcreate(H5P_FILE_ACCESS));
  const std::string config = variable("HDF5_DRIVER_CONFIG");
  if (H5Pset_driver_by_name(access.get(), "bento", config.empty() ? nullptr : config.c_str()) < 0) {
    answer.reasons.push_back(
        fmt::format("HDF5 cannot load the file driver: {}", innermost_error()));
    return;
  }
  const std::string name = fmt::format("h5bento-check-{}.h5", ::getpid());
  const FileHandle file(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()));
  if (file.valid()) return;
  const std::string why = innermost_error();
  if (why.find(fmt::format("errno = {}", ENOENT)) == std::string::npos) {
    answer.reasons.push_back(fmt::format("every create and open will fail: {}", why));
    return;
  }
  std::string container = variable("H5BENTO_CONTAINER");
  if (const auto items = config_items(config, "container"))
    for (const auto& [key, value] : *items)
      if (key == "container") container = std::string(value);
  const auto folder = std::filesystem::path(container).parent_path();
  std::error_code failed;
  if (container.find('%') == std::string::npos && !folder.empty() &&
      !std::filesystem::is_directory(folder, failed))
    answer.reasons.push_back(fmt::format(
        "every create will fail: the folder '{}' of container= is not there", folder.string()));
}

Result<ExitStatus> check(Output& out) {
  Answer answer;
  look_at_variables(answer);
  const auto modules = look_for_modules(answer.driver ? kDriverModule : kModule, answer.reasons);
  if (!modules.empty()) answer.module = modules.front();
  if (!answer.driver) explain_variants(modules, answer.reasons);
  // With a wrong connector HDF5 would print, or run somebody else's plugin.
  if (answer.reasons.empty()) {
    answer.driver ? try_driver(answer) : try_it(answer);
    if (std::string loaded = loaded_of(modules); !loaded.empty()) answer.module = loaded;
  }
  const bool active = answer.reasons.empty();
  // With a driver that it does not have, HDF5 does not even start.
  if (!answer.driver) (void)::unsetenv("HDF5_DRIVER");
  unsigned version[3] = {};
  H5get_libversion(&version[0], &version[1], &version[2]);
  const std::string hdf5 = fmt::format("{}.{}.{}", version[0], version[1], version[2]);
  out.answer() = {{"active", active},
                  {"reasons", answer.reasons},
                  {"remarks", answer.remarks},
                  {"connector", variable("HDF5_VOL_CONNECTOR")},
                  {"plugin", answer.module.empty() ? Json(nullptr) : Json(answer.module)},
                  {"checked", answer.driver ? "driver" : "connector"},
                  {"hdf5", hdf5}};
  out.print("the {} is {} in this environment (HDF5 {})\n",
            answer.driver ? "file driver" : "connector", active ? "active" : "not active", hdf5);
  if (!answer.module.empty()) out.print("  plugin: {}\n", answer.module);
  for (const auto& reason : answer.reasons) out.print("  reason: {}\n", reason);
  for (const auto& remark : answer.remarks) out.print("  note: {}\n", remark);
  return active ? ExitStatus::kDone : ExitStatus::kFound;
}

}  // namespace

void add_check(Tool& tool) {
  tool.add(
      "check", "Say whether the connector is active in this environment, and if not, why", check,
      "Looks at HDF5_VOL_CONNECTOR, HDF5_DRIVER, HDF5_PLUGIN_PATH and H5BENTO_*, loads the plugin, "
      "and lets HDF5\nmake a small file in the folder for temporary files. With HDF5_DRIVER=bento "
      "it is the file driver that is looked at.");
}

}  // namespace bento::tools
