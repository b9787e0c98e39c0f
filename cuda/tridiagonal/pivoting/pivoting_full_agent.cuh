// The usual case of PivotingAgent: systems of equal length with contiguous rows, several to a block. Rows are moved in
// chunks of 16 bytes if everything is aligned, otherwise one by one; a team of neighbouring lanes checks and stores
// each system. If some answer in a block is not as accurate as rounding allows, the block eliminates again, with the
// residuals as right-hand sides.
#pragma once
#include "cuda/core/launch_shape.h"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/pivoting/pivoting_merge.cuh"
#include "cuda/tridiagonal/pivoting/pivoting_policy.h"
#include "cuda/tridiagonal/pivoting/pivoting_verdict.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T, int kPerChunk = 16 / static_cast<int>(sizeof(T))>
struct PivotingFullAgent {
  using R = RealOf<T>;
  struct alignas(kPerChunk * sizeof(T)) Chunk {
    T item[kPerChunk];
  };
  using Shape = ::warploom::tridiagonal::PivotingShape;
  static constexpr int kMaxThreads = ::warploom::tridiagonal::kPivotingMaxThreads;
  static constexpr int kMinBlocks = sizeof(T) == 16 ? 1 : sizeof(T) == 4 ? 3 : 2;

  struct Parameters {
    FullBatch<T> full;
    int32_t depth, width, systems;
    /// Lanes that check and store one system: 1 << team_log2; more than 32 only if that is threads / systems.
    int32_t team_log2;
    /// Place of a system's last row: the lane among the system's lanes, and the row in that lane's chunk.
    int32_t last_place, last_row;
    int32_t* list;  ///< problems to solve again
    int32_t* count;
  };

  static bool takes(const Batch<T>& batch, const Shape& shape) {
    const int64_t stride = batch.rhs.system_stride;
    bool uniform = shape.segments == 1 && batch.offsets == nullptr && batch.rhs_count == 1 && batch.systems < 1 << 30;
    const Strided<T>* const views[] = {&batch.lower, &batch.diagonal, &batch.upper, &batch.rhs};
    for (const auto* view : views) {
      uniform = uniform && view->plain() && view->system_stride == stride && even(*view);
    }
    return uniform && batch.solution.plain() && even(batch.solution) && batch.n % kPerChunk == 0 &&
           shape.width * shape.depth % kPerChunk == 0;
  }
  /// Whether every system begins at a whole chunk.
  static bool even(const Strided<T>& view) {
    return reinterpret_cast<uintptr_t>(view.data) % sizeof(Chunk) == 0 && view.system_stride % kPerChunk == 0;
  }
  static Parameters parameters(const Batch<T>& batch, const Shape& shape, int32_t* list, int32_t* count) {
    Parameters p;
    p.full = full_batch(batch);
    p.depth = shape.depth;
    p.width = shape.width;
    p.systems = shape.systems;
    int team = shape.width;
    while (team < 32 && team < batch.n / kPerChunk && team < shape.threads()) team *= 2;
    for (p.team_log2 = 0; 1 << p.team_log2 < team;) ++p.team_log2;
    p.last_place = (p.full.n - 1) / shape.depth;
    p.last_row = (p.full.n - 1) % shape.depth;
    p.list = list;
    p.count = count;
    return p;
  }
  static LaunchShape launch_shape(const Batch<T>& batch, const Shape& shape) {
    return {(batch.systems + shape.systems - 1) / shape.systems, shape.threads(), shared_bytes(shape)};
  }
  static size_t shared_bytes(const Shape& shape) {
    return padded(ChunkStore<T>::entries(shape.threads(), shape.depth)) +
           (shape.threads() / 32 + shape.systems) * sizeof(int32_t);
  }
  static WARPLOOM_HOST_DEVICE size_t padded(int64_t entries) {
    return (static_cast<size_t>(entries) * sizeof(T) + 15) / 16 * 16;
  }

  /// The block's first system, and how many systems the block has.
  struct Span {
    int first, taken;
  };
  static WARPLOOM_DEVICE Span span(const device::Block& block, const Parameters& p) {
    const int first = static_cast<int>(block.index()) * p.systems, left = p.full.systems - first;
    return {first, left < p.systems ? left : p.systems};
  }

  static WARPLOOM_DEVICE void load(const device::Block& block, const Parameters& p, const ChunkStore<T>& store) {
    const Span own = span(block, p);
    const int team = 1 << p.team_log2, rank = block.thread() & (team - 1), capacity = p.width * p.depth;
    for (int s = block.thread() >> p.team_log2; s < p.systems; s += block.threads() >> p.team_log2) {
      const int rows = s < own.taken ? p.full.n : 0;
      const int64_t from = (own.first + s) * p.full.system_stride;
      T* const to = store.array(0) + s * capacity;
      const int step = store.lanes * store.depth;
      for (int i = rank * kPerChunk; i < rows; i += team * kPerChunk) {
        WARPLOOM_UNROLL
        for (int k = 0; k < 4; ++k) device::async_copy<sizeof(Chunk)>(block, to + k * step + i, p.full.array[k] + from + i);
      }
      // Rows beyond the system become identity rows.
      for (int i = rows + rank; i < capacity; i += team) {
        to[i] = to[2 * step + i] = to[3 * step + i] = T(0);
        to[step + i] = T(R(1));
      }
    }
  }

