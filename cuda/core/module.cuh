// The header for text that is compiled at run time (`Device.module` in TypeScript). WARPLOOM_KERNEL turns an agent into a kernel that
// can be found by name. The same text is compiled by NVRTC, by nvcc and, for the shim, by the host compiler.
//
//   #include "cuda/core/module.cuh"
//   struct Scale {
//     struct Parameters { float* data; float factor; };
//     static constexpr int kMaxThreads = 256, kMinBlocks = 1;
//     static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
//       p.data[block.index() * block.threads() + block.thread()] *= p.factor;
//     }
//   };
//   WARPLOOM_KERNEL(scale, Scale)
//
// The arguments of a launch are the fields of Parameters, in order, with C's layout.
#pragma once
#include "cuda/core/device.cuh"

#ifdef WARPLOOM_SIMT
#include "simt/module.h"  // native/simt: the same macro, and the module's connection to the shim
#else
/// In place of WARPLOOM_DEVICE: a function that is not inlined.
#define WARPLOOM_DEVICE_APART static __device__ __noinline__
#ifdef WARPLOOM_MAX_REGISTERS
/// The compilers ignore -maxrregcount for kernels with launch bounds. So the kernel has none, and an empty one tells the bound.
#define WARPLOOM_KERNEL_ENTRY(name, ...)                                                                      \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kMaxThreads) name##_threads() {}                  \
  extern "C" __global__ void name(const __grid_constant__ __VA_ARGS__::Parameters p) {                        \
    __VA_ARGS__::run(::warploom::cuda::device::Block(), p);                                                   \
  }
#else
#define WARPLOOM_KERNEL_ENTRY(name, ...)                                                          \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kMaxThreads, __VA_ARGS__::kMinBlocks) \
  name(const __grid_constant__ __VA_ARGS__::Parameters p) {                                       \
    __VA_ARGS__::run(::warploom::cuda::device::Block(), p);                                       \
  }
#endif
#endif

namespace device = warploom::WARPLOOM_TARGET::device;

#define WARPLOOM_KERNEL(name, ...)                                                                                    \
  static_assert(__VA_ARGS__::kMaxThreads % 32 == 0 && __VA_ARGS__::kMaxThreads >= 32 && __VA_ARGS__::kMaxThreads <= 1024, \
                "a block has 32, 64 ... 1024 threads");                                                               \
  static_assert(sizeof(__VA_ARGS__::Parameters) <= 4096, "at most 4096 bytes of parameters");                         \
  static_assert(__is_trivially_copyable(__VA_ARGS__::Parameters), "parameters are copied as bytes");                  \
  WARPLOOM_KERNEL_ENTRY(name, __VA_ARGS__)
