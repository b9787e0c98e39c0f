// What tridiagonal.solve adds around an algorithm, on the shim: op(A), definite and periodic matrices, defaults,
// empty calls, words, workspace, cancellation.
#include "test/device/support/operations.h"
#include "test/device/tridiagonal_case.h"

#include "cuda/tridiagonal/solve.h"

namespace warploom::test {
namespace {

using tridiagonal::Algorithm;
using tridiagonal::Structure;
using tridiagonal::Transpose;

Status solve(Device& device, const tridiagonal::SolveParameters& p) {
  WARPLOOM_TRY(check(p));
  Control control;
  return simt::tridiagonal_solve(device, p, control);
}

template <class T>
void solve_shape(Report& report, Device& device, const Shape& shape, Algorithm algorithm) {
  Case<T> c = make_case<T>(shape);
  const Case<T> before = c;
  auto p = c.parameters();
  std::vector<int32_t> status(static_cast<size_t>(shape.systems * shape.rhs_count), 77), row = status;
  tridiagonal::SolveReport reported;
  p.algorithm = algorithm;
  p.status = {status.data(), static_cast<int64_t>(status.size())};
  p.row = {row.data(), static_cast<int64_t>(row.size())};
  p.report = &reported;
  const std::string name =
      std::string(tridiagonal::kAlgorithmNames[static_cast<int>(algorithm)]) + " " + c.name();
  const Status done = solve(device, p);
  if (!done.ok()) return report.check(false, name + ": " + done.message());
  bool good = padding_untouched(c) && c.lower.same_bits(before.lower) && c.diagonal.same_bits(before.diagonal) &&
              c.upper.same_bits(before.upper) && c.rhs.same_bits(before.rhs);
  for (size_t i = 0; i < status.size(); ++i) good = good && status[i] == 0 && row[i] == -1;
  good = good && reported.threads >= 1 && reported.launches >= 1;
  if (shape.n > 1 || !shape.periodic) good = good && reported.algorithm == algorithm;
  Errors worst;
  for (int64_t s = 0; s < shape.systems; ++s) {
    const Errors errors = judge(c, s);
    worst.backward = std::fmax(worst.backward, errors.backward);
    worst.forward = std::fmax(worst.forward, errors.forward);
  }
  report.check(good && worst.backward < 6 && worst.forward < 15,
               name + ": backward " + std::to_string(static_cast<double>(worst.backward)) + " forward " +
                   std::to_string(static_cast<double>(worst.forward)) + " used " +
                   tridiagonal::kAlgorithmNames[static_cast<int>(reported.algorithm)] + " status " + std::to_string(status[0]));
}

template <class T>
void operators(Report& report, Device& device) {
  int turn = 0;
  for (const Transpose transpose : {Transpose::none, Transpose::transpose, Transpose::conjugate}) {
    for (const Structure structure : {Structure::general, Structure::positive_definite}) {
      for (const bool periodic : {false, true}) {
        for (const Layout layout : kLayouts) {
          for (const int64_t n : {1, 2, 3, 4, 5, 17, 70}) {
            Shape shape;
            shape.n = n;
            shape.systems = 6;
            shape.rhs_count = ++turn % 3 == 0 ? 2 : 1;
            shape.layout = layout;
            shape.periodic = periodic;
            shape.transpose = transpose;
            shape.structure = structure;
            shape.seed = static_cast<uint64_t>(turn);
            if (kSanitized && (n == 4 || n == 70 || turn % 5 > 1)) continue;
            solve_shape<T>(report, device, shape,
                           turn % 4 == 0 ? Algorithm::cr : turn % 4 == 1 ? Algorithm::pcr_thomas : Algorithm::thomas);
          }
        }
      }
    }
  }
}

struct PeriodicKind {
  int64_t n, systems, rhs_count;
  Layout layout;
};

std::vector<PeriodicKind> periodic_kinds() {
  std::vector<PeriodicKind> kinds;
  for (const int64_t n : {34, 35, 288, 289, 290, 577, 1153, 2593}) kinds.push_back({n, n > 300 ? 3 : 9, 1, Layout::contiguous});
  for (const Layout layout : {Layout::contiguous, Layout::shared, Layout::toeplitz}) kinds.push_back({70, 4, 3, layout});
  return kinds;
}

/// Periodic systems in one pass; spoiled ones get the words that condensation by the Thomas algorithm gives them.
template <class T>
void periodic(Report& report) {
  int turn = 0;
  for (const PeriodicKind& kind : periodic_kinds()) {
    if (kSanitized && kind.n > 300) continue;
    const auto device = open_simt(kOrders[++turn % (sizeof kOrders / sizeof *kOrders)]);
    Shape shape;
    shape.n = kind.n;
    shape.systems = kind.systems;
    shape.rhs_count = kind.rhs_count;
    shape.layout = kind.layout;
    shape.periodic = true;
    shape.seed = static_cast<uint64_t>(turn);
    for (const int64_t at : {int64_t{-1}, int64_t{0}, kind.n / 2, kind.n - 2, kind.n - 1}) {
      if (at >= 0 && kind.layout != Layout::contiguous) continue;
      Case<T> c = make_case<T>(shape);
      const int64_t middle = kind.systems / 2;
      const auto at_rhs = [&](int64_t s) { return c.at(c.rhs.view, s, at, kind.rhs_count - 1); };
      if (at >= 0) c.rhs.set(at_rhs(0), NAN);
      if (at >= 0) c.upper.set(c.at(c.upper.view, middle, at, 0), INFINITY);
      std::vector<int32_t> words[2], rows[2];
      tridiagonal::SolveReport reported;
      bool good = true;
      for (int turn_of = 0; turn_of < 2; ++turn_of) {
        auto p = c.parameters();
        words[turn_of].assign(static_cast<size_t>(shape.systems * shape.rhs_count), 77);
        rows[turn_of] = words[turn_of];
        p.status = {words[turn_of].data(), static_cast<int64_t>(words[turn_of].size())};
        p.row = {rows[turn_of].data(), static_cast<int64_t>(words[turn_of].size())};
        p.algorithm = turn_of == 0 ? Algorithm::thomas : Algorithm::automatic;
        if (turn_of == 1) p.report = &reported;
        good = good && solve(*device, p).ok();
      }
      good = good && padding_untouched(c) && words[0] == words[1] && rows[0] == rows[1] &&
             reported.algorithm == Algorithm::cr_regpack && reported.depth == 9;
      Errors worst;
      for (int64_t s = 0; s < shape.systems; ++s) {
        if (at >= 0 && (s == 0 || s == middle)) continue;
        const Errors errors = judge(c, s);
        worst.backward = std::fmax(worst.backward, errors.backward);
        worst.forward = std::fmax(worst.forward, errors.forward);
      }
      report.check(good && worst.backward < 6 && worst.forward < 15,
                   "periodic " + c.name() + " bad at " + std::to_string(at) + ": backward " +
                       std::to_string(static_cast<double>(worst.backward)) + " forward " +
                       std::to_string(static_cast<double>(worst.forward)) + " used " +
                       tridiagonal::kAlgorithmNames[static_cast<int>(reported.algorithm)] + " " +
                       std::to_string(reported.depth) + (words[0] == words[1] ? "" : " words differ"));
    }
  }
}

/// A system of one or two rows against its solution by hand.
void by_hand(Report& report, Device& device) {
  double lower[2] = {1, 2}, diagonal[2] = {10, 20}, upper[2] = {3, 4}, rhs[2] = {14, 6}, x[2];
  const auto view = [](double* data, int64_t n) { return dense_view(data, n, {1, n}); };
  tridiagonal::SolveParameters p;
  p.batch = 1;
  p.periodic = true;
  p.algorithm = Algorithm::thomas;
  p.n = 1;  // (1 + 10 + 3) x = 14
  p.lower = view(lower, 1), p.diagonal = view(diagonal, 1), p.upper = view(upper, 1);
  p.rhs = view(rhs, 1), p.solution = view(x, 1);
  report.check(solve(device, p).ok() && x[0] == 1, "periodic n = 1");
  p.n = 2;  // [10, 3+1; 2+4, 20] x = (14, 6): x = (32/22, -3/22)
  p.lower = view(lower, 2), p.diagonal = view(diagonal, 2), p.upper = view(upper, 2);
  p.rhs = view(rhs, 2), p.solution = view(x, 2);
  report.check(solve(device, p).ok() && std::fabs(x[0] - 256.0 / 176) < 1e-15 && std::fabs(x[1] + 24.0 / 176) < 1e-15,
               "periodic n = 2");
}

void empty_calls(Report& report, Device& device) {
  tridiagonal::SolveParameters p;
  p.algorithm = Algorithm::cr;
  tridiagonal::SolveReport reported;
  reported.launches = 7;
  p.report = &reported;
  report.check(solve(device, p).ok() && reported.launches == 0, "empty batch of empty systems");
  p.n = 5;
  report.check(solve(device, p).ok() && reported.launches == 0, "empty batch");
  p.n = 0;
  p.batch = 3;
  p.rhs_count = 2;
  int32_t status[6] = {9, 9, 9, 9, 9, 9}, row[6] = {9, 9, 9, 9, 9, 9};
  double backward[6] = {9, 9, 9, 9, 9, 9};
  p.status = {status, 6};
  p.row = {row, 6};
  p.check = true;
  p.backward_error = {backward, 6};
  bool good = solve(device, p).ok();
  for (int i = 0; i < 6; ++i) good = good && status[i] == 0 && row[i] == -1 && backward[i] == 0;
  report.check(good, "systems without rows");
  int64_t offsets[4] = {0, 0, 0, 0};
  p.offsets = {offsets, 4};
  p.n = 4;
  p.check = false;
  p.backward_error = {};
  for (const Algorithm algorithm : {Algorithm::cr, Algorithm::pcr, Algorithm::cr_pcr, Algorithm::pcr_thomas,
                                    Algorithm::thomas}) {
    for (const bool periodic : {false, true}) {
      for (int i = 0; i < 6; ++i) status[i] = row[i] = 9;
      p.algorithm = algorithm;
      p.periodic = periodic;
      const Status done = solve(device, p);
      good = done.ok();
      for (int i = 0; i < 6; ++i) good = good && status[i] == 0 && row[i] == -1;
      report.check(good, "ragged batch without rows: " + done.message());
    }
  }
}

/// Words of periodic systems: poison in the corners, a singular border.
void periodic_words(Report& report, Device& device) {
  for (const int64_t n : {1, 2, 3, 20}) {
    for (int where = 0; where < 6; ++where) {
      Shape shape;
      shape.n = n;
      shape.systems = 3;
      shape.periodic = true;
      Case<double> c = make_case<double>(shape), good = c;
      const int64_t row = where % 2 == 0 ? 0 : n - 1;
      Buffer<double>* const bands[] = {&c.lower, &c.upper, &c.rhs};
      Buffer<double>& band = *bands[where / 2];
      band.set(c.at(band.view, 1, row, 0), NAN);
      int32_t status[3] = {9, 9, 9}, rows[3] = {9, 9, 9};
      auto p = c.parameters();
      p.algorithm = Algorithm::thomas;
      p.status = {status, 3};
      p.row = {rows, 3};
      auto p_good = good.parameters();
      p_good.algorithm = Algorithm::thomas;
      bool right = solve(device, p).ok() && solve(device, p_good).ok();
      right = right && status[0] == 0 && status[1] == 2 && rows[1] == row && status[2] == 0;
      for (int64_t s = 0; s < 3; s += 2) {
        for (int64_t i = 0; i < n; ++i) {
          right = right && c.solution.get(c.at(c.solution.view, s, i, 0)) ==
                               good.solution.get(c.at(c.solution.view, s, i, 0));
        }
      }
      report.check(right, "periodic poison " + std::to_string(where) + " n=" + std::to_string(n) + ": status " +
                              std::to_string(status[1]) + " row " + std::to_string(rows[1]));
    }
  }
  // (-1, 2, -1) periodic is singular, and its Schur complement after exact steps is zero.
  double lower[3] = {-1, -1, -1}, diagonal[3] = {2, 2, 2}, rhs[3] = {1, 1, 1}, x[3];
  const View view = dense_view(nullptr, 3, {1, 3});
  tridiagonal::SolveParameters p;
  p.n = 3, p.batch = 1, p.periodic = true, p.algorithm = Algorithm::thomas;
  p.lower = p.upper = p.diagonal = p.rhs = p.solution = view;
  p.lower.data = p.upper.data = lower, p.diagonal.data = diagonal, p.rhs.data = rhs, p.solution.data = x;
  int32_t status = 9, row = 9;
  p.status = {&status, 1}, p.row = {&row, 1};
  report.check(solve(device, p).ok() && status != 0, "singular periodic matrix: status " + std::to_string(status));
}

/// The workspace query agrees with what the call takes.
void workspace(Report& report) {
  for (const Algorithm algorithm : {Algorithm::cr, Algorithm::thomas, Algorithm::pcr_thomas}) {
    for (const bool periodic : {false, true}) {
      for (const int64_t n : {50, 4000}) {
        const auto device = open_simt("forward");
        Shape shape;
        shape.n = n;
        shape.systems = 3;
        shape.periodic = periodic;
        Case<double> c = make_case<double>(shape);
        auto p = c.parameters();
        p.algorithm = algorithm;
        const int64_t asked = simt::tridiagonal_solve_workspace(*device, p);
        const bool ran = solve(*device, p).ok();
        const MemoryUse use = device->memory_use();
        report.check(ran && use.in_use_bytes == 0 && asked >= use.peak_bytes && asked < use.peak_bytes + 2048,
                     "workspace: asked " + std::to_string(asked) + " took " + std::to_string(use.peak_bytes));
      }
    }
  }
}

struct Cancelled : Control {
  int left;
  mutable int asked = 0;
  double last = -1, of = 0;
  explicit Cancelled(int after) : left(after) {}
  bool cancelled() const override { return asked++ >= left; }
  void progress(double done, double total) override { last = done, of = total; }
};

void cancellation(Report& report, Device& device) {
  Shape shape;
  shape.n = 10;
  shape.systems = 2;
  Case<double> c = make_case<double>(shape);
  auto p = c.parameters();
  p.algorithm = Algorithm::thomas;
  Cancelled at_once(0), later(1), never(100);
  report.check(simt::tridiagonal_solve(device, p, at_once).code() == Code::cancelled && c.solution.untouched(0),
               "cancelled before any launch");
  report.check(simt::tridiagonal_solve(device, p, later).code() == Code::cancelled, "cancelled after a launch");
  report.check(simt::tridiagonal_solve(device, p, never).ok() && never.last == never.of && never.device_seconds > 0,
               "progress and time");
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  const auto device = test::open_simt("random:11");
  test::each_type([&](auto value) { test::operators<decltype(value)>(report, *device); });
  test::periodic<float>(report);
  test::periodic<double>(report);
  test::by_hand(report, *device);
  test::empty_calls(report, *device);
  test::periodic_words(report, *device);
  test::workspace(report);
  test::cancellation(report, *device);
  return report.finish();
}
