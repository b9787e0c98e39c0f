#include "simt/context.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdint>

#if !defined(__x86_64__) || defined(WARPLOOM_SIMT_UCONTEXT)
#define WARPLOOM_SIMT_PORTABLE 1
#include <ucontext.h>
#endif

#ifdef WARPLOOM_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WARPLOOM_SIMT_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" void __tsan_read_range(void* address, unsigned long size);
extern "C" void __tsan_write_range(void* address, unsigned long size);
#endif

namespace warploom::simt {

namespace {
constexpr size_t kGuardBytes = 4096;
#if defined(WARPLOOM_SIMT_ASAN) || defined(WARPLOOM_SIMT_TSAN)
constexpr size_t kStackBytes = 512 * 1024;  // instrumented frames are several times larger
#else
constexpr size_t kStackBytes = 128 * 1024;
#endif
}  // namespace

#ifndef WARPLOOM_SIMT_PORTABLE
extern "C" void warploom_simt_switch(void** save, void* load);
extern "C" void warploom_simt_start();
// A call may rely only on callee-saved registers. The control words of SSE and x87 are the same in every fiber.
asm(R"(
.text
.globl warploom_simt_switch
.hidden warploom_simt_switch
.type warploom_simt_switch, @function
warploom_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size warploom_simt_switch, .-warploom_simt_switch
.globl warploom_simt_start
.hidden warploom_simt_start
.type warploom_simt_start, @function
warploom_simt_start:
  movq %r12, %rdi
  callq *%r13
  ud2
.size warploom_simt_start, .-warploom_simt_start
)");
#endif

WARPLOOM_SHIM void adopt_thread(Context& context) {
#ifdef WARPLOOM_SIMT_ASAN
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &context.stack, &context.stack_bytes);
    pthread_attr_destroy(&attributes);
  }
#endif
#ifdef WARPLOOM_SIMT_TSAN
  context.race_fiber = __tsan_get_current_fiber();
#endif
#ifdef WARPLOOM_SIMT_PORTABLE
  if (context.stack_pointer == nullptr) context.stack_pointer = new ucontext_t();
#endif
  (void)context;
}

void release_thread(Context& context) {
#ifdef WARPLOOM_SIMT_PORTABLE
  delete static_cast<ucontext_t*>(context.stack_pointer);
#endif
  context = Context();
}

WARPLOOM_SHIM bool make_context(Context& context) {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  mprotect(memory, kGuardBytes, PROT_NONE);
  context.stack = static_cast<char*>(memory) + kGuardBytes;
  context.stack_bytes = kStackBytes;
#ifdef WARPLOOM_SIMT_TSAN
  context.race_fiber = __tsan_create_fiber(0);
#endif
  return true;
}

WARPLOOM_SHIM void destroy_context(Context& context) {
#ifdef WARPLOOM_SIMT_TSAN
  if (context.race_fiber != nullptr && context.stack != nullptr) __tsan_destroy_fiber(context.race_fiber);
  context.race_fiber = nullptr;
#endif
#ifdef WARPLOOM_SIMT_PORTABLE
  delete static_cast<ucontext_t*>(context.stack_pointer);
#endif
  context.stack_pointer = nullptr;
  if (context.stack == nullptr) return;
#ifdef WARPLOOM_SIMT_ASAN
  __asan_unpoison_memory_region(context.stack, context.stack_bytes);  // frames of abandoned threads
#endif
  munmap(static_cast<char*>(context.stack) - kGuardBytes, kGuardBytes + context.stack_bytes);
  context.stack = nullptr;
}

#ifdef WARPLOOM_SIMT_PORTABLE
namespace {
void start(unsigned int entry_low, unsigned int entry_high, unsigned int low, unsigned int high) {
  const auto join = [](unsigned int l, unsigned int h) {
    return static_cast<uintptr_t>(l) | (static_cast<uintptr_t>(h) << 32);
  };
  reinterpret_cast<Entry>(join(entry_low, entry_high))(reinterpret_cast<void*>(join(low, high)));
}
}  // namespace
#endif

