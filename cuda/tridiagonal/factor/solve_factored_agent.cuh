// Solves with L D U factors stored as l, 1/d and u. In each recurrence a lane passes over its rows twice: once to find
// their effect on an entering value, once with that value. Factors are loaded once for all right-hand sides of a block.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/factor/factor_agent.cuh"
#include "cuda/tridiagonal/factor/factored_verdict.cuh"
#include "cuda/tridiagonal/factor/solve_factored_scan.cuh"
#include "cuda/tridiagonal/pivoting/pivoting_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// `whole`: whole systems in a block. Otherwise a block holds one segment of a problem, in three passes with scans over
/// the segments in between: `probe` finds the effect of the forward recurrence, `forward` runs it and probes the
/// backward one, `backward` runs that.
enum class ScanMode : int32_t { whole = 0, probe = 1, forward = 2, backward = 3 };

template <class T>
struct ScanSolveParameters {
  using R = RealOf<T>;
  Batch<T> batch;       ///< without its bands
  const T* lower;       ///< factors (FactorLayout); `upper` null: conj of the next row's lower
  const T* inverse;
  const T* upper;
  const T* border;      ///< periodic, else null
  const T* closing;
  const int32_t* states;
  bool shared;          ///< one matrix's factors serve all systems
  ScanMode mode;
  int32_t depth, width, systems;
  int64_t rhs_groups;   ///< whole: blocks that divide the right-hand sides of the same systems
  int64_t segments;
  /// Neighbouring threads move the same row of neighbouring systems' right-hand sides.
  bool systems_first;
  /// Per (problem, segment): probe and forward write the effect of a segment.
  Affine<T>* totals;
  const T* entering;    ///< likewise: forward and backward read the entering value
  int32_t* flags;       ///< segments: one verdict per problem, zeroed

  /// The system whose factors `system` uses, and their first entry.
  WARPLOOM_DEVICE int64_t factors_of(int64_t system) const { return shared ? 0 : system; }
  WARPLOOM_DEVICE int64_t factors_at(int64_t system) const { return shared ? 0 : packed_origin(batch, system); }
};

template <class T>
struct ScanSolveAgent {
  static constexpr int kMaxThreads = ::warploom::tridiagonal::kPivotingMaxThreads;
  static constexpr int kMinBlocks = sizeof(T) == 16 ? 1 : 2;
  using Parameters = ScanSolveParameters<T>;

  struct Shared {
    T* lower;    ///< lanes * depth + 1 entries: a symmetric matrix reads one row ahead
    T* inverse;
    T* upper;
    T* x;        ///< right-hand side, then solution
    Affine<T>* forward;
    Affine<T>* backward;
    int32_t* flags;
  };
  static size_t shared_bytes(const ::warploom::tridiagonal::PivotingShape& shape) {
    const int64_t lanes = shape.threads(), element = sizeof(T);
    return static_cast<size_t>((4 * lanes * shape.depth + 4) * element + 4 * lanes / 32 * 2 * element +
                               4 * shape.systems);
  }
  static WARPLOOM_DEVICE Shared layout(const device::Block& block, const Parameters& p) {
    const int entries = block.threads() * p.depth, warps = block.threads() / 32;
    Shared shared;
    shared.lower = block.shared<T>();
    shared.inverse = shared.lower + entries + 4;
    shared.upper = shared.inverse + entries;
    shared.x = shared.upper + entries;
    shared.forward = reinterpret_cast<Affine<T>*>(shared.x + entries);
    shared.backward = shared.forward + warps;
    shared.flags = reinterpret_cast<int32_t*>(shared.backward + warps);
    return shared;
  }

