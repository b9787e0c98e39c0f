// The cpu backend's tridiagonal.solve: every algorithm, type, layout and option against residuals in
// extended precision; bitwise independence of neighbours and of the thread count.
#include <algorithm>

#include "test/device/cpu_support.h"

namespace cpu_test {
namespace {

enum class Shape { contiguous, interleaved, padded, ragged, many_rhs, shared, toeplitz };
constexpr Shape kShapes[] = {Shape::contiguous, Shape::interleaved, Shape::padded, Shape::ragged,
                             Shape::many_rhs,   Shape::shared,      Shape::toeplitz};
constexpr const char* kShapeNames[] = {"contiguous", "interleaved", "padded", "ragged",
                                       "many-rhs",   "shared",      "toeplitz"};

int64_t padded_length(const Layout& l, int64_t systems, int64_t rows, int64_t rhs) {
  return l.offset + std::max<int64_t>(systems - 1, 0) * l.system_stride +
         std::max<int64_t>(rows - 1, 0) * l.row_stride + std::max<int64_t>(rhs - 1, 0) * l.rhs_stride + 4;
}

/// Column- and row-dominant batch in the wanted layout.
template <class T>
Batch<T> make_batch(Shape shape, int64_t n, int64_t systems, bool periodic, tri::Transpose transpose,
                    tri::Structure structure, bool split, uint64_t seed) {
  std::mt19937_64 random(seed);
  Batch<T> b;
  b.n = n;
  b.systems = systems;
  b.periodic = periodic;
  b.transpose = transpose;
  b.structure = structure;
  b.rhs_count = shape == Shape::many_rhs ? 5 : 1;
  int64_t total = n;
  Layout band{0, n, 1, 0}, right{0, n * b.rhs_count, 1, n};
  if (shape == Shape::interleaved) band = {0, 1, systems, 0}, right = {0, 1, systems, 0};
  if (shape == Shape::padded) band = {3, 2 * n + 5, 2, 0}, right = {1, 3 * n + 2, 3, 0};
  if (shape == Shape::shared) band.system_stride = 0;
  if (shape == Shape::toeplitz) band = {2, 0, 0, 0};
  if (shape == Shape::ragged) {
    b.offsets.push_back(2);
    for (int64_t s = 0; s < systems; ++s) {
      const int64_t rows = s == 0 ? n : int64_t(random() % uint64_t(n + 1));
      b.offsets.push_back(b.offsets.back() + rows);
    }
    total = b.offsets.back();
    band = {1, 0, 1, 0};
    right = {0, 0, 2, 0};
  }
  for (Buffer<T>* buffer : {&b.lower, &b.diagonal, &b.upper}) {
    buffer->split = split;
    buffer->layout = band;
    buffer->resize(padded_length(band, shape == Shape::ragged ? 1 : systems, total, 1));
  }
  for (Buffer<T>* buffer : {&b.rhs, &b.solution}) {
    buffer->split = split;
    buffer->layout = right;
    buffer->resize(padded_length(right, shape == Shape::ragged ? 1 : systems, total, b.rhs_count));
  }
  for (int64_t s = 0; s < systems; ++s) {
    for (int64_t i = 0; i < b.rows(s); ++i) {
      const T lower = random_value<T>(random), upper = random_value<T>(random);
      b.lower.set(b.at(b.lower, s, i), lower);
      b.upper.set(b.at(b.upper, s, i), upper);
      const T sign = structure == tri::Structure::general && (random() & 1) ? T(-1) : T(1);
      b.diagonal.set(b.at(b.diagonal, s, i), sign * T(RealOf<T>(4.5)));
      for (int64_t r = 0; r < b.rhs_count; ++r) {
        b.rhs.set(b.at(b.rhs, s, i, r), random_value<T>(random));
      }
    }
  }
  if (!periodic) {  // unused corners, on either side, must not matter (Toeplitz bands have none)
    for (int64_t s = 0; s < systems && shape != Shape::toeplitz; ++s) {
      const int64_t m = b.rows(s);
      if (m == 0) continue;
      b.lower.set(b.at(b.lower, s, 0), T(std::nan("")));
      b.upper.set(b.at(b.upper, s, m - 1), T(std::nan("")));
    }
  }
  return b;
}

struct Outcome {
  std::vector<int32_t> status, row;
  std::vector<double> error;
  explicit Outcome(int64_t problems)
      : status(size_t(problems), 77), row(size_t(problems), 77), error(size_t(problems), 77) {}
  void attach(tri::SolveParameters* p) {
    const auto count = static_cast<int64_t>(status.size());
    p->status = {status.data(), count};
    p->row = {row.data(), count};
    if (p->check) p->backward_error = {error.data(), count};
  }
};

template <class T>
void run_case(Device& device, Batch<T>& b, tri::SolveParameters p) {
  Outcome outcome(b.systems * b.rhs_count);
  outcome.attach(&p);
  const Buffer<T> rhs = b.rhs;
  const Status status = solve(device, p);
  EXPECT(status.ok(), "%s %s", status.argument().c_str(), status.message().c_str());
  for (int64_t s = 0; s < b.systems; ++s) {
    for (int64_t r = 0; r < b.rhs_count; ++r) {
      const size_t q = size_t(s * b.rhs_count + r);
      const Judged judged = judge(b, rhs, s, r);
      EXPECT(judged.finite && judged.ratio <= 30, "system %lld of %lld rows: ratio %Lg", (long long)s,
             (long long)b.rows(s), judged.ratio);
      EXPECT(outcome.status[q] == 0 && outcome.row[q] == -1, "system %lld of %lld rows: status %d row %d",
             (long long)s, (long long)b.rows(s), outcome.status[q], outcome.row[q]);
      if (p.check) {
        const double epsilon = std::numeric_limits<RealOf<T>>::epsilon();
        EXPECT(outcome.error[q] >= 0 && outcome.error[q] < 64 * epsilon, "error %g", outcome.error[q]);
      }
    }
  }
}

template <class T>
void all_layouts(Device& device, const std::vector<int64_t>& sizes, const char* type) {
  uint64_t seed = 1;
  for (int64_t n : sizes) {
    for (Shape shape : kShapes) {
      for (int algorithm = 0; algorithm < 9; ++algorithm) {
        // Every combination of the other options comes up over the run; the seed picks one.
        const uint64_t pick = ++seed * 2654435761u >> 7;
        const bool periodic = pick & 1, split = Traits<T>::kComplex && (pick & 2);
        const auto transpose = static_cast<tri::Transpose>((pick >> 2) % 3);
        const bool definite = (pick >> 4) % 4 == 0 && shape != Shape::toeplitz;
        const auto structure =
            definite ? tri::Structure::positive_definite : tri::Structure::general;
        const int64_t systems = shape == Shape::ragged ? 37 : 1 + int64_t((pick >> 6) % 35);
        auto b = make_batch<T>(shape, n, systems, periodic, transpose, structure, split, seed);
        tri::SolveParameters p;
        b.parameters(&p);
        p.algorithm = static_cast<tri::Algorithm>(algorithm);
        p.check = (pick >> 12) & 1;
        p.refine = (pick >> 13) & 1;
        const bool in_place = (pick >> 14) & 1;
        if (in_place) p.solution = p.rhs;
        start_case("%s %s %s n=%lld periodic=%d %s definite=%d check=%d refine=%d split=%d place=%d", type,
                   kShapeNames[int(shape)], tri::kAlgorithmNames[algorithm], (long long)n, int(periodic),
                   tri::kTransposeNames[int(transpose)], int(definite), int(p.check), int(p.refine), int(split),
                   int(in_place));
        if (in_place) {
          Batch<T> same = b;  // the solution lands in rhs: judge it from there
          tri::SolveParameters q = p;
          Outcome words(b.systems * b.rhs_count);
          words.attach(&q);
          q.rhs = q.solution = same.vector_view(same.rhs);
          EXPECT(solve(device, q).ok(), "solve");
          b.solution = same.rhs;
          for (int64_t s = 0; s < b.systems; ++s) {
            for (int64_t r = 0; r < b.rhs_count; ++r) {
              const Judged judged = judge(b, b.rhs, s, r);
              EXPECT(judged.ratio <= 30, "system %lld: ratio %Lg", (long long)s, judged.ratio);
            }
          }
        } else {
          run_case(device, b, p);
        }
      }
    }
  }
}

/// Bits of every system must not depend on what shares its tile, nor on threads, nor on the layout.
template <class T>
void independence(Device& device, Device& alone, Shape shape, int64_t systems, int algorithm) {
  const int64_t n = 77, poisoned = 5, singular = 6;
  start_case("independence: %d bytes, %s, %lld systems, %s", int(sizeof(T)), kShapeNames[int(shape)],
             (long long)systems, tri::kAlgorithmNames[algorithm]);
  const auto make = [&](Shape layout) {
    auto b = make_batch<T>(layout, n, systems, false, tri::Transpose::none, tri::Structure::general, false, 9);
    b.diagonal.set(b.at(b.diagonal, singular, 0), T(0));
    return b;
  };
  auto clean = make(shape), dirty = clean, single = make(Shape::contiguous);
  dirty.diagonal.set(dirty.at(dirty.diagonal, poisoned, 13), T(std::nan("")));
  tri::SolveParameters p, q, one;
  clean.parameters(&p);
  dirty.parameters(&q);
  p.algorithm = q.algorithm = static_cast<tri::Algorithm>(algorithm);
  Outcome first(systems), second(systems);
  first.attach(&p);
  second.attach(&q);
  EXPECT(solve(device, p).ok() && solve(alone, q).ok(), "solve");
  EXPECT(second.status[poisoned] == 2 && second.row[poisoned] == 13, "status %d row %d",
         second.status[poisoned], second.row[poisoned]);
  if (algorithm <= int(tri::Algorithm::thomas)) {
    EXPECT(second.status[singular] == 1 && second.row[singular] == 0, "singular: status %d row %d",
           second.status[singular], second.row[singular]);
  }
  single.parameters(&one);
  one.algorithm = p.algorithm;
  one.batch = 1;
  for (View* const view : {&one.lower, &one.diagonal, &one.upper, &one.rhs, &one.solution}) view->extents[0] = 1;
  for (int64_t s = 0; s < systems; ++s) {
    if (s == poisoned || s == singular) continue;
    one.lower.offset = one.diagonal.offset = one.upper.offset = one.rhs.offset = one.solution.offset = s * n;
    EXPECT(solve(device, one).ok(), "solve one");
    bool same = second.status[size_t(s)] == 0;
    for (int64_t i = 0; i < n; ++i) {
      const T a = clean.solution.get(clean.at(clean.solution, s, i)),
              c = dirty.solution.get(dirty.at(dirty.solution, s, i)),
              d = single.solution.get(single.at(single.solution, s, i));
      same = same && std::memcmp(&a, &c, sizeof a) == 0 && std::memcmp(&a, &d, sizeof a) == 0;
    }
    EXPECT(same, "system %lld", (long long)s);
  }
}
template <class T>
void independence(Device& device, Device& alone) {
  for (int algorithm = 0; algorithm < 9; ++algorithm) {
    for (Shape shape : {Shape::contiguous, Shape::interleaved}) {
      if (!kSanitized || algorithm % 2 == static_cast<int>(shape)) independence<T>(device, alone, shape, 43, algorithm);
    }
  }
  independence<T>(device, alone, Shape::interleaved, kSanitized ? 131 : 531, 0);
}

/// A zero pivot at a chosen row: reported without check, repaired with it.
template <class T>
void zero_pivots(Device& device) {
  for (int64_t at : {int64_t(0), int64_t(20), int64_t(63)}) {
    for (bool check : {false, true}) {
      start_case("zero pivot: %d bytes, row %lld, check=%d", int(sizeof(T)), (long long)at, int(check));
      const int64_t n = 64, systems = 19;
      auto b = make_batch<T>(Shape::contiguous, n, systems, false, tri::Transpose::none,
                             tri::Structure::general, false, 3);
      const int64_t bad = 7;
      b.diagonal.set(b.at(b.diagonal, bad, at), T(0));
      if (at > 0) b.lower.set(b.at(b.lower, bad, at), T(0));  // decoupled from above
      tri::SolveParameters p;
      b.parameters(&p);
      p.check = check;
      Outcome outcome(systems);
      outcome.attach(&p);
      EXPECT(solve(device, p).ok(), "solve");
      const bool repaired = check && at < n - 1;  // the last row is singular once decoupled
      EXPECT(outcome.status[size_t(bad)] == (repaired ? 0x100 : 1),
             "status %x", outcome.status[size_t(bad)]);
      EXPECT(outcome.row[size_t(bad)] == (repaired ? -1 : at), "row %d", outcome.row[size_t(bad)]);
      if (repaired) EXPECT(judge(b, b.rhs, bad, 0).ratio <= 30, "repaired system");
    }
  }
}

template <class T>
void refinement(Device& device) {
  start_case("refinement: %d bytes", int(sizeof(T)));
  const int64_t n = 300, systems = 20;
  auto b = make_batch<T>(Shape::contiguous, n, systems, false, tri::Transpose::none,
                         tri::Structure::general, false, 4);
  for (int64_t s = 0; s < systems; ++s) {
    for (int64_t i = 0; i < n; ++i) {
      b.lower.set(b.at(b.lower, s, i), T(-1));
      b.upper.set(b.at(b.upper, s, i), T(-1));
      b.diagonal.set(b.at(b.diagonal, s, i), T(RealOf<T>(2.001)));
    }
  }
  tri::SolveParameters p;
  b.parameters(&p);
  long double plain = 0, refined = 0;
  for (bool refine : {false, true}) {
    p.refine = refine;
    EXPECT(solve(device, p).ok(), "solve");
    // Forward error against an extended precision Thomas solve.
    for (int64_t s = 0; s < systems; ++s) {
      std::vector<Wide> c(n), x(n);
      for (int64_t i = 0; i < n; ++i) {
        const Wide below = i > 0 ? b.entry(s, i, -1) : Wide(0);
        const Wide pivot = b.entry(s, i, 0) - (i > 0 ? below * c[size_t(i) - 1] : Wide(0));
        c[size_t(i)] = b.entry(s, i, 1) / pivot;
        x[size_t(i)] = (widen(b.rhs.get(b.at(b.rhs, s, i))) - (i > 0 ? below * x[size_t(i) - 1] : Wide(0))) / pivot;
      }
      for (int64_t i = n - 2; i >= 0; --i) x[size_t(i)] -= c[size_t(i)] * x[size_t(i) + 1];
      long double worst = 0, norm = 0;
      for (int64_t i = 0; i < n; ++i) {
        worst = std::max(worst, std::abs(x[size_t(i)] - widen(b.solution.get(b.at(b.solution, s, i)))));
        norm = std::max(norm, std::abs(x[size_t(i)]));
      }
      (refine ? refined : plain) = std::max(refine ? refined : plain, worst / norm);
    }
  }
  const long double epsilon = std::numeric_limits<RealOf<T>>::epsilon();
  EXPECT(refined <= epsilon, "forward error %Lg refined, %Lg plain", refined, plain);
  EXPECT(plain > 4 * refined, "refinement gains nothing: %Lg against %Lg", refined, plain);
}

}  // namespace
}  // namespace cpu_test

int main() {
  using namespace cpu_test;
  auto device = open_cpu(2), alone = open_cpu(1);
  std::vector<int64_t> sizes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65,
                                100, 127, 128, 129, 200, 255, 256, 257, 511, 513, 1500};
  if (kSanitized) sizes = {0, 1, 2, 8, 33, 129};
  all_layouts<double>(*device, sizes, "float64");
  all_layouts<std::complex<float>>(*device, sizes, "complex64");
  if (!harness::kThreadSanitizer) {  // the same threads and slices with other numbers
    all_layouts<float>(*device, sizes, "float32");
    all_layouts<std::complex<double>>(*device, sizes, "complex128");
  }
  independence<double>(*device, *alone);
  if (!kSanitized) independence<float>(*device, *alone);
  if (!kSanitized) independence<std::complex<double>>(*device, *alone);
  independence<std::complex<float>>(*device, *alone);
  if (harness::kThreadSanitizer) return finish();
  zero_pivots<double>(*device);
  zero_pivots<float>(*device);
  zero_pivots<std::complex<double>>(*device);
  refinement<float>(*device);
  refinement<std::complex<float>>(*device);
  return finish();
}
