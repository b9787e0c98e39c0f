// Stacks and context switches for fibers, with the annotations that ASan and TSan need.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WARPLOOM_SIMT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WARPLOOM_SIMT_TSAN 1
#endif

/// Functions of the shim are invisible to TSan, so that only accesses by device code are checked for races.
#define WARPLOOM_SHIM __attribute__((no_sanitize("thread")))

namespace warploom::simt {

struct Context {
  void* stack_pointer = nullptr;
  void* stack = nullptr;  ///< lowest usable byte
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;  ///< ASan
  void* race_fiber = nullptr;  ///< TSan
};

using Entry = void (*)(void* argument);

/// Fills `context` for the calling thread, which must outlive the fibers it starts.
void adopt_thread(Context& context);
void release_thread(Context& context);
/// Maps a stack (with a guard page) and makes the TSan fiber; false if memory is short.
bool make_context(Context& context);
void destroy_context(Context& context);
/// After this, the next switch to `context` calls entry(argument). entry must call entered() first and never return.
void prepare_context(Context& context, Entry entry, void* argument);
void entered();
/// Switches from `from` to `to`, without a happens-before edge for TSan. `done`: `from` is never resumed.
void switch_context(Context& from, Context& to, bool done);

// Happens-before edges for TSan; nothing otherwise.
void race_release(void* token);
void race_acquire(void* token);
/// race_release on behalf of a fiber that was abandoned, by the thread `current`.
void race_release_as(Context& fiber, Context& current, void* token);
void race_read(const void* memory, size_t bytes);
void race_write(void* memory, size_t bytes);

}  // namespace warploom::simt