  /// The block's work: systems from `system` on and right-hand sides begin…end-1, or one segment.
  struct Work {
    int64_t system, rhs_begin, rhs_end, first_row;
  };
  static WARPLOOM_DEVICE Work work_of(const device::Block& block, const Parameters& p) {
    if (p.mode != ScanMode::whole) {
      const int64_t problem = block.index() / p.segments, segment = block.index() - problem * p.segments;
      const int64_t system = problem / p.batch.rhs_count, rhs = problem - system * p.batch.rhs_count;
      return {system, rhs, rhs + 1, segment * p.width * p.depth};
    }
    const int64_t group = block.index() / p.rhs_groups, share = block.index() - group * p.rhs_groups;
    const int64_t each = (p.batch.rhs_count + p.rhs_groups - 1) / p.rhs_groups;
    const int64_t begin = share * each, end = begin + each;
    return {group * p.systems, begin, end < p.batch.rhs_count ? end : p.batch.rhs_count, 0};
  }
  static WARPLOOM_DEVICE int rows_of(const Parameters& p, const Work& work, int s) {
    const int64_t system = work.system + s, capacity = static_cast<int64_t>(p.width) * p.depth;
    if (system >= p.batch.systems) return 0;
    const int64_t left = p.batch.rows(system) - work.first_row;
    return static_cast<int>(left < 0 ? 0 : left < capacity ? left : capacity);
  }

  /// How threads visit rows: `across` systems side by side, or along the rows of one system.
  struct Walk {
    int system, step, row, row_step;
  };
  static WARPLOOM_DEVICE Walk walk(const device::Block& block, const Parameters& p, bool across) {
    if (across) return {block.thread() % p.systems, p.systems, block.thread() / p.systems, p.width};
    int team = p.width;
    while (team < 32 && team < p.batch.n) team *= 2;
    return {block.thread() / team, block.threads() / team, block.thread() % team, team};
  }

  static WARPLOOM_DEVICE void load_factors(const device::Block& block, const Parameters& p, const Work& work,
                                           const Shared& shared) {
    constexpr int kBytes = sizeof(T);
    const Walk w = walk(block, p, false);
    const int capacity = p.width * p.depth;
    for (int s = w.system; s < p.systems; s += w.step) {
      const int count = rows_of(p, work, s);
      const int64_t origin = count > 0 ? p.factors_at(work.system + s) + work.first_row : 0;
      WARPLOOM_NO_UNROLL
      for (int i = w.row; i < capacity; i += w.row_step) {
        const int at = s * capacity + i;
        if (i < count) {
          device::async_copy<kBytes>(block, shared.lower + at, p.lower + origin + i);
          device::async_copy<kBytes>(block, shared.inverse + at, p.inverse + origin + i);
          if (p.upper != nullptr) device::async_copy<kBytes>(block, shared.upper + at, p.upper + origin + i);
        } else {
          shared.lower[at] = T(0);
          shared.inverse[at] = T(RealOf<T>(1));
          if (p.upper != nullptr) shared.upper[at] = T(0);
        }
      }
    }
    if (block.thread() == 0) {
      // The row after the block's last: from the next segment, if there is one.
      const int64_t next = work.first_row + capacity;
      const bool present = p.mode != ScanMode::whole && next < p.batch.rows(work.system);
      shared.lower[p.systems * capacity] =
          present ? p.lower[p.factors_at(work.system) + next] : T(0);
    }
  }

