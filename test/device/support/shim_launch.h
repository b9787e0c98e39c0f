// Launching small kernels on the shim, in all orders, and what the tests expect of them.
#pragma once
#include <string>
#include <vector>

#include "cuda/core/device.cuh"
#include "simt/fibers.h"
#include "test/device/support/harness.h"

namespace shim {

using namespace warploom;
using namespace warploom::simt;
using device::Block;
using harness::check;
using harness::in_child;

using Body = std::function<void(const Block&)>;
inline const std::vector<const char*> kOrders = harness::kThreadSanitizer  // judges by the order of events: more orders say nothing new
    ? std::vector<const char*>{"forward", "random:1"} : std::vector<const char*>{"forward", "reverse", "random:1"};

struct Launch {
  int64_t blocks = 1;
  int threads = 64;
  size_t shared_bytes = 0;
  bool cooperative = false;
  const char* order = "forward";
};

inline Status run(const Launch& launch, const Body& body) {
  Scheduler scheduler;
  Schedule schedule;
  if (!parse_schedule(launch.order, &schedule)) return {Code::internal, "bad order"};
  scheduler.set_schedule(schedule);
  return scheduler.run({launch.blocks, launch.threads, launch.shared_bytes, launch.cooperative, &body});
}

/// Runs in a child and checks that the status is ok and `wrong()` counts zero afterwards.
inline void expect_right(const std::string& name, Launch launch, const Body& body, const std::function<int()>& wrong) {
  for (const char* order : kOrders) {
    launch.order = order;
    const auto child = in_child([&](std::string* out) {
      const Status status = run(launch, body);
      if (!status.ok()) *out = status.message();
      else if (const int count = wrong(); count != 0) *out = std::to_string(count) + " wrong values";
      return out->empty() ? 0 : 1;
    });
    check(child.exit_code == 0, name + " (" + order + ")", child.output + " exit " + std::to_string(child.exit_code));
  }
}

/// Checks that every order reports a defect whose message has all of `parts`.
inline void expect_defect(const std::string& name, Launch launch, const Body& body, const std::vector<std::string>& parts) {
  for (const char* order : kOrders) {
    launch.order = order;
    const auto child = in_child([&](std::string* out) {
      Status status = run(launch, body);
      *out = status.message();
      return status.code() == Code::internal ? 0 : 1;
    });
    bool all = child.exit_code == 0;
    for (const std::string& part : parts) all = all && child.output.find(part) != std::string::npos;
    check(all, name + " (" + order + ")", child.output + " exit " + std::to_string(child.exit_code));
  }
}

}  // namespace shim
