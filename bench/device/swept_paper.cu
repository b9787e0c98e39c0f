// Stand-alone check and benchmark of the paper's variants of swept.advance on one GPU, without Node:
//   build: bench/device/build_swept_paper.sh BUILD_FOLDER
//   run:   BUILD_FOLDER/swept_paper check                    shared, hybrid, register and classic-graph against classic, bit for bit
//          BUILD_FOLDER/swept_paper policy [heat|ks|euler]   time per step by n, as the policy chooses
//          BUILD_FOLDER/swept_paper threads [heat|ks|euler]  and by the threads of a block
// Prints one JSON object per line.
#include "bench/device/swept_bench.cuh"

using namespace warploom;
using namespace warploom::bench;

struct Named {
  const char* name;
  sw::Variant variant;
};
static const Named kVariants[] = {{"classic", sw::Variant::classic}, {"classic-graph", sw::Variant::classic_graph},
                                  {"shared", sw::Variant::shared}, {"hybrid", sw::Variant::hybrid}, {"register", sw::Variant::register_}};

template <class Equation>
static Status march(SweptBench& bench, sw::Variant variant, const sw::March<Equation>& m, sw::Shape* shape) {
  Control control;
  switch (variant) {
    case sw::Variant::classic: return sw::march_classic(bench.device, m, shape, control);
    case sw::Variant::classic_graph: return sw::march_classic_graph(bench.device, m, shape, control);
    case sw::Variant::shared: return sw::march_shared(bench.device, m, shape, control);
    case sw::Variant::hybrid: return sw::march_hybrid(bench.device, m, shape, control);
    default: return sw::march_register(bench.device, m, shape, control);
  }
}

template <class Equation>
static bool takes(sw::Variant variant, Boundary ends) {
  using Kind = ::warploom::swept::Equation;
  if (variant == sw::Variant::hybrid) return Equation::kEquation != Kind::kuramoto_sivashinsky;
  if (variant != sw::Variant::register_) return true;
  return Equation::kEquation != Kind::euler && (ends == Boundary::periodic || Equation::kEquation == Kind::kuramoto_sivashinsky);
}

template <class Equation>
static void check_equation(SweptBench& bench, const Equation& equation) {
  const int64_t least = ::warploom::swept::least_points(Equation::kEquation);
  for (const auto end : {Boundary::periodic, Boundary::reflective, Boundary::dirichlet, Boundary::outflow}) {
    if (!::warploom::swept::admits(Equation::kEquation, end)) continue;
    for (const Named& v : kVariants) {
      if (v.variant == sw::Variant::classic || !takes<Equation>(v.variant, end)) continue;
      for (const int64_t n : {least, int64_t{37}, int64_t{1000}, int64_t{5003}, int64_t{130001}, int64_t{1} << 20}) {
        for (const int threads : {0, 96, 512}) {
          if (threads != 0 && n == least) continue;
          bench.check(equation, n, n < 6000 ? 7 : 1, n < 6000 ? 700 : 300, end, end, [&](auto& m, sw::Shape* shape, Control&) {
            m.threads = threads;
            return march(bench, v.variant, m, shape);
          });
        }
      }
    }
  }
}

