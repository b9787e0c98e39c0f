// Modules (device code compiled at run time), which JavaScript holds by number (lib/core/module.ts).
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds loadModule, launchModule, residentBlocks and releaseModule to the addon's exports.
void register_modules(napi_env env, napi_value exports);

}  // namespace warploom
