// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <map>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/joined/file_names.hpp"
#include "vfd/driver_config.hpp"
#include "vfd/who.hpp"

namespace bento::vfd {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  };
}

std::string goes_to(const std::string& match, const std::string& container,
                    const std::string& file) {
  const auto names = ContainerTemplate::parse(match, container);
  REQUIRE(names);
  return names->container_of(file).value_or("(ordinary)");
}

TEST_CASE("template: which file goes where", "[vfd]") {
  CHECK(goes_to("*", "out.bento", "a.h5") == "out.bento");
  CHECK(goes_to("*", "out.bento", "/deep/er/a.h5") == "out.bento");
  CHECK(goes_to("*", "%s.b%%", "x/a.h5") == "a.h5.b%");
  CHECK(goes_to("*", "%d/%s.b", "x/y/a.h5") == "x/y/a.h5.b");
  CHECK(goes_to("*", "%d/%s.b", "a.h5") == "./a.h5.b");
  CHECK(goes_to("ckpt_*.r*.h5", "ckpt_%1.bento", "out/ckpt_0010.r0003.h5") == "ckpt_0010.bento");
  CHECK(goes_to("ckpt_*.r*.h5", "c%2.%1", "ckpt_a.r.r1.h5") == "c.r1.a");
  CHECK(goes_to("ckpt_*.h5", "x", "log_1.h5") == "(ordinary)");
  CHECK(goes_to("a?.h5", "x", "a1.h5") == "x");
  CHECK(goes_to("a?.h5", "x", "a12.h5") == "(ordinary)");
  CHECK(goes_to("run*/*.h5", "%1-%2", "/data/run7/a.h5") == "7-a");
  CHECK(goes_to("run*/*.h5", "%1-%2", "/data/run7/x/a.h5") == "(ordinary)");
  CHECK(goes_to("/data/*.h5", "x", "/data/a.h5") == "x");
  CHECK(goes_to("/data/*.h5", "x", "data/a.h5") == "(ordinary)");
  // A pattern that would take for ever if each star were tried at each place.
  CHECK(goes_to("*a*a*a*a*a*a*a*a*b", "x", std::string(5000, 'a')) == "(ordinary)");
}

TEST_CASE("template: what is wrong is said", "[vfd]") {
  for (const char* container : {"", "%", "%0", "%x", "%2", "a%"})
    CHECK_FALSE(ContainerTemplate::parse("*", container).has_value());
  CHECK_FALSE(ContainerTemplate::parse("", "x").has_value());
}

TEST_CASE("configuration: string over environment, unknown keys refused", "[vfd]") {
  const auto env = environment({{"H5BENTO_CONTAINER", "env.bento"}, {"H5BENTO_CHUNK", "1M"}});
  const auto config = load_driver_config(" chunk = 2M ;match=*.h5; ", env);
  REQUIRE(config);
  CHECK(config->container == "env.bento");
  CHECK(config->match == "*.h5");
  CHECK(config->shared.chunk == 2u << 20);
  CHECK(load_driver_config("container=x", env)->container == "x");
  for (const char* bad :
       {"keep=1", "what", "rank=-1", "rank=9999999", "size=0", "session=", "files=0"}) {
    const auto refused = load_driver_config(bad, environment({}));
    INFO(bad);
    CHECK((!refused && refused.error().code == Code::kInvalidArgument));
  }
  CHECK_FALSE(load_driver_config("", environment({{"H5BENTO_RANK", "x"}})).has_value());
}

// The test program has no MPI that is initialised.
TEST_CASE("who: the launcher counts, then the configuration", "[vfd]") {
  DriverConfig config;
  config.rank = 2;
  config.size = 5;
  const auto who = [&](std::map<std::string, std::string> variables) {
    const auto found = who_are_we(config, environment(std::move(variables)));
    REQUIRE(found);
    return fmt::format("{}/{} {}", found->rank, found->size, found->job);
  };
  CHECK(who({}) == "2/5 ");
  CHECK(who({{"OMPI_COMM_WORLD_RANK", "1"},
             {"OMPI_COMM_WORLD_SIZE", "4"},
             {"PMIX_NAMESPACE", "77"}}) == "1/4 PMIX_NAMESPACE:77");
  CHECK(who({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_PORT", "h:1"}}) == "3/4 PMI_JOBID:h:1");
  // In a batch script, and in a step.
  CHECK(who({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_NUM_TASKS", "4"}}) ==
        "2/5 ");
  CHECK(who({{"SLURM_PROCID", "0"},
             {"SLURM_JOB_ID", "9"},
             {"SLURM_STEP_NUM_TASKS", "4"},
             {"SLURM_STEP_ID", "1"}}) == "0/4 SLURM_JOB_ID:9.1");
  // Half of it is none of it.
  CHECK(who({{"OMPI_COMM_WORLD_RANK", "1"}}) == "2/5 ");
  CHECK(who({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}) == "2/5 ");
  config.session = "mine";
  CHECK(who({{"OMPI_COMM_WORLD_RANK", "1"},
             {"OMPI_COMM_WORLD_SIZE", "4"},
             {"PMIX_NAMESPACE", "77"}}) == "1/4 session:mine");
  config = {};
  CHECK(who({}) == "0/1 ");
  config.rank = 3;
  CHECK(who({}) == "3/4 ");
  config.size = 3;
  CHECK_FALSE(who_are_we(config, environment({})).has_value());
}

}  // namespace
}  // namespace bento::vfd
