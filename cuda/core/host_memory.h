// Host memory, and copies within it at full speed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace warploom {

/// How many bytes this process may use: the machine's memory, or the lowest limit of its control groups (versions 1 and
/// 2) if that is less. Asks the system each time.
int64_t host_memory_bytes();
/// The same with /proc and /sys/fs/cgroup in other folders, for a machine of `physical` bytes.
int64_t host_memory_bytes(const std::string& proc, const std::string& cgroups, int64_t physical);

/// One copy of several; `to` and `from` do not overlap.
struct HostCopy {
  char* to;
  const char* from;
  int64_t bytes;
};

/// Whether the CPU reads the copied data while it is still in the caches. If not, stores bypass the caches, which
/// avoids reading the memory that is overwritten.
enum class CopyFor { reading, storing };

/// Makes the copies; large ones with the help of a few threads that the process keeps for this. Returns when all are
/// done.
void copy_all(const std::vector<HostCopy>& copies, CopyFor purpose = CopyFor::reading);
void copy_bytes(void* to, const void* from, int64_t bytes);

/// A copy that others may use while it is made, by the threads that help copy_all(), from its beginning on. Its memory has
/// to stay until finish(). The target's pages must exist.
class Copying {
 public:
  explicit Copying(const HostCopy& copy);
  ~Copying();
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

  /// Waits until some of its bytes are there. On any thread but the one that is to call finish(): where there are no
  /// helpers, that one copies.
  void await(int64_t begin, int64_t end) const;
  /// Takes part, and returns when all bytes are there. Always on the same thread.
  void finish();

 private:
  struct Job;
  const uintptr_t to_;
  const std::unique_ptr<Job> job_;
  bool finished_ = false;
};

/// Asks for large pages wherever fresh memory contains whole ones: the system allocates and clears those in a fraction
/// of the time.
void use_large_pages(char* memory, int64_t bytes);

struct HostRange {
  char* memory;
  int64_t bytes;
};

/// While it exists, the copying threads allocate the pages of fresh memory, which the system would otherwise do one by
/// one for whoever touches them first. Its destructor waits until all pages exist; nobody may write to the memory
/// before that.
class Populating {
 public:
  /// Null if that would not take longer than asking for it. The memory must hold zeros.
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
