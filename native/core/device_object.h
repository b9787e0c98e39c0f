// The native half of lib/core/device.ts: open devices, which JavaScript holds by number.
#pragma once
#include <memory>

#include "native/core/error.h"
#include "native/core/napi_setup.h"

namespace warploom {

class Session;

/// Finds the open session with this number, or says why there is none.
Failure session_of(napi_env env, napi_value id, std::shared_ptr<Session>* out);

/// Adds devices, operations, open, allocate, pinned, run, workspace, memory, trim, cancel and
/// close to the addon's exports.
void register_devices(napi_env env, napi_value exports);

}  // namespace warploom
