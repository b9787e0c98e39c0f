// CR-RegPack for right-hand sides that share a matrix and whose rows lie together: a block works the matrix out once
// (MatrixTable), then takes one right-hand side after the other; the copies of the next one run meanwhile.
#pragma once
#include <type_traits>

#include "cuda/linear/staging.cuh"
#include "cuda/tridiagonal/regpack/matrix_table.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct MatrixRowsParameters {
  Batch<T> batch;    ///< rows of right-hand sides and solutions are whole 16-byte vectors
  int width;         ///< lanes per right-hand side: a power of two, 32 with several warps
  int per_tile;      ///< right-hand sides that a block takes at once
  bool one_matrix;   ///< for all systems; otherwise for the right-hand sides of each
  int64_t per_matrix, tiles_per_matrix, tiles;
  int64_t span;      ///< consecutive tiles per block; 0: blocks take turns
};

/// kWide: a right-hand side takes all warps of a block, otherwise part of a warp.
template <class T, int kDepth, bool kWide>
struct MatrixRowsAgent {
  static constexpr int kMaxThreads = kWide ? 512 : 128;
  static constexpr int kMinBlocks = kWide ? 1 : kDepth * sizeof(T) > 64 ? 3 : 4;
  using Parameters = MatrixRowsParameters<T>;
  using Table = MatrixTable<T, kDepth>;
  // Of more rows or of doubles they take more registers than there are.
  using Parts = std::conditional_t<kDepth * sizeof(T) <= 32, PartsInRegisters<T, kDepth>, PartsInMemory<T, kDepth>>;
  using Rows = SideRows<T, kDepth, T, Parts>;
  using Lane = Stage<T, kDepth>;
  using Pack = device::Pack<T>;

  /// What a warp tells the others: of the matrix, and of a right-hand side.
  struct Record {
    Row<T> row;
    Front<T> front;
  };
  struct SideRecord {
    T d, front;
  };

  static constexpr WARPLOOM_HOST_DEVICE int lanes_of(int threads, int width) { return kWide ? threads : width; }
  static size_t shared_bytes(int threads, int width) {
    const int warps = threads / 32;
    return warps * Lane::kBytes + Table::bytes(lanes_of(threads, width)) + (kWide ? warps * sizeof(Record) + 16 : 0);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    MatrixRowsAgent agent(block, p);
    int64_t tile = p.span > 0 ? block.index() * p.span : block.index();
    const int64_t end = p.span > 0 && tile + p.span < p.tiles ? tile + p.span : p.tiles;
    const int64_t step = p.span > 0 ? 1 : block.count();
    if (tile >= end) return;
    Place next = agent.place_of(tile);
    agent.copy(next);
    int64_t matrix = -1;
    for (;; tile += step) {
      const Place place = next;
      if (p.one_matrix ? matrix < 0 : matrix != place.system) {
        matrix = place.system;
        agent.factor(matrix);
      }
      Rows rows(agent.parts_);
      agent.take(place, rows);
      const bool more = tile + step < end;
      if (more) {
        next = agent.place_of(tile + step);
        agent.copy(next);
      }
      agent.solve(rows);
      agent.judge(place, rows);
      agent.store(place, rows);
      if (!more) break;
    }
    if constexpr (kWide) agent.finish();
  }

 private:
  /// A right-hand side, and where it stands among all.
  struct Place {
    int64_t system, rhs, problem;
    bool present;
  };

  const device::Block& block_;
  const Parameters& p_;
  const int lane_, first_;  ///< of the calling thread: its lane of the matrix, and its first row
  T* const stage_;
  const Table table_;
  Record* const records_;     ///< kWide; SideRecords of a right-hand side take their place, two sets in turn
  int* const verdicts_;       ///< of a right-hand side and the one before
  int parity_ = 0;
  int64_t previous_ = -1;
  Parts parts_;
  LaneParts<T, 5, kWide> between_lanes_;
  LaneParts<T, 4, false> between_warps_;
  int warps_width_ = 1;
  Pivots pivots_;

  static constexpr size_t kStageBytes = Lane::kBytes;
  WARPLOOM_DEVICE MatrixRowsAgent(const device::Block& block, const Parameters& p)
      : block_(block), p_(p), lane_(kWide ? block.thread() : block.lane() & (p.width - 1)), first_(lane_ * kDepth),
        stage_(block.shared<T>(block.warp() * kStageBytes)),
        table_(block.shared<unsigned char>(block.threads() / 32 * kStageBytes), lanes_of(block.threads(), p.width)),
        records_(block.shared<Record>(block.threads() / 32 * kStageBytes + Table::bytes(lanes_of(block.threads(), p.width)))),
        verdicts_(reinterpret_cast<int*>(records_ + block.threads() / 32)) {
    if (kWide && block.thread() < 2) verdicts_[block.thread()] = 0;
    while (kWide && warps_width_ < block.threads() / 32) warps_width_ *= 2;
  }

