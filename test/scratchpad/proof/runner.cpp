// Runs kernels before and after the scratchpad pass on the SIMT shim and compares every byte they leave behind.
//   runner [--orders LIST] [--mutants] BATCH.so …
// Prints one JSON line per kernel: { name, original, rewritten, equal, mutants: [{ line, caught }] }; a kernel's text is empty
// when it ran without a defect, a race (under ThreadSanitizer) or memory read before it is written, else it says what was found.
// A child process runs each batch: ThreadSanitizer wants its fibers away from the process that forks.
#include <dlfcn.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "simt/context.h"
#include "simt/fibers.h"
#include "test/device/support/harness.h"
#include "test/device/support/plain_cuda.h"

using namespace warploom;
using simt::device::Block;

namespace {

const plain::Self* current = nullptr;
int races = 0;

WARPLOOM_SHIM __attribute__((noinline)) void resume(const plain::Self* me) { current = me; }
WARPLOOM_SHIM const Block& fiber_of(const plain::Self* me) { return *static_cast<const Block*>(me->fiber); }

int votes = 0;

}  // namespace

#if defined(__SANITIZE_THREAD__)
extern "C" WARPLOOM_SHIM void __tsan_on_report(void*) { ++races; }
#endif

namespace plain {

WARPLOOM_SHIM __attribute__((noinline)) const Self& self() { return *current; }
WARPLOOM_SHIM __attribute__((noinline)) void sync(const char* file, int line) {
  const Self* me = current;
  fiber_of(me).sync(file, line);
  resume(me);
}
WARPLOOM_SHIM __attribute__((noinline)) int sync_count(int predicate, const char* file, int line) {
  const Self* me = current;
  votes += predicate;  // fibers run one at a time
  fiber_of(me).sync(file, line);
  const int count = votes;
  fiber_of(me).sync(file, line);
  if (fiber_of(me).thread() == 0) votes = 0;
  fiber_of(me).sync(file, line);
  resume(me);
  return count;
}
WARPLOOM_SHIM __attribute__((noinline)) void sync_warp(const char* file, int line) {
  const Self* me = current;
  fiber_of(me).sync_warp(file, line);
  resume(me);
}
WARPLOOM_SHIM __attribute__((noinline)) unsigned int shuffle(int kind, unsigned int word, int operand, int width, const char* file,
                                                             int line) {
  const Self* me = current;
  const Block& block = fiber_of(me);
  unsigned int got = 0;
  if (kind == 0) got = simt::device::shuffle(block, word, operand, width, file, line);
  if (kind == 1) got = simt::device::shuffle_up(block, word, operand, width, file, line);
  if (kind == 2) got = simt::device::shuffle_down(block, word, operand, width, file, line);
  if (kind == 3) got = simt::device::shuffle_xor(block, word, operand, width, file, line);
  resume(me);
  return got;
}

}  // namespace plain

