// Copies between typed arrays by several threads.
#pragma once
#include "native/core/napi_setup.h"

#include <cstdint>

namespace warploom {

/// Memory of a typed array at this moment; false for anything else.
bool view_of(napi_env env, napi_value value, napi_typedarray_type* type, char** data, int64_t* bytes);

/// Adds copyArray(to, from) to the addon's exports.
void register_copies(napi_env env, napi_value exports);

}  // namespace warploom
