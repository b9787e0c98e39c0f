// The cpu backend's table: one device, always available.
#include <new>
#include <string>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "cuda/core/host_memory.h"
#include "native/cpu/device.h"

namespace warploom {
namespace {

constexpr int32_t kMaxThreads = 1024;

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.compare(0, 10, "model name") != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  utsname system{};
  return uname(&system) == 0 ? std::string(system.machine) : std::string("CPU");
}

DeviceDescription describe(int32_t) {
  DeviceDescription description;
  description.name = processor_name();
  description.available = true;
  description.reason = "always available";
  description.memory_bytes = host_memory_bytes();
  description.multiprocessors = cpu::available_cores();
  const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  description.l2_bytes = l2 > 0 ? l2 : 0;
  return description;
}

int32_t count() { return 1; }

Status open(int32_t index, const OpenOptions& options, std::unique_ptr<Device>* out) {
  if (index != 0) {
    return Status(Code::invalid_argument, "the cpu backend has one device, index 0", "index");
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return Status(Code::invalid_argument, "expected 0 to 1024 threads", "threads");
  }
  if (options.memory_limit_bytes < 0) {
    return Status(Code::invalid_argument, "expected zero or more bytes", "memoryLimitBytes");
  }
  try {
    const int threads = options.threads > 0 ? options.threads : cpu::available_cores();
    *out = std::make_unique<cpu::CpuDevice>(describe(0), options.memory_limit_bytes, threads);
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "not enough host memory");
  }
  return {};
}

}  // namespace

const Backend& cpu_backend() {
  static const Backend backend = {
      "cpu", count, describe, open,
      {
#define WARPLOOM_OPERATION(domain, name, Parameters) \
  cpu::domain##_##name, cpu::domain##_##name##_workspace,
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
      }};
  return backend;
}

}  // namespace warploom
