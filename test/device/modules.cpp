// Modules on the shim: text that is compiled at run time, with the sanitizer of this build, and what the sanitizer finds in it.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "simt/modules.h"
#include "test/device/support/shim_launch.h"

using namespace shim;

namespace {

const char* const kText = R"(
#include "cuda/core/module.cuh"
struct Rotate {
  struct Parameters { int* data; };
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    int* const items = block.shared<int>();
    const int64_t at = block.index() * block.threads() + block.thread();
    items[block.thread()] = p.data[at];
    if (kOrdered) block.sync();
    p.data[at] = items[(block.thread() + 1) % block.threads()] + device::warp_sum(block, 1);
  }
  static constexpr bool kOrdered = ORDERED;
};
WARPLOOM_KERNEL(rotate, Rotate)
struct Outside {
  struct Parameters { int* data; };
  static constexpr int kMaxThreads = 64, kMinBlocks = 1;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters&) {
    block.shared<int>()[block.threads()] = 1;
  }
};
WARPLOOM_KERNEL(outside, Outside)
)";

const std::string kFolder = [] {
  char name[] = "/tmp/warploom-modules-XXXXXX";
  return std::string(mkdtemp(name) != nullptr ? name : ".");
}();

/// The shared object of the text; empty where it does not compile.
std::string compile(const std::string& defines) {
  std::ofstream(kFolder + "/text.cpp") << kText;
  const std::string sanitizer = harness::kThreadSanitizer ? " -fsanitize=thread -g1" : harness::kAddressSanitizer ? " -fsanitize=address" : "";
  const std::string command = std::string(WARPLOOM_CXX) + " -std=c++17 -O1 -fPIC -shared -w -DWARPLOOM_SIMT=1 -fvisibility=hidden" + sanitizer +
                              " -ffp-contract=off " + defines + " -Inative -I. -o " + kFolder + "/text.so " + kFolder + "/text.cpp";
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream file(kFolder + "/text.so", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Loads the module and launches a kernel on the data.
Status launch(const std::string& image, int kernel, const Launch& shape, int* data) {
  ModuleSet modules;
  LoadedModule loaded;
  WARPLOOM_TRY(modules.load(image, {"rotate", "outside"}, &loaded));
  const auto entry = reinterpret_cast<ModuleEntry>(const_cast<void*>(loaded.kernels[static_cast<size_t>(kernel)].entry));
  return run(shape, [&](const Block& block) { entry(block, &data); });
}

const Launch kShape = {3, 64, 64 * sizeof(int)};

void test_values(const std::string& image) {
  for (const char* order : kOrders) {
    Launch shape = kShape;
    shape.order = order;
    const auto child = in_child([&](std::string* out) {
      std::vector<int> data(192);
      for (int i = 0; i < 192; ++i) data[static_cast<size_t>(i)] = i;
      const Status status = launch(image, 0, shape, data.data());
      if (!status.ok()) *out = status.message();
      for (int i = 0; i < 192; ++i) {
        if (data[static_cast<size_t>(i)] != i / 64 * 64 + (i + 1) % 64 + 32) *out = "wrong value at " + std::to_string(i);
      }
      return out->empty() ? 0 : 1;
    });
    check(child.exit_code == 0, std::string("a module's values (") + order + ")", child.output + " exit " + std::to_string(child.exit_code));
  }
}

void test_interface(const std::string& image) {
  ModuleSet modules;
  LoadedModule first, second, missing;
  check(modules.load(image, {"rotate", "outside"}, &first).ok() && modules.load(image, {"outside"}, &second).ok(), "the same module twice");
  check(first.library != second.library && first.kernels[1].entry != second.kernels[0].entry, "each has its own code");
  check(first.kernels[0].parameter_bytes == 8 && first.kernels[0].max_threads == 256 && second.kernels[0].max_threads == 64, "its figures");
  check(modules.load(image, {"rotate", "none"}, &missing).code() == Code::invalid_argument, "a kernel that it does not have");
  check(!modules.load("no shared object", {}, &missing).ok(), "something else");
  modules.unload(first.library);
  modules.unload(first.library);
}

void test_sanitizers(const std::string& image, const std::string& racing) {
  const auto ends = [](const std::string& name, bool here, int exit_code, const std::string& text, int kernel) {
    if (!here) {
      harness::skip(name, "needs the other sanitizer build");
      return;
    }
    const auto child = in_child([&](std::string*) {
      std::vector<int> data(192);
      return launch(text, kernel, kShape, data.data()).ok() ? 0 : 1;
    }, true);
    check(child.exit_code == exit_code, name, "exit " + std::to_string(child.exit_code));
  };
  ends("a race in a module's text", harness::kThreadSanitizer, harness::kRaceExit, racing, 0);
  ends("a module's text writes past its shared memory", harness::kAddressSanitizer, harness::kAddressExit, image, 1);
}

}  // namespace

int main() {
  const std::string image = compile("-DORDERED=true"), racing = compile("-DORDERED=false");
  check(!image.empty() && !racing.empty(), "the text compiles");
  if (!image.empty() && !racing.empty()) {
    test_values(image);
    test_interface(image);
    test_sanitizers(image, racing);
  }
  (void)std::system(("rm -r " + kFolder).c_str());
  return harness::summary();
}
