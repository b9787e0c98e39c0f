// Stacks and context switches for fibers, with the announcements that ASan and TSan need.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WARPLOOM_SIMT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WARPLOOM_SIMT_TSAN 1
#endif

/// Functions of the shim are invisible to TSan: only accesses of device code are checked for races.
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

/// Fills `context` for the thread that calls, which must outlive the fibers it starts.
void adopt_thread(Context& context);
void release_thread(Context& context);
/// Maps a stack (with a guard page) and makes the TSan fiber; false when memory is short.
bool make_context(Context& context);
void destroy_context(Context& context);
/// The next switch to `context` calls entry(argument), which must never return and first calls entered().
void prepare_context(Context& context, Entry entry, void* argument);
void entered();
/// Leaves `from` and goes on in `to`; no happens-before edge for TSan. `done`: `from` never runs again as it is.
void switch_context(Context& from, Context& to, bool done);

// Happens-before edges for TSan; nothing otherwise.
void race_release(void* token);
void race_acquire(void* token);
/// race_release on behalf of a fiber that was abandoned, by the thread `current`.
void race_release_as(Context& fiber, Context& current, void* token);
void race_read(const void* memory, size_t bytes);
void race_write(void* memory, size_t bytes);

}  // namespace warploom::simt
