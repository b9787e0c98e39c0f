// What the SIMT shim lets ThreadSanitizer, AddressSanitizer and the mutation test find.
#include "test/device/support/shim_launch.h"

using namespace shim;

namespace {

/// Runs a defect that a sanitizer must end.
void expect_sanitizer(const std::string& name, bool here, int exit_code, const Launch& launch, const Body& body) {
  if (!here) {
    harness::skip(name, "needs the other sanitizer build");
    return;
  }
  const auto child = in_child([&](std::string*) { return run(launch, body).ok() ? 0 : 1; }, true);
  check(child.exit_code == exit_code, name, "exit " + std::to_string(child.exit_code));
}

const Launch two_warps = {1, 64, 64 * sizeof(double)};
std::vector<double> global(1024);

void test_races() {
  const bool tsan = harness::kThreadSanitizer;
  const int race = harness::kRaceExit;
  expect_sanitizer("race in shared memory, no barrier", tsan, race, two_warps, [](const Block& b) {
    double* shared = b.shared<double>();
    shared[b.thread()] = b.thread();
    global[static_cast<size_t>(b.thread())] = shared[(b.thread() + 1) & 63];
  });
  expect_sanitizer("a shuffle orders no memory", tsan, race, {1, 32, 32 * sizeof(double)}, [](const Block& b) {
    double* shared = b.shared<double>();
    shared[b.lane()] = b.lane();
    (void)device::shuffle(b, 1, 0);
    global[static_cast<size_t>(b.lane())] = shared[(b.lane() + 1) & 31];
  });
  expect_sanitizer("sync_warp orders no other warp", tsan, race, two_warps, [](const Block& b) {
    double* shared = b.shared<double>();
    shared[b.thread()] = b.thread();
    b.sync_warp();
    global[static_cast<size_t>(b.thread())] = shared[(b.thread() + 32) & 63];
  });
  expect_sanitizer("race in global memory between blocks", tsan, race, {2, 32}, [](const Block& b) {
    global[static_cast<size_t>(b.thread())] = static_cast<double>(b.index());
  });
  expect_sanitizer("sync orders no other block", tsan, race, {2, 32}, [](const Block& b) {
    if (b.index() == 0 && b.thread() == 3) global[0] = 1;
    b.sync();
    if (b.index() == 1 && b.thread() == 3) global[1] = global[0];
  });
  expect_sanitizer("a buffer overwritten while others read it", tsan, race, two_warps, [](const Block& b) {
    double* shared = b.shared<double>();
    shared[b.thread()] = b.thread();
    b.sync();
    global[static_cast<size_t>(b.thread())] = shared[63 - b.thread()];
    device::async_copy<8>(b, shared + b.thread(), &global[512 + static_cast<size_t>(b.thread())]);
    device::async_commit(b);
    b.sync();  // orders the copy's end, but the copy began before it
    device::async_wait<0>(b);
  });
}

void test_overruns() {
  const bool asan = harness::kAddressSanitizer;
  const int address = harness::kAddressExit;
  expect_sanitizer("shared memory overrun", asan, address, two_warps, [](const Block& b) {
    b.shared<double>()[b.thread() + 1] = 1;
  });
  expect_sanitizer("shared memory underrun", asan, address, two_warps, [](const Block& b) {
    b.shared<double>()[b.thread() - 1] = 1;
  });
  if (!asan && !harness::kThreadSanitizer) {
    expect_defect("shared memory overrun, by canary", two_warps, [](const Block& b) {
      volatile double* shared = b.shared<double>();
      shared[b.thread() + 1] = 1;
    }, {"past its 512 bytes"});
  }
}

void test_clean_kernel() {
  const auto clean = in_child([&](std::string*) {
    const Status status = run({4, 64, 64 * sizeof(double)}, [](const Block& b) {
      double* shared = b.shared<double>();
      const size_t mine = static_cast<size_t>(b.index() * 64 + b.thread());
      shared[b.thread()] = static_cast<double>(mine);
      b.sync();
      global[mine] = shared[63 - b.thread()];
      b.sync_warp();
      shared[63 - b.thread()] = 0;
    });
    return status.ok() ? 0 : 1;
  });
  check(clean.exit_code == 0, "a correct kernel gives no report");
}

/// Each barrier of a small kernel, taken away through the mutation seam.
void test_mutation() {
  static std::vector<double> out(64);
  const Body body = [](const Block& b) {
    double* shared = b.shared<double>();
    shared[b.thread()] = b.thread();
    b.sync();
    const double value = shared[63 - b.thread()];
    b.sync();
    shared[b.thread()] = value + 1;
    b.sync_warp();
    out[static_cast<size_t>(b.thread())] = shared[b.thread() ^ 1];
  };
  const auto recorded = in_child([&](std::string* text) {
    BarrierMutation::record(true);
    const Status status = run({1, 64, 512}, body);
    const std::vector<BarrierSite> sites = BarrierMutation::recorded();
    for (const BarrierSite& site : sites) *text += std::string(site.kind) + " " + std::to_string(site.line) + "\n";
    return status.ok() && sites.size() == 3 ? 0 : 1;
  });
  check(recorded.exit_code == 0, "three barrier sites are recorded", recorded.output);
  size_t at = 0;
  for (int index = 0; index < 3 && at < recorded.output.size(); ++index) {
    const std::string row = recorded.output.substr(at, recorded.output.find('\n', at) - at);
    at += row.size() + 1;
    bool caught = false;
    for (const char* order : kOrders) {
      const auto child = in_child([&](std::string*) {
        BarrierSite site;
        const std::string kind = row.substr(0, row.find(' '));
        site.kind = kind.c_str();
        site.file = __FILE__;
        site.line = std::atoi(row.c_str() + row.find(' '));
        BarrierMutation::disable(&site);
        Launch launch = {1, 64, 512};
        launch.order = order;
        if (!run(launch, body).ok()) return 1;
        for (int t = 0; t < 64; ++t) {
          if (out[static_cast<size_t>(t)] != 64 - (t ^ 1)) return 1;
        }
        return 0;
      }, true);
      caught = caught || child.exit_code != 0;
    }
    check(caught, "deleting " + row + " is caught");
  }
}

}  // namespace

int main() {
  test_races();
  test_overruns();
  test_clean_kernel();
  test_mutation();
  return harness::summary();
}
