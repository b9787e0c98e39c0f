// Stand-alone check and benchmark of imaging.segment on one GPU, without Node.
//   build: nvcc -std=c++17 -O3 -arch=sm_90 -fmad=false -I. bench/device/imaging_segment.cu cuda/imaging/segment.cpp -o PROGRAM
//   run:   PROGRAM check   all variants give the same bits; prints a hash per example, which test/device prints for the cpu backend
//          PROGRAM calls   whole calls: seconds per step, from two numbers of steps
//          PROGRAM sweep   the march alone, by rows of a strip and registers
//          PROGRAM march N ROWS WARPS   one of them
// Prints one JSON object per line.
#include <cmath>
#include <cstring>
#include <string>

#include "bench/device/bench_device.cuh"
#include "cuda/imaging/segment_call.cuh"

using namespace warploom;
using namespace warploom::bench;
using namespace warploom::imaging;
namespace sg = warploom::cuda::imaging::segmentation;
namespace operation = warploom::imaging::segmentation;

/// Discs of 0.8 on 0.2 with noise that repeats.
template <class R>
std::vector<R> disc_image(int64_t nx, int64_t ny, int64_t nz, int64_t channels) {
  std::vector<R> image;
  uint64_t state = 88172645463325252u;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < nx * ny * nz; ++i) {
      double sum = 0;
      for (int k = 0; k < 4; ++k) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += static_cast<double>(state >> 40) * 0x1p-24 - 0.5;
      }
      const double x = static_cast<double>(i % nx) / static_cast<double>(nx);
      const double y = static_cast<double>(i / nx % ny) / static_cast<double>(ny);
      const double big = std::hypot(x - 0.34, y - 0.36), other = std::hypot(x - 0.7, y - 0.68), small = std::hypot(x - 0.72, y - 0.26);
      const bool inside = (big < 0.22 && big >= 0.09) || other < 0.17 || small < 0.06;
      image.push_back(static_cast<R>((inside ? 0.8 : 0.2) + 0.3 * sum * 1.7));
    }
  }
  return image;
}

struct Buffers {
  BenchDevice& device;
  std::vector<void*> held;
  explicit Buffers(BenchDevice& d) : device(d) {}
  ~Buffers() {
    for (void* memory : held) device.release(memory);
  }
  void* make(int64_t bytes) {
    void* memory = nullptr;
    require(device.allocate(bytes, &memory), "memory");
    held.push_back(memory);
    return memory;
  }
};

template <class R>
struct Run {
  SegmentParameters p;
  std::vector<RegionMeans> means;
  std::vector<SegmentEntry> history;
  SegmentReport report;

