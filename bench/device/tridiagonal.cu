// Stand-alone check and benchmark of the batched tridiagonal solvers on one GPU, without Node:
//   build: bench/device/build.sh BUILD_FOLDER
//   run:   BUILD_FOLDER/tridiagonal check|bench|large|layouts|all|complex [SHAPE [ALGORITHM]]
//          BUILD_FOLDER/tridiagonal families           worst residual ratios of the pivoted solver
//          BUILD_FOLDER/tridiagonal features [SHAPE [NAME]]  check, refinement, plans, condition estimates
// Prints one table: time, share of the floor (a, b, c, d read and x written once), backward error.
#include <cstring>

#include "bench/device/tridiagonal_arranged.cuh"
#include "bench/device/tridiagonal_families.cuh"
#include "bench/device/tridiagonal_features.cuh"

using namespace warploom;
using namespace warploom::bench;

template <class T>
static Solve<T> regpack(int depth) {
  return [depth](cuda::GpuDevice& device, const tri::Batch<T>& batch, tri::Used* used) {
    return tri::solve_cr_regpack<T>(device, batch, depth, used);
  };
}

template <class T>
static int check_type(BenchDevice& device) {
  std::vector<int64_t> small;
  for (int64_t n = 1; n <= 70; ++n) small.push_back(n);
  for (int64_t p = 128; p <= 1024; p *= 2) small.insert(small.end(), {p - 1, p, p + 1});
  std::vector<int64_t> medium{2047, 2048, 2049, 3333, 4095, 4096, 4097, 8191, 8192};
  int failures = 0;
  for (const int depth : {2, 4, 8, 16, 32}) {
    const std::string name = std::string(type_name<T>()) + " cr-regpack depth " + std::to_string(depth);
    failures += check_solver<T>(device, name.c_str(), regpack<T>(depth), small, 37);
    failures += check_solver<T>(device, (name + "+").c_str(), regpack<T>(depth), medium, 5);
  }
  const std::string type = type_name<T>();
  failures += check_solver<T>(device, (type + " auto").c_str(), tri::solve_automatic<T>, small, 37);
  failures += check_solver<T>(device, (type + " auto+").c_str(), tri::solve_automatic<T>, medium, 5);
  failures += check_solver<T>(device, (type + " stable").c_str(), tri::solve_pivoting<T>, small, 37, true);
  failures += check_solver<T>(device, (type + " stable+").c_str(), tri::solve_pivoting<T>, medium, 5, true);
  std::vector<int64_t> large{64, 1000, 8193, 20000, 65536, 100001, 1000003, 2200000};
  failures += check_solver<T>(device, (type + " partition").c_str(), tri::solve_partition<T>, large, 5);
  return failures;
}

template <class T>
static void time_shape(BenchDevice& device, Cusparse& cusparse, int64_t systems, int64_t n, bool cold,
                       const std::vector<int>& depths, const std::string& only) {
  Shape<T> shape(device, systems, n, cold);
  const int64_t units = systems * n * int64_t(sizeof(T)) / 16;
  const Timing floor = time_floor(device, shape, units);
  std::printf("%-32s %-18s %10.3f us  %7.1f GB/s\n", shape.id().c_str(), "floor", floor.median * 1e6,
              systems * n * sizeof(T) * 5e-9 / floor.median);
  const auto run = [&](const std::string& name, const Solve<T>& solve) {
    if (name.find(only) != std::string::npos) time_solver(device, shape, floor, name.c_str(), solve);
  };
  run("auto", tri::solve_automatic<T>);
  for (const int depth : depths) run("cr-regpack/" + std::to_string(depth), regpack<T>(depth));
  if (n > 8192) run("partition", tri::solve_partition<T>);
  run("stable", tri::solve_pivoting<T>);
  if (cusparse.present() && n >= 3 && only.empty()) {
    std::vector<T*>& p = shape.arrays;
    void* buffer = nullptr;
    const size_t bytes = cusparse.workspace<T>(int(n), p[0], p[1], p[2], p[4], int(systems));
    BENCH_CUDA(cudaMalloc(&buffer, bytes + 16));
    // In place: the right-hand side is restored before each judged run only.
    BENCH_CUDA(cudaMemcpy(p[4], p[3], systems * n * sizeof(T), cudaMemcpyDeviceToDevice));
    cusparse.solve<T>(int(n), p[0], p[1], p[2], p[4], int(systems), buffer);
    bool good = false;
    const double error = shape.judge(&good);
    const Timing t = time_sets(device, shape.sets, 1, [&](int s) {
      cusparse.solve<T>(int(n), p[s * 5], p[s * 5 + 1], p[s * 5 + 2], p[s * 5 + 4], int(systems), buffer);
    });
    report(shape, "cusparse strided", floor, t, {}, error, true);
    cudaFree(buffer);
  }
}

