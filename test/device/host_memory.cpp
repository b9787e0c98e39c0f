// Limits of control groups, from folders like those of the system, and copies by several threads.
#include "cuda/core/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "test/device/support/harness.h"

namespace warploom::test {
namespace {

using harness::check;
constexpr int64_t kMachine = 1000000;

/// A folder that goes with the object.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("warploom-groups-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  int64_t bytes() const { return host_memory_bytes((path_ / "proc").string(), (path_ / "groups").string(), kMachine); }

 private:
  std::filesystem::path path_;
};

void groups() {
  {
    const Folder folder;
    check(folder.bytes() == kMachine, "no control groups: what the machine has");
    folder.write("proc/self/cgroup", "0::/a/b\n");
    check(folder.bytes() == kMachine, "version 2 without limits");
    folder.write("groups/a/b/memory.max", "max\n");
    folder.write("groups/a/memory.max", "5000\n");
    check(folder.bytes() == 5000, "version 2: the limit of a group above");
    folder.write("groups/a/b/memory.max", "700\n");
    check(folder.bytes() == 700, "version 2: its own limit where that is less");
    folder.write("groups/memory.max", "600\n");
    check(folder.bytes() == 600, "version 2: the root of a container");
  }
  {
    const Folder folder;
    folder.write("proc/self/cgroup", "12:cpu,cpuacct:/x\n7:memory:/x/y\n0::/z\n");
    folder.write("groups/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
    check(folder.bytes() == kMachine, "version 1 without a limit");
    folder.write("groups/memory/x/memory.limit_in_bytes", "4096\n");
    check(folder.bytes() == 4096, "version 1: the limit of a group above");
    folder.write("groups/memory/memory.limit_in_bytes", "2048\n");
    check(folder.bytes() == 2048, "version 1: the root of a container");
    folder.write("groups/memory/memory.limit_in_bytes", "2000000\n");
    check(folder.bytes() == 4096, "a limit above the machine's memory is none");
  }
  check(host_memory_bytes() > 0, "this machine has memory");
}

/// Copies of all sizes around the slices, by several threads at once.
void copies() {
  const auto copy_many = [](unsigned char seed, bool* right) {
    std::vector<unsigned char> from(9 << 20), to(from.size());
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(seed + i * 31 + i / 251);
    *right = true;
    for (int round = 0; round < 5; ++round) {
      std::fill(to.begin(), to.end(), 0);
      std::vector<HostCopy> list;
      int64_t at = 0;
      for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{524288}, int64_t{524289}, int64_t{3000000}, int64_t{4000001}}) {
        list.push_back({reinterpret_cast<char*>(to.data()) + at, reinterpret_cast<const char*>(from.data()) + at, bytes});
        at += bytes + 7;
      }
      copy_all(list);
      for (const HostCopy& copy : list) {
        *right = *right && std::memcmp(copy.to, copy.from, static_cast<size_t>(copy.bytes)) == 0 && copy.to[copy.bytes] == 0;
      }
      copy_bytes(to.data(), from.data(), static_cast<int64_t>(from.size()));
      *right = *right && to == from;
    }
  };
  bool right[3] = {false, false, false};
  std::thread first([&] { copy_many(1, &right[0]); }), second([&] { copy_many(2, &right[1]); });
  copy_many(3, &right[2]);
  first.join();
  second.join();
  check(right[0] && right[1] && right[2], "copies by several threads, of several callers at once");
}

/// Copies that other threads read while they are made, from the beginning on and in any order.
void copies_in_use() {
  for (const int64_t bytes : {int64_t{1}, int64_t{4095}, int64_t{524287}, int64_t{524288}, int64_t{524289}, int64_t{9000003}}) {
    for (const int64_t first : {int64_t{0}, int64_t{5}, int64_t{4096}}) {
      std::vector<char> from(static_cast<size_t>(bytes)), to(static_cast<size_t>(bytes + first + 1), 9);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 31 + i / 251);
      char* const target = to.data() + first;
      bool right[2] = {true, true};
      {
        Copying copying({target, from.data(), bytes});
        const auto check_part = [&](int64_t begin, int64_t size, bool* out) {
          const int64_t end = std::min(begin + size, bytes);
          copying.await(begin, end);
          if (end > begin) *out = *out && std::memcmp(target + begin, from.data() + begin, static_cast<size_t>(end - begin)) == 0;
        };
        std::thread onwards([&] { for (int64_t at = 0; at < bytes; at += 700001) check_part(at, 700001, &right[0]); });
        std::thread backwards([&] { for (int64_t at = bytes - 1; at >= 0; at -= 300007) check_part(at, 5, &right[1]); });
        copying.finish();
        check(std::memcmp(target, from.data(), from.size()) == 0, "a whole copy");
        onwards.join();
        backwards.join();
        copying.finish();
      }
      check(right[0] && right[1], "a copy that is read while it is made");
      check(to.back() == 9 && std::count(to.begin(), to.begin() + first, 9) == first, "and nothing beside it");
    }
  }
}

/// Copies that are cut at large pages, into memory that asked for such, to and from odd places.
void large_pages() {
  constexpr int64_t kBytes = 21 << 20;
  std::vector<char> from(kBytes);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 31 + i / 251);
  for (const int64_t first : {int64_t{0}, int64_t{5}, int64_t{4097}, (int64_t{2} << 20) - 1}) {
    const auto memory = static_cast<char*>(std::calloc(kBytes, 1));
    use_large_pages(memory + first, kBytes - first);
    use_large_pages(memory + first, 4096);  // too little for one
    check(std::all_of(memory, memory + kBytes, [](char byte) { return byte == 0; }), "zeros");
    copy_bytes(memory + first, from.data() + 3, kBytes - first - 3);
    check(std::memcmp(memory + first, from.data() + 3, static_cast<size_t>(kBytes - first - 3)) == 0, "all of it");
    check(std::all_of(memory, memory + first, [](char byte) { return byte == 0; }) && memory[kBytes - 1] == 0, "and no more");
    std::free(memory);
  }
}

/// Fresh memory has all its pages, and still zeros, when its object ends, also while others copy.
void pages() {
  constexpr int64_t kBytes = 24 << 20;
  void* const fresh = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(fresh != MAP_FAILED, "memory");
  char* const memory = static_cast<char*>(fresh);
  const std::vector<char> from(8 << 20, 7);
  std::vector<char> to(from.size());
  {
    const auto whole = Populating::begin({{memory + 1, kBytes / 2 - 1}, {memory + kBytes / 2, kBytes / 2}});
    copy_bytes(to.data(), from.data(), static_cast<int64_t>(from.size()));
    check(to == from, "a copy meanwhile");
  }
  std::vector<unsigned char> present(static_cast<size_t>(kBytes / sysconf(_SC_PAGESIZE)));
  check(mincore(fresh, kBytes, present.data()) == 0, "pages are counted");
  const auto there = std::count_if(present.begin(), present.end(), [](unsigned char page) { return (page & 1) != 0; });
  const bool alone = Populating::begin({{memory, kBytes}}) == nullptr;  // a machine of one processor asks for none
  check(alone || there >= static_cast<int64_t>(present.size()) - 2, "pages are there");
  check(std::all_of(memory, memory + kBytes, [](char byte) { return byte == 0; }), "zeros");
  munmap(fresh, kBytes);
  check(Populating::begin({{memory, 4096}}) == nullptr, "little is not asked for");
}

}  // namespace
}  // namespace warploom::test

int main() {
  warploom::test::groups();
  warploom::test::copies();
  warploom::test::copies_in_use();
  warploom::test::large_pages();
  warploom::test::pages();
  return harness::summary();
}