  Run(Buffers& buffers, int64_t nx, int64_t ny, int64_t nz = 1, int64_t channels = 1) {
    p.type = sizeof(R) == 4 ? ScalarType::float32 : ScalarType::float64;
    p.grid = {nx, ny, nz};
    p.channels = channels;
    p.mu = 0.1;
    p.tolerance = 0;
    const int64_t points = nx * ny * nz, bytes = points * static_cast<int64_t>(sizeof(R));
    const std::vector<R> image = disc_image<R>(nx, ny, nz, channels);
    p.image.data = buffers.make(channels * bytes);
    p.image.length = channels * points;
    require(buffers.device.upload(p.image.data, image.data(), channels * bytes), "upload");
    require(buffers.device.synchronize(), "upload");
    p.level_set.data = buffers.make(bytes);
    p.level_set.length = points;
  }
  /// Seconds on the device.
  double time(BenchDevice& device, SegmentVariant variant, int64_t iterations) {
    p.variant = variant;
    p.iterations = iterations;
    means.assign(static_cast<size_t>(p.channels), {});
    history.assign(static_cast<size_t>(most_entries(p)), {});
    report.means = {means.data(), p.channels};
    report.history = {history.data(), most_entries(p)};
    p.report = &report;
    require(check(p), "check");
    cudaEvent_t begin, end;
    BENCH_CUDA(cudaEventCreate(&begin));
    BENCH_CUDA(cudaEventCreate(&end));
    Control control;
    BENCH_CUDA(cudaEventRecord(begin, device.stream));
    require(sg::SegmentCall<R>(device, p, control).run(), "segment");
    BENCH_CUDA(cudaEventRecord(end, device.stream));
    BENCH_CUDA(cudaEventSynchronize(end));
    float milliseconds = 0;
    BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds * 1e-3;
  }
  uint64_t hash(BenchDevice& device) const {
    std::vector<R> level(static_cast<size_t>(points_of(p.grid)));
    require(device.download(level.data(), p.level_set.data, static_cast<int64_t>(level.size() * sizeof(R))), "download");
    uint64_t h = 14695981039346656037u;
    const auto add = [&](const void* data, size_t bytes) {
      for (size_t i = 0; i < bytes; ++i) h = (h ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
    };
    add(level.data(), level.size() * sizeof(R));
    add(history.data(), history.size() * sizeof(SegmentEntry));
    add(means.data(), means.size() * sizeof(RegionMeans));
    return h;
  }
};

static int failures = 0;

template <class R>
void check_variants(BenchDevice& device, int64_t nx, int64_t ny, int64_t nz, int64_t channels) {
  Buffers buffers(device);
  Run<R> run(buffers, nx, ny, nz, channels);
  run.p.energy_every = 8;
  run.p.reinitialize_every = nx % 2 == 0 ? 0 : 12;
  run.time(device, SegmentVariant::direct, 250);
  const uint64_t expected = run.hash(device);
  bool same = true;
  if (nz == 1 && channels == 1) {
    run.time(device, SegmentVariant::march, 250);
    same = run.hash(device) == expected;
  }
  failures += !same;
  std::printf("{\"check\":\"%lldx%lldx%lld/%lld\",\"type\":\"float%d\",\"same\":%s,\"hash\":\"%016llx\",\"energy\":%.17g}\n",
              (long long)nx, (long long)ny,
              (long long)nz, (long long)channels, int(8 * sizeof(R)), same ? "true" : "false",
               (unsigned long long)expected, run.report.energy);
  std::fflush(stdout);
}

template <class R>
void time_calls(BenchDevice& device, int64_t nx, int64_t ny, int64_t nz, int64_t channels, SegmentVariant variant, int64_t every) {
  Buffers buffers(device);
  Run<R> run(buffers, nx, ny, nz, channels);
  run.p.energy_every = every;
  const int64_t few = nx * ny * nz > 4000000 ? 32 : 1024, many = nx * ny * nz > 4000000 ? 192 : 5120;
  run.time(device, variant, few);
  double best = HUGE_VAL, shortest = HUGE_VAL;
  for (int i = 0; i < 3; ++i) {
    const double a = run.time(device, variant, few), b = run.time(device, variant, many);
    best = std::min(best, (b - a) / double(many - few));
    shortest = std::min(shortest, a);
  }
  std::printf("{\"call\":\"%lldx%lldx%lld/%lld\",\"type\":\"float%d\",\"variant\":\"%s\",\"energyEvery\":%lld,"
              "\"us\":%.3f,\"few\":%lld,\"fewUs\":%.1f}\n",
              (long long)nx,
              (long long)ny, (long long)nz, (long long)channels, int(8 * sizeof(R)), kSegmentVariantNames[int(variant)],
               (long long)every, best * 1e6,
              (long long)few, shortest * 1e6);
  std::fflush(stdout);
}

/// The march with other numbers of blocks per multiprocessor.
template <class R, int kBlocks>
struct MarchWith : sg::SegmentMarchAgent<R> {
  static constexpr int kMinBlocks = kBlocks;
};

/// Least seconds of a graph of what `body` launches, out of five.
template <class Body>
double graph_seconds(BenchDevice& device, Body body) {
  cudaGraph_t graph;
  cudaGraphExec_t launches;
  BENCH_CUDA(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeThreadLocal));
  body();
  BENCH_CUDA(cudaStreamEndCapture(device.stream, &graph));
  BENCH_CUDA(cudaGraphInstantiate(&launches, graph, 0));
  cudaEvent_t begin, end;
  BENCH_CUDA(cudaEventCreate(&begin));
  BENCH_CUDA(cudaEventCreate(&end));
  double best = HUGE_VAL;
  for (int i = 0; i < 5; ++i) {
    BENCH_CUDA(cudaEventRecord(begin, device.stream));
    BENCH_CUDA(cudaGraphLaunch(launches, device.stream));
    BENCH_CUDA(cudaEventRecord(end, device.stream));
    BENCH_CUDA(cudaEventSynchronize(end));
    float milliseconds = 0;
    BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    best = std::min(best, milliseconds * 1e-3);
  }
  BENCH_CUDA(cudaGraphExecDestroy(launches));
  BENCH_CUDA(cudaGraphDestroy(graph));
  return best;
}

