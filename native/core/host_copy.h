// Copies between typed arrays by several threads.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds copyArray(to, from) to the addon's exports.
void register_copies(napi_env env, napi_value exports);

}  // namespace warploom
