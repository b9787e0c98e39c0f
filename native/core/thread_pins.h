// Threads of this process that keep to cores of their own for a while.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds pinThreads and unpinThreads to the addon's exports.
void register_pins(napi_env env, napi_value exports);

}  // namespace warploom
