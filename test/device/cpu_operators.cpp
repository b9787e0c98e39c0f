// The cpu backend's factor, solve_factored, multiply and condition, and the partition of long systems.
#include <algorithm>

#include "test/device/cpu_support.h"

namespace cpu_test {
namespace {

template <class T>
Batch<T> dominant(int64_t n, int64_t systems, int64_t rhs_count, bool ragged, uint64_t seed) {
  std::mt19937_64 random(seed);
  Batch<T> b;
  b.n = n;
  b.systems = systems;
  b.rhs_count = rhs_count;
  int64_t total = n * systems;
  if (ragged) {
    b.offsets.push_back(0);
    for (int64_t s = 0; s < systems; ++s) {
      b.offsets.push_back(b.offsets.back() + (s == 0 ? n : int64_t(random() % uint64_t(n + 1))));
    }
    total = b.offsets.back();
  }
  const Layout band{0, n, 1, 0};
  const Layout right{0, n * rhs_count, 1, ragged ? total : n};
  for (Buffer<T>* buffer : {&b.lower, &b.diagonal, &b.upper}) {
    buffer->layout = band;
    buffer->resize(total + 1);
  }
  for (Buffer<T>* buffer : {&b.rhs, &b.solution}) {
    buffer->layout = right;
    buffer->resize(total * rhs_count + 1);
  }
  for (int64_t s = 0; s < systems; ++s) {
    for (int64_t i = 0; i < b.rows(s); ++i) {
      b.lower.set(b.at(b.lower, s, i), random_value<T>(random));
      b.upper.set(b.at(b.upper, s, i), random_value<T>(random));
      b.diagonal.set(b.at(b.diagonal, s, i), T(RealOf<T>(4.5)));
      for (int64_t r = 0; r < rhs_count; ++r) {
        b.rhs.set(b.at(b.rhs, s, i, r), random_value<T>(random));
      }
    }
  }
  return b;
}

template <class T, class Parameters>
void shape(Batch<T>& b, Parameters* p) {
  p->type = type_of<T>();
  p->n = b.n;
  p->batch = b.systems;
  if (!b.offsets.empty()) p->offsets = {b.offsets.data(), static_cast<int64_t>(b.offsets.size())};
  p->periodic = b.periodic;
}
template <class T, class Parameters>
void matrix(Batch<T>& b, Parameters* p) {
  shape(b, p);
  p->lower = b.band_view(b.lower);
  p->diagonal = b.band_view(b.diagonal);
  if (b.structure == tri::Structure::general) p->upper = b.band_view(b.upper);
  p->transpose = b.transpose;
  p->structure = b.structure;
}

template <class T>
void factorisations(Device& device, const char* type) {
  const Operations& call = cpu_backend().operations;
  uint64_t seed = 11;
  int turn = 0;
  for (int64_t n : {0, 1, 2, 3, 4, 7, 8, 9, 33, 64, 130}) {
    for (int option = 0; option < 72; ++option) {
      if (kSanitized && ++turn % 5 != 0) continue;  // 5 divides no number of options: each comes up twice
      const auto kind = static_cast<tri::Factorisation>(option % 3);
      const bool periodic = (option / 3) % 2, ragged = (option / 6) % 2;
      const auto transpose = static_cast<tri::Transpose>((option / 12) % 3);
      const int64_t systems = option / 36 ? 1 : 21;
      start_case("factor: %s n=%lld option %d", type, (long long)n, option);
      auto b = dominant<T>(n, systems, 3, ragged, ++seed);
      b.periodic = periodic;
      b.transpose = transpose;
      if (kind == tri::Factorisation::cholesky) b.structure = tri::Structure::positive_definite;
      tri::FactorParameters f;
      matrix(b, &f);
      f.factorisation = kind;
      std::vector<uint8_t> memory(size_t(tri::factor_bytes(f.type, n, systems, periodic, kind)) + 64, 0xA5);
      f.factors = {memory.data(), int64_t(memory.size()) - 64};
      std::vector<int32_t> status(size_t(systems), 9), row(size_t(systems), 9);
      f.status = {status.data(), systems};
      f.row = {row.data(), systems};
      Control control;
      Status done = tri::check(f);
      EXPECT(done.ok(), "check: %s %s", done.argument().c_str(), done.message().c_str());
      EXPECT(call.tridiagonal_factor(device, f, control).ok(), "factor");
      tri::SolveFactoredParameters p;
      shape(b, &p);
      p.rhs_count = 3;
      p.factorisation = kind;
      p.factors = {memory.data(), int64_t(memory.size()) - 64};
      p.rhs = b.vector_view(b.rhs);
      p.solution = b.vector_view(b.solution);
      std::vector<int32_t> words(size_t(systems * 3), 9);
      p.status = {words.data(), systems * 3};
      done = tri::check(p);
      EXPECT(done.ok(), "check: %s %s", done.argument().c_str(), done.message().c_str());
      EXPECT(call.tridiagonal_solve_factored(device, p, control).ok(), "solve_factored");
      for (int64_t s = 0; s < systems; ++s) {
        EXPECT(status[size_t(s)] == 0 && row[size_t(s)] == -1, "status %d row %d", status[size_t(s)],
               row[size_t(s)]);
        for (int64_t r = 0; r < 3; ++r) {
          const Judged judged = judge(b, b.rhs, s, r);
          EXPECT(judged.finite && judged.ratio <= 30 && words[size_t(s * 3 + r)] == 0,
                 "system %lld: ratio %Lg status %d", (long long)s, judged.ratio, words[size_t(s * 3 + r)]);
        }
      }
      EXPECT(std::all_of(memory.end() - 64, memory.end(), [](uint8_t v) { return v == 0xA5; }), "overrun");
    }
  }
}

template <class T>
void products(Device& device, const char* type) {
  uint64_t seed = 31;
  int turn = 0;
  for (int64_t n : {0, 1, 2, 3, 4, 9, 40, 65}) {
    for (int option = 0; option < 24; ++option) {
      if (kSanitized && ++turn % 5 != 0) continue;
      start_case("product: %s n=%lld option %d", type, (long long)n, option);
      auto b = dominant<T>(n, 19, 2, (option / 2) % 2, ++seed);
      b.periodic = option % 2;
      b.transpose = static_cast<tri::Transpose>((option / 4) % 3);
      if (option / 12) b.structure = tri::Structure::positive_definite;
      std::mt19937_64 random(seed);
      for (int64_t s = 0; s < b.systems; ++s) {
        for (int64_t i = 0; i < b.rows(s); ++i) {
          for (int64_t r = 0; r < 2; ++r) b.solution.set(b.at(b.solution, s, i, r), random_value<T>(random));
        }
      }
      const double alpha = 0.75, beta = option % 3 == 0 ? 0 : -0.5;
      Buffer<T> y = b.solution, before = b.solution;
      tri::MultiplyParameters p;
      matrix(b, &p);
      p.rhs_count = 2;
      p.x = b.vector_view(b.rhs);
      p.y = b.vector_view(y);
      p.alpha = alpha;
      p.beta = beta;
      Control control;
      EXPECT(tri::check(p).ok(), "check");
      EXPECT(cpu_backend().operations.tridiagonal_multiply(device, p, control).ok(), "multiply");
      for (int64_t s = 0; s < b.systems; ++s) {
        const int64_t m = b.rows(s);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t r = 0; r < 2; ++r) {
            Wide sum = 0;
            for (int d = -1; d <= 1; ++d) {
              const Wide a = b.entry(s, i, d);
              if (a != Wide(0)) sum += a * widen(b.rhs.get(b.at(b.rhs, s, (i + d + m) % m, r)));
            }
            sum = static_cast<long double>(alpha) * sum +
                  static_cast<long double>(beta) * widen(before.get(b.at(before, s, i, r)));
            const long double error = std::abs(sum - widen(y.get(b.at(y, s, i, r))));
            EXPECT(error <= 40 * std::numeric_limits<RealOf<T>>::epsilon(), "system %lld row %lld: %Lg", (long long)s,
                   (long long)i, error);
          }
        }
      }
    }
  }
}

