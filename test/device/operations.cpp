// Every operation of the simt backend, in every order of threads, with equal bits. Under TSan a race ends the case,
// under ASan and UBSan an access outside an array does.
//   operations [substring of case names]
#include "test/device/support/operations.h"
#include "cuda/core/device.cuh"
#include "simt/runtime.h"
#include "test/device/support/cases.h"
#include "test/device/support/harness.h"

using namespace warploom;

namespace {

constexpr const char* kOrders[] = {"forward", "reverse", "random:11"};

/// Neither sanitizer judges by the order: TSan takes one, ASan two whose bits are compared, or one of the larger cases.
bool takes_order(const cases::Case& c, const char* order) {
  if (harness::kThreadSanitizer) return order == kOrders[1];
  return !harness::kAddressSanitizer || order == kOrders[2] || (c.quick && order == kOrders[0]);
}

/// Runs a case in each order; empty when all agree and are right.
std::string run_orders(const cases::Case& c, Device& device) {
  std::string first;
  for (const char* order : kOrders) {
    if (!takes_order(c, order)) continue;
    simt::Schedule schedule;
    if (!simt::parse_schedule(order, &schedule)) return "bad order";
    simt::set_schedule(device, schedule);
    std::string digest;
    const std::string failure = c.run(device, &digest);
    if (failure.rfind(cases::kUnsupported, 0) == 0) return failure;
    if (!failure.empty()) return std::string(order) + ": " + failure;
    if (device.memory_use().in_use_bytes != 0) return "memory is still in use";
    if (first.empty()) first = digest;
    if (first != digest) return std::string(order) + ": other bits than in another order";
  }
  return {};
}

/// Runs cases [begin, end) in one child: one line per case, as far as it got.
harness::ChildResult run_cases(const std::vector<cases::Case>& all, size_t begin, size_t end) {
  return harness::in_child([&](std::string* out) {
    std::unique_ptr<Device> device;
    if (const Status status = simt_backend().open(0, {}, &device); !status.ok()) return 1;
    for (size_t i = begin; i < end; ++i) *out += run_orders(all[i], *device) + "\n";
    return 0;
  });
}

void judge(const cases::Case& c, const std::string& line) {
  if (line.rfind(cases::kUnsupported, 0) == 0) harness::skip(c.name, line.substr(cases::kUnsupported.size()));
  else harness::check(line.empty(), c.name, line);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  std::vector<cases::Case> all;
  for (const cases::Case& c : cases::all_cases()) {
    if (harness::kThreadSanitizer && !c.quick) continue;  // TSan: the quick ones
    if (c.name.find(wanted) != std::string::npos) all.push_back(c);
  }
  constexpr size_t kTogether = 16;  // starting a child's fibers costs more than a case does
  for (size_t begin = 0; begin < all.size(); begin += kTogether) {
    const size_t end = std::min(all.size(), begin + kTogether);
    const harness::ChildResult child = run_cases(all, begin, end);
    size_t at = 0;
    for (size_t i = begin; i < end; ++i) {
      if (child.exit_code == 0) {
        const size_t next = child.output.find('\n', at);
        judge(all[i], child.output.substr(at, next - at));
        at = next + 1;
        continue;
      }
      const harness::ChildResult alone = run_cases(all, i, i + 1);  // which one was it
      if (alone.exit_code == 0) judge(all[i], alone.output.substr(0, alone.output.find('\n')));
      else harness::check(false, all[i].name, "exit " + std::to_string(alone.exit_code) + ", signal " + std::to_string(alone.signal));
    }
  }
  return harness::summary();
}