template <class R, class Agent>
void time_march(BenchDevice& device, int64_t n, int64_t rows, int64_t warps) {
  Buffers buffers(device);
  Run<R> run(buffers, n, n);
  const int64_t points = n * n, bytes = points * static_cast<int64_t>(sizeof(R));
  const double one = 1;
  const auto setup = operation::make_setup(run.p, {-0.3, 1.3, points}, &one);
  sg::StepTask<R> task;
  task.image = static_cast<const R*>(run.p.image.data);
  R* level[2] = {static_cast<R*>(run.p.level_set.data), static_cast<R*>(buffers.make(bytes))};
  int64_t* words = static_cast<int64_t*>(buffers.make(8 * 512));
  require(device.fill_zero(words, 8 * 512), "zero");
  run.time(device, SegmentVariant::march, 20);
  task.nx = task.ny = n;
  task.points = points;
  task.flow = operation::make_flow<R>(run.p, setup, 1);
  task.scales = setup.scales;
  task.tally.ring = words;
  task.tally.words = sg::slot_words(1);
  task.tally.totals = words + 256;
  task.tally.unit = 1 / setup.scales.value;
  task.tally.iterations = words + 300;
  task.tally.stops = reinterpret_cast<int32_t*>(words + 302);
  task.rows = rows;
  task.tiles = (n + sg::kStripPoints - 1) / sg::kStripPoints;
  task.wide = 1;
  sg::SumTask<R> sums;
  sums.image = task.image;
  sums.points = points;
  sums.flow = task.flow;
  sums.scales = task.scales;
  sums.count = words + 256;
  sums.sums = words + 257;
  using Sum = sg::SegmentSumAgent<R>;
  require(cuda::launch<Sum>(device, {256, 256, Sum::shared_bytes(), false}, sums), "sums");
  sums.level = level[0];
  sums.count = words + 3 * task.tally.words;
  sums.sums = sums.count + operation::kSum;
  require(cuda::launch<Sum>(device, {256, 256, Sum::shared_bytes(), false}, sums), "sums");
  const int64_t strips = task.tiles * ((n + rows - 1) / rows);
  const auto steps = [&](int count) {
    for (int k = 0; k < count; ++k) {
      task.from = level[k % 2];
      task.to = level[(k + 1) % 2];
      task.tally.before = (k + 3) % 4;
      task.tally.own = k % 4;
      task.tally.next = (k + 1) % 4;
      require(cuda::launch<Agent>(device, {(strips + warps - 1) / warps, static_cast<int>(32 * warps), 0, false}, task), "march");
    }
  };
  const double best = graph_seconds(device, [&] { steps(64); }) / 64;
  std::printf("{\"sweep\":%lld,\"type\":\"float%d\",\"blocks\":%d,\"rows\":%lld,\"warps\":%lld,\"us\":%.3f}\n",
              (long long)n, int(8 * sizeof(R)), Agent::kMinBlocks,
              (long long)rows, (long long)warps, best * 1e6);
  std::fflush(stdout);
}

template <class R, int kBlocks>
void sweep_rows(BenchDevice& device) {
  for (const int64_t n : {64, 256, 512, 1024, 2048, 4096}) {
    for (const int64_t rows : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      if (rows > (n <= 512 ? 4 : n <= 1024 ? 8 : 32) || rows < n / 512) continue;
      for (const int64_t warps : {1, 2, 4}) {
        if (n <= 1024 || warps == 4) time_march<R, MarchWith<R, kBlocks>>(device, n, rows, warps);
      }
    }
  }
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "check";
  BenchDevice device;
  if (mode == "check") {
    for (const int64_t n : {1, 37, 120, 121, 512}) {
      check_variants<float>(device, n, n + 3, 1, 1);
      check_variants<double>(device, n + 2, n, 1, 1);
    }
    check_variants<float>(device, 2048, 1500, 1, 1);
    check_variants<float>(device, 300, 200, 1, 3);
    check_variants<float>(device, 65, 43, 30, 1);
    check_variants<double>(device, 33, 40, 21, 2);
  } else if (mode == "calls") {
    for (const int64_t n : {64, 128, 256, 512, 1024, 2048, 4096}) {
      for (const auto variant : {SegmentVariant::direct, SegmentVariant::march}) {
        time_calls<float>(device, n, n, 1, 1, variant, 0);
        if (n == 512 || n == 4096) time_calls<float>(device, n, n, 1, 1, variant, 10);
        if (n == 512 || n == 4096) time_calls<double>(device, n, n, 1, 1, variant, 0);
      }
    }
    time_calls<float>(device, 512, 512, 1, 3, SegmentVariant::direct, 0);
    time_calls<float>(device, 128, 128, 128, 1, SegmentVariant::direct, 0);
    time_calls<float>(device, 256, 256, 256, 1, SegmentVariant::direct, 0);
  } else if (mode == "march" && argc > 4) {
    time_march<float, sg::SegmentMarchAgent<float>>(device, std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4]));
  } else {
    sweep_rows<float, 4>(device);
    sweep_rows<float, 5>(device);
    sweep_rows<double, 3>(device);
  }
  return failures != 0;
}