/// Estimates against the inverse computed column by column: never above the truth by more than
/// rounding, and within a factor 3 of it; bounds cover the true error.
template <class T>
void conditions(Device& device, const char* type) {
  for (int option = 0; option < 12; ++option) {
    const int64_t n = 1 + 7 * (option / 2), systems = 5;
    start_case("condition: %s option %d", type, option);
    auto b = dominant<T>(n, systems, n, false, uint64_t(50 + option));
    b.periodic = option % 2;
    b.transpose = static_cast<tri::Transpose>(option % 3);
    for (int64_t s = 0; s < systems; ++s) {
      for (int64_t i = 0; i < n; ++i) {
        const T weak = T(RealOf<T>(0.4)) * b.lower.get(b.at(b.lower, s, i));
        if (option >= 6) b.diagonal.set(b.at(b.diagonal, s, i), weak);  // not dominant
        for (int64_t r = 0; r < n; ++r) b.rhs.set(b.at(b.rhs, s, i, r), T(RealOf<T>(i == r)));
      }
    }
    tri::SolveParameters p;
    b.parameters(&p);
    p.stable = true;
    EXPECT(solve(device, p).ok(), "solve");
    tri::ConditionParameters c;
    matrix(b, &c);
    c.rhs_count = n;
    c.rhs = b.vector_view(b.rhs);
    c.solution = b.vector_view(b.solution);
    std::vector<double> rcond(size_t(systems), -1), forward(size_t(systems * n), -1), backward(forward);
    c.reciprocal_condition = {rcond.data(), systems};
    c.forward_error = {forward.data(), systems * n};
    c.backward_error = {backward.data(), systems * n};
    Control control;
    EXPECT(tri::check(c).ok(), "check");
    EXPECT(cpu_backend().operations.tridiagonal_condition(device, c, control).ok(), "condition");
    const double epsilon = std::numeric_limits<RealOf<T>>::epsilon();
    for (int64_t s = 0; s < systems; ++s) {
      long double a_norm = 0, inverse_norm = 0;
      for (int64_t j = 0; j < n; ++j) {
        long double a_sum = 0, x_sum = 0;
        for (int64_t i = 0; i < n; ++i) {
          Wide entry = 0;  // (i, j): several neighbours may meet in a small periodic system
          for (int d = -1; d <= 1; ++d) {
            if ((i + d + n) % n == j && (b.periodic || i + d == j)) entry += b.entry(s, i, d);
          }
          a_sum += std::abs(entry);
          x_sum += std::abs(widen(b.solution.get(b.at(b.solution, s, i, j))));
        }
        a_norm = std::max(a_norm, a_sum);
        inverse_norm = std::max(inverse_norm, x_sum);
        // Pivoting is not componentwise stable: hold the figure against the one in extended precision.
        const long double component = judge(b, b.rhs, s, j).component, berr = backward[size_t(s * n + j)];
        EXPECT(berr <= 2 * component + 8 * epsilon && 2 * berr + 8 * epsilon >= component,
               "berr %Lg, reference %Lg", berr, component);
        EXPECT(forward[size_t(s * n + j)] >= 0 && std::isfinite(forward[size_t(s * n + j)]), "ferr");
      }
      const long double truth = 1 / (a_norm * inverse_norm);
      if (truth < 100 * epsilon) continue;
      const long double estimate = rcond[size_t(s)];
      EXPECT(estimate >= truth * (1 - 0.01L) && estimate <= 3 * truth, "rcond %Lg, true %Lg",
             estimate, truth);
    }
  }
}

