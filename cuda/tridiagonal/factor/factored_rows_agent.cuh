// Solves with L D U factors for systems whose rows are contiguous, in whole 16-byte vectors. Each lane reads kDepth
// rows as vectors into registers; a group of lanes, or a block of up to kWarps warps, solves one system. Factors are
// read once for all right-hand sides of a group of lanes. The next right-hand side is read while the current one is
// solved.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/linear/staging.cuh"
#include "cuda/tridiagonal/factor/factored_verdict.cuh"
#include "cuda/tridiagonal/factor/solve_factored_scan.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct FactoredRowsParameters {
  const T* lower;    ///< factors (FactorLayout); `upper` null: conj of the next row's lower
  const T* inverse;
  const T* upper;
  const int32_t* states;
  const T* rhs;
  T* solution;
  /// Elements between systems, and between right-hand sides of one system.
  int64_t rhs_system, rhs_side, solution_system, solution_side;
  int32_t systems, sides, n;
  int32_t width, width_log2;  ///< lanes per system, a power of two; 32 with several warps
  bool shared;                ///< one matrix's factors serve all systems
  int32_t shares;             ///< blocks that share the right-hand sides of their matrices …
  /// … and how many right-hand sides each matrix has, counted in groups as large as a block takes at once if the matrix
  /// is shared.
  int32_t turns;
  int32_t* status;
  int32_t* row;
};

template <class T, int kDepth, int kWarps>
struct FactoredRowsAgent {
  static constexpr int kMaxThreads = kWarps == 1 ? 128 : 32 * kWarps;
  /// Threads per multiprocessor, chosen so that each has registers for all arrays and for one right-hand side ahead.
  static constexpr int kThreads = kDepth * sizeof(T) <= 32 ? 896 : sizeof(T) < 16 ? 512 : 384;
  static constexpr int kMinBlocks = kThreads / kMaxThreads;
  using Parameters = FactoredRowsParameters<T>;
  using Pack = device::Pack<T>;
  static constexpr int kChunks = kDepth / Pack::kCount;