namespace {

using Bytes = std::vector<unsigned char>;

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
void put(Bytes& bytes, long long i, T value) {
  std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
}

size_t size_of(char type) { return type == 'd' || type == 'l' ? 8 : type == 's' ? 2 : type == 'b' ? 1 : 4; }

/// Inputs are numbers from -1 to 1 or from 0 to 255; outputs begin as a pattern that is no NaN.
Bytes make_array(const plain::Argument& argument, uint64_t seed) {
  Bytes bytes(static_cast<size_t>(argument.count) * size_of(argument.type), 0x41);
  if (argument.direction == 'o') return bytes;
  for (long long i = 0; i < argument.count; ++i) {
    const uint64_t random = mix(seed * 1000003u + static_cast<uint64_t>(i));
    const double real = static_cast<double>(random >> 11) * 0x1p-52 - 1;
    const int whole = static_cast<int>(random >> 56);
    switch (argument.type) {
      case 'f': put(bytes, i, static_cast<float>(real)); break;
      case 'd': put(bytes, i, real); break;
      case 'l': put(bytes, i, static_cast<long long>(whole)); break;
      case 's': put(bytes, i, static_cast<short>(whole)); break;
      case 'b': put(bytes, i, static_cast<unsigned char>(whole)); break;
      default: put(bytes, i, whole);
    }
  }
  return bytes;
}

bool holds_nan(const Bytes& bytes, char type) {
  const size_t count = bytes.size() / size_of(type);
  for (size_t i = 0; i < count; ++i) {
    float single;
    double real;
    if (type == 'f' && (std::memcpy(&single, bytes.data() + 4 * i, 4), single != single)) return true;
    if (type == 'd' && (std::memcpy(&real, bytes.data() + 8 * i, 8), real != real)) return true;
  }
  return false;
}

struct Outcome {
  std::string found;  ///< empty: nothing wrong
  std::vector<Bytes> arrays;
};

struct Run {
  const plain::Batch* batch;
  const plain::Case* kernel;
  void (*entry)(void* const*);
  std::string order;
};

/// Blocks of the grid in the order of the schedule.
std::vector<unsigned int> block_order(unsigned int count, const std::string& order) {
  std::vector<unsigned int> blocks(count);
  std::iota(blocks.begin(), blocks.end(), 0u);
  if (order == "reverse") std::reverse(blocks.begin(), blocks.end());
  if (order.rfind("random", 0) == 0) {
    for (unsigned int i = count; i > 1; --i) std::swap(blocks[i - 1], blocks[mix(i + order.size()) % i]);
  }
  return blocks;
}

Outcome run(simt::Scheduler& scheduler, const Run& what) {
  const plain::Case& kernel = *what.kernel;
  Outcome outcome;
  std::vector<void*> arguments;
  for (int i = 0; i < kernel.argument_count; ++i) outcome.arrays.push_back(make_array(kernel.arguments[i], static_cast<uint64_t>(i + 1)));
  for (Bytes& bytes : outcome.arrays) arguments.push_back(bytes.data());
  simt::Schedule schedule;
  if (!simt::parse_schedule(what.order, &schedule)) std::abort();
  scheduler.set_schedule(schedule);
  const plain::Index3 grid = kernel.grid, size = kernel.block;
  races = 0;
  for (const unsigned int b : block_order(grid.x * grid.y * grid.z, what.order)) {
    unsigned char* shared = static_cast<unsigned char*>(what.batch->shared_begin);
    simt::fill_unwritten(shared, static_cast<size_t>(static_cast<unsigned char*>(what.batch->shared_end) - shared));
    votes = 0;
    const std::function<void(const Block&)> body = [&](const Block& block) {
      const unsigned int t = static_cast<unsigned int>(block.thread());
      const plain::Self me = {{t % size.x, t / size.x % size.y, t / (size.x * size.y)},
                              {b % grid.x, b / grid.x % grid.y, b / (grid.x * grid.y)}, size, grid, &block};
      resume(&me);
      what.entry(arguments.data());
    };
    const Status status = scheduler.run({1, static_cast<int>(size.x * size.y * size.z), 0, false, &body});
    if (!status.ok()) outcome.found = status.message();
    if (races > 0) outcome.found = "race";
    if (!outcome.found.empty()) return outcome;
  }
  for (int i = 0; i < kernel.argument_count; ++i) {
    if (kernel.arguments[i].direction != 'i' && holds_nan(outcome.arrays[static_cast<size_t>(i)], kernel.arguments[i].type)) {
      outcome.found = "NaN in argument " + std::to_string(i) + ": memory read before it is written";
    }
  }
  return outcome;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

/// The first order in which something is found decides.
void prove(simt::Scheduler& scheduler, const plain::Batch& batch, const plain::Case& kernel, const std::vector<std::string>& orders,
           bool mutants, std::string* out) {
  std::string original, rewritten;
  bool equal = true;
  std::vector<Bytes> first;
  for (const std::string& order : orders) {
    const Outcome before = run(scheduler, {&batch, &kernel, kernel.original, order});
    const Outcome after = run(scheduler, {&batch, &kernel, kernel.rewritten, order});
    if (original.empty() && !before.found.empty()) original = order + ": " + before.found;
    if (rewritten.empty() && !after.found.empty()) rewritten = order + ": " + after.found;
    equal = equal && before.arrays == after.arrays;
    if (first.empty()) first = before.arrays;
    if (original.empty() && before.arrays != first) original = order + ": the result depends on the order of threads";
  }
  *out += "{\"name\":" + quoted(kernel.name) + ",\"original\":" + quoted(original) + ",\"rewritten\":" + quoted(rewritten) +
          ",\"equal\":" + (equal ? "true" : "false") + ",\"mutants\":[";
  for (int i = 0; mutants && i < kernel.inserted_count; ++i) {
    simt::BarrierSite site;
    site.kind = "sync";
    site.file = kernel.file;
    site.line = kernel.inserted[i];
    simt::BarrierMutation::disable(&site);
    bool caught = false;
    for (const std::string& order : {std::string("forward"), std::string("reverse"), std::string("random:1")}) {
      const Outcome broken = run(scheduler, {&batch, &kernel, kernel.rewritten, order});
      caught = caught || !broken.found.empty() || broken.arrays != first;
      if (caught) break;
    }
    simt::BarrierMutation::disable(nullptr);
    *out += std::string(i == 0 ? "" : ",") + "{\"line\":" + std::to_string(site.line) + ",\"caught\":" + (caught ? "true}" : "false}");
  }
  *out += "]}\n";
}

int run_batch(const char* path, const std::vector<std::string>& orders, bool mutants, std::string* out) {
  alarm(900);  // a batch of hundreds of kernels on a busy machine
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *out = std::string(dlerror()) + "\n";
    return 2;
  }
  const plain::Batch& batch = *static_cast<const plain::Batch*>(dlsym(library, "plain_batch"));
  simt::Scheduler scheduler;
  for (int i = 0; i < batch.count; ++i) prove(scheduler, batch, batch.cases[i], orders, mutants, out);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> orders = {"forward"};
  bool mutants = false;
  int code = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--mutants") {
      mutants = true;
    } else if (word == "--orders" && i + 1 < argc) {
      orders.clear();
      const std::string list = std::string(argv[++i]) + ",";
      for (size_t at = 0, end; (end = list.find(',', at)) != std::string::npos; at = end + 1) orders.push_back(list.substr(at, end - at));
    } else {
      const auto child = harness::in_child([&](std::string* out) { return run_batch(argv[i], orders, mutants, out); });
      std::fputs(child.output.c_str(), stdout);
      if (child.exit_code != 0) code = 1;
      if (child.exit_code != 0) std::fprintf(stderr, "%s: exit %d, signal %d\n", argv[i], child.exit_code, child.signal);
    }
  }
  return code;
}