/// Seconds of a time step: median of three marches of some milliseconds, each of several cycles.
template <class Equation>
static void time_march(SweptBench& bench, SweptBench::State<Equation>& state, const Named& v, int threads) {
  sw::Shape shape;
  state.march.threads = threads;
  const auto once = [&](int64_t steps) {
    cudaEvent_t begin, end;
    BENCH_CUDA(cudaEventCreate(&begin));
    BENCH_CUDA(cudaEventCreate(&end));
    state.march.steps = steps;
    BENCH_CUDA(cudaEventRecord(begin, bench.device.stream));
    require(march(bench, v.variant, state.march, &shape), v.name);
    BENCH_CUDA(cudaEventRecord(end, bench.device.stream));
    BENCH_CUDA(cudaEventSynchronize(end));
    float ms = 0;
    BENCH_CUDA(cudaEventElapsedTime(&ms, begin, end));
    BENCH_CUDA(cudaEventDestroy(begin));
    BENCH_CUDA(cudaEventDestroy(end));
    return ms * 1e-3;
  };
  once(40);
  const int64_t cycle = std::min(shape.depth, 2048);
  const double guess = once(std::max<int64_t>(40, cycle)) / static_cast<double>(std::max<int64_t>(40, cycle));
  const int64_t steps = std::max<int64_t>(4, static_cast<int64_t>(8e-3 / guess) / cycle) * cycle;
  std::vector<double> seconds;
  for (int i = 0; i < 3; ++i) seconds.push_back(once(steps) / static_cast<double>(steps));
  std::sort(seconds.begin(), seconds.end());
  const int64_t n = state.march.domain.n;
  std::printf("{\"id\":\"%s/%s/%lld/%s\",\"ends\":%d,\"asked\":%d,\"threads\":%d,\"depth\":%d,\"steps\":%lld,"
              "\"us\":%.4f,\"least\":%.4f,\"G\":%.1f}\n",
              equation_name<Equation>(), sizeof(typename Equation::Real) == 8 ? "float64" : "float32", (long long)n, v.name,
              (int)state.march.domain.left, threads, shape.threads, shape.depth, (long long)steps, seconds[1] * 1e6, seconds[0] * 1e6,
              static_cast<double>(n) / seconds[1] * 1e-9);
  std::fflush(stdout);
}

template <class Equation>
static void time_equation(SweptBench& bench, const Equation& equation, bool by_threads) {
  const bool euler = Equation::kComponents == 3;
  for (const int log : by_threads ? std::vector<int>{11, 14, 17, 20, 24} : std::vector<int>{11, 12, 13, 14, 15, 16, 17, 18, 20, 22, 24}) {
    const int64_t n = int64_t{1} << log;
    for (const auto ends : {Boundary::periodic, Boundary::reflective}) {
      if (ends == Boundary::reflective && (by_threads || log % 3 != 2 || !::warploom::swept::admits(Equation::kEquation, ends))) continue;
      SweptBench::State<Equation> state(bench, equation, n, 1, 0, ends, ends);
      for (const Named& v : kVariants) {
        if (!takes<Equation>(v.variant, ends)) continue;
        if (!by_threads) {
          time_march(bench, state, v, 0);
          continue;
        }
        for (const int threads : {32, 64, 128, 256, 512, 1024}) {
          if (v.variant == sw::Variant::shared ? threads > (euler ? 512 : 1024) : threads < 64 || threads > 256) continue;
          if (v.variant != sw::Variant::shared && log != 11 && log != 20) continue;
          time_march(bench, state, v, threads);
        }
      }
    }
  }
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "policy", only = argc > 2 ? argv[2] : "", type = argc > 3 ? argv[3] : "";
  SweptBench bench;
  const auto each = [&](const char* name, const auto& f32, const auto& f64) {
    if (!only.empty() && only != name) return;
    const auto run = [&](const auto& equation) {
      if (mode == "check") check_equation(bench, equation);
      else time_equation(bench, equation, mode == "threads");
    };
    if (type != "float32") run(f64);
    if (type != "float64") run(f32);
  };
  using namespace ::warploom::swept;
  each("heat", Heat<float>::make<float>(8.418e-5, 1e-3, 1e-3), Heat<double>::make<double>(8.418e-5, 1e-3, 1e-3));
  each("ks", KuramotoSivashinsky<float>::make<float>(0.5, 0.005), KuramotoSivashinsky<double>::make<double>(0.5, 0.005));
  each("euler", Euler<float>::make<float>(1.4, 1, 0.05, Limiter::paper), Euler<double>::make<double>(1.4, 1, 0.05, Limiter::paper));
  if (mode == "check") std::printf("%d failures\n", bench.failures);
  return bench.failures != 0;
}