  /// What the warps exchange.
  struct Records {
    Affine<T> forward[kWarps], backward[kWarps];
    int verdict[kWarps];
  };
  static constexpr size_t shared_bytes() { return kWarps > 1 ? sizeof(Records) : 0; }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int32_t index = static_cast<int32_t>(block.index()), group = p.shares == 1 ? index : index / p.shares;
    int32_t turn = index - group * p.shares;
    const Place place = place_of(block, p, group);
    Line line = line_of(p, place, turn);
    T x[kDepth];
    load_side(p, line, x);
    Factors factors;
    take(block, p, place, factors);
    while (true) {
      turn += p.shares;
      const bool more = turn < p.turns;
      Line next{};
      T ahead[kDepth];
      if (more) {
        next = line_of(p, place, turn);
        load_side(p, next, ahead);
      }
      solve(block, place, factors, x);
      finish(block, p, place, line, x);
      if (!more) return;
      line = next;
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) x[j] = ahead[j];
    }
  }

 private:
  static constexpr int kNowhere = 1 << 30;  ///< first row of a lane without a system

  /// The calling lane's place among the lanes of its system.
  struct Place {
    /// Among the block's systems; among all systems if each has its own matrix.
    int32_t slot;
    int slots;           ///< systems per block
    int rank, width, first;
    int32_t state;       ///< of its factors
  };
  /// A right-hand side.
  struct Line {
    int32_t problem;
    int first;           ///< the calling lane's first row, or kNowhere
    int64_t rhs, solution;
  };
  struct Factors {
    T lower[kDepth], inverse[kDepth], upper[kDepth];
  };

  /// Returns at least half of kWarps.
  static WARPLOOM_DEVICE int warps_of(const device::Block& block) { return kWarps <= 2 ? kWarps : block.threads() / 32; }
  static WARPLOOM_DEVICE Place place_of(const device::Block& block, const Parameters& p, int32_t group) {
    Place place;
    const int lane = kWarps > 1 ? block.thread() : block.thread() & (p.width - 1);
    place.slots = kWarps > 1 ? 1 : block.threads() >> p.width_log2;
    place.slot = group * place.slots + (kWarps > 1 ? 0 : block.thread() >> p.width_log2);
    place.width = kWarps > 1 ? 32 : p.width;
    place.rank = lane & (place.width - 1);
    place.first = lane * kDepth;
    const int32_t matrix = p.shared ? 0 : place.slot;
    place.state = p.shared || matrix < p.systems ? p.states[matrix] : -1;
    return place;
  }
  static WARPLOOM_DEVICE Line line_of(const Parameters& p, const Place& place, int32_t turn) {
    int32_t system = place.slot, side = turn;
    if (p.shared) {
      system = turn * place.slots + place.slot;
      side = 0;
      if (p.sides > 1) {
        const int32_t problem = system;
        system = problem / p.sides;
        side = problem - system * p.sides;
      }
    }
    if (system >= p.systems) return {0, kNowhere, 0, 0};
    return {system * p.sides + side, place.first, system * p.rhs_system + side * p.rhs_side,
            system * p.solution_system + side * p.solution_side};
  }

  /// A lane's rows from row `first` on; missing rows get the value `otherwise`. kAll: no row is missing.
  template <bool kAll>
  static WARPLOOM_DEVICE void load(const T* rows, int first, int n, const T& otherwise, T (&to)[kDepth]) {
    const auto* from = reinterpret_cast<const Pack*>(rows + first);
    WARPLOOM_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      Pack pack;
      if (kAll || first + c * Pack::kCount < n) {
        pack = from[c];
      } else {
        WARPLOOM_UNROLL
        for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = otherwise;
      }
      WARPLOOM_UNROLL
      for (int k = 0; k < Pack::kCount; ++k) to[c * Pack::kCount + k] = pack.item[k];
    }
  }
  static WARPLOOM_DEVICE void load_side(const Parameters& p, const Line& line, T (&x)[kDepth]) {
    const T* const rows = p.rhs + line.rhs;
    if (line.first + kDepth <= p.n) load<true>(rows, line.first, p.n, T(0), x);
    else load<false>(rows, line.first, p.n, T(0), x);
  }
  template <bool kAll>
  static WARPLOOM_DEVICE void load_factors(const Parameters& p, int64_t origin, int first, Factors& f) {
    load<kAll>(p.lower + origin, first, p.n, T(0), f.lower);
    load<kAll>(p.inverse + origin, first, p.n, T(RealOf<T>(1)), f.inverse);
    if (p.upper != nullptr) load<kAll>(p.upper + origin, first, p.n, T(0), f.upper);
  }
  static WARPLOOM_DEVICE void take(const device::Block& block, const Parameters& p, const Place& place, Factors& f) {
    const bool present = p.shared || place.slot < p.systems;
    const int64_t origin = p.shared || !present ? 0 : int64_t{place.slot} * p.n;
    const int first = present ? place.first : kNowhere;
    if (first + kDepth <= p.n) load_factors<true>(p, origin, first, f);
    else load_factors<false>(p, origin, first, f);
    if (p.upper != nullptr) return;
    WARPLOOM_UNROLL
    for (int j = 0; j + 1 < kDepth; ++j) f.upper[j] = device::conjugate(f.lower[j + 1]);
    T next = device::shuffle_down(block, f.lower[0], 1, place.width);
    if (place.rank == place.width - 1) next = kWarps > 1 && first + kDepth < p.n ? p.lower[origin + first + kDepth] : T(0);
    f.upper[kDepth - 1] = device::conjugate(next);
  }

  /// The value that enters the calling lane's rows, from the effect of each lane's rows.
  template <bool kReverse>
  static WARPLOOM_DEVICE T entering(const device::Block& block, const Place& place, const Affine<T>& own, Affine<T>* records) {
    const int rank = kReverse ? place.width - 1 - place.rank : place.rank;
    const Affine<T> sum = compose_lanes<kReverse>(block, own, place.width, rank);
    if constexpr (kWarps == 1) {
      const T value = shuffle_on<kReverse>(block, sum.value, 1, place.width);
      return rank > 0 ? value : T(0);
    } else {
      Affine<T> before = shuffle_on<kReverse>(block, sum, 1, 32);
      if (rank == 0) before = unchanged<T>();
      if (rank == 31) records[block.warp()] = sum;
      block.sync();
      T value(0);
      const int warps = warps_of(block);
      WARPLOOM_UNROLL
      for (int i = 0; i + 1 < kWarps; ++i) {
        const int w = kReverse ? kWarps - 1 - i : i;
        if (kReverse ? w > block.warp() && w < warps : w < block.warp()) {
          value = device::fma(records[w].product, value, records[w].value);
        }
      }
      return device::fma(before.product, value, before.value);
    }
  }

  static WARPLOOM_DEVICE void solve(const device::Block& block, const Place& place, const Factors& f, T (&x)[kDepth]) {
    auto* const records = block.shared<Records>();
    Affine<T> run{-f.lower[0], x[0]};
    WARPLOOM_UNROLL
    for (int j = 1; j < kDepth; ++j) run = {-(f.lower[j] * run.product), device::fma(-f.lower[j], run.value, x[j])};
    T value = entering<false>(block, place, run, records->forward);
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      value = device::fma(-f.lower[j], value, x[j]);
      x[j] = value * f.inverse[j];
    }
    run = {-f.upper[kDepth - 1], x[kDepth - 1]};
    WARPLOOM_UNROLL
    for (int j = kDepth - 2; j >= 0; --j) run = {-(f.upper[j] * run.product), device::fma(-f.upper[j], run.value, x[j])};
    value = entering<true>(block, place, run, records->backward);
    WARPLOOM_UNROLL
    for (int j = kDepth - 1; j >= 0; --j) {
      value = device::fma(-f.upper[j], value, x[j]);
      x[j] = value;
    }
  }

  /// Verdict and solution. A non-finite entry of a right-hand side makes its row of the solution non-finite, so the
  /// right-hand side is searched only then.
  static WARPLOOM_DEVICE void finish(const device::Block& block, const Parameters& p, const Place& place, const Line& line,
                                     T (&x)[kDepth]) {
    bool suspicious = place.state != -1;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) suspicious = suspicious | !device::is_finite(x[j]);
    int verdict = 0;
    if (__builtin_expect(device::ballot(block, suspicious) != 0, 0)) {
      verdict = inspect(block, p, place, line, x);
      block.sync_warp();  // in place, a lane's neighbour writes over what it has read here
    }
    store(block, p, place, line, x);
    if constexpr (kWarps == 1) {
      if (line.first == 0) store_verdict(p, line.problem, verdict);
    } else {
      auto* const records = block.shared<Records>();
      if (block.lane() == 0) records->verdict[block.warp()] = verdict;
      block.sync();
      if (block.thread() != 0) return;
      WARPLOOM_UNROLL
      for (int w = 1; w < kWarps; ++w) {
        if (w < warps_of(block)) verdict = records->verdict[w] < verdict ? records->verdict[w] : verdict;
      }
      store_verdict(p, line.problem, verdict);
    }
  }
  /// The verdict of a group of lanes; solutions of unsound factors become NaN.
  static WARPLOOM_DEVICE int inspect(const device::Block& block, const Parameters& p, const Place& place, const Line& line,
                                     T (&x)[kDepth]) {
    int verdict = 0;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      if (line.first + j < p.n && !device::is_finite(x[j])) verdict = make_verdict(Finding::overflow, 0);
      if (place.state != -1) x[j] = T(RealOf<T>(NAN));
    }
    WARPLOOM_NO_UNROLL
    for (int row = line.first; row < line.first + kDepth && row < p.n; ++row) {
      if (device::is_finite(p.rhs[line.rhs + row])) continue;
      verdict = make_verdict(Finding::non_finite_input, row);
      break;
    }
    for (int mask = 1; mask < place.width; mask *= 2) {
      const int other = device::shuffle_xor(block, verdict, mask);
      verdict = other < verdict ? other : verdict;
    }
    return verdict_with(place.state, verdict);
  }

  static WARPLOOM_DEVICE void store(const device::Block& block, const Parameters& p, const Place& place, const Line& line,
                                    const T (&x)[kDepth]) {
    T* const to = p.solution + line.solution + line.first;
    linear::store_vectors<T, kDepth>(block, to, p.n - line.first, place.width > 1, [&](int chunk) {
      Pack pack;
      WARPLOOM_UNROLL
      for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = x[chunk * Pack::kCount + k];
      return pack;
    });
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
