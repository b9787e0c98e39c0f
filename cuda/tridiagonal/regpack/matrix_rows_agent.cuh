// CR-RegPack for right-hand sides that share a matrix and have contiguous rows. A block factors the matrix once
// (MatrixTable), then solves one right-hand side after another, while the copies of the next one run.
#pragma once
#include <type_traits>

#include "cuda/linear/staging.cuh"
#include "cuda/tridiagonal/regpack/matrix_teams.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Right-hand sides are lines, `lines` of them in each of `groups`. If evenly spaced, all lines of one matrix are one
/// group; otherwise the lines of each system are.
template <class T>
struct MatrixRowsParameters {
  Batch<T> batch;    ///< rows of right-hand sides and solutions are whole 16-byte vectors
  /// Lanes per right-hand side, a power of two; for Team::warps, the lanes of all its warps.
  int width;
  int width_log2;
  bool one_matrix;   ///< one matrix for all groups; otherwise one for each
  int32_t groups, lines, tiles_per_group;
  int32_t span;      ///< consecutive tiles per block; 0: blocks take turns, in one group
  int64_t rhs_group, rhs_line, solution_group, solution_line;  ///< elements between them
};

/// The lanes of a right-hand side: some lanes of a warp, or one warp or several, with all lanes filled with rows.
enum class Team { lanes, warp, warps };

template <class T, int kDepth, Team kTeam>
struct MatrixRowsAgent {
  static constexpr bool kWhole = kTeam != Team::lanes, kWarps = kTeam == Team::warps;
  /// Right-hand sides that a lane solves at once: the matrix data is read once for all of them, and the work on one
  /// hides the latencies of another.
  static constexpr int kSides = kWarps && sizeof(T) == 8 ? 1 : 2;
  static constexpr int kMaxThreads = !kWarps ? 128 : sizeof(T) == 8 ? 256 : 512;
  static constexpr int kMinBlocks = kWarps ? 1 : kDepth * sizeof(T) > 64 ? 3 : 4;
  using Parameters = MatrixRowsParameters<T>;
  using Table = MatrixTable<T, kDepth>;
  // With more rows, or in double precision, there are not enough registers.
  using Parts = std::conditional_t<kDepth * sizeof(T) <= 32, PartsInRegisters<T, kDepth>, PartsInMemory<T, kDepth>>;
  using V = std::conditional_t<kSides == 1, T, Sides<T, kSides>>;
  using Rows = SideRows<T, kDepth, V, Parts>;
  using Lane = Stage<T, kDepth>;
  using Pack = device::Pack<T>;
  using Teams = MatrixTeams<T, V, kSides, kDepth>;
  static constexpr int kMostLanes = kWarps ? 32 * Teams::kMostWarps : 32;

  static size_t shared_bytes(int threads, int width) {
    return threads / 32 * kStageBytes + Table::bytes(width) + (kWarps ? Teams::bytes(threads / 32) : 0);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    MatrixRowsAgent agent(block, p);
    Place next{0, static_cast<int32_t>(block.index())};
    const int32_t step = p.span > 0 ? 1 : static_cast<int32_t>(block.count());
    int64_t left = p.span > 0 ? p.span : (p.tiles_per_group - 1 - next.tile) / step + 1;
    if (p.span > 0) {
      const int64_t first = block.index() * p.span, all = int64_t{p.groups} * p.tiles_per_group;
      next.group = static_cast<int32_t>(first / p.tiles_per_group);
      next.tile = static_cast<int32_t>(first - int64_t{next.group} * p.tiles_per_group);
      left = all - first < left ? all - first : left;
    }
    int32_t tiles = static_cast<int32_t>(left);
    if (next.group >= p.groups || next.tile >= p.tiles_per_group) return;
    agent.copy(next);
    int32_t matrix = -1;
    while (true) {
      const Place place = next;
      if (matrix < 0 || (!p.one_matrix && matrix != place.group)) {
        matrix = place.group;
        agent.factor(p.groups > 1 ? matrix : 0);
      }
      Rows rows(agent.parts_);
      agent.take(rows);
      const bool more = --tiles > 0;
      if (more) {
        next.tile += step;
        if (next.tile >= p.tiles_per_group) next = {next.group + 1, 0};
        agent.copy(next);
      }
      agent.solve(rows);
      agent.judge(place, rows);
      agent.store(place, rows);
      if (!more) break;
    }
    if constexpr (kWarps) {
      block.sync();
      agent.tell();
    }
  }

 private:
  /// The lines that a block takes at once.
  struct Place {
    int32_t group, tile;
  };

  const device::Block& block_;
  const Parameters& p_;
  /// The calling thread's lane of the matrix, and its first row.
  const int lane_, first_;
  /// Lines that a block solves side by side; a lane's next side is that many lines further on.
  const int slots_;
  T* const stage_;
  const Table table_;
  const Teams teams_;  ///< for Team::warps
  Parts parts_;
  LaneParts<T, 5, kWarps> between_lanes_;
  Pivots pivots_;
  Place previous_{-1, 0};  ///< its words are still to be written
  int parity_ = 0;

