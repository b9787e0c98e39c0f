#include "cuda/core/host_memory.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace warploom {
namespace {

// --- limits of control groups ---

/// The number in a file with a single word. INT64_MAX if there is none, for "max", and for no limit in version 1 (a
/// number near 2^63).
int64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value && value > 0 ? value : INT64_MAX;
}

/// The lowest limit from `group` up to the root. In a container the path may be the host's; then only the root exists.
int64_t least_limit(const std::string& folder, std::string group, const char* file) {
  int64_t least = limit_in(folder + "/" + file);
  while (group.size() > 1) {
    least = std::min(least, limit_in(folder + group + "/" + file));
    group.resize(group.rfind('/'));
  }
  return least;
}

// --- copying ---

constexpr int64_t kSlice = 512 << 10;     // what a thread takes at a time
constexpr int64_t kAlone = 2 << 20;       // less than this is copied before a helper would wake up
constexpr int64_t kLargePage = 2 << 20;   // of memory that use_large_pages() was asked for
// From here on a thread takes such a page at a time: if two threads touch a new page at once, both clear it.
constexpr int64_t kManyPages = 16 << 20;
// Measured on a machine with 16 cores and an H200: copying runs at 44 GB/s with 8 threads, 56 with 12, 62 with 16. The
// kernel allocates pages under one lock: 23 GB/s with 4 threads, 19 with 8, 8 with 16 (small pages: 13, 11, 5).
constexpr int kMostHelpers = 11, kMostPopulating = 4;
// Large copies come in pieces of some MB, one right after the other. Where there are cores enough, helpers look for the
// next piece for a while, so that they need not be woken for each.
constexpr auto kAwake = std::chrono::microseconds(60), kLongestSpin = std::chrono::microseconds(2000);
constexpr int kManyCores = 8;

void pause_briefly() {
#ifdef __SSE2__
  _mm_pause();
#endif
}

#ifdef __SSE2__
/// memcpy with stores that bypass the caches; for a few KB and more. What lies two pages ahead is fetched meanwhile, since the
/// processor's own prefetching ends with each page: on a machine with 16 cores and an H200, 12 threads copy at 69 instead of
/// 51 GB/s, and at 45 instead of 34 while the link is busy both ways (2 KB ahead: no faster).
void store_around_caches(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kAhead = 8192;
  const int64_t head = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(to) & 63);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    if (at + kAhead < bytes) _mm_prefetch(from + at + kAhead, _MM_HINT_T0);
    __m128i line[4];
    for (int i = 0; i < 4; ++i) line[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at) + i);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(to + at) + i, line[i]);
  }
  _mm_sfence();
  std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
}
#else
void store_around_caches(char* to, const char* from, int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); }
#endif

/// Allocates physical pages for fresh memory, which holds zeros. Pages shared with other memory keep their contents.
void populate(char* memory, int64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  constexpr int kPopulate = MADV_POPULATE_WRITE;
#else
  constexpr int kPopulate = 23;  // Linux 5.14
#endif
  const intptr_t page = sysconf(_SC_PAGESIZE);
  const intptr_t first = reinterpret_cast<intptr_t>(memory), last = first + bytes - 1;
  const intptr_t begin = first / page * page, end = (last / page + 1) * page;
  if (madvise(reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin), kPopulate) == 0) return;
  for (intptr_t at = (first + page - 1) / page * page; at + page <= last + 1; at += page) {
    *reinterpret_cast<volatile char*>(at) = 0;
  }
}

void make_copy(const HostCopy& copy, CopyFor purpose) {
  constexpr int64_t kLeast = 4096;
  if (copy.bytes <= 0) return;
  if (copy.from == nullptr) return populate(copy.to, copy.bytes);
  if (purpose == CopyFor::storing && copy.bytes >= kLeast) return store_around_caches(copy.to, copy.from, copy.bytes);
  std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int counted = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
  return counted > 0 ? counted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::vector<HostCopy> cut(const std::vector<HostCopy>& copies, int64_t total, int64_t most) {
  std::vector<HostCopy> slices;
  slices.reserve(static_cast<size_t>(total / kSlice) + copies.size());
  for (const HostCopy& copy : copies) {
    for (int64_t at = 0, bytes = 0; at < copy.bytes; at += bytes) {
      const int64_t into = static_cast<int64_t>(reinterpret_cast<uintptr_t>(copy.to + at) % static_cast<uintptr_t>(most));
      bytes = std::min(most - into, copy.bytes - at);
      slices.push_back({copy.to + at, copy.from != nullptr ? copy.from + at : nullptr, bytes});
    }
  }
  return slices;
}

/// Where memory may be fresh.
int64_t slice_of(int64_t total) { return total >= kManyPages ? kLargePage : kSlice; }

int64_t total_of(const std::vector<HostCopy>& copies) {
  int64_t total = 0;
  for (const HostCopy& copy : copies) total += copy.bytes;
  return total;
}

}  // namespace

// Named, because jobs of the header's classes derive from the pool's.
namespace host_memory {

/// Threads that copy for all callers. The first large copy starts them, and they never end, because many devices and
/// environments share them.
class WorkerPool {
 public:
  struct Job {
    Job(std::vector<HostCopy> all, CopyFor use, bool awaited) : slices(std::move(all)), purpose(use), urgent(awaited) {}
    const std::vector<HostCopy> slices;
    const CopyFor purpose;
    const bool urgent;  // somebody is waiting for it
    std::atomic<size_t> next{0};
    std::unique_ptr<std::atomic<bool>[]> made;  // by slice; null: nobody asks
    int helpers = 0;  // working on it; guarded by mutex_
    bool make_one() {
      const size_t i = next.fetch_add(1);
      if (i >= slices.size()) return false;
      make_copy(slices[i], purpose);
      if (made != nullptr) made[i].store(true, std::memory_order_release);
      return true;
    }
    bool exhausted() const { return next.load() >= slices.size(); }
  };