  /// Clears the entries beyond a system's ends, whatever the arrays hold there; each is cleared by the lane whose chunk
  /// contains it.
  static WARPLOOM_DEVICE void clear_corners(const device::Block& block, const Parameters& p,
                                            const ChunkStore<T>& store) {
    const int place = block.thread() & (p.width - 1), chunk = block.thread() * p.depth;
    if (place == 0) store.array(0)[chunk] = T(0);
    if (place == p.last_place) store.array(2)[chunk + p.last_row] = T(0);
  }

  /// Shared memory after the chunks: a word per warp, and the flags of every system.
  struct Words {
    int32_t* warps;
    int32_t* flags;
  };
  static WARPLOOM_DEVICE Words words(const device::Block& block, const ChunkStore<T>& store) {
    int32_t* const memory = block.shared<int32_t>(padded(ChunkStore<T>::entries(store.lanes, store.depth)));
    return {memory, memory + block.threads() / 32};
  }

  /// A chunk's flags. `at` is the place of its first row in the store, whose last array has the solution. kCorrects:
  /// the residuals and the upper two bands replace the factors.
  template <bool kCorrects>
  static WARPLOOM_DEVICE int32_t check_chunk(const Parameters& p, const ChunkStore<T>& store, int64_t from, int at, int row) {
    Chunk entries[4], residual;
    WARPLOOM_UNROLL
    for (int k = 0; k < 4; ++k) entries[k] = *reinterpret_cast<const Chunk*>(p.full.array[k] + from + row);
    const bool first = row == 0, last = row + kPerChunk == p.full.n;
    const T* const x = store.array(3) + at;
    Chunk own = *reinterpret_cast<const Chunk*>(x);
    const T before = pick(first, T(0), x[first ? 0 : -1]);
    const T after = pick(last, T(0), x[last ? 0 : kPerChunk]);
    entries[0].item[0] = pick(first, T(0), entries[0].item[0]);
    entries[2].item[kPerChunk - 1] = pick(last, T(0), entries[2].item[kPerChunk - 1]);
    int32_t flags = 0;
    WARPLOOM_UNROLL
    for (int k = 0; k < kPerChunk; ++k) {
      const T below = k > 0 ? own.item[k > 0 ? k - 1 : 0] : before;
      const T above = k + 1 < kPerChunk ? own.item[k + 1 < kPerChunk ? k + 1 : 0] : after;
      const RowCheck<T> check = check_row(entries[0].item[k], entries[1].item[k], entries[2].item[k], entries[3].item[k],
                                          below, own.item[k], above);
      residual.item[k] = check.residual;
      flags |= check.flags;
    }
    if constexpr (kCorrects) {
      *reinterpret_cast<Chunk*>(store.array(0) + at) = residual;
      *reinterpret_cast<Chunk*>(store.array(1) + at) = entries[1];
      *reinterpret_cast<Chunk*>(store.array(2) + at) = entries[2];
    }
    return flags;
  }

  /// Or-ed over the team; teams wider than a warp use `warps`.
  static WARPLOOM_DEVICE int32_t team_flags(const device::Block& block, const Parameters& p, int32_t flags, int32_t* warps) {
    const int team = 1 << p.team_log2, reach = team < 32 ? team : 32;
    for (int mask = 1; mask < reach; mask *= 2) flags |= device::shuffle_xor(block, flags, mask);
    if (team <= 32) return flags;
    if (block.lane() == 0) warps[block.warp()] = flags;
    block.sync();
    const int count = team / 32, begin = (block.thread() >> p.team_log2) * count;
    for (int w = 0; w < count; ++w) flags |= warps[begin + w];
    return flags;
  }

  /// Whether a system's lanes are one warp, which also moves and checks it: nobody else accesses its rows, except
  /// merge_up.
  static WARPLOOM_DEVICE bool has_warp(const Parameters& p) { return p.width == 32 && p.team_log2 == 5; }
  /// Afterwards the lanes of a system see each other's writes.
  static WARPLOOM_DEVICE void sync_systems(const device::Block& block, const Parameters& p) {
    if (has_warp(p)) {
      block.sync_warp();
    } else {
      block.sync();
    }
  }