  /// Moves the rows of right-hand side `rhs` into shared memory; `from` is rhs or, in the second pass of segments, the
  /// solution. `judged`: notes non-finite entries.
  static WARPLOOM_DEVICE void load_rhs(const device::Block& block, const Parameters& p, const Work& work,
                                       const Shared& shared, int64_t rhs, const Strided<T>& from, bool judged) {
    const Walk w = walk(block, p, p.systems_first);
    const int capacity = p.width * p.depth;
    for (int s = w.system; s < p.systems; s += w.step) {
      int bad = 0;
      const int count = rows_of(p, work, s);
      const int64_t at_row = count > 0 ? from.index(p.batch.origin(work.system + s), work.first_row, rhs) : 0;
      // Several loads are in flight together; a missing row repeats the last one.
      constexpr int kTogether = 4;
      WARPLOOM_NO_UNROLL
      for (int i = w.row; i < capacity; i += kTogether * w.row_step) {
        T value[kTogether];
        WARPLOOM_UNROLL
        for (int k = 0; k < kTogether; ++k) {
          const int row = i + k * w.row_step;
          value[k] = count > 0 ? from.load(at_row + (row < count ? row : count - 1) * from.row_stride) : T(0);
        }
        WARPLOOM_UNROLL
        for (int k = 0; k < kTogether; ++k) {
          const int row = i + k * w.row_step;
          if (!device::is_finite(value[k])) {
            const int verdict = make_verdict(Finding::non_finite_input, work.first_row + (row < count ? row : count - 1));
            bad = verdict < bad ? verdict : bad;
          }
          if (row < capacity) shared.x[s * capacity + row] = row < count ? value[k] : T(0);
        }
      }
      if (judged && bad != 0) device::atomic_min(flags_of(block, p, shared, s), bad);
    }
  }

  /// Where the verdict on the block's system s is collected.
  static WARPLOOM_DEVICE int32_t* flags_of(const device::Block& block, const Parameters& p, const Shared& shared, int s) {
    return p.mode == ScanMode::whole ? &shared.flags[s] : &p.flags[block.index() / p.segments];
  }

  /// Rows of one lane.
  struct Lane {
    const T* lower;
    const T* inverse;
    const T* upper;
    T* x;
    int depth;
    WARPLOOM_DEVICE Lane(const Parameters& p, const Shared& shared, int thread)
        : lower(shared.lower + thread * p.depth), inverse(shared.inverse + thread * p.depth),
          upper(p.upper != nullptr ? shared.upper + thread * p.depth : nullptr), x(shared.x + thread * p.depth),
          depth(p.depth) {}
    WARPLOOM_DEVICE T upper_of(int i) const { return upper != nullptr ? upper[i] : device::conjugate(lower[i + 1]); }
    WARPLOOM_DEVICE Affine<T> probe_forward() const {
      Affine<T> run = unchanged<T>();
      for (int i = 0; i < depth; ++i) run = {-(lower[i] * run.product), device::fma(-lower[i], run.value, x[i])};
      return run;
    }
    WARPLOOM_DEVICE void forward(T value) const {
      for (int i = 0; i < depth; ++i) {
        value = device::fma(-lower[i], value, x[i]);
        x[i] = value * inverse[i];
      }
    }
    WARPLOOM_DEVICE Affine<T> probe_backward() const {
      Affine<T> run = unchanged<T>();
      for (int i = depth - 1; i >= 0; --i) {
        const T factor = upper_of(i);
        run = {-(factor * run.product), device::fma(-factor, run.value, x[i])};
      }
      return run;
    }
    WARPLOOM_DEVICE void backward(T value) const {
      for (int i = depth - 1; i >= 0; --i) {
        value = device::fma(-upper_of(i), value, x[i]);
        x[i] = value;
      }
    }
  };

  static WARPLOOM_DEVICE T applied(const Affine<T>& run, const T& value) {
    return device::fma(run.product, value, run.value);
  }

