// Tests of the SIMT shim itself: what it must do, and which defects it reports.
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "cuda/core/measuring_device.h"
#include "simt/runtime.h"
#include "test/device/support/shim_launch.h"

using namespace shim;

namespace {

void test_exchange() {
  static std::vector<int> out(128);
  const auto wrong = [](const std::function<int(int)>& expected) {
    return [=] {
      int count = 0;
      for (int t = 0; t < 128; ++t) count += out[static_cast<size_t>(t)] != expected(t);
      return count;
    };
  };
  const Launch launch = {1, 128};
  for (const int width : {1, 2, 8, 32}) {
    const std::string suffix = " width " + std::to_string(width);
    expect_right("shuffle" + suffix, launch, [=](const Block& b) {
      out[static_cast<size_t>(b.thread())] = device::shuffle(b, b.thread(), b.lane() + 3, width);
    }, wrong([=](int t) { return (t & ~(width - 1)) + ((t % 32 + 3) & (width - 1)); }));
    expect_right("shuffle_up" + suffix, launch, [=](const Block& b) {
      out[static_cast<size_t>(b.thread())] = device::shuffle_up(b, b.thread(), 3, width);
    }, wrong([=](int t) { return t % width < 3 ? t : t - 3; }));
    expect_right("shuffle_down" + suffix, launch, [=](const Block& b) {
      out[static_cast<size_t>(b.thread())] = device::shuffle_down(b, b.thread(), 3, width);
    }, wrong([=](int t) { return t % width + 3 >= width ? t : t + 3; }));
    expect_right("shuffle_xor" + suffix, launch, [=](const Block& b) {
      out[static_cast<size_t>(b.thread())] = device::shuffle_xor(b, b.thread(), 5, width);
    }, wrong([=](int t) { return ((t % 32) ^ 5) > ((t % 32) | (width - 1)) ? t : t ^ 5; }));
  }
  expect_right("ballot", launch, [](const Block& b) {
    out[static_cast<size_t>(b.thread())] = static_cast<int>(device::ballot(b, b.lane() % 3 == 0));
  }, wrong([](int) { return 0x49249249; }));
  struct Wide {
    double a, b;
    float c;
    int d;
  };
  expect_right("a value of 24 bytes, many rounds", launch, [](const Block& b) {
    Wide value = {b.thread() * 1.0, -1.0, 2.0f, b.thread()};
    for (int i = 0; i < 32; ++i) value = device::shuffle(b, value, b.lane() + 1);
    const bool same = value.a == b.thread() && value.b == -1.0 && value.c == 2.0f;
    out[static_cast<size_t>(b.thread())] = same ? value.d : -1;
  }, wrong([](int t) { return t; }));
}

void test_barriers() {
  static std::vector<int> out(4 * 256);
  static unsigned int counter;
  const auto wrong = [] {
    int count = 0;
    for (size_t i = 0; i < out.size(); ++i) count += out[i] != static_cast<int>(i) + 1;
    return count;
  };
  expect_right("sync orders shared memory", {4, 256, 256 * sizeof(int)}, [](const Block& b) {
    int* shared = b.shared<int>();
    int value = static_cast<int>(b.index()) * 256 + b.thread();
    for (int i = 0; i < 6; ++i) {  // an even number of reversals
      shared[b.thread()] = value;
      b.sync();
      value = shared[255 - b.thread()];
      b.sync();
    }
    out[static_cast<size_t>(b.index() * 256 + b.thread())] = value + 1;
  }, wrong);
  expect_right("sync_warp orders the warp's part", {4, 256, 256 * sizeof(int)}, [](const Block& b) {
    int* shared = b.shared<int>() + b.warp() * 32;
    int value = static_cast<int>(b.index()) * 256 + b.thread();
    for (int i = 0; i < 32; ++i) {
      shared[b.lane()] = value;
      b.sync_warp();
      value = shared[(b.lane() + 1) & 31];
      b.sync_warp();
    }
    out[static_cast<size_t>(b.index() * 256 + b.thread())] = value + 1;
  }, wrong);
  expect_right("sync_grid orders global memory", {4, 64, 0, true}, [](const Block& b) {
    const size_t mine = static_cast<size_t>(b.index() * 64 + b.thread());
    out[mine] = static_cast<int>(mine);
    for (int i = 0; i < 4; ++i) {
      b.sync_grid(&counter);
      const int value = out[static_cast<size_t>((b.index() + 1) % 4 * 64 + b.thread())];
      b.sync_grid(&counter);
      out[mine] = value;
    }
  }, [] {
    int count = counter != 8 * 4;
    for (size_t i = 0; i < 256; ++i) count += out[i] != static_cast<int>(i);
    return count;
  });
  expect_right("atomics", {8, 128}, [](const Block& b) {
    device::atomic_add(&out[0], 1);
    device::atomic_or(&out[1], 1 << b.warp());
    device::atomic_min(&out[2], -b.thread());
  }, [] { return (out[0] != 1024) + (out[1] != 15) + (out[2] != -127); });
}

void test_messages() {
  static std::vector<int> out(4 * 64);
  static device::Message mail[2][4];
  expect_right("messages between blocks", {4, 64, 0, true}, [](const Block& b) {
    unsigned int value = static_cast<unsigned int>(b.index());
    for (unsigned int turn = 1; turn <= 8; ++turn) {  // two boxes in turn: nobody is two messages ahead
      if (b.thread() == 0) device::post(b, &mail[turn & 1][b.index()], {{value, 0, 0}, turn});
      device::Message got[2];
      device::receive(b, turn, [&](int i) -> const device::Message* {
        return &mail[turn & 1][i == 0 ? (b.index() + 1) % 4 : b.lane() % 4];
      }, got);
      value = got[0].word[0];
      b.sync();
    }
    out[static_cast<size_t>(b.index() * 64 + b.thread())] = static_cast<int>(value);
  }, [] {
    int count = 0;
    for (size_t i = 0; i < 256; ++i) count += out[i] != static_cast<int>(i / 64);
    return count;
  });
}

void test_defects() {
  expect_defect("threads at different barriers", {3, 64}, [](const Block& b) {
    if (b.warp() == 0) {
      b.sync();
    } else {
      b.sync();
    }
  }, {"different barriers", "shim.cpp", "block", "of 3"});
  expect_defect("an exited warp at a barrier", {1, 96}, [](const Block& b) {
    if (b.warp() != 1) b.sync();
  }, {"deadlock", "64 threads wait", "(sync)", "32 threads exited"});
  expect_defect("lanes missing from a shuffle", {1, 64}, [](const Block& b) {
    if (b.lane() != 7) (void)device::shuffle_up(b, 1, 1);
  }, {"deadlock", "31 threads wait", "(shuffle_up)", "1 threads exited"});
  expect_defect("lanes at different warp operations", {1, 32}, [](const Block& b) {
    if (b.lane() < 16) b.sync_warp();
    else (void)device::ballot(b, true);
  }, {"different warp operations"});
  expect_defect("half a warp at the block barrier", {1, 64}, [](const Block& b) {
    if (b.lane() < 16) b.sync_warp();
    b.sync();
  }, {"deadlock", "(sync_warp)"});
  expect_defect("a shuffle and a barrier", {1, 32}, [](const Block& b) {
    if (b.lane() == 3) b.sync();
    else (void)device::shuffle(b, 1, 0);
  }, {"deadlock", "31 threads wait"});
  static unsigned int counter;
  expect_defect("sync_grid without a cooperative launch", {2, 32}, [](const Block& b) { b.sync_grid(&counter); },
                {"cooperative"});
  expect_defect("a block missing from sync_grid", {3, 32, 0, true}, [](const Block& b) {
    if (b.index() != 1) b.sync_grid(&counter);
  }, {"deadlock", "(sync_grid)"});
  static device::Message never;
  const auto wait_for_message = [](const Block& b) {
    device::Message got[1];
    device::receive(b, 1, [](int) { return &never; }, got);
  };
  expect_defect("a message that nobody posts", {2, 64, 0, true}, wait_for_message, {"deadlock", "(receive)"});
  expect_defect("receive without a cooperative launch", {2, 32}, wait_for_message, {"cooperative"});
  static unsigned int dirty = 1;
  expect_defect("a counter that is not zero", {2, 32, 0, true}, [](const Block& b) { b.sync_grid(&dirty); },
                {"counter"});
  expect_defect("copies never waited for", {1, 32, 512}, [](const Block& b) {
    static const double source[32] = {};
    device::async_copy<8>(b, b.shared<double>() + b.lane(), source + b.lane());
    device::async_commit(b);
  }, {"never waited"});
  expect_defect("a misaligned copy", {1, 32, 1024}, [](const Block& b) {
    alignas(16) static const double source[66] = {};
    device::async_copy<16>(b, b.shared<double>() + 2 * b.lane(), source + 2 * b.lane() + 1);
    device::async_wait<0>(b);
  }, {"misaligned"});
  for (const int threads : {0, 16, 48, 1056}) {
    check(run({1, threads}, [](const Block&) {}).code() == Code::internal, "blocks of " + std::to_string(threads));
  }
  check(run({0, 32}, [](const Block&) { std::abort(); }).ok(), "an empty launch runs nothing");
}

void test_async_copies() {
  static std::vector<double> source(256), out(256);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<double>(i) + 1;
  const Launch launch = {1, 256, 256 * sizeof(double)};
  const auto copy = [](const Block& b, bool wait, bool commit) {
    double* shared = b.shared<double>();
    device::async_copy<8>(b, shared + b.thread(), &source[static_cast<size_t>(b.thread())]);
    if (commit) device::async_commit(b);
    if (wait) device::async_wait<0>(b);
    b.sync();
    out[static_cast<size_t>(b.thread())] = shared[255 - b.thread()];
    b.sync();
    if (!wait || !commit) {
      device::async_commit(b);
      device::async_wait<0>(b);
    }
  };
  const auto wrong = [] {
    int count = 0;
    for (size_t i = 0; i < 256; ++i) count += !(out[i] == 256.0 - static_cast<double>(i));
    return count;
  };
  expect_right("async_copy", launch, [=](const Block& b) { copy(b, true, true); }, wrong);
  const auto caught = [&](const char* name, bool wait, bool commit) {
    const auto child = in_child([&](std::string*) {
      if (!run(launch, [=](const Block& b) { copy(b, wait, commit); }).ok()) return 2;
      return wrong() == 256 ? 1 : 0;
    }, true);
    check(child.exit_code == 1 || child.exit_code == harness::kRaceExit, name, std::to_string(child.exit_code));
  };
  caught("a missing async_wait gives NaN", false, true);
  caught("a missing async_commit gives NaN", true, false);
  const auto pending = in_child([&](std::string*) {
    static double first, second;
    const Status status = run({1, 32, 32 * 2 * sizeof(double)}, [](const Block& b) {
      double* shared = b.shared<double>();
      for (int group = 0; group < 2; ++group) {
        device::async_copy<8>(b, shared + group * 32 + b.lane(), &source[static_cast<size_t>(group * 32 + b.lane())]);
        device::async_commit(b);
      }
      device::async_wait<1>(b);
      if (b.lane() == 5) first = shared[5], second = shared[37];
      device::async_wait<0>(b);
    });
    return status.ok() && first == 6 && second != second ? 0 : 1;
  });
  check(pending.exit_code == 0, "async_wait<1> leaves the newest group");
}

void test_orders() {
  // A racy kernel: its answer shows the order in which threads ran.
  for (const char* order : kOrders) {
    const auto child = in_child([&](std::string* out) {
      static std::vector<int> seen;
      Launch launch = {3, 64};
      launch.order = order;
      const Status status = run(launch, [](const Block& b) { seen.push_back(static_cast<int>(b.index()) * 64 + b.thread()); });
      const std::set<int> all(seen.begin(), seen.end());
      for (const int value : seen) *out += std::to_string(value) + " ";
      return status.ok() && all.size() == 192 ? 0 : 1;
    }, true);
    if (harness::kThreadSanitizer) {
      check(child.exit_code == harness::kRaceExit, std::string("the order probe is a race: ") + order);
      continue;
    }
    const bool forward = child.output.rfind("0 1 2 3 ", 0) == 0, reverse = child.output.rfind("191 190 189 ", 0) == 0;
    const std::string name = order;
    check(child.exit_code == 0 && forward == (name == "forward") && reverse == (name == "reverse"),
          "threads run in order " + name, child.output.substr(0, 40));
  }
  Schedule schedule;
  check(parse_schedule("random:77", &schedule) && schedule.seed == 77, "random:77");
  for (const char* text : {"", "sideways", "random:", "random:x", "random:1x"}) {
    check(!parse_schedule(text, &schedule), std::string("schedule '") + text + "' is refused");
  }
}

void test_arithmetic() {
  check(device::fma(0.1, 10.0, -1.0) != 0.0, "fma is fused");
  check(device::reciprocal(3.0) == 1.0 / 3.0 && device::reciprocal(0.0) == std::numeric_limits<double>::infinity(),
        "reciprocal");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check(!device::is_finite(nan) && !device::is_finite(-1.0 / 0.0) && device::is_finite(1e308), "is_finite");
  check(device::maximum(nan, 2.0) == 2.0, "maximum drops a NaN, as on the device");
  uint64_t word = (uint64_t{kUnwritten} << 32) | kUnwritten;
  double wide;
  float narrow;
  std::memcpy(&wide, &word, 8);
  std::memcpy(&narrow, &word, 4);
  check(wide != wide && narrow != narrow, "unwritten memory is NaN in both precisions");
}

void test_replay() {
  std::unique_ptr<Device> device;
  check(open_device(OpenOptions(), &device).ok(), "a device opens");
  GpuDevice& gpu = static_cast<GpuDevice&>(*device);
  std::atomic<int> launches{0};
  const Body add = [&](const Block& b) { launches += b.thread() == 0; };
  const auto body = [&]() -> Status {
    WARPLOOM_TRY(gpu.launch_blocks(1, 32, 0, false, add));
    return gpu.launch_blocks(2, 32, 0, false, add);
  };
  for (const int64_t times : {0, 1, 5}) {
    launches = 0;
    check(gpu.replay(times, body).ok() && launches == 3 * times, "replay " + std::to_string(times) + " times");
  }
  int asked = 0;
  const Status stopped = gpu.replay(5, [&]() -> Status { return ++asked == 3 ? Status(Code::internal, "enough") : Status(); });
  check(!stopped.ok() && asked == 3, "replay stops at an error");
  MeasuringDevice measuring(gpu);
  check(measuring.replay(5, [&]() -> Status { ++asked; return {}; }).ok() && asked == 4, "measured once");
}

}  // namespace

int main() {
  test_exchange();
  test_barriers();
  test_messages();
  test_defects();
  test_async_copies();
  test_orders();
  test_arithmetic();
  test_replay();
  return harness::summary();
}