  /// Computes the flags of every system. True if one needs a correction.
  static WARPLOOM_DEVICE bool measure(const device::Block& block, const Parameters& p, const ChunkStore<T>& store) {
    const Words own_words = words(block, store);
    const Span own = span(block, p);
    const int team = 1 << p.team_log2, teams = block.threads() >> p.team_log2, capacity = p.width * p.depth;
    const int rank = block.thread() & (team - 1);
    bool wanted = false;
    for (int done = 0; done < p.systems; done += teams) {
      const int s = done + (block.thread() >> p.team_log2);
      const int rows = s < own.taken ? p.full.n : 0;
      const int64_t from = (own.first + s) * p.full.system_stride;
      int32_t flags = 0;
      for (int i = rank * kPerChunk; i < rows; i += team * kPerChunk) {
        flags |= check_chunk<false>(p, store, from, s * capacity + i, i);
      }
      flags = team_flags(block, p, flags, own_words.warps);
      if (rank == 0 && s < p.systems) own_words.flags[s] = flags;
      wanted = wanted || flags == kOverLimit;
    }
    if (p.team_log2 > 5) block.sync();  // the flags in their words have been read
    const bool in_warp = device::ballot(block, wanted) != 0;
    if (block.lane() == 0) own_words.warps[block.warp()] = in_warp ? 1 : 0;
    block.sync();
    int32_t any = 0;
    for (int w = 0; w < block.threads() / 32; ++w) any |= own_words.warps[w];
    return any != 0;
  }

  /// The residuals become right-hand sides, and the bands are loaded again.
  static WARPLOOM_DEVICE void begin_correction(const device::Block& block, const Parameters& p, const ChunkStore<T>& store,
                                               KeptChunk<T>* kept) {
    const Span own = span(block, p);
    const int team = 1 << p.team_log2, rank = block.thread() & (team - 1), capacity = p.width * p.depth;
    for (int s = block.thread() >> p.team_log2; s < p.systems; s += block.threads() >> p.team_log2) {
      const int rows = s < own.taken ? p.full.n : 0;
      for (int i = rank * kPerChunk; i < rows; i += team * kPerChunk) {
        check_chunk<true>(p, store, (own.first + s) * p.full.system_stride, s * capacity + i, i);
      }
      for (int i = rows + rank; i < capacity; i += team) {
        store.array(0)[s * capacity + i] = store.array(2)[s * capacity + i] = T(0);
        store.array(1)[s * capacity + i] = T(R(1));
      }
    }
    block.sync();
    kept->take(store, block.thread());
    block.sync();
    for (int s = block.thread() >> p.team_log2; s < own.taken; s += block.threads() >> p.team_log2) {
      const T* const from = p.full.array[0] + (own.first + s) * p.full.system_stride;
      T* const to = store.array(0) + s * capacity;
      for (int i = rank * kPerChunk; i < p.full.n; i += team * kPerChunk) {
        device::async_copy<sizeof(Chunk)>(block, to + i, from + i);
      }
    }
    device::async_commit(block);
    device::async_wait<0>(block);
    block.sync();
    clear_corners(block, p, store);
  }

  /// Stores systems without flags, and puts the others on the list.
  static WARPLOOM_DEVICE void finish(const device::Block& block, const Parameters& p, const ChunkStore<T>& store) {
    const int32_t* const flags = words(block, store).flags;
    const Span own = span(block, p);
    const int team = 1 << p.team_log2, begin = (block.thread() & (team - 1)) * kPerChunk;
    for (int s = block.thread() >> p.team_log2; s < own.taken; s += block.threads() >> p.team_log2) {
      const int64_t system = own.first + s;
      const bool good = flags[s] == 0;
      if (begin == 0) settle(good, p.full, system, p.list, p.count);
      if (!good) continue;
      const T* const x = store.array(3) + s * p.width * p.depth;
      T* const to = p.full.array[4] + system * p.full.solution_stride;
      for (int i = begin; i < p.full.n; i += team * kPerChunk) {
        *reinterpret_cast<Chunk*>(to + i) = *reinterpret_cast<const Chunk*>(x + i);
      }
    }
  }

  /// Computes unknowns from rows, in the store.
  static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p, const ChunkStore<T>& store) {
    OuterRows<T> rows;
    const uint32_t next_rows = eliminate_chunk(store, block.thread(), &rows);
    store.set_rows(block.thread(), rows);
    block.sync();
    merge_up(block, store, p.width);
    // In merge_up, the top and merge_down the same thread handles a system's first lane.
    for (int s = block.thread(); s < p.systems; s += block.threads()) {
      store.set_values(s * p.width, solve_top(store.rows(s * p.width)));
    }
    merge_down(block, store, p.width);
    substitute_chunk(store, block.thread(), next_rows, store.values(block.thread()));
    sync_systems(block, p);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const ChunkStore<T> store{block.shared<T>(), p.depth, block.threads()};
    load(block, p, store);
    device::async_commit(block);
    device::async_wait<0>(block);
    sync_systems(block, p);
    clear_corners(block, p, store);
    solve(block, p, store);
    const int32_t* const flags = words(block, store).flags + block.thread() / p.width;
    WARPLOOM_NO_UNROLL
    for (int count = 0; measure(block, p, store) && count < kChipCorrections; ++count) {
      KeptChunk<T> kept;
      const bool wanted = *flags == kOverLimit;
      begin_correction(block, p, store, &kept);
      solve(block, p, store);
      kept.put(store, block.thread(), wanted);
      block.sync();
    }
    finish(block, p, store);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
