// Memory of the machine, and copies within it at its speed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace warploom {

/// Bytes this process may use: what the machine has, or the least limit of its control groups (versions 1 and 2)
/// where that is less. Asks the system again each time.
int64_t host_memory_bytes();
/// The same with /proc and /sys/fs/cgroup in other folders, and a machine of `physical` bytes.
int64_t host_memory_bytes(const std::string& proc, const std::string& cgroups, int64_t physical);

/// One copy of several; `to` and `from` do not overlap.
struct HostCopy {
  char* to;
  const char* from;
  int64_t bytes;
};

/// Whether this machine's processors read what is copied before it has left their caches; if not, it goes around them, which
/// spares memory the reading of what is overwritten.
enum class CopyFor { reading, storing };

/// Makes the copies, large ones with the help of a few threads that the process keeps for it. Returns when all are done.
void copy_all(const std::vector<HostCopy>& copies, CopyFor purpose = CopyFor::reading);
void copy_bytes(void* to, const void* from, int64_t bytes);

/// Asks for large pages where fresh memory holds whole ones: the system finds and clears those in a fraction of the time.
void use_large_pages(char* memory, int64_t bytes);

struct HostRange {
  char* memory;
  int64_t bytes;
};

/// While it lives, the threads that copy give fresh memory its pages, which the system would otherwise find one by one for
/// whoever touches them first. Its end waits until all have theirs; nobody may write there before.
class Populating {
 public:
  /// Null where that takes no longer than asking for it. The memory holds zeros.
  static std::unique_ptr<Populating> begin(const std::vector<HostRange>& ranges);
  ~Populating();
  Populating(const Populating&) = delete;
  Populating& operator=(const Populating&) = delete;

 private:
  struct Job;
  explicit Populating(std::unique_ptr<Job> job);
  const std::unique_ptr<Job> job_;
};

}  // namespace warploom
