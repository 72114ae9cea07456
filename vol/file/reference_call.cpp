// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/reference_call.hpp"

#include <cstring>

#include "hdf5/base/library_text.hpp"
#include "hdf5/base/tokens.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

namespace {

/// What the callbacks have heard.
struct Heard {
  const Object* file = nullptr;
  std::optional<H5O_token_t> token;
};

Heard* listener = nullptr;
std::optional<std::uint64_t> known;

class Listening {
 public:
  explicit Listening(Heard& heard) { listener = &heard; }
  ~Listening() { listener = nullptr; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
};

Result<std::string> name_of_file(const H5R_ref_t& reference) {
  auto name = library_text(
      [&](char* room, std::size_t bytes) { return H5Rget_file_name(&reference, room, bytes); });
  if (!name) return fail(Code::kInternal, "a reference of which no file is known");
  return *std::move(name);
}

}  // namespace

Result<ReferenceTarget> ReferenceTarget::of(H5R_ref_t& reference) {
  Heard heard;
  ReferenceTarget target;
  const Listening listening(heard);
  // Before all else: of a file that is not open the library would open it.
  BENTO_ASSIGN(target.file_name_, name_of_file(reference));
  if (heard.file == nullptr) return target;
  target.file_ = context_of(heard.file).get();
  if (target.file_ == nullptr) return target;
  H5O_type_t type = H5O_TYPE_UNKNOWN;
  if (H5Rget_obj_type3(&reference, H5P_DEFAULT, &type) < 0 || !heard.token)
    return fail(Code::kInternal, "a reference of which no object is known");
  std::memcpy(&target.address_, &*heard.token, sizeof target.address_);
  return target;
}

void ReferenceTarget::name_was_asked(const Object* file) noexcept {
  if (listener != nullptr) listener->file = file;
}

bool ReferenceTarget::answers_type(const H5VL_loc_params_t& place,
                                   H5VL_object_get_args_t& args) noexcept {
  if (listener == nullptr || args.op_type != H5VL_OBJECT_GET_TYPE ||
      place.type != H5VL_OBJECT_BY_TOKEN)
    return false;
  listener->token = *place.loc_data.loc_by_token.token;
  *args.args.get_type.obj_type = H5O_TYPE_UNKNOWN;
  return true;
}

KnownAddress::KnownAddress(std::uint64_t address) {
  known = address;
}

KnownAddress::~KnownAddress() {
  known.reset();
}

bool KnownAddress::answers_lookup(H5VL_object_specific_args_t& args) noexcept {
  if (!known || args.op_type != H5VL_OBJECT_LOOKUP) return false;
  *args.args.lookup.token_ptr = token_of(*known);
  return true;
}

}  // namespace bento::vol
