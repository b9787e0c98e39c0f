// Times kernels before and after the scratchpad pass side by side. bench/scratchpad-device.ts writes the program that includes this.
//   PROGRAM time     one JSON line per kernel, size, carve-out and variant: seconds per launch from graphs of launches
//   PROGRAM check    one launch of every variant on small images, results compared: for compute-sanitizer
//   PROGRAM broken   the same with the barriers of the pass taken away: compute-sanitizer must find hazards
// Exit code 3: no device.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define BENCH_CUDA(expression)                                                                                       \
  do {                                                                                                               \
    const cudaError_t error_ = (expression);                                                                         \
    if (error_ != cudaSuccess) {                                                                                     \
      std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #expression, cudaGetErrorString(error_));           \
      std::exit(1);                                                                                                  \
    }                                                                                                                \
  } while (0)

namespace scratchpad_time {

constexpr int kRepeats = 11;
constexpr float kEps = 1e-4f;

/// A kernel from a cubin.
inline const void* load(const std::string& folder, const std::string& file, const char* symbol) {
  cudaLibrary_t library;
  cudaKernel_t kernel;
  BENCH_CUDA(cudaLibraryLoadFromFile(&library, (folder + "/" + file + ".cubin").c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  BENCH_CUDA(cudaLibraryGetKernel(&kernel, library, symbol));
  return reinterpret_cast<const void*>(kernel);
}

/// One form of a kernel.
struct Variant {
  const char* name;
  const void* kernel;
  int dynamic_bytes;
};

/// A kernel, how it is launched, and its forms; the first one gives the result that the others must have.
struct Kernel {
  const char* name;
  int dimensions;            ///< of the image; 0: the registration step, 2-D with six arrays
  dim3 tile, threads;
  std::vector<Variant> variants;
  std::vector<int> sizes;    ///< edge of the image in pixels
  std::vector<int> carveouts;  ///< KiB of shared memory of a multiprocessor, 0: what the driver takes
};

struct Image {
  int nx, ny, nz;
  size_t count() const { return static_cast<size_t>(nx) * ny * nz; }
};

inline Image image_of(const Kernel& kernel, int n) { return {n, n, kernel.dimensions == 3 ? n : 1}; }

/// Device arrays: four inputs and two results, as the registration step wants them.
struct Arrays {
  float* input[4];
  float* output[2];
  explicit Arrays(size_t count) {
    std::vector<float> host(count);
    uint64_t random = 88172645463325252u;
    for (float*& array : input) {
      for (float& value : host) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        value = static_cast<float>(random >> 40) * 0x1p-24f;
      }
      BENCH_CUDA(cudaMalloc(&array, count * sizeof(float)));
      BENCH_CUDA(cudaMemcpy(array, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    }
    for (float*& array : output) BENCH_CUDA(cudaMalloc(&array, count * sizeof(float)));
  }
  ~Arrays() {
    for (float* array : input) cudaFree(array);
    for (float* array : output) cudaFree(array);
  }
};

inline void launch(const Kernel& kernel, const Variant& variant, Image image, Arrays& arrays, cudaStream_t stream) {
  const dim3 grid((image.nx + kernel.tile.x - 1) / kernel.tile.x, (image.ny + kernel.tile.y - 1) / kernel.tile.y,
                  (image.nz + kernel.tile.z - 1) / kernel.tile.z);
  float eps = kEps, alpha = 0.1f, dt = 0.2f;
  void* volume[] = {&arrays.input[0], &arrays.output[0], &image.nx, &image.ny, &image.nz, &eps};
  void* plane[] = {&arrays.input[0], &arrays.output[0], &image.nx, &image.ny, &eps};
  void* step[] = {&arrays.input[0], &arrays.input[1], &arrays.input[2], &arrays.input[3], &arrays.output[0], &arrays.output[1],
                  &image.nx, &image.ny, &alpha, &dt};
  void** arguments = kernel.dimensions == 3 ? volume : kernel.dimensions == 2 ? plane : step;
  BENCH_CUDA(cudaLaunchKernel(variant.kernel, grid, kernel.threads, arguments, static_cast<size_t>(variant.dynamic_bytes), stream));
}

inline void prepare(const Variant& variant, int carveout_kib, int shared_kib) {
  if (variant.dynamic_bytes > 0) {
    BENCH_CUDA(cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, variant.dynamic_bytes));
  }
  const int percent = carveout_kib == 0 ? -1 : carveout_kib * 100 / shared_kib;  // the next size at or above is taken
  BENCH_CUDA(cudaFuncSetAttribute(variant.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
}

inline std::vector<float> result(const Kernel& kernel, const Variant& variant, Image image, Arrays& arrays, cudaStream_t stream) {
  const size_t count = image.count();
  std::vector<float> host(2 * count);
  for (float* array : arrays.output) BENCH_CUDA(cudaMemsetAsync(array, 0x41, count * sizeof(float), stream));
  launch(kernel, variant, image, arrays, stream);
  BENCH_CUDA(cudaStreamSynchronize(stream));
  for (int k = 0; k < 2; ++k) {
    BENCH_CUDA(cudaMemcpy(host.data() + k * count, arrays.output[k], count * sizeof(float), cudaMemcpyDeviceToHost));
  }
  return host;
}

inline bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Seconds per launch of all variants, taken in turn.
inline std::vector<std::vector<double>> measure(const Kernel& kernel, Image image, Arrays& arrays, cudaStream_t stream) {
  const int launches = image.count() > (1u << 22) ? 5 : 40;
  std::vector<cudaGraphExec_t> graphs;
  for (const Variant& variant : kernel.variants) {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    BENCH_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; ++i) launch(kernel, variant, image, arrays, stream);
    BENCH_CUDA(cudaStreamEndCapture(stream, &graph));
    BENCH_CUDA(cudaGraphInstantiate(&ready, graph, 0));
    BENCH_CUDA(cudaGraphDestroy(graph));
    graphs.push_back(ready);
  }
  cudaEvent_t begin, end;
  BENCH_CUDA(cudaEventCreate(&begin));
  BENCH_CUDA(cudaEventCreate(&end));
  std::vector<std::vector<double>> seconds(graphs.size());
  for (int repeat = -2; repeat < kRepeats; ++repeat) {
    for (size_t v = 0; v < graphs.size(); ++v) {
      BENCH_CUDA(cudaEventRecord(begin, stream));
      BENCH_CUDA(cudaGraphLaunch(graphs[v], stream));
      BENCH_CUDA(cudaEventRecord(end, stream));
      BENCH_CUDA(cudaEventSynchronize(end));
      float milliseconds = 0;
      BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
      if (repeat >= 0) seconds[v].push_back(milliseconds * 1e-3 / launches);
    }
  }
  for (const cudaGraphExec_t graph : graphs) BENCH_CUDA(cudaGraphExecDestroy(graph));
  BENCH_CUDA(cudaEventDestroy(begin));
  BENCH_CUDA(cudaEventDestroy(end));
  return seconds;
}

inline int time_kernel(const Kernel& kernel, const cudaDeviceProp& device, cudaStream_t stream) {
  int different = 0;
  const int shared_kib = static_cast<int>(device.sharedMemPerMultiprocessor / 1024);
  const int threads = static_cast<int>(kernel.threads.x * kernel.threads.y * kernel.threads.z);
  for (const int n : kernel.sizes) {
    const Image image = image_of(kernel, n);
    Arrays arrays(image.count());
    for (const int carveout : kernel.carveouts) {
      for (const Variant& variant : kernel.variants) prepare(variant, carveout, shared_kib);
      const std::vector<float> expected = result(kernel, kernel.variants[0], image, arrays, stream);
      const auto seconds = measure(kernel, image, arrays, stream);
      for (size_t v = 0; v < kernel.variants.size(); ++v) {
        const Variant& variant = kernel.variants[v];
        const bool equal = same(result(kernel, variant, image, arrays, stream), expected);
        different += equal ? 0 : 1;
        cudaFuncAttributes attributes;
        BENCH_CUDA(cudaFuncGetAttributes(&attributes, variant.kernel));
        int blocks = 0;
        BENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant.kernel, threads,
                                                                 static_cast<size_t>(variant.dynamic_bytes)));
        std::printf("{\"kernel\":\"%s\",\"size\":%d,\"carveout\":%d,\"variant\":\"%s\",\"threads\":%d,\"sharedBytes\":%d,\"registers\":%d,"
                    "\"blocks\":%d,\"occupancy\":%.4f,\"equal\":%s,\"seconds\":[",
                    kernel.name, n, carveout, variant.name, threads, static_cast<int>(attributes.sharedSizeBytes) + variant.dynamic_bytes,
                    attributes.numRegs, blocks, static_cast<double>(blocks) * threads / device.maxThreadsPerMultiProcessor,
                    equal ? "true" : "false");
        for (size_t i = 0; i < seconds[v].size(); ++i) std::printf("%s%.9g", i == 0 ? "" : ",", seconds[v][i]);
        std::printf("]}\n");
      }
      std::fflush(stdout);
    }
  }
  return different;
}

inline int check_kernel(const Kernel& kernel, cudaStream_t stream) {
  const Image image = kernel.dimensions == 3 ? Image{37, 19, 5} : Image{75, 41, 1};
  Arrays arrays(image.count());
  std::vector<float> expected;
  int different = 0;
  for (const Variant& variant : kernel.variants) {
    prepare(variant, 0, 228);
    const std::vector<float> found = result(kernel, variant, image, arrays, stream);
    if (expected.empty()) expected = found;
    different += same(found, expected) ? 0 : 1;
  }
  std::printf("%s: %zu variants, %d different\n", kernel.name, kernel.variants.size(), different);
  return different;
}

/// `kernels` and `broken` load the kernels from the folder beside the program.
inline int run(int argc, char** argv, std::vector<Kernel> (*kernels)(const std::string&),
               std::vector<Kernel> (*broken)(const std::string&)) {
  const std::string folder = std::string(argv[0]) + ".cubins";
  const std::string mode = argc > 1 ? argv[1] : "time";
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device\n");
    return 3;
  }
  cudaDeviceProp device;
  BENCH_CUDA(cudaGetDeviceProperties(&device, 0));
  cudaStream_t stream;
  BENCH_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int driver = 0, runtime = 0, different = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (mode == "time") {
    std::printf("{\"device\":\"%s\",\"driver\":\"driver %d.%d, runtime %d.%d\"}\n", device.name, driver / 1000, driver % 1000 / 10,
                runtime / 1000, runtime % 1000 / 10);
    for (const Kernel& kernel : kernels(folder)) different += time_kernel(kernel, device, stream);
  } else {
    for (const Kernel& kernel : mode == "broken" ? broken(folder) : kernels(folder)) different += check_kernel(kernel, stream);
  }
  return mode != "broken" && different > 0 ? 1 : 0;
}

}  // namespace scratchpad_time
