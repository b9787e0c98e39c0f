// Cases of swept.advance, every variant against a plain march to the bit, and of swept.measure.
#pragma once
#include "cuda/core/view.h"
#include "cuda/swept/measure.h"
#include "test/device/support/cases.h"
#include "test/device/swept_case.h"
#include "test/device/swept_tiles.h"

namespace cases {

struct SweptCase {
  test::Problem problem;
  test::Call call;
};

template <class T>
std::string run_swept_case(const SweptCase& c, Device& device, std::string* digest) {
  test::Truth<T> truth(c.problem, 7);
  Control control;
  const test::Outcome<T> outcome = test::advance<T>(device, c.problem, c.call, truth.after(0), control);
  if (!outcome.status.ok()) return (outcome.status.code() == Code::unsupported ? kUnsupported : "") + outcome.status.message();
  digest_of(outcome.next, digest);
  if (!outcome.untouched) return "wrote where it must not";
  const std::vector<T>& expected = truth.after(c.call.steps);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &outcome.next[i], sizeof(T)) == 0) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(outcome.next[i]) + ", expected " + std::to_string(expected[i]);
  }
  return {};
}

/// Sums to rounding, bounds exactly.
inline std::string run_measure_case(int64_t n, int64_t rows, Device& device, std::string* digest) {
  constexpr int kFigures = sizeof(swept::Figures) / sizeof(double);
  Numbers numbers(static_cast<uint64_t>(n));
  std::vector<double> state(static_cast<size_t>(n * rows));
  for (double& value : state) value = numbers();
  OnDevice<double> in(device, state), out(device, static_cast<size_t>(rows * kFigures));
  swept::MeasureParameters p;
  p.n = n;
  p.rows = rows;
  p.state = dense_view(in.data(), in.length(), {rows, n});
  swept::MeasureReport report;
  report.rows = {reinterpret_cast<swept::Figures*>(out.data()), rows};
  p.report = &report;
  const std::string failure = run_operation(device, simt_backend().operations.swept_measure, p);
  if (!failure.empty()) return failure;
  const std::vector<double> figures = out.host();
  digest_of(figures, digest);
  for (int64_t row = 0; row < rows; ++row) {
    const double* const values = state.data() + row * n;
    long double expected[kFigures] = {0, 0, 0, 0, values[0], values[0]};
    for (int64_t i = 0; i < n; ++i) {
      const long double value = values[i];
      expected[0] += value;
      expected[2] += std::fabs(value);
      expected[3] += value * value;
      expected[4] = std::min(expected[4], value);
      expected[5] = std::max(expected[5], value);
    }
    expected[1] = n == 1 ? 0 : expected[0] - (static_cast<long double>(values[0]) + values[n - 1]) / 2;
    for (int k = 0; k < kFigures; ++k) {
      const double figure = figures[static_cast<size_t>(row * kFigures + k)];
      if (std::fabs(figure - expected[k]) > (k < 4 ? 1e-13L * static_cast<long double>(n) : 0)) {
        return "figure " + std::to_string(k) + " of row " + std::to_string(row) + " is " + std::to_string(figure);
      }
    }
  }
  return {};
}

inline void add_swept_case(std::vector<Case>* all, bool quick, const SweptCase& c, ScalarType type = ScalarType::float64) {
  const std::string name = std::string("swept ") + kScalarTypeNames[static_cast<int>(type)] + " " + c.problem.name() + " " + c.call.name();
  all->push_back({name, quick, [c, type](Device& device, std::string* digest) {
                    return type == ScalarType::float32 ? run_swept_case<float>(c, device, digest)
                                                       : run_swept_case<double>(c, device, digest);
                  }});
}

inline void add_swept_cases(std::vector<Case>* all) {
  using swept::Equation;
  using swept::Variant;
  const auto add = [&](bool quick, Variant variant, Equation equation, size_t ends, int64_t n, int64_t batch, int64_t steps,
                       int32_t points, int32_t depth, int32_t threads) {
    SweptCase c;
    const std::vector<test::Ends> all_ends = test::all_ends(equation);
    c.problem.equation = equation;
    c.problem.n = n;
    c.problem.batch = batch;
    c.problem.ends = all_ends[ends % all_ends.size()];
    c.call = {variant, steps, points, depth, threads};
    add_swept_case(all, quick, c);
    if (!quick || kAddressSelection) add_swept_case(all, false, c, ScalarType::float32);
  };
  size_t turn = 0;
  for (const Equation equation : test::kEquations) {
    const bool ks = equation == Equation::kuramoto_sivashinsky, euler = equation == Equation::euler;
    add(true, Variant::classic, equation, ++turn, 33, 2, 3, 0, 0, 32);
    add(true, Variant::classic_graph, equation, ++turn, 33, 1, 5, 0, 2, 32);
    // Nodes of two warps through several phases, and a problem that stays in its block.
    add(true, Variant::shared, equation, ++turn, 131, 1, 40, 0, 0, 64);
    add(true, Variant::shared, equation, ++turn, 50, 1, 6, 0, 0, 64);
    if (!euler) add(true, Variant::register_, equation, 0, 131, 1, 20, 0, 0, 64);
    if (!euler) add(true, Variant::register_, equation, 0, 20, 2, 5, 0, 0, 32);
    if (!ks) add(true, Variant::hybrid, equation, ++turn, 131, 1, 40, 0, 0, 64);
    // One tile, resident tiles, passes: in the smallest tiles, with several exchanges of warps and margins.
    const test::TileOf tile = test::tiles_of(equation)[0];
    add(true, Variant::tiled, equation, ++turn, tile.places / 2, 1, 60, tile.points, 0, tile.threads);
    add(true, Variant::tiled, equation, ++turn, tile.places + 40, 1, 20, tile.points, 3, tile.threads);
    add(true, Variant::tiled, equation, ++turn, tile.places + 40, 5, 9, tile.points, 6, tile.threads);
    for (const int64_t n : {7, 257}) {
      add(false, Variant::shared, equation, ++turn, n, 2, 25, 0, 0, 128);
      add(false, Variant::tiled, equation, ++turn, n, 3, 25, 0, 0, 0);
      add(false, Variant::automatic, equation, ++turn, n, 1, 10, 0, 0, 0);
    }
  }
  for (const int64_t n : {1, 70, 5000, 20000}) {
    all->push_back({"swept measure n=" + std::to_string(n), n <= 5000, [n](Device& device, std::string* digest) {
                      return run_measure_case(n, 2, device, digest);
                    }});
  }
}

}  // namespace cases
