// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/info.hpp"

#include <cstring>
#include <memory>

#include "core/config/config.hpp"
#include "vol/callbacks.hpp"
#include "vol/h5/error_bridge.hpp"

namespace bento::vol {

namespace {

void* info_copy(const void* info) {
  return guard<void*>("info copy", [&]() -> Result<void*> {
    return info != nullptr ? new Info(*static_cast<const Info*>(info)) : new Info;
  });
}

herr_t info_cmp(int* result, const void* a, const void* b) {
  static const Info none;
  const auto* const left = a != nullptr ? static_cast<const Info*>(a) : &none;
  const auto* const right = b != nullptr ? static_cast<const Info*>(b) : &none;
  *result = left->text.compare(right->text);
  return 0;
}

herr_t info_free(void* info) {
  delete static_cast<Info*>(info);
  return 0;
}

herr_t info_to_str(const void* info, char** text) {
  return guard<herr_t>("info to string", [&]() -> Status {
    const std::string& own = info != nullptr ? static_cast<const Info*>(info)->text : std::string();
    auto* const copy = static_cast<char*>(H5allocate_memory(own.size() + 1, false));
    if (copy == nullptr) return fail(Code::kInternal, "no memory for the connector string");
    std::memcpy(copy, own.c_str(), own.size() + 1);
    *text = copy;
    return {};
  });
}

herr_t info_from_str(const char* text, void** info) {
  return guard<herr_t>("connector string", [&]() -> Status {
    BENTO_ASSIGN(const Config config, parse_config(text != nullptr ? text : ""));
    *info = new Info{to_string(config)};
    return {};
  });
}

}  // namespace

const H5VL_info_class_t kInfoClass = {sizeof(Info), info_copy, info_cmp, info_free, info_to_str, info_from_str};

}  // namespace bento::vol