  /// Lanes of a warp that work on one right-hand side.
  WARPLOOM_DEVICE int width() const { return kWide ? 32 : p_.width; }
  WARPLOOM_DEVICE Place place_of(int64_t tile) const {
    Place place;
    const int64_t matrix = p_.one_matrix ? 0 : tile / p_.tiles_per_matrix;
    int64_t within = (tile - matrix * p_.tiles_per_matrix) * p_.per_tile;
    if (!kWide) within += block_.thread() / width();
    place.present = within < p_.per_matrix;
    place.problem = matrix * p_.per_matrix + within;
    place.system = p_.one_matrix ? within : matrix;
    place.rhs = p_.one_matrix ? 0 : within;
    if (p_.one_matrix && p_.batch.rhs_count != 1) {
      place.system = within / p_.batch.rhs_count;
      place.rhs = within - place.system * p_.batch.rhs_count;
    }
    return place;
  }
  WARPLOOM_DEVICE int64_t rows_left() const { return p_.batch.n - first_; }

  /// Starts the copies of a warp's rows: consecutive vectors by consecutive lanes.
  WARPLOOM_DEVICE void copy(const Place& place) const {
    const int rank = block_.lane() & (width() - 1), base = (block_.lane() - rank) * kDepth;
    const int64_t begin = int64_t{first_} - rank * kDepth;
    if (place.present) {
      const T* const from = p_.batch.rhs.data + p_.batch.rhs.index(place.system, begin, place.rhs);
      const int64_t left = p_.batch.n - begin;
      WARPLOOM_UNROLL
      for (int turn = 0; turn < Lane::kLaneChunks; ++turn) {
        const int element = (rank + turn * width()) * Pack::kCount;
        if (element < left) device::async_copy<16>(block_, stage_ + Lane::place(base + element), from + element);
      }
    }
    device::async_commit(block_);
  }
  WARPLOOM_DEVICE void take(const Place& place, Rows& rows) const {
    device::async_wait<0>(block_);
    block_.sync_warp();
    Lane::read(stage_, block_.lane(), rows.d);
    const int64_t left = place.present ? rows_left() : 0;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) rows.d[j] = j < left ? rows.d[j] : T(0);
    block_.sync_warp();
  }
  /// Two lanes write each sector together: written in halves it would take two transactions of the L2.
  WARPLOOM_DEVICE void store(const Place& place, const Rows& rows) const {
    const bool odd = (block_.lane() & 1) != 0, pairs = width() > 1;
    const int even_row = pairs && odd ? first_ - kDepth : first_, own = odd ? 1 : 0;
    T* const to = p_.batch.solution.data + p_.batch.solution.index(place.system, even_row, place.rhs);
    WARPLOOM_UNROLL
    for (int c = 0; c < Lane::kLaneChunks; c += 2) {
      const Pack a = pack_of(rows, c), b = pack_of(rows, c + 1);
      const Pack other = device::shuffle_xor(block_, chosen(odd, a, b), 1);
      if (pairs) {
        write(place, to, even_row, (c + own) * Pack::kCount, chosen(odd, other, a));
        write(place, to, even_row, kDepth + (c + own) * Pack::kCount, chosen(odd, b, other));
      } else {
        write(place, to, even_row, c * Pack::kCount, a);
        write(place, to, even_row, (c + 1) * Pack::kCount, b);
      }
    }
  }
  static WARPLOOM_DEVICE Pack pack_of(const Rows& rows, int chunk) {
    Pack pack;
    WARPLOOM_UNROLL
    for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = rows.d[chunk * Pack::kCount + k];
    return pack;
  }
  /// By elements, so that both stay in registers.
  static WARPLOOM_DEVICE Pack chosen(bool first, const Pack& a, const Pack& b) {
    Pack pack;
    WARPLOOM_UNROLL
    for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = first ? a.item[k] : b.item[k];
    return pack;
  }
  WARPLOOM_DEVICE void write(const Place& place, T* to, int row, int at, const Pack& pack) const {
    if (place.present && row + at < p_.batch.n) *reinterpret_cast<Pack*>(to + at) = pack;
  }

  /// Works the matrix of `system` out.
  WARPLOOM_DEVICE void factor(int64_t system) {
    const int lanes = lanes_of(block_.threads(), width());
    block_.sync();  // the table of the matrix before is read
    WARPLOOM_NO_UNROLL
    for (int row = block_.thread(); row < lanes * kDepth; row += block_.threads()) {
      const Row<T> entries = row_of_matrix(p_.batch, system, row);
      table_.set(row / kDepth, row % kDepth, entries.a, entries.b, entries.c);
    }
    table_.reduce(block_, lanes);
    parts_.take(table_, lane_);
    pivots_ = table_.pivots(lane_);
    Row<T> row = table_.last(lane_);
    Front<T> front = table_.fronts[lane_ + 1 < lanes ? lane_ + 1 : lane_];
    if constexpr (kWide) {
      if (block_.lane() == 31) front = table_.fronts[lane_ - 31];
    }
    between_lanes_.factor(block_, row, front, width(), pivots_, kDepth - 1);
    if constexpr (kWide) {
      factor_between_warps(row, front);
    } else if (lane_ == width() - 1) {
      between_lanes_.inverse = pivots_.reciprocal(row.b, kDepth - 1);
    }
  }
  WARPLOOM_DEVICE void factor_between_warps(const Row<T>& own, const Front<T>& own_front) {
    if (block_.lane() == 31) records_[block_.warp()] = {own, own_front};
    block_.sync();
    const int warps = block_.threads() / 32, lane = block_.lane();
    Row<T> row{T(0), T(1), T(0), T(0)};
    Front<T> front = untouched_front<T>();
    if (lane < warps) row = records_[lane].row;
    if (lane + 1 < warps) {
      front = records_[lane + 1].front;
    } else {
      row.c = T(0);
    }
    Pivots met;
    between_warps_.factor(block_, row, front, warps_width_, met, 0);
    if ((lane & (warps_width_ - 1)) == warps_width_ - 1) between_warps_.inverse = met.reciprocal(row.b, 0);
    const int flags = device::shuffle(block_, int(met.zero) | (met.infinite ? 2 : 0), block_.warp());
    if (lane == 31) {
      pivots_.zero |= (flags & 1) != 0 ? 1u << (kDepth - 1) : 0u;
      pivots_.infinite = pivots_.infinite || (flags & 2) != 0;
    }
    block_.sync();  // the records are read
  }

  WARPLOOM_DEVICE void solve(Rows& rows) {
    Downsweep<kDepth>::down(rows);
    T d = rows.d[kDepth - 1], front = rows.front, before = T(0), last = T(0);
    between_lanes_.reduce(block_, d, front, width());
    if constexpr (kWide) {
      solve_between_warps(d, front, before, last);
    } else {
      last = d * between_lanes_.inverse;
    }
    const T x = between_lanes_.substitute(block_, d, last, before, width());
    const T left = device::shuffle_up(block_, x, 1);
    rows.x_left = (block_.lane() & (width() - 1)) == 0 ? before : left;
    rows.d[kDepth - 1] = x;
    Downsweep<kDepth>::up(rows);
  }
  /// The unknowns at the ends of the calling warp; and the words of the right-hand side before.
  WARPLOOM_DEVICE void solve_between_warps(const T& own, const T& own_front, T& before, T& last) {
    const int warps = block_.threads() / 32, lane = block_.lane();
    auto* const sides = reinterpret_cast<SideRecord*>(records_) + parity_ * warps;
    if (lane == 31) sides[block_.warp()] = {own, own_front};
    block_.sync();
    if (block_.thread() == 0 && previous_ >= 0) {
      store_verdict(p_.batch, previous_, verdicts_[parity_ ^ 1]);
      verdicts_[parity_ ^ 1] = 0;
    }
    T d = lane < warps ? sides[lane].d : T(0);
    T front = lane < warps ? sides[lane].front : T(0);
    between_warps_.reduce(block_, d, front, warps_width_);
    const T x = between_warps_.substitute(block_, d, d * between_warps_.inverse, T(0), warps_width_);
    last = device::shuffle(block_, x, block_.warp());
    const T x_before = device::shuffle(block_, x, block_.warp() - 1);
    before = block_.warp() == 0 ? T(0) : x_before;
  }

  WARPLOOM_DEVICE void judge(const Place& place, const Rows& rows) {
    const bool suspicious = place.present && (pivots_.infinite || pivots_.zero != 0 || !rows.finite());
    if constexpr (kWide) {
      if (suspicious) {
        device::atomic_min(&verdicts_[parity_], inspect_rows<T, kDepth>(p_.batch, place.system, place.rhs, first_, pivots_, rows.d));
      }
      previous_ = place.problem;
      parity_ ^= 1;
    } else {
      int verdict = 0;
      if (device::ballot(block_, suspicious) != 0) {
        if (suspicious) verdict = inspect_rows<T, kDepth>(p_.batch, place.system, place.rhs, first_, pivots_, rows.d);
        for (int mask = 1; mask < width(); mask *= 2) {
          const int other = device::shuffle_xor(block_, verdict, mask);
          verdict = other < verdict ? other : verdict;
        }
      }
      if (lane_ == 0 && place.present) store_verdict(p_.batch, place.problem, verdict);
    }
  }
  /// The words of the last right-hand side.
  WARPLOOM_DEVICE void finish() {
    block_.sync();
    if (block_.thread() == 0) store_verdict(p_.batch, previous_, verdicts_[parity_ ^ 1]);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
