// The only place that includes Node-API. No C++ exception ever leaves a callback of this addon: node-addon-api runs in
// its exception-free mode, and guarded() of js.h stops everything else.
#pragma once
#ifndef NAPI_VERSION
#define NAPI_VERSION 8
#endif
#ifndef NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS
#define NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS
#endif
#ifndef NAPI_DISABLE_CPP_EXCEPTIONS
#define NAPI_DISABLE_CPP_EXCEPTIONS
#endif
// Without it, terminating a worker during a call aborts the process with an error that nobody can catch.
#ifndef NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
#endif
#include <napi.h>
