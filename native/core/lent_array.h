// Typed arrays on page-locked memory that a device lends to runs.
#pragma once
#include "native/core/napi_setup.h"

namespace warploom {

/// Adds lendRoom, beginCopy, finishCopy, handOut, settleRoom, giveBack and provideLent to the addon's exports.
void register_lent(napi_env env, napi_value exports);

}  // namespace warploom
