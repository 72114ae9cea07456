// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/info.hpp"

#include <string>
#include <string_view>

#include "hdf5/base/error_bridge.hpp"

namespace bento::vol {

namespace {

void* info_copy(const void* info) noexcept {
  return guard<void*>("info copy", [&]() -> Result<void*> {
    return info != nullptr ? new Info(*static_cast<const Info*>(info)) : new Info;
  });
}

std::string_view text_of(const void* info) {
  return info != nullptr ? std::string_view(static_cast<const Info*>(info)->text)
                         : std::string_view{};
}

herr_t info_cmp(int* result, const void* a, const void* b) noexcept {
  *result = text_of(a).compare(text_of(b));
  return 0;
}

herr_t info_free(void* info) noexcept {
  delete static_cast<Info*>(info);
  return 0;
}

herr_t info_to_str(const void* info, char** text) noexcept {
  return guard<herr_t>("info to string", [&]() -> Status {
    const std::string_view own = text_of(info);
    auto* const copy = static_cast<char*>(H5allocate_memory(own.size() + 1, false));
    if (copy == nullptr) return fail(Code::kInternal, "no memory for the connector string");
    own.copy(copy, own.size());
    copy[own.size()] = '\0';
    *text = copy;
    return {};
  });
}

// A wrong string is kept and refused by the first create or open. Refused here, it would only make
// the library's initialisation fail, after which the program runs on with the native connector and
// nobody notices.
herr_t info_from_str(const char* text, void** info) noexcept {
  return guard<herr_t>("connector string", [&]() -> Status {
    *info = new Info{text != nullptr ? text : ""};
    return {};
  });
}

}  // namespace

const H5VL_info_class_t kInfoClass = {sizeof(Info), info_copy,   info_cmp,
                                      info_free,    info_to_str, info_from_str};

}  // namespace bento::vol
