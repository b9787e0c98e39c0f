// tridiagonal.multiply on the shim against products in long double.
#include "test/device/support/operations.h"
#include "test/device/tridiagonal_case.h"

#include "cuda/tridiagonal/multiply.h"

namespace warploom::test {
namespace {

using tridiagonal::Structure;
using tridiagonal::Transpose;

/// `rhs` holds x, `solution` is y.
template <class T>
tridiagonal::MultiplyParameters parameters(Case<T>& c, double alpha, double beta) {
  const auto solve = c.parameters();
  tridiagonal::MultiplyParameters p;
  p.type = solve.type;
  p.n = solve.n;
  p.batch = solve.batch;
  p.rhs_count = solve.rhs_count;
  p.offsets = solve.offsets;
  p.lower = solve.lower;
  p.diagonal = solve.diagonal;
  p.upper = solve.upper;
  p.x = solve.rhs;
  p.y = solve.solution;
  p.periodic = solve.periodic;
  p.transpose = solve.transpose;
  p.structure = solve.structure;
  p.alpha = alpha;
  p.beta = beta;
  return p;
}

template <class T>
void multiply(Report& report, Device& device, const Shape& shape, double alpha, double beta) {
  Case<T> c = make_case<T>(shape);
  if (beta != 0) {
    for (int64_t s = 0; s < shape.systems; ++s) {
      for (int64_t i = 0; i < c.rows(s); ++i) {
        for (int64_t r = 0; r < shape.rhs_count; ++r) {
          c.solution.set(c.at(c.solution.view, s, i, r), c.x(s, i, r));
        }
      }
    }
  }
  const Case<T> before = c;
  const auto p = parameters(c, alpha, beta);
  const std::string name = c.name() + " alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta);
  Control control;
  Status status = check(p);
  if (status.ok()) status = simt::tridiagonal_multiply(device, p, control);
  if (!status.ok()) return report.check(false, name + ": " + status.message());
  const long double unit = std::numeric_limits<simt::RealOf<T>>::epsilon();
  long double worst = 0;
  for (int64_t s = 0; s < shape.systems; ++s) {
    for (int64_t r = 0; r < shape.rhs_count; ++r) {
      for (int64_t i = 0; i < c.rows(s); ++i) {
        Wide sum = 0;
        long double size = 0;
        const auto add = [&](const Wide& term) {
          sum += term;
          size += std::abs(term);
        };
        if (alpha != 0) {
          c.row_of(s, i, [&](int64_t j, const Wide& entry) {
            add(static_cast<long double>(alpha) * entry * c.rhs.get(c.at(c.rhs.view, s, j, r)));
          });
        }
        const int64_t at = c.at(c.solution.view, s, i, r);
        if (beta != 0) add(static_cast<long double>(beta) * before.solution.get(at));
        const long double error = std::abs(c.solution.get(at) - sum);
        if (!(error <= (worst + 0) * size * unit)) worst = size == 0 ? INFINITY : error / size / unit;
      }
    }
  }
  report.check(worst < 3 && padding_untouched(c) && c.rhs.same_bits(before.rhs),
               name + ": error " + std::to_string(static_cast<double>(worst)) + " epsilon");
}

template <class T>
void all(Report& report) {
  int turn = 0;
  const auto device = open_simt("random:5");
  for (const Transpose transpose : {Transpose::none, Transpose::transpose, Transpose::conjugate}) {
    for (const Structure structure : {Structure::general, Structure::positive_definite}) {
      for (const bool periodic : {false, true}) {
        for (const Layout layout : kLayouts) {
          for (const int64_t n : {1, 2, 3, 8, 300}) {
            Shape shape;
            shape.n = n;
            shape.systems = n == 300 ? 3 : 40;
            shape.rhs_count = ++turn % 3 == 0 ? 2 : 1;
            shape.layout = layout;
            shape.periodic = periodic;
            shape.transpose = transpose;
            shape.structure = structure;
            shape.seed = static_cast<uint64_t>(turn);
            if (kSanitized && turn % 3 != 0) continue;
            multiply<T>(report, *device, shape, 1, 0);
            multiply<T>(report, *device, shape, -0.75, 0.5);
          }
        }
      }
    }
  }
  // alpha zero reads neither A nor x, beta zero does not read y.
  Shape shape;
  shape.n = 12;
  shape.systems = 3;
  Case<T> c = make_case<T>(shape);
  for (int64_t s = 0; s < 3; ++s) {
    for (int64_t i = 0; i < 12; ++i) {
      c.rhs.set(c.at(c.rhs.view, s, i, 0), NAN);
      c.solution.set(c.at(c.solution.view, s, i, 0), 2);
    }
  }
  Control control;
  bool good = simt::tridiagonal_multiply(*device, parameters(c, 0, 1.5), control).ok();
  for (int64_t at = 0; at < 36; ++at) good = good && c.solution.get(at) == Wide(3, 0);
  report.check(good, "alpha zero");
  tridiagonal::MultiplyParameters empty;
  empty.type = Traits<T>::kType;
  report.check(check(empty).ok() && simt::tridiagonal_multiply(*device, empty, control).ok(), "empty batch");
  empty.batch = 4;
  report.check(check(empty).ok() && simt::tridiagonal_multiply(*device, empty, control).ok(), "no rows");
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  test::each_type([&](auto value) { test::all<decltype(value)>(report); });
  return report.finish();
}
