// The classical algorithms of tridiagonal.solve on the shim: all sizes, types and layouts, thread orders, bad
// systems beside good ones.
#include "test/device/support/operations.h"
#include "test/device/tridiagonal_case.h"

#include "cuda/tridiagonal/solve.h"

namespace warploom::test {
namespace {

using tridiagonal::Algorithm;
constexpr Algorithm kAlgorithms[] = {Algorithm::cr, Algorithm::pcr, Algorithm::cr_pcr, Algorithm::pcr_thomas,
                                     Algorithm::thomas};

const char* name_of(Algorithm algorithm) { return tridiagonal::kAlgorithmNames[static_cast<int>(algorithm)]; }

struct Words {
  std::vector<int32_t> status, row;
  explicit Words(int64_t problems)
      : status(static_cast<size_t>(problems), 77), row(static_cast<size_t>(problems), 77) {}
};

template <class T>
Status solve(Device& device, Case<T>& c, Algorithm algorithm, Words& words) {
  auto p = c.parameters();
  p.algorithm = algorithm;
  p.status = {words.status.data(), static_cast<int64_t>(words.status.size())};
  p.row = {words.row.data(), static_cast<int64_t>(words.row.size())};
  const Status valid = check(p);
  if (!valid.ok()) return valid;
  Control control;
  return simt::tridiagonal_solve(device, p, control);
}

template <class T>
void solve_good(Report& report, Device& device, const Shape& shape, Algorithm algorithm, const char* order) {
  Case<T> c = make_case<T>(shape);
  const Case<T> before = c;
  Words words(shape.systems * shape.rhs_count);
  const std::string name = std::string(name_of(algorithm)) + " " + order + " " + c.name();
  const Status status = solve(device, c, algorithm, words);
  if (!status.ok()) return report.check(false, name + ": " + status.message());
  bool good = padding_untouched(c) && c.lower.same_bits(before.lower) && c.diagonal.same_bits(before.diagonal) &&
              c.upper.same_bits(before.upper) && c.rhs.same_bits(before.rhs);
  if (!good) return report.check(false, name + ": wrote where it must not");
  Errors worst;
  for (int64_t s = 0; s < shape.systems; ++s) {
    const Errors errors = judge(c, s);
    worst.backward = std::fmax(worst.backward, errors.backward);
    worst.forward = std::fmax(worst.forward, errors.forward);
  }
  for (size_t i = 0; i < words.status.size(); ++i) good = good && words.status[i] == 0 && words.row[i] == -1;
  good = good && worst.backward < 6 && worst.forward < 15;
  report.check(good, name + ": backward " + std::to_string(static_cast<double>(worst.backward)) + " forward " +
                         std::to_string(static_cast<double>(worst.forward)) + " epsilon, status " +
                         std::to_string(words.status[0]) + " row " + std::to_string(words.row[0]));
}

std::vector<int64_t> sizes() {
  if (kSanitized) return {1, 2, 3, 5, 8, 17, 33, 64, 129};
  std::vector<int64_t> sizes;
  for (int64_t n = 1; n <= 40; ++n) sizes.push_back(n);
  for (int64_t n : {63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025}) sizes.push_back(n);
  return sizes;
}

template <class T>
void all_sizes(Report& report) {
  int turn = 0;
  for (const char* order : kOrders) {
    const auto device = open_simt(order);
    for (const Algorithm algorithm : kAlgorithms) {
      for (const int64_t n : sizes()) {
        // Every layout at small sizes, a changing one at larger sizes.
        for (const Layout layout : kLayouts) {
          ++turn;
          if (n > 9 && (turn % 8 != static_cast<int>(n % 8) || order != kOrders[turn / 8 % 3])) continue;
          Shape shape;
          shape.n = n;
          shape.systems = n > 300 ? 2 : n > 40 ? 5 : 37;
          if (kSanitized) shape.systems = n > 40 ? 2 : 5;
          shape.rhs_count = turn % 3 == 0 ? 3 : 1;
          shape.layout = layout;
          shape.seed = static_cast<uint64_t>(turn);
          solve_good<T>(report, *device, shape, algorithm, order);
        }
      }
    }
  }
}

/// In place: rhs and solution are one buffer.
template <class T>
void in_place(Report& report, Device& device, Algorithm algorithm) {
  for (const Layout layout : {Layout::contiguous, Layout::interleaved, Layout::padded, Layout::ragged}) {
    Shape shape;
    shape.n = 45;
    shape.systems = 4;
    shape.rhs_count = 2;
    shape.layout = layout;
    Case<T> c = make_case<T>(shape), apart = c;
    Words words(8);
    bool good = solve(device, apart, algorithm, words).ok();
    Case<T> together = c;
    auto p = together.parameters();
    p.solution = p.rhs;
    p.algorithm = algorithm;
    Control control;
    good = good && check(p).ok() && simt::tridiagonal_solve(device, p, control).ok();
    for (int64_t s = 0; s < shape.systems && good; ++s) {
      for (int64_t i = 0; i < apart.rows(s); ++i) {
        for (int64_t r = 0; r < 2; ++r) {
          const int64_t at = apart.at(apart.rhs.view, s, i, r);
          good = good && together.rhs.get(at) == apart.solution.get(at);
        }
      }
    }
    report.check(good, std::string(name_of(algorithm)) + " in place " + c.name());
  }
}

/// A system with one bad entry: its words say so, its neighbours' answers keep every bit.
template <class T>
void bad_system(Report& report, Device& device, Algorithm algorithm, Layout layout, int64_t n, int64_t bad_row,
                int where) {
  Shape shape;
  shape.n = n;
  shape.systems = 5;
  shape.layout = layout;
  Case<T> good = make_case<T>(shape);
  Case<T> bad = good;
  const int64_t victim = 0;  // of a ragged batch the one with all n rows
  Buffer<T>* const buffers[] = {&bad.lower, &bad.diagonal, &bad.upper, &bad.rhs};
  if ((where == 0 && bad_row == 0) || (where == 2 && bad_row == n - 1)) return;
  const long double poison = bad_row % 2 == 0 ? NAN : INFINITY;
  buffers[where]->set(bad.at(buffers[where]->view, victim, bad_row, 0), Wide(poison, 0));
  Words good_words(5), bad_words(5);
  const std::string name = std::string(name_of(algorithm)) + " bad entry " + std::to_string(where) + " row " +
                           std::to_string(bad_row) + " " + bad.name();
  if (!solve(device, good, algorithm, good_words).ok() || !solve(device, bad, algorithm, bad_words).ok()) {
    return report.check(false, name);
  }
  bool right = bad_words.status[0] == 2 && bad_words.row[0] == bad_row;
  for (int64_t s = 1; s < 5; ++s) {
    right = right && bad_words.status[s] == 0 && bad_words.row[s] == -1;
    for (int64_t i = 0; i < bad.rows(s); ++i) {
      const int64_t at = bad.at(bad.solution.view, s, i, 0);
      right = right && bad.solution.get(at) == good.solution.get(at);
    }
  }
  report.check(right, name + ": status " + std::to_string(bad_words.status[0]) + " row " +
                          std::to_string(bad_words.row[0]));
}

/// Zero pivots. A row without any coupling and a zero diagonal is one in every algorithm.
template <class T>
void zero_pivot(Report& report, Device& device, Algorithm algorithm, int64_t n, int64_t row) {
  Shape shape;
  shape.n = n;
  shape.systems = 3;
  Case<T> c = make_case<T>(shape);
  const auto set = [&](Buffer<T>& band, int64_t i, Wide value) {
    if (i >= 0 && i < n) band.set(c.at(band.view, 1, i, 0), value);
  };
  set(c.diagonal, row, 0);
  if (row > 0) set(c.lower, row, 0);
  if (row + 1 < n) set(c.upper, row, 0);
  if (row > 0) set(c.upper, row - 1, 0);
  if (row + 1 < n) set(c.lower, row + 1, 0);
  Words words(3);
  const bool ran = solve(device, c, algorithm, words).ok();
  report.check(ran && words.status[1] == 1 && words.row[1] == row && words.status[0] == 0 && words.status[2] == 0 &&
                   judge(c, 0).backward < 12 && judge(c, 2).backward < 12,
               std::string(name_of(algorithm)) + " zero pivot at " + std::to_string(row) + " of " +
                   std::to_string(n) + ": status " + std::to_string(words.status[1]) + " row " +
                   std::to_string(words.row[1]));
}

/// Finite input whose solution overflows must not be called ok.
template <class T>
void overflow(Report& report, Device& device, Algorithm algorithm) {
  using Real = simt::RealOf<T>;
  Shape shape;
  shape.n = 9;
  shape.systems = 2;
  Case<T> c = make_case<T>(shape);
  for (int64_t i = 0; i < 9; ++i) {
    c.diagonal.set(c.at(c.diagonal.view, 0, i, 0), std::numeric_limits<Real>::min());
    if (i > 0) c.lower.set(c.at(c.lower.view, 0, i, 0), 0);
    if (i < 8) c.upper.set(c.at(c.upper.view, 0, i, 0), 0);
    c.rhs.set(c.at(c.rhs.view, 0, i, 0), std::numeric_limits<Real>::max() / 4);
  }
  Words words(2);
  const bool ran = solve(device, c, algorithm, words).ok();
  report.check(ran && words.status[0] == 3 && words.row[0] == -1 && words.status[1] == 0,
               std::string(name_of(algorithm)) + " overflow " + c.name());
}

void too_large(Report& report, Device& device) {
  for (const Algorithm algorithm : {Algorithm::cr, Algorithm::pcr, Algorithm::cr_pcr}) {
    Shape shape;
    shape.n = 40000;
    Case<double> c = make_case<double>(shape);
    Words words(1);
    const Status status = solve(device, c, algorithm, words);
    report.check(status.code() == Code::unsupported && status.argument() == "algorithm" &&
                     status.message().find("use 'auto'") != std::string::npos,
                 std::string(name_of(algorithm)) + " too large: " + status.message());
  }
}

template <class T>
void bad_input(Report& report) {
  const auto device = open_simt("random:3");
  for (const Algorithm algorithm : kAlgorithms) {
    in_place<T>(report, *device, algorithm);
    for (const Layout layout : {Layout::contiguous, Layout::interleaved, Layout::ragged}) {
      for (const int64_t row : {0, 1, 20, 39}) {
        for (int where = 0; where < 4; ++where) bad_system<T>(report, *device, algorithm, layout, 40, row, where);
      }
    }
    for (const int64_t n : {1, 2, 3, 33}) {
      for (const int64_t row : {int64_t{0}, n / 2, n - 1}) zero_pivot<T>(report, *device, algorithm, n, row);
    }
    overflow<T>(report, *device, algorithm);
  }
}

template <class T>
void all(Report& report) {
  all_sizes<T>(report);
  bad_input<T>(report);
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  test::each_type([&](auto value) { test::all<decltype(value)>(report); });
  const auto device = test::open_simt("forward");
  test::too_large(report, *device);
  return report.finish();
}
