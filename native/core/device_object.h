// The native half of lib/core/device.ts: open devices, which JavaScript holds by number.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds devices, operations, open, allocate, pinned, run, workspace, memory, trim, cancel and
/// close to the addon's exports.
void register_devices(napi_env env, napi_value exports);

}  // namespace warploom