/// The solvers that have no tuned kernels for complex numbers but the pivoted one.
template <class T>
static void time_complex(BenchDevice& device, int64_t systems, int64_t n, bool cold) {
  Shape<T> shape(device, systems, n, cold);
  const Timing floor = time_floor(device, shape, systems * n * int64_t(sizeof(T)) / 16);
  time_solver<T>(device, shape, floor, "auto", tri::solve_automatic<T>);
  time_solver<T>(device, shape, floor, "stable", tri::solve_pivoting<T>);
}

struct Line {
  int64_t systems, n;
  bool cold;
  std::vector<int> depths;
};

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "bench";
  const std::string filter = count > 2 ? arguments[2] : "";
  const std::string only = count > 3 ? arguments[3] : "";
  BenchDevice device;
  std::printf("device %s, %d multiprocessors\n", device.description().name.c_str(), device.limits().multiprocessors);
  if (mode == "check") {
    const int failures = check_type<float>(device) + check_type<double>(device);
    std::printf("%d failures\n", failures);
    return failures != 0;
  }
  if (mode == "families") {
    const std::vector<int64_t> sizes{64, 65, 512, 1024};
    const int failures = check_families<float>(device, sizes) + check_families<double>(device, sizes) +
                         check_families<cuda::Complex<float>>(device, sizes) +
                         check_families<cuda::Complex<double>>(device, sizes);
    std::printf("%d failures\n", failures);
    return failures != 0;
  }
  if (mode == "features") {
    for (const auto& [systems, n] : {std::pair<int64_t, int64_t>{65536, 512}, {8192, 4096}}) {
      const std::string id = std::to_string(systems) + "x" + std::to_string(n);
      if (id.find(filter) == std::string::npos) continue;
      Features<float>(device, systems, n, tri::solve_automatic<float>).run_all(only);
      Features<double>(device, systems, n, tri::solve_automatic<double>).run_all(only);
    }
    return 0;
  }
  if (mode == "layouts" || mode == "all") time_layouts(device, filter, only);
  if (mode == "layouts") return 0;
  Cusparse cusparse(device.stream);
  const std::vector<int> all{2, 4, 8, 16, 32};
  const std::vector<Line> lines{
      {65536, 512, true, all},   {32768, 1024, true, all},  {16384, 2048, true, {4, 8, 16, 32}},
      {8192, 4096, true, {8, 16, 32}}, {1000000, 64, true, all}, {512, 512, false, all},
      {1024, 1024, false, all},  {512, 512, true, all},     {1024, 1024, true, all},
      {2048, 2048, true, {4, 8, 16, 32}}, {4096, 4096, true, {8, 16, 32}}, {4096, 8192, true, {16, 32}},
      {100000, 100, true, all},  {16, 1 << 20, true, {}},   {1, 1 << 20, true, {}},
      {1, 1 << 20, false, {}},   {1, 1 << 24, true, {}},    {1, 1 << 27, true, {}}, {512, 32768, true, {}}};
  for (const Line& line : lines) {
    char id[64];
    std::snprintf(id, sizeof id, "%lldx%lld/%s", (long long)line.systems, (long long)line.n,
                  line.cold ? "cold" : "hot");
    if (std::strstr(id, filter.c_str()) == nullptr) continue;
    if (mode == "complex") {
      time_complex<cuda::Complex<float>>(device, line.systems, line.n, line.cold);
      time_complex<cuda::Complex<double>>(device, line.systems, line.n, line.cold);
      continue;
    }
    if ((mode == "large") != (line.n > 8192) && mode != "all") continue;
    time_shape<float>(device, cusparse, line.systems, line.n, line.cold, line.depths, only);
    time_shape<double>(device, cusparse, line.systems, line.n, line.cold, line.depths, only);
  }
  return 0;
}
