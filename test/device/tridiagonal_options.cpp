// check, refine and stable of tridiagonal.solve through the front, together with op(A), periodic matrices, layouts
// and in-place calls, on the shim.
#include "test/device/support/operations.h"
#include "test/device/tridiagonal_case.h"

#include "cuda/tridiagonal/solve.h"

namespace warploom::test {
namespace {

using tridiagonal::Algorithm;
using tridiagonal::Structure;
using tridiagonal::Transpose;

struct Answer {
  Status done;
  std::vector<int32_t> status, row;
  tridiagonal::SolveReport report;
  std::vector<double> backward;
};

struct Options {
  Algorithm algorithm = Algorithm::thomas;
  bool stable = false, check = false, refine = false, in_place = false;
};

template <class T>
Answer solve(Device& device, Case<T>& c, const Options& options) {
  const size_t problems = static_cast<size_t>(c.shape.systems * c.shape.rhs_count);
  Answer answer;
  answer.status.assign(problems, 77);
  answer.row.assign(problems, 77);
  answer.backward.assign(problems, 77);
  auto p = c.parameters();
  p.algorithm = options.algorithm;
  p.stable = options.stable;
  p.check = options.check;
  p.refine = options.refine;
  const int64_t length = static_cast<int64_t>(problems);
  p.status = {answer.status.data(), length};
  p.row = {answer.row.data(), length};
  p.report = &answer.report;
  if (options.check) p.backward_error = {answer.backward.data(), length};
  const Case<T> before = c;
  if (options.in_place) p.solution = p.rhs;
  answer.done = check(p);
  Control control;
  if (answer.done.ok()) answer.done = simt::tridiagonal_solve(device, p, control);
  if (options.in_place) {  // back to where judge() looks
    const View from = c.rhs.view;
    c.solution = c.rhs;
    c.rhs = before.rhs;
    c.solution.view.offset = from.offset;
  }
  return answer;
}

std::string text(const Options& options) {
  return std::string(tridiagonal::kAlgorithmNames[static_cast<int>(options.algorithm)]) +
         (options.stable ? " stable" : "") + (options.check ? " check" : "") + (options.refine ? " refine" : "") +
         (options.in_place ? " in place " : " ");
}

template <class T>
void good_systems(Report& report, Device& device, const Shape& shape, const Options& options) {
  Case<T> c = make_case<T>(shape);
  const Answer answer = solve(device, c, options);
  const std::string name = text(options) + c.name();
  if (!answer.done.ok()) return report.check(false, name + ": " + answer.done.message());
  bool good = options.in_place || padding_untouched(c);
  Errors worst;
  for (int64_t s = 0; s < shape.systems; ++s) {
    const Errors errors = judge(c, s);
    worst.backward = std::fmax(worst.backward, errors.backward);
    worst.forward = std::fmax(worst.forward, errors.forward);
  }
  const double unit = std::numeric_limits<simt::RealOf<T>>::epsilon();
  for (size_t i = 0; i < answer.status.size(); ++i) {
    good = good && answer.status[i] == 0 && answer.row[i] == -1;
    if (options.check) good = good && answer.backward[i] >= 0 && answer.backward[i] <= 2 * unit * (worst.backward + 2);
  }
  const bool refined = options.refine && sizeof(simt::RealOf<T>) == 4;
  report.check(good && worst.backward < (refined ? 1.5 : 8) && worst.forward < (refined ? 8 : 20),
               name + ": backward " + std::to_string(static_cast<double>(worst.backward)) + " forward " +
                   std::to_string(static_cast<double>(worst.forward)) + " reported " +
                   std::to_string(answer.backward[0] / unit) + " status " + std::to_string(answer.status[0]));
}

/// System 1 needs pivoting: its diagonal is zero in every second row, or everywhere.
template <class T>
void needs_pivoting(Report& report, Device& device, Shape shape, const Options& options) {
  shape.systems = 3;
  Case<T> c = make_case<T>(shape);
  const int64_t n = c.rows(1);
  for (int64_t i = 0; i < n; ++i) {
    if (i + 1 < n || n % 2 == 0) c.diagonal.set(c.at(c.diagonal.view, 1, i, 0), 0);
    c.lower.set(c.at(c.lower.view, 1, i, 0), i == 0 ? 0.25 : 1 + 0.125 * (i % 3));
    c.upper.set(c.at(c.upper.view, 1, i, 0), i + 1 == n ? 0.5 : -1 + 0.25 * (i % 2));
  }
  fill_rhs(c);
  const Answer answer = solve(device, c, options);
  const std::string name = "needs pivoting: " + text(options) + c.name();
  if (!answer.done.ok()) return report.check(false, name + ": " + answer.done.message());
  bool good = true;
  for (int64_t s = 0; s < 3; ++s) {
    for (int64_t r = 0; r < shape.rhs_count; ++r) {
      const int32_t status = answer.status[static_cast<size_t>(s * shape.rhs_count + r)];
      const bool resolved = s == 1 && !options.stable;
      good = good && status == (resolved ? tridiagonal::kResolvedByPivoting : 0);
    }
    good = good && judge(c, s).backward < 30;
  }
  report.check(good, name + ": status " + std::to_string(answer.status[0]) + " " +
                         std::to_string(answer.status[static_cast<size_t>(shape.rhs_count)]) + " backward " +
                         std::to_string(static_cast<double>(judge(c, 1).backward)));
}

template <class T>
void all(Report& report) {
  const auto device = open_simt("random:4");
  const Options choices[] = {{Algorithm::thomas, false, true, false, false},
                             {Algorithm::cr, false, true, true, false},
                             {Algorithm::pcr, false, false, true, true},
                             {Algorithm::automatic, false, true, false, true},
                             {Algorithm::cr_regpack, false, false, false, false},
                             {Algorithm::automatic, true, false, false, false},
                             {Algorithm::automatic, true, true, true, true},
                             {Algorithm::automatic, false, false, false, false}};
  int turn = 0;
  for (const Transpose transpose : {Transpose::none, Transpose::transpose, Transpose::conjugate}) {
    for (const Structure structure : {Structure::general, Structure::positive_definite}) {
      for (const bool periodic : {false, true}) {
        for (const Layout layout : kLayouts) {
          for (const int64_t n : {1, 2, 3, 11, 40}) {
            if (kSanitized && turn++ % 4 != 0) continue;
            Shape shape;
            shape.n = n;
            shape.systems = 5;
            shape.rhs_count = ++turn % 3 == 0 ? 2 : 1;
            shape.layout = layout;
            shape.periodic = periodic;
            shape.transpose = transpose;
            shape.structure = structure;
            shape.seed = static_cast<uint64_t>(turn);
            good_systems<T>(report, *device, shape, choices[turn / 5 % 8]);
            if (structure == Structure::positive_definite || n < 3 || layout == Layout::shared ||
                layout == Layout::toeplitz || layout == Layout::ragged) {
              continue;
            }
            for (const Options& options : choices) {
              if (options.check || options.stable) needs_pivoting<T>(report, *device, shape, options);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  test::each_type([&](auto value) { test::all<decltype(value)>(report); });
  return report.finish();
}
