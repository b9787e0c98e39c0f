// CR-RegPack on interleaved batches, where the same row of neighbouring systems is adjacent in memory. A block takes a
// tile of such systems. Thread t has the rows of system t % systems from (t / systems) * kDepth on, so that every
// access is a line of neighbouring systems. Between the lanes of a system the tile is transposed in shared memory: one
// row per lane goes there, and one unknown comes back. Systems with more lanes than a warp are taken in chunks, in two
// passes around the solve of one row per chunk (partition_launch.cuh).
#pragma once
#include "cuda/tridiagonal/regpack/chunk.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// What a launch computes: whole systems, a record of each chunk, or a chunk's unknowns from those at its ends.
enum class Pass { whole, reduce, substitute };

template <class T>
struct InterleavedParameters {
  Batch<T> batch;
  int width;    ///< lanes per system or chunk, a power of two up to 32
  int systems;  ///< per block, a power of two; systems*width threads
  // For chunks, as in PartitionParameters; blocks run through neighbouring systems first.
  int64_t tiles = 1, chunks = 1, rows = 0;
  ChunkRecord<T>* records = nullptr;
  const T* between = nullptr;  ///< the last unknown of every chunk
  int* verdicts = nullptr;
};

template <class T, int kDepth, Pass kPass = Pass::whole>
struct InterleavedRegpackAgent {
  static constexpr int kMaxThreads = kDepth * sizeof(T) <= 64 && sizeof(T) < 16 ? 512 : 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = InterleavedParameters<T>;
  using Rows = RegisterRows<T, kDepth>;
  using Lane = RegpackLane<T, kDepth>;

  /// Seven values per lane, then one word per lane and one per system.
  static constexpr size_t shared_bytes(int width, int systems) {
    return 7 * sizeof(T) * systems * (width + 1) + 4 * systems * (width + 1) + 4 * systems;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int pitch = p.width + 1, size = p.systems * pitch;
    T* const values = block.shared<T>();
    int* const flags = reinterpret_cast<int*>(values + 7 * size);
    int* const verdicts = flags + size;
    const int column = block.thread() & (p.systems - 1), rank = block.thread() / p.systems;
    const Tile tile = tile_of(block, p);
    const int64_t system = tile.system + column;
    const int at = column * pitch + rank;
    if (block.thread() < p.systems) verdicts[block.thread()] = 0;
    const Run run{p.width, rank, 0, 0, system, system, 0, tile.chunk * p.rows};
    const int64_t rows_left = system < p.batch.systems ? p.batch.n - run.first_row - int64_t{rank} * kDepth : 0;
    Rows rows;
    take(p.batch, run, rows_left, rows);
    Downsweep<kDepth>::down(rows);
    const Row<T> last = rows.last();
    const T record[7] = {last.a, last.b, last.c, last.d, rows.front.b, rows.front.c, rows.front.d};
    WARPLOOM_UNROLL
    for (int v = 0; v < 7; ++v) values[v * size + at] = record[v];
    block.sync();
    solve_between(block, p, tile, values, flags, size);
    if constexpr (kPass == Pass::reduce) return;
    block.sync();
    const int met = flags[at];
    rows.pivots.zero |= (met & 1) != 0 ? 1u << (kDepth - 1) : 0u;
    rows.pivots.infinite = rows.pivots.infinite || (met & 2) != 0;
    rows.x_left = rank > 0 ? values[at - 1] : kPass == Pass::whole ? T(0) : unknown_before(p, system, tile.chunk);
    rows.d[kDepth - 1] = values[at];
    Downsweep<kDepth>::up(rows);
    if (Lane::suspicious(rows) && rows_left > 0) {
      const int verdict = Lane::inspect(p.batch, run, p.batch.n, rows);
      if (verdict != 0) device::atomic_min(kPass == Pass::whole ? &verdicts[column] : &p.verdicts[system], verdict);
    }
    store(p.batch, run, rows_left, rows);
    if constexpr (kPass != Pass::whole) return;
    block.sync();
    if (block.thread() < p.systems && system < p.batch.systems) {
      store_verdict(p.batch, system, verdicts[block.thread()]);
    }
  }

