// The swept rule in two dimensions: several time steps between two exchanges of neighbouring blocks, no cell computed twice.
//
// A tile of cells advances as far as its own cells allow, and shrinks by the reach at every level (stage of a step): a pyramid. What is
// missing above the edges between two tiles, a bridge, grows across the edge and shrinks along it. What is missing above the corners grows
// in both directions; at level kLevels it is a tile again, half a tile aside. It goes on as the next pyramid at once: an octahedron.
// The sides that others build on are kept in memory, level by level. All axes are periodic, and tiles have 2 * kLevels * reach cells.
//
// The scheme is printed (lib/stencil/compile/swept.ts) as for streaming.cuh.
#pragma once
#include "cuda/stencil/scheme.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class T, int kDepth, int kStages>
struct SweptParameters {
  const T* y;   ///< the state at the beginning
  T* o;         ///< the state at the end
  T* sides;     ///< of levels 1 to kLevels - 1: [level][member][component][cell]
  T* next;      ///< the same for the pyramids that begin where this round ends
  const T* c;   ///< coefficients, the same for all members
  const T* p;   ///< parameters: [member][parameter]
  int* status;  ///< the least number of a step that was bad
  T dt;
  T t[2 * kDepth * kStages];  ///< of every stage of this round and of the next one
  T h[kStages], g[kStages];
  int32_t n0, n1, members;
  int32_t step;              ///< the number of the first one
  int32_t shift;             ///< 1 if the tiles of this round lie half a tile aside; those of the next one then do not
  int32_t grows, continues;  ///< of PyramidAgent: whether a round ends, and whether one begins
};

template <class Scheme>
struct SweptTile {
  using T = typename Scheme::Real;
  static constexpr int kStages = Scheme::kStages, kDepth = Scheme::kDepth, kLevels = kStages * kDepth;
  using Parameters = SweptParameters<T, kDepth, kStages>;
  using Q = Scalars<T, Scheme::kParameters>;
  static constexpr int kFields = Scheme::kFields, kComponents = Scheme::kComponents;
  static constexpr int kRx = Scheme::kReachX, kRy = Scheme::kReachY, kX = 2 * kLevels * kRx, kY = 2 * kLevels * kRy;
  /// A tile with what its cells read.
  static constexpr int kTall = kX + 2 * kRx, kWide = kY + 2 * kRy, kPlane = kComponents * kTall * kWide;
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;

  /// Which cells a block computes at a level: along an axis more and more of them, or fewer and fewer.
  template <bool kGrowsX, bool kGrowsY>
  struct Piece {
    static constexpr bool kIsLast = kGrowsX && kGrowsY;  ///< nobody builds on it
    static constexpr WARPLOOM_DEVICE int low_x(int level) { return (kGrowsX ? kLevels - level : level) * kRx; }
    static constexpr WARPLOOM_DEVICE int low_y(int level) { return (kGrowsY ? kLevels - level : level) * kRy; }
    static WARPLOOM_DEVICE bool has(int level, int x, int y) {
      return x >= low_x(level) && x < kX - low_x(level) && y >= low_y(level) && y < kY - low_y(level);
    }
  };

  struct Here {
    const device::Block& block;
    const Parameters& p;
    Q& q;
    int member, x, y;  ///< the tile's first cell, which may be beyond the last one
    WARPLOOM_DEVICE int64_t cells() const { return static_cast<int64_t>(p.n0) * p.n1; }
    WARPLOOM_DEVICE int64_t cell(int i, int j) const { return static_cast<int64_t>(wrapped(x + i, p.n0)) * p.n1 + wrapped(y + j, p.n1); }
    WARPLOOM_DEVICE int64_t field(int f) const { return (static_cast<int64_t>(member) * kFields + f) * cells(); }
    /// Where a component of a level's sides begins.
    WARPLOOM_DEVICE int64_t side(int level, int component) const {
      return ((static_cast<int64_t>(level - 1) * p.members + member) * kComponents + component) * cells();
    }
  };