  static constexpr size_t kStageBytes = kSides * Lane::kBytes;
  WARPLOOM_DEVICE MatrixRowsAgent(const device::Block& block, const Parameters& p)
      : block_(block), p_(p), lane_(block.thread() & (lanes(p) - 1)), first_(lane_ * kDepth),
        slots_(block.threads() >> lanes_log2(p)), stage_(block.shared<T>(block.warp() * kStageBytes)),
        table_(block.shared<unsigned char>(block.threads() / 32 * kStageBytes), lanes(p)),
        teams_(teams_of(block, p)) {}
  static WARPLOOM_DEVICE Teams teams_of(const device::Block& block, const Parameters& p) {
    if constexpr (!kWarps) return {};
    else return {block, block.shared<unsigned char>(block.threads() / 32 * kStageBytes + Table::bytes(p.width)), p.width / 32};
  }

  /// The lanes of a right-hand side; how many of them are in a warp, and the calling lane's rank among these; and their
  /// rows.
  static WARPLOOM_DEVICE int lanes(const Parameters& p) { return kTeam == Team::warp ? 32 : p.width; }
  static WARPLOOM_DEVICE int lanes_log2(const Parameters& p) { return kTeam == Team::warp ? 5 : p.width_log2; }
  WARPLOOM_DEVICE int width() const { return kWhole ? 32 : p_.width; }
  WARPLOOM_DEVICE int rank() const { return kWarps ? block_.lane() : lane_; }
  WARPLOOM_DEVICE int rows() const { return kWhole ? 32 * kDepth : static_cast<int>(p_.batch.n); }
  static WARPLOOM_DEVICE const T& item(const V& value, int side) {
    if constexpr (kSides == 1) return value;
    else return value.item[side];
  }
  static WARPLOOM_DEVICE T& item(V& value, int side) {
    if constexpr (kSides == 1) return value;
    else return value.item[side];
  }

  /// The calling lane's line of one side.
  WARPLOOM_DEVICE int line_of(const Place& place, int side) const {
    return (place.tile * kSides + side) * slots_ + (block_.thread() >> lanes_log2(p_));
  }

