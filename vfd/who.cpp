// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vfd/who.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/joined/slot.hpp"

namespace bento::vfd {

namespace {

struct Numbers {
  std::uint64_t rank = 0;
  std::uint64_t size = 0;
};

template <class Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

/// MPI_COMM_WORLD is an address in Open MPI and a number in MPICH and all that follow its binary
/// interface; the calls are the same but for that.
template <class Comm>
std::optional<Numbers> ask_mpi(Comm world) {
  auto* const rank_of = symbol<int(Comm, int*)>("MPI_Comm_rank");
  auto* const size_of = symbol<int(Comm, int*)>("MPI_Comm_size");
  int rank = -1;
  int size = 0;
  if (rank_of == nullptr || size_of == nullptr || rank_of(world, &rank) != 0 ||
      size_of(world, &size) != 0 || rank < 0 || size < 1)
    return std::nullopt;
  return Numbers{static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(size)};
}

std::optional<Numbers> from_mpi() {
  constexpr int kMpichWorld = 0x44000000;
  auto* const initialised = symbol<int(int*)>("MPI_Initialized");
  auto* const finalised = symbol<int(int*)>("MPI_Finalized");
  int yes = 0;
  int over = 1;
  if (initialised == nullptr || finalised == nullptr || initialised(&yes) != 0 || yes == 0 ||
      finalised(&over) != 0 || over != 0)
    return std::nullopt;
  if (void* const world = ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"); world != nullptr)
    return ask_mpi<void*>(world);
  if (::dlsym(RTLD_DEFAULT, "MPIR_Err_return_comm") != nullptr ||
      ::dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support") != nullptr)
    return ask_mpi<int>(kMpichWorld);
  return std::nullopt;
}

struct Launcher {
  const char* rank;
  const char* size;
  const char* job;
  const char* step;  ///< part of the job's name; also set only where the others can be believed
};

// A batch script of Slurm has rank and size in its environment, too, but no step: it is no process
// of a parallel program.
constexpr std::array<Launcher, 5> kLaunchers = {{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", nullptr},
    {"PMI_RANK", "PMI_SIZE", "PMI_JOBID", nullptr},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID", "SLURM_STEP_ID"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_JOB_ID", nullptr},
    {"PALS_RANKID", "PALS_SIZE", "PALS_APID", nullptr},
}};

std::optional<std::uint64_t> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text, text + std::strlen(text), value);
  if (problem != std::errc{} || *end != '\0') return std::nullopt;
  return value;
}

std::string text_of(const char* text) {
  return text != nullptr ? text : "";
}

/// Names of the launcher's job, so that the numbers of two launchers are not the same job.
std::string job_of(const Launcher& launcher, const Environment& environment) {
  std::string job = text_of(environment(launcher.job));
  // Of MPICH's Hydra the port at which its processes meet is as good as a name.
  if (job.empty() && std::string_view(launcher.rank) == "PMI_RANK")
    job = text_of(environment("PMI_PORT"));
  if (job.empty() && std::string_view(launcher.rank) == "OMPI_COMM_WORLD_RANK")
    job = text_of(environment("OMPI_MCA_ess_base_jobid"));
  if (job.empty()) return {};
  if (launcher.step != nullptr) job += "." + text_of(environment(launcher.step));
  return fmt::format("{}:{}", launcher.job, job).substr(0, kJobBytes);
}

}  // namespace

Result<Who> who_are_we(const DriverConfig& config, const Environment& environment) {
  std::optional<Numbers> found;
  Who who;
  for (const auto& launcher : kLaunchers) {
    const auto rank = number(environment(launcher.rank));
    const auto size = number(environment(launcher.size));
    if (!rank || !size || (launcher.step != nullptr && environment(launcher.step) == nullptr))
      continue;
    found = Numbers{*rank, *size};
    who.source = launcher.rank;
    who.job = job_of(launcher, environment);
    break;
  }
  if (const auto mpi = from_mpi()) {
    found = mpi;
    who.source = "MPI_Comm_rank";
  }
  if (!found) {
    found = Numbers{config.rank.value_or(0), config.size.value_or(config.rank.value_or(0) + 1)};
    who.source = "rank= and size=";
  }
  if (!config.session.empty()) who.job = fmt::format("session:{}", config.session);
  if (found->rank >= found->size || found->size > kMaxJoinedTasks)
    return fail(
        Code::kInvalidArgument,
        fmt::format("this is process {} of {}, says {}; a rank is less than the size, and a "
                    "container has streams for at most {} processes",
                    found->rank, found->size, who.source, kMaxJoinedTasks));
  who.rank = static_cast<std::uint32_t>(found->rank);
  who.size = static_cast<std::uint32_t>(found->size);
  return who;
}

}  // namespace bento::vfd