  static WARPLOOM_DEVICE T& at(T* plane, int component, int i, int j) {
    return plane[(component * kTall + i + kRx) * kWide + j + kRy];
  }

  struct Reader {
    T* plane;
    const Here& here;
    int i, j;
    template <int kComponent, int kDx, int kDy>
    WARPLOOM_DEVICE T get() const { return at(plane, kComponent, i + kDx, j + kDy); }
    template <int kNumber, int kDx, int kDy>
    WARPLOOM_DEVICE T coefficient() const { return here.p.c[kNumber * here.cells() + here.cell(i + kDx, j + kDy)]; }
  };

  /// The cells from low to high, divided among the threads.
  template <class Body>
  static WARPLOOM_DEVICE void each(const device::Block& block, int low_x, int high_x, int low_y, int high_y, const Body& body) {
    const int wide = high_y - low_y, count = (high_x - low_x) * wide;
    WARPLOOM_NO_UNROLL
    for (int k = block.thread(); k < count; k += block.threads()) body(low_x + k / wide, low_y + k % wide);
  }

  /// Brings what level + 1 reads and this piece has not computed: sides of others, or the state.
  template <class P>
  static WARPLOOM_DEVICE void fetch(const Here& here, int level, T* plane) {
    const int x = P::low_x(level + 1) - kRx, y = P::low_y(level + 1) - kRy;
    each(here.block, x, kX - x, y, kY - y, [&](int i, int j) {
      if (level > 0 && P::has(level, i, j)) return;
      const int64_t cell = here.cell(i, j);
      if (level == 0) {
        for (int f = 0; f < kFields; ++f) at(plane, f, i, j) = here.p.y[here.field(f) + cell];
      } else {
        for (int c = 0; c < kComponents; ++c) at(plane, c, i, j) = here.p.sides[here.side(level, c) + cell];
      }
    });
  }

  /// The cells of a level, from the plane of the level before it; the next levels of others read `sides`.
  template <class P, int kStage>
  static WARPLOOM_DEVICE void compute(const Here& here, int level, T* sides, T* from, T* to) {
    const int x = P::low_x(level), y = P::low_y(level);
    const int number = here.p.step + (sides == here.p.next ? kDepth : 0) + (Scheme::kChecksAll ? (level - 1) / kStages : 0);
    each(here.block, x, kX - x, y, kY - y, [&](int i, int j) {
      T out[kComponents] = {};
      const Reader reader{from, here, i, j};
      Scheme::template stage<kStage>(reader, here.q, Scheme::centre_x(wrapped(here.x + i, here.p.n0)),
                                     Scheme::centre_y(wrapped(here.y + j, here.p.n1)), out);
      for (int c = 0; c < kComponents; ++c) at(to, c, i, j) = out[c];
      T fields[kFields];
      for (int f = 0; f < kFields; ++f) fields[f] = out[f];
      if constexpr (kStage == kStages - 1) {
        if ((Scheme::kChecksAll || level == kLevels) && Scheme::check(fields, here.q) == 0) device::atomic_min(here.p.status, number);
      }
      if (level == kLevels) {
        for (int f = 0; f < kFields; ++f) here.p.o[here.field(f) + here.cell(i, j)] = fields[f];
      } else if (!P::kIsLast && (i < x + 2 * kRx || i >= kX - x - 2 * kRx || j < y + 2 * kRy || j >= kY - y - 2 * kRy)) {
        for (int c = 0; c < kComponents; ++c) sides[here.side(level, c) + here.cell(i, j)] = out[c];
      }
    });
  }