  static WorkerPool& get() {
    static auto* const pool = new WorkerPool();
    return *pool;
  }

  void begin(Job& job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      start();
      jobs_.push_back(&job);
      begun_.fetch_add(1, std::memory_order_release);
    }
    work_.notify_all();
  }

  /// Does the rest of the job, and waits for the helpers.
  void end(Job& job) {
    while (job.make_one()) {
    }
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    done_.wait(lock, [&] { return job.helpers == 0; });
  }

 private:
  void start() {
    if (started_) return;
    started_ = true;
    // Signals belong to the host program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (int i = std::min(kMostHelpers, usable_cores() - 1); i > 0; --i) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {
      // No more threads available: the caller does the rest.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      work_.wait(lock, [&] { return (job = find()) != nullptr; });
      ++job->helpers;
      lock.unlock();
      while (job->make_one() && job->urgent) {
      }
      const uint64_t seen = begun_.load(std::memory_order_acquire);
      lock.lock();
      if (--job->helpers == 0) done_.notify_all();
      if (stays_awake_ && find() == nullptr) {
        lock.unlock();
        const auto end = std::chrono::steady_clock::now() + kAwake;
        while (begun_.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < end) pause_briefly();
        lock.lock();
      }
    }
  }

  Job* find() const {
    for (const bool urgent : {true, false}) {
      for (Job* const job : jobs_) {
        if (job->urgent == urgent && !job->exhausted() && (urgent || job->helpers < kMostPopulating)) return job;
      }
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<Job*> jobs_;
  bool started_ = false;
  std::atomic<uint64_t> begun_{0};  // jobs
  const bool stays_awake_ = usable_cores() >= kManyCores;
};

}  // namespace host_memory

using host_memory::WorkerPool;

int64_t host_memory_bytes(const std::string& proc, const std::string& cgroups, int64_t physical) {
  int64_t least = physical;
  std::ifstream groups(proc + "/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, least_limit(cgroups, path, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit(cgroups + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

int64_t host_memory_bytes() {
  return host_memory_bytes("/proc", "/sys/fs/cgroup",
                           static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE)));
}

void copy_all(const std::vector<HostCopy>& copies, CopyFor purpose) {
  const int64_t total = total_of(copies);
  if (total < kAlone || usable_cores() == 1) {
    for (const HostCopy& copy : copies) make_copy(copy, purpose);
    return;
  }
  WorkerPool::Job job(cut(copies, total, slice_of(total)), purpose, true);
  WorkerPool::get().begin(job);
  WorkerPool::get().end(job);
}

struct Copying::Job : WorkerPool::Job {
  using WorkerPool::Job::Job;
};

Copying::Copying(const HostCopy& copy)
    : to_(reinterpret_cast<uintptr_t>(copy.to)),
      job_(std::make_unique<Job>(cut({copy}, copy.bytes, kSlice), CopyFor::storing, true)) {
  job_->made = std::make_unique<std::atomic<bool>[]>(job_->slices.size());
  WorkerPool::get().begin(*job_);
}

Copying::~Copying() { finish(); }

void Copying::finish() {
  if (!std::exchange(finished_, true)) WorkerPool::get().end(*job_);
}

void Copying::await(int64_t begin, int64_t end) const {
  if (begin >= end) return;
  // Slices end where addresses are multiples of their size.
  constexpr auto kEach = static_cast<uintptr_t>(kSlice);
  const auto number = [&](int64_t at) { return (to_ + static_cast<uintptr_t>(at)) / kEach - to_ / kEach; };
  // Where cores are few, they are needed for the copy.
  static const std::chrono::microseconds spin = usable_cores() >= kManyCores ? kLongestSpin : kAwake;
  const auto since = std::chrono::steady_clock::now();
  for (size_t i = number(begin); i <= number(end - 1); ++i) {
    while (!job_->made[i].load(std::memory_order_acquire)) {
      if (std::chrono::steady_clock::now() - since < spin) pause_briefly();
      else std::this_thread::sleep_for(kAwake / 4);
    }
  }
}

struct Populating::Job : WorkerPool::Job {
  using WorkerPool::Job::Job;
};

Populating::Populating(std::unique_ptr<Job> job) : job_(std::move(job)) { WorkerPool::get().begin(*job_); }

Populating::~Populating() { WorkerPool::get().end(*job_); }

std::unique_ptr<Populating> Populating::begin(const std::vector<HostRange>& ranges) {
  std::vector<HostCopy> copies;
  for (const HostRange& range : ranges) copies.push_back({range.memory, nullptr, range.bytes});
  const int64_t total = total_of(copies);
  if (total < kAlone || usable_cores() == 1) return nullptr;
  return std::unique_ptr<Populating>(new Populating(std::make_unique<Job>(cut(copies, total, slice_of(total)), CopyFor::storing, false)));
}

void use_large_pages(char* memory, int64_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr int64_t kWorthwhile = 4 * kLargePage;
  if (bytes < kWorthwhile) return;
  const auto first = reinterpret_cast<intptr_t>(memory);
  const intptr_t begin = (first + kLargePage - 1) / kLargePage * kLargePage, end = (first + bytes) / kLargePage * kLargePage;
  madvise(reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin), MADV_HUGEPAGE);  // without it, pages are small
#endif
}

void copy_bytes(void* to, const void* from, int64_t bytes) {
  copy_all({{static_cast<char*>(to), static_cast<const char*>(from), bytes}});
}

}  // namespace warploom
