#include "native/core/thread_pins.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "native/core/error.h"
#include "native/core/host_copy.h"
#include "native/core/js.h"

namespace warploom {
namespace {

/// The cores that the calling thread may use: those of the process, as its control groups and its user allow.
bool allowed_cores(cpu_set_t* set) {
  CPU_ZERO(set);
  return sched_getaffinity(0, sizeof(*set), set) == 0;
}

/// The core on which a thread of this process ran last, where the system has seen fit to put it; -1: unknown.
int last_core(int32_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return -1;
  // The name, which may hold anything, ends with the last parenthesis; the core is the 37th field behind it.
  size_t at = line.rfind(')');
  for (int field = 0; field < 37 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  return at != std::string::npos ? std::atoi(line.c_str() + at) : -1;
}

/// Of threads of this process only: the number of one that has ended may be another process's.
bool set_cores(int32_t thread, const cpu_set_t& set) {
  const std::string own = "/proc/self/task/" + std::to_string(thread);
  return access(own.c_str(), F_OK) == 0 && sched_setaffinity(thread, sizeof(set), &set) == 0;
}

/// Gives each thread a core that no other one has. False where that does not go; then all may use every allowed core.
bool pin(const std::vector<int32_t>& threads, int64_t spare) {
  cpu_set_t allowed, taken;
  CPU_ZERO(&taken);
  if (!allowed_cores(&allowed) || CPU_COUNT(&allowed) < static_cast<int64_t>(threads.size()) + spare) return false;
  for (const int32_t thread : threads) {
    const int last = std::max(0, last_core(thread));
    int core = -1;
    for (int i = 0; i < CPU_SETSIZE && core < 0; ++i) {
      const int other = (last + i) % CPU_SETSIZE;
      if (CPU_ISSET(other, &allowed) && !CPU_ISSET(other, &taken)) core = other;
    }
    cpu_set_t own;
    CPU_ZERO(&own);
    if (core >= 0) CPU_SET(core, &own);
    if (core < 0 || !set_cores(thread, own)) {
      for (const int32_t each : threads) set_cores(each, allowed);
      return false;
    }
    CPU_SET(core, &taken);
  }
  return true;
}

/// The system's numbers of threads, from an Int32Array.
bool read_threads(napi_env env, napi_value value, std::vector<int32_t>* out) {
  napi_typedarray_type type = napi_uint8_array;
  char* data = nullptr;
  int64_t bytes = 0;
  if (!view_of(env, value, &type, &data, &bytes) || type != napi_int32_array) return false;
  const auto* const first = reinterpret_cast<const int32_t*>(data);
  out->assign(first, first + bytes / 4);
  // 0 would be the calling thread.
  return std::all_of(out->begin(), out->end(), [](int32_t thread) { return thread > 0; });
}

/// pinThreads(threads, spare): each of these threads of the process keeps to a core of its own from here on; false where the
/// process may not use `spare` cores more than that, or the system refuses.
napi_value pin_threads(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<2> arguments(env, info);
    std::vector<int32_t> threads;
    int64_t spare = 0;
    const bool ok = read_threads(env, arguments.value[0], &threads) &&
                    !js::read_integer(env, "spare", arguments.value[1], 0, CPU_SETSIZE, &spare) && pin(threads, spare);
    napi_value result = nullptr;
    napi_get_boolean(env, ok, &result);
    return result;
  });
}

/// unpinThreads(threads): they may use all cores of the process again.
napi_value unpin_threads(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    std::vector<int32_t> threads;
    cpu_set_t allowed;
    if (!read_threads(env, arguments.value[0], &threads) || !allowed_cores(&allowed)) return nullptr;
    for (const int32_t thread : threads) set_cores(thread, allowed);
    return nullptr;
  });
}

}  // namespace

void register_pins(napi_env env, napi_value exports) {
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    js::set(env, exports, name, function);
  };
  add("pinThreads", pin_threads);
  add("unpinThreads", unpin_threads);
}

}  // namespace warploom