  /// Starts the copies of a warp's rows: consecutive lanes copy consecutive vectors.
  WARPLOOM_DEVICE void copy(const Place& place) const {
    const int base = (block_.lane() - rank()) * kDepth, begin = first_ - rank() * (kDepth - Pack::kCount);
    WARPLOOM_UNROLL
    for (int side = 0; side < kSides; ++side) {
      const int line = line_of(place, side);
      if (line >= p_.lines) break;
      const T* const from = p_.batch.rhs.data + place.group * p_.rhs_group + line * p_.rhs_line + begin;
      T* const to = stage_ + side * Lane::kElements;
      WARPLOOM_UNROLL
      for (int turn = 0; turn < Lane::kLaneChunks; ++turn) {
        const int element = (rank() + turn * width()) * Pack::kCount;
        if (element < rows()) {
          device::async_copy<16>(block_, to + Lane::place(base + element), from + turn * width() * Pack::kCount);
        }
      }
    }
    device::async_commit(block_);
  }
  WARPLOOM_DEVICE void take(Rows& rows) const {
    device::async_wait<0>(block_);
    block_.sync_warp();
    WARPLOOM_UNROLL
    for (int side = 0; side < kSides; ++side) {
      T values[kDepth];
      Lane::read(stage_ + side * Lane::kElements, block_.lane(), values);
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) item(rows.d[j], side) = values[j];
    }
    const int left = this->rows() - first_;
    if (this->rows() != width() * kDepth) {
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) {
        WARPLOOM_UNROLL
        for (int side = 0; side < kSides; ++side) item(rows.d[j], side) = j < left ? item(rows.d[j], side) : T(0);
      }
    }
    block_.sync_warp();
  }
  WARPLOOM_DEVICE void store(const Place& place, const Rows& rows) const {
    const int here = kWhole ? 2 * kDepth : this->rows() - first_;  // includes its neighbour's rows
    WARPLOOM_UNROLL
    for (int side = 0; side < kSides; ++side) {
      const int line = line_of(place, side);
      T* const to = p_.batch.solution.data + place.group * p_.solution_group + line * p_.solution_line + first_;
      linear::store_vectors<T, kDepth>(block_, to, line < p_.lines ? here : -kDepth, width() > 1, [&](int chunk) {
        Pack pack;
        WARPLOOM_UNROLL
        for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = item(rows.d[chunk * Pack::kCount + k], side);
        return pack;
      });
    }
  }

  /// Factors the matrix of `system`.
  WARPLOOM_DEVICE void factor(int64_t system) {
    const int lanes = MatrixRowsAgent::lanes(p_);
    const auto entries = table_.template load<kMostLanes * kDepth / kMaxThreads>(block_, p_.batch, system, lanes);
    block_.sync();  // the table of the previous matrix has been read
    table_.set(block_, entries, lanes);
    block_.sync();
    if (block_.thread() < lanes) table_.reduce(block_.thread());
    block_.sync();
    parts_.take(table_, lane_);
    pivots_ = table_.pivots(lane_);
    Row<T> row = table_.last(lane_);
    Front<T> front = table_.fronts[lane_ + 1 < lanes ? lane_ + 1 : lane_];
    if (kWarps && block_.lane() == 31) front = table_.fronts[lane_ - 31];
    between_lanes_.factor(block_, row, front, width(), pivots_, kDepth - 1);
    if constexpr (kWarps) teams_.factor(block_, row, front, pivots_);
    else if (lane_ == lanes - 1) between_lanes_.inverse = pivots_.reciprocal(row.b, kDepth - 1);
  }

  WARPLOOM_DEVICE void solve(Rows& rows) {
    Downsweep<kDepth>::down(rows);
    V d = rows.d[kDepth - 1], front = rows.front;
    V before{}, last{};
    between_lanes_.reduce(block_, d, front, width());
    if constexpr (kWarps) teams_.solve(block_, parity_, d, front, before, last, [&] { tell(); });
    else last = d * between_lanes_.inverse;
    const V x = between_lanes_.substitute(block_, d, last, before, width());
    const V left = device::shuffle_up(block_, x, 1);
    rows.x_left = rank() == 0 ? before : left;
    rows.d[kDepth - 1] = x;
    Downsweep<kDepth>::up(rows);
  }

  /// The verdict on one side, which is only known at run time: a single copy of code that hardly ever runs.
  WARPLOOM_DEVICE int inspect_side(int64_t problem, const Rows& rows, int side) const {
    T d[kDepth];
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      d[j] = item(rows.d[j], 0);
      WARPLOOM_UNROLL
      for (int k = 1; k < kSides; ++k) d[j] = k == side ? item(rows.d[j], k) : d[j];
    }
    const int64_t system = problem / p_.batch.rhs_count;
    return inspect_rows<T, kDepth>(p_.batch, system, problem - system * p_.batch.rhs_count, first_, pivots_, d);
  }
  WARPLOOM_DEVICE void judge(const Place& place, const Rows& rows) {
    const bool suspicious = pivots_.infinite || pivots_.zero != 0 || !rows.finite();
    const int64_t from = int64_t{place.group} * p_.lines;
    if constexpr (kWarps) {
      WARPLOOM_NO_UNROLL
      for (int side = 0; suspicious && side < kSides; ++side) {
        const int line = line_of(place, side);
        if (line >= p_.lines) break;
        const int slot = line - place.tile * teams_.lines();
        device::atomic_min(&teams_.verdicts[parity_ * teams_.lines() + slot], inspect_side(from + line, rows, side));
      }
      previous_ = place;
      parity_ ^= 1;
      block_.sync_warp();  // in place, a lane's neighbour writes over what it has read here
      return;
    }
    const bool any = device::ballot(block_, suspicious) != 0;
    // One lane per side, if there are enough.
    WARPLOOM_UNROLL
    for (int turn = 0; turn < (kWhole ? 1 : kSides); ++turn) {
      const int side = kWhole ? lane_ : turn;
      const int line = line_of(place, side);
      if ((kWhole ? lane_ < kSides : lane_ == 0) && line < p_.lines) store_verdict(p_.batch, from + line, 0);
    }
    if (__builtin_expect(!any, 1)) return;
    WARPLOOM_NO_UNROLL
    for (int side = 0; side < kSides; ++side) {
      const int line = line_of(place, side);
      int verdict = line < p_.lines ? inspect_side(from + line, rows, side) : 0;
      for (int mask = 1; mask < width(); mask *= 2) {
        const int other = device::shuffle_xor(block_, verdict, mask);
        verdict = other < verdict ? other : verdict;
      }
      if (lane_ == 0 && line < p_.lines) store_verdict(p_.batch, from + line, verdict);
    }
    block_.sync_warp();  // in place, a lane's neighbour writes over what it has read here
  }
  /// Writes the words of the previous lines, of the other parity; call it after a barrier.
  WARPLOOM_DEVICE void tell() const {
    const int slot = block_.thread(), lines = teams_.lines(), line = previous_.tile * lines + slot;
    if (previous_.group < 0 || slot >= lines || line >= p_.lines) return;
    int& verdict = teams_.verdicts[(parity_ ^ 1) * lines + slot];
    store_verdict(p_.batch, int64_t{previous_.group} * p_.lines + line, verdict);
    verdict = 0;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