  /// The stages of a step from kStage on. Planes are exchanged at every level, so that one barrier is enough.
  template <class P, int kStage>
  static WARPLOOM_DEVICE void stages(const Here& here, int level, T* sides, T*& from, T*& to) {
    if constexpr (kStage < kStages) {
      here.q.t = here.p.t[level + kStage - 1 + (sides == here.p.next ? kLevels : 0)];
      here.q.h = here.p.h[kStage];
      here.q.g = here.p.g[kStage];
      compute<P, kStage>(here, level + kStage, sides, from, to);
      if (sides == here.p.sides && level + kStage < kLevels) fetch<P>(here, level + kStage, to);
      here.block.sync();
      T* const other = from;
      from = to;
      to = other;
      stages<P, kStage + 1>(here, level, sides, from, to);
    }
  }

  /// All levels of a piece. Its first plane is in shared memory, in `from`.
  template <class P>
  static WARPLOOM_DEVICE void climb(const Here& here, T* sides, T*& from, T*& to) {
    WARPLOOM_NO_UNROLL
    for (int level = 1; level <= kLevels; level += kStages) stages<P, 0>(here, level, sides, from, to);
  }

  /// `number` of a tile, with all members; x and y: what it is moved by.
  static WARPLOOM_DEVICE Here here_of(const device::Block& block, const Parameters& p, Q& q, int number, int x, int y) {
    const int across = p.n1 / kY, tiles = p.n0 / kX * across, member = number / tiles, tile = number - member * tiles;
    q.dt = p.dt;
    q.n0 = p.n0;
    q.n1 = p.n1;
    for (int i = 0; i < Scheme::kParameters; ++i) q.p[i] = p.p[static_cast<int64_t>(member) * Scheme::kParameters + i];
    return {block, p, q, member, tile / across * kX + x, tile % across * kY + y};
  }
};

/// Pyramids, what grows above the corners, or both as octahedra: a block for each.
template <class Scheme>
struct PyramidAgent : SweptTile<Scheme> {
  using Tile = SweptTile<Scheme>;
  using typename Tile::T, typename Tile::Parameters, typename Tile::Q;
  using Tile::kX, Tile::kY, Tile::kPlane;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    Q q;
    // What grows above the corners of a round, and the pyramids of the next one.
    const int aside = (p.shift + 1) & 1;
    const auto here = Tile::here_of(block, p, q, static_cast<int>(block.index()), aside * kX / 2, aside * kY / 2);
    T *from = block.shared<T>(), *to = from + kPlane;
    if (p.grows != 0) {
      using Growing = typename Tile::template Piece<true, true>;
      Tile::template fetch<Growing>(here, 0, from);
      block.sync();
      Tile::template climb<Growing>(here, p.sides, from, to);
    } else {
      Tile::template fetch<typename Tile::template Piece<false, false>>(here, 0, from);
      block.sync();
    }
    if (p.continues != 0) Tile::template climb<typename Tile::template Piece<false, false>>(here, p.next, from, to);
  }
};

/// Bridges: a block for each edge between two tiles, first those across x.
template <class Scheme>
struct BridgeAgent : SweptTile<Scheme> {
  using Tile = SweptTile<Scheme>;
  using typename Tile::T, typename Tile::Parameters, typename Tile::Q;
  using Tile::kX, Tile::kY, Tile::kPlane;

  template <bool kAcrossX>
  static WARPLOOM_DEVICE void bridge(const device::Block& block, const Parameters& p, int number) {
    using Piece = typename Tile::template Piece<kAcrossX, !kAcrossX>;
    Q q;
    const auto here = Tile::here_of(block, p, q, number, (p.shift + (kAcrossX ? 1 : 0)) * kX / 2, (p.shift + (kAcrossX ? 0 : 1)) * kY / 2);
    T *from = block.shared<T>(), *to = from + kPlane;
    Tile::template fetch<Piece>(here, 0, from);
    block.sync();
    Tile::template climb<Piece>(here, p.sides, from, to);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int half = static_cast<int>(block.count() / 2), number = static_cast<int>(block.index());
    if (number < half) bridge<true>(block, p, number);
    else bridge<false>(block, p, number - half);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