template <class T>
void partitions(Device& device, Device& alone, const char* type) {
  const std::vector<int64_t> sizes = kSanitized ? std::vector<int64_t>{4097, sizeof(T) == 8 && !Traits<T>::kComplex ? 65537 : 4096}
                                                : std::vector<int64_t>{4096, 4097, 5000, 16384, 65536, 65537, 70001, 600000};
  for (int64_t n : sizes) {
    for (int64_t rhs_count : {1, 2}) {
      start_case("partition: %s n=%lld, %lld right-hand sides", type, (long long)n, (long long)rhs_count);
      auto b = dominant<T>(n, n < 70000 ? 3 : 1, rhs_count, false, uint64_t(n));
      tri::SolveParameters p;
      b.parameters(&p);
      p.algorithm = tri::Algorithm::partition;
      tri::SolveReport report;
      p.report = &report;
      const int64_t problems = b.systems * rhs_count;
      std::vector<int32_t> status(size_t(problems), 9), row(status);
      p.status = {status.data(), problems};
      p.row = {row.data(), problems};
      EXPECT(solve(device, p).ok(), "solve");
      EXPECT(report.algorithm == tri::Algorithm::partition, "used %s", tri::kAlgorithmNames[int(report.algorithm)]);
      for (int64_t s = 0; s < b.systems; ++s) {
        for (int64_t r = 0; r < rhs_count; ++r) {
          const Judged judged = judge(b, b.rhs, s, r);
          EXPECT(judged.finite && judged.ratio <= 30 && status[size_t(s * rhs_count + r)] == 0,
                 "ratio %Lg", judged.ratio);
        }
      }
      auto again = b;
      tri::SolveParameters q;
      again.parameters(&q);
      q.algorithm = p.algorithm;
      q.rhs = q.solution = again.vector_view(again.rhs);
      EXPECT(solve(alone, q).ok(), "solve alone");
      EXPECT(std::memcmp(again.rhs.re.data(), b.solution.re.data(), sizeof(RealOf<T>) * (b.rhs.re.size() - 2)) == 0,
             "other bits in place on one thread");
      b.diagonal.set(b.at(b.diagonal, 0, n / 2), T(std::numeric_limits<RealOf<T>>::infinity()));
      EXPECT(solve(device, p).ok(), "solve");
      EXPECT(status[0] == 2 && row[0] == n / 2, "status %d row %d", status[0], row[0]);
    }
  }
}

