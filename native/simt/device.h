// The names of cuda/core/device.cuh's CUDA branch, for the host compiler. Every CUDA thread is a fiber of
// native/simt/fibers.cpp, so tests run the real device code, under sanitizers, in a chosen thread order. The shim is
// stricter than a GPU where the CUDA model allows it. Threads that meet at different barriers, lanes missing from a
// shuffle, threads that have exited before a barrier, and copies read before async_wait are reported or give wrong
// results.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#define WARPLOOM_DEVICE inline
#define WARPLOOM_HOST_DEVICE inline
#define WARPLOOM_UNROLL
#define WARPLOOM_NO_UNROLL

// Default arguments of everything that waits: the place of the call identifies the barrier in reports and mutations.
#define WARPLOOM_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace warploom::simt {
struct Thread;  // fibers.cpp
}

namespace warploom::simt::device {

namespace detail {
inline constexpr int kExchangeWords = 32;
/// What a warp waits for; all its lanes must wait for the same thing at the same place.
enum class WarpOperation : int { barrier, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot };

void block_barrier(Thread* self, const char* file, int line);
void warp_barrier(Thread* self, const char* file, int line);
void grid_barrier(Thread* self, unsigned int* counter, const char* file, int line);
/// Publishes `count` words of this lane, waits for the warp, and reads the words of lane `source`.
void exchange(Thread* self, WarpOperation operation, const unsigned int* words, int count, int source,
              unsigned int* result, const char* file, int line);
unsigned int ballot(Thread* self, bool predicate, const char* file, int line);
void fence();
void post(Thread* self, unsigned int* to, const unsigned int* words);
void receive(Thread* self, const unsigned int* from, unsigned int tag, unsigned int* words, const char* file, int line);
void async_copy(Thread* self, void* shared, const void* global, int bytes, const char* file, int line);
void async_commit(Thread* self);
void async_wait(Thread* self, int pending, const char* file, int line);
}  // namespace detail

/// One thread's view of its block.
class Block {
 public:
  Block(Thread* self, int thread, int threads, int64_t index, int64_t count, unsigned char* shared)
      : self_(self), thread_(thread), threads_(threads), index_(index), count_(count), shared_(shared) {}
  int thread() const { return thread_; }
  int threads() const { return threads_; }
  int lane() const { return thread_ & 31; }
  int warp() const { return thread_ >> 5; }
  int64_t index() const { return index_; }
  int64_t count() const { return count_; }
  void sync(WARPLOOM_SITE) const { detail::block_barrier(self_, file, line); }
  void sync_warp(WARPLOOM_SITE) const { detail::warp_barrier(self_, file, line); }
  void sync_grid(unsigned int* counter, WARPLOOM_SITE) const {
    detail::grid_barrier(self_, counter, file, line);
  }
  template <class T>
  T* shared(size_t offset = 0) const {
    return reinterpret_cast<T*>(shared_ + offset);
  }
  /// The fiber, for the functions below.
  Thread* self() const { return self_; }

