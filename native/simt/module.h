// The shim's part of cuda/core/module.cuh. A module is a shared object. It cannot link to the addon, whose symbols are hidden, so it
// gets the shim's functions in a table.
#pragma once
#include "simt/module_table.h"

#define WARPLOOM_DEVICE_APART static
#define WARPLOOM_MODULE_EXPORT __attribute__((visibility("default")))

/// Defines a kernel, the size of its parameters, and the maximum number of threads per block.
#define WARPLOOM_KERNEL_ENTRY(name, ...)                                                                 \
  extern "C" {                                                                                           \
  WARPLOOM_MODULE_EXPORT int name##_bytes = static_cast<int>(sizeof(__VA_ARGS__::Parameters));           \
  WARPLOOM_MODULE_EXPORT int name##_threads = __VA_ARGS__::kMaxThreads;                                  \
  WARPLOOM_MODULE_EXPORT void name(const ::warploom::simt::device::Block& block, const void* parameters) { \
    __VA_ARGS__::run(block, *static_cast<const __VA_ARGS__::Parameters*>(parameters));                   \
  }                                                                                                      \
  }

extern "C" {
WARPLOOM_MODULE_EXPORT int warploom_table_bytes = static_cast<int>(sizeof(::warploom::simt::ModuleTable));
WARPLOOM_MODULE_EXPORT ::warploom::simt::ModuleTable warploom_table{};  // filled in when the module is loaded
}

namespace warploom::simt::device::detail {

void block_barrier(Thread* self, const char* file, int line) { warploom_table.block_barrier(self, file, line); }
void warp_barrier(Thread* self, const char* file, int line) { warploom_table.warp_barrier(self, file, line); }
void grid_barrier(Thread* self, unsigned int* counter, const char* file, int line) {
  warploom_table.grid_barrier(self, counter, file, line);
}
void exchange(Thread* self, WarpOperation operation, const unsigned int* words, int count, int source, unsigned int* result,
              const char* file, int line) {
  warploom_table.exchange(self, operation, words, count, source, result, file, line);
}
unsigned int ballot(Thread* self, bool predicate, const char* file, int line) {
  return warploom_table.ballot(self, predicate, file, line);
}
void fence() { warploom_table.fence(); }
void post(Thread* self, unsigned int* to, const unsigned int* words) { warploom_table.post(self, to, words); }
void receive(Thread* self, const unsigned int* from, unsigned int tag, unsigned int* words, const char* file, int line) {
  warploom_table.receive(self, from, tag, words, file, line);
}
void async_copy(Thread* self, void* shared, const void* global, int bytes, const char* file, int line) {
  warploom_table.async_copy(self, shared, global, bytes, file, line);
}
void async_commit(Thread* self) { warploom_table.async_commit(self); }
void async_wait(Thread* self, int pending, const char* file, int line) { warploom_table.async_wait(self, pending, file, line); }

}  // namespace warploom::simt::device::detail