WARPLOOM_SHIM void prepare_context(Context& context, Entry entry, void* argument) {
#ifdef WARPLOOM_SIMT_PORTABLE
  if (context.stack_pointer == nullptr) context.stack_pointer = new ucontext_t();
  ucontext_t& target = *static_cast<ucontext_t*>(context.stack_pointer);
  getcontext(&target);
  target.uc_stack.ss_sp = context.stack;
  target.uc_stack.ss_size = context.stack_bytes;
  target.uc_link = nullptr;
  const uintptr_t e = reinterpret_cast<uintptr_t>(entry), a = reinterpret_cast<uintptr_t>(argument);
  const uint64_t e64 = e, a64 = a;
  makecontext(&target, reinterpret_cast<void (*)()>(&start), 4, static_cast<unsigned int>(e64),
              static_cast<unsigned int>(e64 >> 32), static_cast<unsigned int>(a64),
              static_cast<unsigned int>(a64 >> 32));
#else
  uintptr_t* top = reinterpret_cast<uintptr_t*>(static_cast<char*>(context.stack) + context.stack_bytes);
#ifdef WARPLOOM_SIMT_ASAN
  __asan_unpoison_memory_region(top - 256, 256 * sizeof *top);  // the outermost frame of a fiber never returns
#endif
  top[-1] = top[-2] = 0;
  top[-3] = reinterpret_cast<uintptr_t>(&warploom_simt_start);
  top[-4] = 0;                                       // rbp: ends the chain of frames
  top[-5] = 0;                                       // rbx
  top[-6] = reinterpret_cast<uintptr_t>(argument);   // r12
  top[-7] = reinterpret_cast<uintptr_t>(entry);      // r13
  top[-8] = top[-9] = 0;                             // r14, r15
  context.stack_pointer = top - 9;
#endif
  context.fake_stack = nullptr;
}

WARPLOOM_SHIM void entered() {
#ifdef WARPLOOM_SIMT_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

WARPLOOM_SHIM void switch_context(Context& from, Context& to, bool done) {
#ifdef WARPLOOM_SIMT_ASAN
  __sanitizer_start_switch_fiber(done ? nullptr : &from.fake_stack, to.stack, to.stack_bytes);
#else
  (void)done;
#endif
#ifdef WARPLOOM_SIMT_TSAN
  __tsan_switch_to_fiber(to.race_fiber, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef WARPLOOM_SIMT_PORTABLE
  swapcontext(static_cast<ucontext_t*>(from.stack_pointer), static_cast<ucontext_t*>(to.stack_pointer));
#else
  warploom_simt_switch(&from.stack_pointer, to.stack_pointer);
#endif
#ifdef WARPLOOM_SIMT_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

#ifdef WARPLOOM_SIMT_TSAN
WARPLOOM_SHIM void race_release(void* token) { __tsan_release(token); }
WARPLOOM_SHIM void race_acquire(void* token) { __tsan_acquire(token); }
WARPLOOM_SHIM void race_release_as(Context& fiber, Context& current, void* token) {
  __tsan_switch_to_fiber(fiber.race_fiber, __tsan_switch_to_fiber_no_sync);
  __tsan_release(token);
  __tsan_switch_to_fiber(current.race_fiber, __tsan_switch_to_fiber_no_sync);
}
WARPLOOM_SHIM void race_read(const void* memory, size_t bytes) {
  __tsan_read_range(const_cast<void*>(memory), bytes);
}
WARPLOOM_SHIM void race_write(void* memory, size_t bytes) { __tsan_write_range(memory, bytes); }
#else
void race_release(void*) {}
void race_acquire(void*) {}
void race_release_as(Context&, Context&, void*) {}
void race_read(const void*, size_t) {}
void race_write(void*, size_t) {}
#endif

}  // namespace warploom::simt