 private:
  Thread* self_;
  int thread_, threads_;
  int64_t index_, count_;
  unsigned char* shared_;
};

// --- warp exchange ---
namespace detail {
template <class T>
T exchange_value(const Block& block, WarpOperation operation, const T& value, int source, const char* file,
                 int line) {
  static_assert(sizeof(T) % 4 == 0, "exchanged by 32-bit words");
  constexpr int kWords = sizeof(T) / 4;
  static_assert(kWords <= kExchangeWords, "larger than an exchange slot");
  unsigned int words[kWords], received[kWords];
  std::memcpy(words, &value, sizeof(T));
  exchange(block.self(), operation, words, kWords, source, received, file, line);
  T result;
  std::memcpy(&result, received, sizeof(T));
  return result;
}
}  // namespace detail

template <class T>
T shuffle(const Block& block, const T& value, int lane, int width = 32, WARPLOOM_SITE) {
  const int source = (block.lane() & ~(width - 1)) | (lane & (width - 1));
  return detail::exchange_value(block, detail::WarpOperation::shuffle, value, source, file, line);
}
template <class T>
T shuffle_up(const Block& block, const T& value, int delta, int width = 32, WARPLOOM_SITE) {
  const int lane = block.lane();
  const int source = (lane & (width - 1)) - delta < 0 ? lane : lane - delta;
  return detail::exchange_value(block, detail::WarpOperation::shuffle_up, value, source, file, line);
}
template <class T>
T shuffle_down(const Block& block, const T& value, int delta, int width = 32, WARPLOOM_SITE) {
  const int lane = block.lane();
  const int source = (lane & (width - 1)) + delta >= width ? lane : lane + delta;
  return detail::exchange_value(block, detail::WarpOperation::shuffle_down, value, source, file, line);
}
/// As on CUDA: if the target is in a later group of `width` lanes, the lane gets its own value; a target in an earlier
/// group is read.
template <class T>
T shuffle_xor(const Block& block, const T& value, int mask, int width = 32, WARPLOOM_SITE) {
  const int lane = block.lane(), target = lane ^ mask;
  const int source = target > (lane | (width - 1)) ? lane : target;
  return detail::exchange_value(block, detail::WarpOperation::shuffle_xor, value, source, file, line);
}
inline int warp_sum(const Block& block, int value, WARPLOOM_SITE) {
  unsigned int sum = static_cast<unsigned int>(value);
  for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(block, sum, mask, 32, file, line);
  return static_cast<int>(sum);
}
inline unsigned int warp_maximum(const Block& block, unsigned int value, WARPLOOM_SITE) {
  for (int mask = 16; mask > 0; mask /= 2) {
    const unsigned int other = shuffle_xor(block, value, mask, 32, file, line);
    value = other > value ? other : value;
  }
  return value;
}
inline unsigned int ballot(const Block& block, bool predicate, WARPLOOM_SITE) {
  return detail::ballot(block.self(), predicate, file, line);
}

// --- arithmetic: compile with -ffp-contract=off ---
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline double fma(double a, double b, double c) { return std::fma(a, b, c); }
inline float reciprocal(float a) { return 1.0f / a; }
inline double reciprocal(double a) { return 1.0 / a; }
inline float ordinary_reciprocal(float a, bool& ordinary) {
  ordinary = ordinary && std::fabs(a) >= 0x1p-125f && std::fabs(a) <= 0x1p125f;
  return 1.0f / a;
}
inline double ordinary_reciprocal(double a, bool& ordinary) {
  ordinary = ordinary && std::fabs(a) >= 0x1p-1000 && std::fabs(a) < 0x1p1000;
  return 1.0 / a;
}
inline float rough_reciprocal(float a) { return 1.0f / a; }
inline double rough_reciprocal(double a) { return 1.0 / a; }
inline unsigned int high_word(float a) {
  unsigned int bits;
  std::memcpy(&bits, &a, sizeof(bits));
  return bits;
}
inline unsigned int high_word(double a) {
  uint64_t bits;
  std::memcpy(&bits, &a, sizeof(bits));
  return static_cast<unsigned int>(bits >> 32);
}
inline float absolute(float a) { return std::fabs(a); }
inline double absolute(double a) { return std::fabs(a); }
inline bool is_finite(float a) { return std::fabs(a) <= 3.402823466e+38f; }
inline bool is_finite(double a) { return std::fabs(a) <= 1.7976931348623157e+308; }
inline float maximum(float a, float b) { return std::fmax(a, b); }
inline double maximum(double a, double b) { return std::fmax(a, b); }
inline float square_root(float a) { return std::sqrt(a); }
inline double square_root(double a) { return std::sqrt(a); }

// --- memory: relaxed atomics, which order nothing for ThreadSanitizer either ---
inline int atomic_add(int* address, int value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
inline int64_t atomic_add(int64_t* address, int64_t value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
inline int atomic_or(int* address, int value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
inline int atomic_min(int* address, int value) {
  int old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (value < old && !__atomic_compare_exchange_n(address, &old, value, false, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {
  }
  return old;
}
/// Orders threads that fence after the threads that fenced before them.
inline void fence_device() { detail::fence(); }
// Launches run one after another anyway.
inline void follow_previous_launch() {}
inline void let_next_launch_begin() {}

/// The destination holds a NaN pattern until async_wait does the copy. So reading too early gives wrong results, and so
/// does starting a copy while others still read the destination.
template <int kBytes>
void async_copy(const Block& block, void* shared, const void* global, WARPLOOM_SITE) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "sizes cp.async takes");
  detail::async_copy(block.self(), shared, global, kBytes, file, line);
}
inline void async_commit(const Block& block) { detail::async_commit(block.self()); }
template <int kPending>
void async_wait(const Block& block, WARPLOOM_SITE) {
  detail::async_wait(block.self(), kPending, file, line);
}

/// Copies are made when they are waited for: shared memory that is written again before that gives wrong results.
struct StoresAside {
  static constexpr bool kIsAvailable = true;
  static void publish(const Block&) {}
  void begin(const Block&, void* global, const void* shared, int bytes) {
    copies_.push_back({global, shared, static_cast<size_t>(bytes)});
  }
  void wait_read(const Block&) {
    for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
    copies_.clear();
  }
  void wait(const Block& block) { wait_read(block); }

 private:
  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
  };
  std::vector<Copy> copies_;
};

struct alignas(16) Message {
  unsigned int word[3];
  unsigned int tag;
};
inline void post(const Block& block, Message* to, const Message& message) {
  detail::post(block.self(), to->word, message.word);
}
template <int kCount, class From>
void receive(const Block& block, unsigned int tag, From from, Message (&out)[kCount], WARPLOOM_SITE) {
  for (int i = 0; i < kCount; ++i) detail::receive(block.self(), from(i)->word, tag, out[i].word, file, line);
}
template <int kCount, class From>
void receive_at_once(const Block& block, unsigned int tag, From from, Message (&out)[kCount], WARPLOOM_SITE) {
  receive(block, tag, from, out, file, line);
}

template <class T>
struct alignas(16) Pack {
  static constexpr int kCount = 16 / sizeof(T);
  T item[kCount];
};

template <class T>
void store_streaming(Pack<T>* to, const Pack<T>& value) {
  *to = value;
}

}  // namespace warploom::simt::device