  /// Both recurrences of a block of whole systems.
  static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p, const Shared& shared) {
    const Lane lane(p, shared, block.thread());
    Affine<T> total;
    lane.forward(compose_before<false>(block, lane.probe_forward(), p.width, shared.forward, &total).value);
    lane.backward(compose_before<true>(block, lane.probe_backward(), p.width, shared.backward, &total).value);
  }

  /// x[n-1] of a periodic system, from the answer y of the recurrences.
  static WARPLOOM_DEVICE T close(const T* closing, const T& first, const T& before_last, const T& last) {
    const T sum = device::fma(-closing[1], before_last, device::fma(-closing[2], first, last));
    return sum * closing[0];
  }

  static WARPLOOM_DEVICE void store(const device::Block& block, const Parameters& p, const Work& work,
                                    const Shared& shared, int64_t rhs) {
    const Walk w = walk(block, p, p.systems_first);
    const int capacity = p.width * p.depth;
    const Strided<T>& to = p.batch.solution;
    for (int s = w.system; s < p.systems; s += w.step) {
      const int count = rows_of(p, work, s);
      if (count == 0) continue;
      const int64_t system = work.system + s;
      const int64_t at_row = to.index(p.batch.origin(system), work.first_row, rhs);
      const T* const x = shared.x + s * capacity;
      const bool closes = p.mode == ScanMode::whole && p.border != nullptr;
      const bool sound = p.states[p.factors_of(system)] == -1;
      T last(0);
      if (closes) last = close(p.closing + 3 * p.factors_of(system), x[0], count > 1 ? x[count - 2] : T(0), x[count - 1]);
      bool finite = true;
      for (int i = w.row; i < count; i += w.row_step) {
        T value = x[i];
        if (closes) {
          value = i + 1 == count ? last : device::fma(p.border[p.factors_at(system) + i], last, value);
        }
        if (!sound) value = T(RealOf<T>(NAN));
        finite = finite && device::is_finite(value);
        to.store(at_row + i * to.row_stride, value);
      }
      if (!finite && p.mode != ScanMode::forward) {
        device::atomic_min(flags_of(block, p, shared, s), make_verdict(Finding::overflow, 0));
      }
    }
  }

  static WARPLOOM_DEVICE void run_whole(const device::Block& block, const Parameters& p, const Work& work,
                                        const Shared& shared) {
    for (int64_t rhs = work.rhs_begin; rhs < work.rhs_end; ++rhs) {
      for (int s = block.thread(); s < p.systems; s += block.threads()) shared.flags[s] = 0;
      block.sync();
      load_rhs(block, p, work, shared, rhs, p.batch.rhs, true);
      block.sync();
      solve(block, p, shared);
      block.sync();
      store(block, p, work, shared, rhs);
      block.sync();
      for (int s = block.thread(); s < p.systems; s += block.threads()) {
        const int64_t system = work.system + s;
        if (system >= p.batch.systems) continue;
        store_verdict(p.batch, system * p.batch.rhs_count + rhs, verdict_with(p.states[p.factors_of(system)], shared.flags[s]));
      }
    }
  }

  static WARPLOOM_DEVICE void run_segment(const device::Block& block, const Parameters& p, const Work& work,
                                          const Shared& shared) {
    const bool backward = p.mode == ScanMode::backward;
    load_rhs(block, p, work, shared, work.rhs_begin, backward ? p.batch.solution : p.batch.rhs,
             p.mode == ScanMode::probe);
    block.sync();
    const Lane lane(p, shared, block.thread());
    Affine<T> total;
    if (!backward) {
      const Affine<T> before = compose_before<false>(block, lane.probe_forward(), p.width, shared.forward, &total);
      if (p.mode == ScanMode::probe) {
        if (block.thread() == 0) p.totals[block.index()] = total;
        return;
      }
      lane.forward(applied(before, p.entering[block.index()]));
    }
    const Affine<T> after = compose_before<true>(block, lane.probe_backward(), p.width, shared.backward, &total);
    if (!backward) {
      if (block.thread() == 0) p.totals[block.index()] = total;
    } else {
      lane.backward(applied(after, p.entering[block.index()]));
    }
    block.sync();
    store(block, p, work, shared, work.rhs_begin);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Shared shared = layout(block, p);
    const Work work = work_of(block, p);
    load_factors(block, p, work, shared);
    device::async_commit(block);
    device::async_wait<0>(block);
    if (p.mode == ScanMode::whole) {
      run_whole(block, p, work, shared);
    } else {
      run_segment(block, p, work, shared);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
