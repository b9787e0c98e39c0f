// Every operation of the simt backend, in every order of threads, with equal bits. Under TSan a race ends the case,
// under ASan and UBSan an access outside an array does.
//   operations [substring of case names]
#include "cuda/core/device.cuh"
#include "simt/runtime.h"
#include "test/device/support/cases.h"
#include "test/device/support/harness.h"

using namespace warploom;

namespace {

/// Runs a case in each order on one device; empty when all agree and are right.
std::string run_orders(const cases::Case& c) {
  std::string first;
  for (const char* order : {"forward", "reverse", "random:11"}) {
    std::unique_ptr<Device> device;
    if (const Status status = simt_backend().open(0, {}, &device); !status.ok()) return status.message();
    simt::Schedule schedule;
    if (!simt::parse_schedule(order, &schedule)) return "bad order";
    simt::set_schedule(*device, schedule);
    std::string digest;
    const std::string failure = c.run(*device, &digest);
    if (failure.rfind(cases::kUnsupported, 0) == 0) return failure;
    if (!failure.empty()) return std::string(order) + ": " + failure;
    if (device->memory_use().in_use_bytes != 0) return "memory is still in use";
    if (first.empty()) first = digest;
    if (first != digest) return std::string(order) + ": other bits than forward";
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (const cases::Case& c : cases::all_cases()) {
    if (c.name.find(wanted) == std::string::npos) continue;
    if (harness::kThreadSanitizer && !c.quick) continue;  // TSan: the quick ones
    const auto child = harness::in_child([&](std::string* out) {
      *out = run_orders(c);
      return out->empty() ? 0 : 1;
    });
    if (child.output.rfind(cases::kUnsupported, 0) == 0) {
      harness::skip(c.name, child.output.substr(cases::kUnsupported.size()));
      continue;
    }
    harness::check(child.exit_code == 0, c.name,
                   child.output + " (exit " + std::to_string(child.exit_code) + ", signal " + std::to_string(child.signal) + ")");
  }
  return harness::summary();
}
