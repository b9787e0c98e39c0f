// Kernels that judge their own answers, on the shim: the bits, words and lists of the same kernels without, whose answers a second
// pass reads and measures (verify).
#include <algorithm>

#include "cuda/tridiagonal/verify/finding.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"
#include "test/device/support/operations.h"
#include "test/device/tridiagonal_direct.h"

namespace warploom::test {
namespace {

/// What a case does to system s of an ordinary batch.
template <class T>
struct Family {
  const char* name;
  void (*spoil)(Case<T>& c, int64_t s);
};

template <class T>
void scale(Case<T>& c, int64_t s, long double rows, long double right) {
  for (int64_t i = 0; i < c.shape.n; ++i) {
    for (Buffer<T>* band : {&c.lower, &c.diagonal, &c.upper}) {
      const int64_t at = c.at(band->view, s, i, 0);
      if (!band->untouched(at)) band->set(at, band->get(at) * rows);
    }
    const int64_t at = c.at(c.rhs.view, s, i, 0);
    c.rhs.set(at, c.rhs.get(at) * right);
  }
}

template <class T>
std::vector<Family<T>> families() {
  constexpr int kRange = sizeof(T) == 4 ? 100 : 900;
  static const long double huge = std::ldexp(1.0L, kRange), tiny = std::ldexp(1.0L, -kRange);
  return {
      {"as they are", [](Case<T>&, int64_t) {}},
      {"without a right-hand side", [](Case<T>& c, int64_t s) { scale(c, s, 1, 0); }},
      {"large", [](Case<T>& c, int64_t s) { scale(c, s, huge, huge); }},
      {"small", [](Case<T>& c, int64_t s) { scale(c, s, tiny, tiny); }},
      {"with large unknowns", [](Case<T>& c, int64_t s) { scale(c, s, 1, huge); }},
      {"with subnormal unknowns", [](Case<T>& c, int64_t s) { scale(c, s, huge, tiny); }},
      {"identities", [](Case<T>& c, int64_t s) {
         scale(c, s, 0, 1);
         for (int64_t i = 0; i < c.shape.n; ++i) c.diagonal.set(c.at(c.diagonal.view, s, i, 0), 1);
       }},
      {"with a weak diagonal", [](Case<T>& c, int64_t s) {
         for (int64_t i = 0; i < c.shape.n; ++i) {
           const int64_t at = c.at(c.diagonal.view, s, i, 0);
           c.diagonal.set(at, c.diagonal.get(at) * static_cast<long double>(i % 3 == 1 ? 1e-3 : 1));
         }
       }},
      {"with a NaN", [](Case<T>& c, int64_t s) { c.rhs.set(c.at(c.rhs.view, s, (7 * s) % c.shape.n, 0), NAN); }},
      {"with an infinity", [](Case<T>& c, int64_t s) { c.diagonal.set(c.at(c.diagonal.view, s, (5 * s) % c.shape.n, 0), INFINITY); }},
      {"with a pivot of zero", [](Case<T>& c, int64_t s) { c.diagonal.set(c.at(c.diagonal.view, s, (3 * s) % c.shape.n, 0), 0); }},
      {"of zeros", [](Case<T>& c, int64_t s) { scale(c, s, 0, 0); }},
  };
}

struct Outcome {
  std::vector<int32_t> status, row;
  std::vector<double> error;
};

/// Both ways; false where no kernel judges such answers.
template <class T>
bool both_ways(Report& report, Device& device, const Case<T>& given, int depth, double tolerance, const std::string& what) {
  auto& gpu = dynamic_cast<simt::GpuDevice&>(device);
  Case<T> at_once = given, apart = given;
  Outcome a, b;
  tri::Used used;
  tri::Verification<T> options;
  options.tolerance = tolerance;
  const auto begin = [&](Case<T>& c, Outcome& o) {
    const auto batch = batch_of(c, o.status, o.row);
    o.error.assign(o.status.size(), -1);
    options.backward_error = o.error.data();
    return batch;
  };
  const auto first = begin(at_once, a);
  const Status solved = tri::solve_verified(gpu, first, depth, options, &used);
  if (solved.code() == Code::unsupported) return false;
  const int ran = used.depth;
  const auto second = begin(apart, b);
  const bool ok = solved.ok() && tri::solve_cr_regpack(gpu, second, ran, &used).ok() && tri::verify(gpu, second, options, &used).ok();
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  std::string differs;
  for (size_t q = 0; q < a.status.size() && differs.empty(); ++q) {
    if (a.status[q] != b.status[q] || a.row[q] != b.row[q] || !same(a.error[q], b.error[q])) {
      char text[160];
      std::snprintf(text, sizeof(text), "system %zu: %d@%d %.17g, apart %d@%d %.17g", q, a.status[q], a.row[q], a.error[q],
                    b.status[q], b.row[q], b.error[q]);
      differs = text;
    }
  }
  report.check(ok && differs.empty(), what + ": " + (ok ? differs : solved.message()));
  report.check(at_once.solution.same_bits(apart.solution), what + ": other answers");
  return true;
}

template <class T>
void all(Report& report) {
  std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 8, 12, 16, 17, 20, 31, 32, 63, 64, 65, 100, 128, 252, 256, 260, 500, 511, 512, 513, 544, 600, 1000, 1024};
  if (kSanitized) sizes = {4, 17, 40, 65, 260, 512, 513};
  int turn = 0, taken = 0;
  for (const char* order : kOrders) {
    if (kSanitized && order != kOrders[2]) continue;
    const auto device = open_simt(order);
    for (const int64_t n : sizes) {
      for (const int depth : {4, 8, 16, 17}) {
        Shape shape;
        shape.n = n;
        shape.systems = n > 260 ? 5 : 13;
        shape.seed = static_cast<uint64_t>(31 * n + depth);
        const Case<T> clean = make_case<T>(shape);
        const auto kinds = families<T>();
        // Each kind beside ordinary systems; one size has some of them, the next one others.
        for (size_t k = 0; k < kinds.size(); ++k) {
          if (k != 0 && (k + static_cast<size_t>(++turn)) % 4 != 0) continue;
          Case<T> c = clean;
          for (int64_t s = 1; s < shape.systems; s += 3) kinds[k].spoil(c, s);
          const std::string what = "depth " + std::to_string(depth) + ", " + order + ", " + c.name() + ", some " + kinds[k].name;
          const double tolerance = turn % 5 == 0 ? 1.5 * static_cast<double>(std::numeric_limits<T>::epsilon()) : 0;
          taken += both_ways(report, *device, c, depth, tolerance, what) ? 1 : 0;
        }
      }
    }
  }
  report.check(taken > (kSanitized ? 10 : 300), "most of these are taken: " + std::to_string(taken));
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  test::all<float>(report);
  test::all<double>(report);
  return report.finish();
}