/// More systems without rows than a loop could visit: at once, and the words of a few are set.
void without_rows(Device& device) {
  const Operations& call = cpu_backend().operations;
  for (int64_t batch : {int64_t{3}, int64_t{1} << 54}) {
    start_case("no rows, %lld systems", (long long)batch);
    const int64_t words = batch == 3 ? batch : 0;
    std::vector<int32_t> status(3, 9), row(3, 9);
    std::vector<double> numbers(3, 9);
    const auto reset = [&] { status.assign(3, 9), row.assign(3, 9), numbers.assign(3, 9); };
    const auto integers = [&](std::vector<int32_t>& of) { return Array<int32_t>{words > 0 ? of.data() : nullptr, words}; };
    const auto reals = [&] { return Array<double>{words > 0 ? numbers.data() : nullptr, words}; };
    const auto expect = [&](const char* name, const Status& done, int32_t expected_row, double expected) {
      EXPECT(done.ok(), "%s: %s %s", name, done.argument().c_str(), done.message().c_str());
      for (int64_t q = 0; q < words; ++q) {
        EXPECT(status[size_t(q)] == 0 && row[size_t(q)] == expected_row && numbers[size_t(q)] == expected,
               "%s: status %d row %d number %g", name, status[size_t(q)], row[size_t(q)], numbers[size_t(q)]);
      }
    };
    Control control;
    for (bool check : {false, true}) {
      for (int algorithm = 0; algorithm < 9; ++algorithm) {
        tri::SolveParameters p;
        p.batch = batch;
        p.algorithm = static_cast<tri::Algorithm>(algorithm);
        p.check = check;
        reset();
        p.status = integers(status), p.row = integers(row);
        if (check) p.backward_error = reals();
        const Status checked = tri::check(p);
        expect("solve", checked.ok() ? call.tridiagonal_solve(device, p, control) : checked, -1, check ? 0 : 9);
      }
    }
    std::vector<uint8_t> memory(4096);
    tri::FactorParameters f;
    f.batch = batch;
    f.factors = {memory.data(), 4096};
    reset();
    f.status = integers(status), f.row = integers(row);
    Status checked = tri::check(f);
    expect("factor", checked.ok() ? call.tridiagonal_factor(device, f, control) : checked, -1, 9);
    tri::SolveFactoredParameters s;
    s.batch = batch;
    s.factors = {memory.data(), 4096};
    reset();
    s.status = integers(status);
    checked = tri::check(s);
    expect("solve_factored", checked.ok() ? call.tridiagonal_solve_factored(device, s, control) : checked, 9, 9);
    tri::MultiplyParameters m;
    m.batch = batch;
    checked = tri::check(m);
    EXPECT(checked.ok() && call.tridiagonal_multiply(device, m, control).ok(), "multiply");
    tri::ConditionParameters c;
    c.batch = batch;
    c.rhs_count = 1;
    reset();
    status.assign(3, 0);
    c.reciprocal_condition = reals();
    checked = tri::check(c);
    expect("condition", checked.ok() ? call.tridiagonal_condition(device, c, control) : checked, 9, 1);
  }
}

}  // namespace
}  // namespace cpu_test

int main() {
  using namespace cpu_test;
  auto device = open_cpu(2), alone = open_cpu(1);
  factorisations<double>(*device, "float64");
  factorisations<float>(*device, "float32");
  factorisations<std::complex<double>>(*device, "complex128");
  factorisations<std::complex<float>>(*device, "complex64");
  products<double>(*device, "float64");
  products<float>(*device, "float32");
  products<std::complex<double>>(*device, "complex128");
  products<std::complex<float>>(*device, "complex64");
  conditions<double>(*device, "float64");
  conditions<float>(*device, "float32");
  conditions<std::complex<double>>(*device, "complex128");
  conditions<std::complex<float>>(*device, "complex64");
  partitions<double>(*device, *alone, "float64");
  partitions<float>(*device, *alone, "float32");
  partitions<std::complex<double>>(*device, *alone, "complex128");
  without_rows(*device);
  return finish();
}
