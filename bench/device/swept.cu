// Stand-alone check and benchmark of `tiled` of swept.advance on one GPU, without Node:
//   build: bench/device/build.sh BUILD_FOLDER
//   run:   BUILD_FOLDER/swept check                          tiled against classic, bit for bit, at full size
//          BUILD_FOLDER/swept bench [heat|ks|euler]          time per step by n, as the policy chooses
//          BUILD_FOLDER/swept time EQUATION TYPE N POINTS DEPTH THREADS   one of them, 0 = policy
// Prints one JSON object per line.
#include "bench/device/swept_bench.cuh"

using namespace warploom;
using namespace warploom::bench;

template <class Equation>
static void bench_equation(SweptBench& bench, const Equation& equation) {
  for (int log = 11; log <= 24; ++log) {
    const int64_t n = int64_t{1} << log;
    for (const auto end : {Boundary::periodic, Boundary::reflective}) {
      if (end == Boundary::reflective && (log % 3 != 2 || !::warploom::swept::admits(Equation::kEquation, end))) continue;
      bench.time(equation, n, end, "tiled", 0, [&](auto& march, sw::Shape* shape, Control& control) {
        return sw::march_tiled(bench.device, march, shape, control);
      });
    }
    if (log % 3 == 2 || log == 24) {
      bench.time(equation, n, Boundary::periodic, "classic", 0, [&](auto& march, sw::Shape* shape, Control& control) {
        return sw::march_classic(bench.device, march, shape, control);
      });
    }
  }
}

template <class Equation>
static void check_equation(SweptBench& bench, const Equation& equation) {
  const auto tiled = [&](auto& march, sw::Shape* shape, Control& control) {
    return sw::march_tiled(bench.device, march, shape, control);
  };
  const int64_t least = ::warploom::swept::least_points(Equation::kEquation);
  for (const auto left : {Boundary::periodic, Boundary::reflective, Boundary::dirichlet, Boundary::outflow}) {
    for (const auto right : {Boundary::periodic, Boundary::reflective, Boundary::dirichlet, Boundary::outflow}) {
      if ((left == Boundary::periodic) != (right == Boundary::periodic)) continue;
      if (!::warploom::swept::admits(Equation::kEquation, left) || !::warploom::swept::admits(Equation::kEquation, right)) continue;
      for (const int64_t n : {least, int64_t{37}, int64_t{300}, int64_t{2048}, int64_t{5003}, int64_t{16384}, int64_t{130001}}) {
        bench.check(equation, n, n < 1000 ? 7 : 1, 500, left, right, tiled);
      }
      bench.check(equation, 3001, 300, 100, left, right, tiled);
      bench.check(equation, 1 << 20, 1, 333, left, right, tiled);
      bench.check(equation, (1 << 24) - 77, 1, 150, left, right, tiled);
    }
  }
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "bench", only = argc > 2 ? argv[2] : "";
  SweptBench bench;
  const auto each = [&](const char* name, const auto& f32, const auto& f64) {
    if (!only.empty() && only != name) return;
    if (mode == "check") {
      check_equation(bench, f64);
      check_equation(bench, f32);
    } else if (mode == "bench") {
      bench_equation(bench, f64);
      bench_equation(bench, f32);
    } else if (mode == "time" && argc > 7) {
      const auto run = [&](const auto& equation) {
        bench.time(equation, std::atoll(argv[4]), Boundary::periodic, "tiled", 0, [&](auto& march, sw::Shape* shape, Control& control) {
          march.points = std::atoi(argv[5]);
          march.depth = std::atoi(argv[6]);
          march.threads = std::atoi(argv[7]);
          return sw::march_tiled(bench.device, march, shape, control);
        });
      };
      if (std::string(argv[3]) == "float32") run(f32);
      else run(f64);
    }
  };
  using namespace ::warploom::swept;
  each("heat", Heat<float>::make<float>(8.418e-5, 1e-3, 1e-3), Heat<double>::make<double>(8.418e-5, 1e-3, 1e-3));
  each("ks", KuramotoSivashinsky<float>::make<float>(0.5, 0.005), KuramotoSivashinsky<double>::make<double>(0.5, 0.005));
  each("euler", Euler<float>::make<float>(1.4, 1, 0.05, Limiter::paper), Euler<double>::make<double>(1.4, 1, 0.05, Limiter::paper));
  return bench.failures != 0;
}