 private:
  /// The first system of a block, and its chunk. The second pass begins with what the first pass read last.
  struct Tile {
    int64_t system, chunk;
  };
  static WARPLOOM_DEVICE Tile tile_of(const device::Block& block, const Parameters& p) {
    if constexpr (kPass == Pass::whole) return {block.index() * p.systems, 0};
    const int64_t at = kPass == Pass::substitute ? block.count() - 1 - block.index() : block.index();
    return {at % p.tiles * p.systems, at / p.tiles};
  }
  /// The unknown before a chunk.
  static WARPLOOM_DEVICE T unknown_before(const Parameters& p, int64_t system, int64_t chunk) {
    return chunk > 0 && system < p.batch.systems ? p.between[system * p.chunks + chunk - 1] : T(0);
  }

  static WARPLOOM_DEVICE void take(const Batch<T>& batch, const Run& run, int64_t rows_left, Rows& rows) {
    const int64_t first = run.first_row + int64_t{run.rank} * kDepth;
    load(batch.lower, run, first, first == 0 ? 1 : 0, rows_left, T(0), rows.a);
    load(batch.diagonal, run, first, 0, rows_left, T(1), rows.b);
    load(batch.upper, run, first, 0, rows_left - 1, T(0), rows.c);
    load(batch.rhs, run, first, 0, rows_left, T(0), rows.d);
  }
  /// Rows begin … end-1 of a lane; others get the value `otherwise`.
  static WARPLOOM_DEVICE void load(const Strided<T>& array, const Run& run, int64_t first, int begin, int64_t end,
                                   const T& otherwise, T (&to)[kDepth]) {
    int64_t at = array.index(run.system, first, 0);
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      to[j] = j >= begin && j < end ? array.load(at) : otherwise;
      at += array.row_stride;
    }
  }
  static WARPLOOM_DEVICE void store(const Batch<T>& batch, const Run& run, int64_t rows_left, const Rows& rows) {
    int64_t at = batch.solution.index(run.system, run.first_row + int64_t{run.rank} * kDepth, 0);
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      if (j < rows_left) batch.solution.store(at, rows.d[j]);
      at += batch.solution.row_stride;
    }
  }

  /// Neighbouring lanes solve the rows between the lanes of one system; the unknowns replace the rows.
  static WARPLOOM_DEVICE void solve_between(const device::Block& block, const Parameters& p, const Tile& tile, T* values,
                                            int* flags, int size) {
    const int rank = block.thread() & (p.width - 1);
    const int column = block.thread() / p.width, at = column * (p.width + 1) + rank;
    const auto front_of = [&](int k) { return Front<T>{values[4 * size + k], values[5 * size + k], values[6 * size + k]}; };
    const auto begin = [&](Row<T>& r, Front<T>& f) {
      r = {values[at], values[size + at], values[2 * size + at], values[3 * size + at]};
      if (rank + 1 < p.width) absorb_front(r, front_of(at + 1));
      if constexpr (kPass != Pass::whole) f = front_of(at - rank);
    };
    Row<T> row;
    Pivots pivots;
    T x;
    if constexpr (kPass == Pass::whole) {
      x = solve_lanes(block, row, p.width, pivots, 0, begin);
    } else {
      const int64_t system = tile.system + column;
      const bool present = system < p.batch.systems;
      const int64_t item = present ? system * p.chunks + tile.chunk : 0;
      Front<T> front;
      eliminate_lanes<true>(block, row, front, p.width, pivots, 0, begin);
      if constexpr (kPass == Pass::reduce) {
        if (present && rank == p.width - 1) p.records[item] = {row, front};
        return;
      }
      x = substitute_lanes(block, row, present ? p.between[item] : T(0), unknown_before(p, system, tile.chunk), p.width);
    }
    block.sync_warp();
    values[at] = x;
    flags[at] = (pivots.zero != 0 ? 1 : 0) | (pivots.infinite ? 2 : 0);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
