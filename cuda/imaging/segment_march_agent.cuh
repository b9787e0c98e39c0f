// A step of imaging.segment on an image of one channel: a warp marches down a strip of rows, its lanes hold four adjacent points of
// three rows in registers and get their neighbours' by shuffles. The flux through each face is computed once. The first and the last
// lane only repeat what the strips beside have.
#pragma once
#include "cuda/imaging/segment_task.cuh"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

inline constexpr int kLanePoints = 4, kStripPoints = 30 * kLanePoints;

template <class R>
struct Four {
  R v[kLanePoints];
};

/// Memory as a lane of a strip sees it.
template <class R>
struct StripColumn {
  int64_t x, nx, ny;
  bool whole;  ///< all four points lie in the image, and packs of 16 bytes may be used

  WARPLOOM_DEVICE StripColumn(const device::Block& block, const StepTask<R>& p, int64_t tile)
      : x(tile * kStripPoints + (block.lane() - 1) * kLanePoints), nx(p.nx), ny(p.ny),
        whole(p.wide != 0 && x >= 0 && x + kLanePoints <= nx) {}

  static WARPLOOM_DEVICE int64_t held(int64_t i, int64_t count) { return i < 0 ? 0 : i >= count ? count - 1 : i; }
  WARPLOOM_DEVICE Four<R> load(const R* plane, int64_t y) const {
    const R* const row = plane + held(y, ny) * nx;
    Four<R> four;
    if (whole) {
      using Pack = device::Pack<R>;
      const Pack* const packs = reinterpret_cast<const Pack*>(row + x);
      WARPLOOM_UNROLL
      for (int q = 0; q < kLanePoints / Pack::kCount; ++q) {
        const Pack pack = packs[q];
        WARPLOOM_UNROLL
        for (int k = 0; k < Pack::kCount; ++k) four.v[q * Pack::kCount + k] = pack.item[k];
      }
    } else {
      WARPLOOM_UNROLL
      for (int k = 0; k < kLanePoints; ++k) four.v[k] = row[held(x + k, nx)];
    }
    return four;
  }
  WARPLOOM_DEVICE void store(R* plane, int64_t y, const Four<R>& four) const {
    R* const row = plane + y * nx;
    if (whole) {
      using Pack = device::Pack<R>;
      Pack* const packs = reinterpret_cast<Pack*>(row + x);
      WARPLOOM_UNROLL
      for (int q = 0; q < kLanePoints / Pack::kCount; ++q) {
        Pack pack;
        WARPLOOM_UNROLL
        for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = four.v[q * Pack::kCount + k];
        packs[q] = pack;
      }
    } else {
      WARPLOOM_UNROLL
      for (int k = 0; k < kLanePoints; ++k) {
        if (x + k < nx) row[x + k] = four.v[k];
      }
    }
  }
  WARPLOOM_DEVICE bool owns(const device::Block& block, int k) const {
    return block.lane() > 0 && block.lane() < 31 && x + k < nx;
  }
};

/// Spans along x of a row.
template <class R>
WARPLOOM_DEVICE Four<R> spans_along(const device::Block& block, const Four<R>& row) {
  const R before = device::shuffle_up(block, row.v[kLanePoints - 1], 1), behind = device::shuffle_down(block, row.v[0], 1);
  Four<R> spans;
  WARPLOOM_UNROLL
  for (int k = 0; k < kLanePoints; ++k) {
    spans.v[k] = (k + 1 < kLanePoints ? row.v[k + 1] : behind) - (k > 0 ? row.v[k - 1] : before);
  }
  return spans;
}

/// The rows of a strip that are in registers.
template <class R>
struct StripRows {
  using Face = operation::Face<R>;
  Four<R> before, here, next, spans;  ///< spans along x of `here`
  Face north[kLanePoints];

  WARPLOOM_DEVICE void faces_between(const Four<R>& upper, const Four<R>& lower, const Four<R>& upper_spans, const Four<R>& lower_spans,
                                     R eta16, Face (&faces)[kLanePoints]) const {
    WARPLOOM_UNROLL
    for (int k = 0; k < kLanePoints; ++k) {
      faces[k] = operation::face_of<R>(lower.v[k] - upper.v[k], upper_spans.v[k] + lower_spans.v[k], eta16);
    }
  }
  /// Faces towards the next point of the row.
  WARPLOOM_DEVICE void faces_along(const device::Block& block, R eta16, Face (&faces)[kLanePoints]) const {
    const R behind = device::shuffle_down(block, here.v[0], 1), span_behind = device::shuffle_down(block, next.v[0] - before.v[0], 1);
    WARPLOOM_UNROLL
    for (int k = 0; k < kLanePoints; ++k) {
      const bool last = k + 1 == kLanePoints;
      const int other = last ? k : k + 1;
      const R span = last ? span_behind : next.v[other] - before.v[other];
      faces[k] = operation::face_of<R>((last ? behind : here.v[other]) - here.v[k], (next.v[k] - before.v[k]) + span, eta16);
    }
  }
};

/// One warp's work: rows y0 … y1 - 1 of a strip.
template <class R>
WARPLOOM_DEVICE void march_strip(const device::Block& block, const StepTask<R>& p, const R* from, R* to, int64_t tile, int64_t y0,
                                 int64_t y1, const Centres<R>& centres, Gathered& gathered) {
  using Face = operation::Face<R>;
  const StripColumn<R> column(block, p, tile);
  const R eta16 = p.flow.eta16;
  StripRows<R> rows;
  rows.before = column.load(from, y0 - 1);
  rows.here = column.load(from, y0);
  rows.next = column.load(from, y0 + 1);
  Four<R> pixels = column.load(p.image, y0);
  rows.spans = spans_along(block, rows.here);
  rows.faces_between(rows.before, rows.here, spans_along(block, rows.before), rows.spans, eta16, rows.north);
  WARPLOOM_NO_UNROLL
  for (int64_t y = y0; y < y1; ++y) {
    const Four<R> coming = column.load(from, y + 2), coming_pixels = column.load(p.image, y + 1);
    Face east[kLanePoints], south[kLanePoints];
    rows.faces_along(block, eta16, east);
    const Four<R> next_spans = spans_along(block, rows.next);
    rows.faces_between(rows.here, rows.next, rows.spans, next_spans, eta16, south);
    Face west;
    west.flux = device::shuffle_up(block, east[kLanePoints - 1].flux, 1);
    west.weight = device::shuffle_up(block, east[kLanePoints - 1].weight, 1);
    west.square = R(0);
    Four<R> result;
    WARPLOOM_UNROLL
    for (int k = 0; k < kLanePoints; ++k) {
      const auto bend = operation::bend_of<R>(east[k], k > 0 ? east[k > 0 ? k - 1 : 0] : west, south[k], rows.north[k]);
      const R force = operation::force_of<R>(p.flow, pixels.v[k], centres.inside, centres.outside);
      const R change = operation::increment<R>(p.flow, rows.here.v[k], bend.curvature, bend.weights, force);
      result.v[k] = rows.here.v[k] + change;
      if (column.owns(block, k)) {
        gathered.add(p.scales, change, operation::value_of(p.flow, pixels.v[k]),
                     operation::has_data(p.flow, pixels.v[k]) && result.v[k] > R(0));
      }
    }
    if (column.owns(block, 0)) column.store(to, y, result);
    rows.before = rows.here;
    rows.here = rows.next;
    rows.next = coming;
    rows.spans = next_spans;
    pixels = coming_pixels;
    WARPLOOM_UNROLL
    for (int k = 0; k < kLanePoints; ++k) rows.north[k] = south[k];
  }
}

template <class R>
struct SegmentMarchAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = sizeof(R) == 4 ? 5 : 3;
  using Parameters = StepTask<R>;
  static size_t shared_bytes() { return 3 * kMaxThreads / 32 * sizeof(int64_t); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    Head head;
    if (!begin_step(block, p.tally, &head)) return;
    Gathered gathered;
    const int64_t strip = block.index() * (block.threads() / 32) + block.warp();
    const int64_t tile = strip % p.tiles, y0 = strip / p.tiles * p.rows;
    if (y0 < p.ny) {
      march_strip(block, p, p.from, p.to, tile, y0, y0 + p.rows < p.ny ? y0 + p.rows : p.ny, centres_of(p, head), gathered);
    }
    gathered.deliver(block, p.tally.slot(p.tally.own), block.shared<int64_t>());
  }
};

/// Several steps in one launch; the grid is one of co-resident blocks, each with as many strips as come to it.
template <class R>
struct SegmentPersistentAgent {
  static constexpr int kMaxThreads = SegmentMarchAgent<R>::kMaxThreads;
  static constexpr int kMinBlocks = SegmentMarchAgent<R>::kMinBlocks;
  using Parameters = StepTask<R>;
  static size_t shared_bytes() { return SegmentMarchAgent<R>::shared_bytes(); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    Tally tally = p.tally;
    const R* from = p.from;
    R* to = p.to;
    R* other = p.spare;
    const int64_t warps = block.threads() / 32, strips = p.tiles * ((p.ny + p.rows - 1) / p.rows);
    for (int32_t step = 0; step < p.steps; ++step) {
      Head head;
      if (begin_step(block, tally, &head)) {
        Gathered gathered;
        for (int64_t strip = block.index() * warps + block.warp(); strip < strips; strip += block.count() * warps) {
          const int64_t y0 = strip / p.tiles * p.rows;
          march_strip(block, p, from, to, strip % p.tiles, y0, y0 + p.rows < p.ny ? y0 + p.rows : p.ny, centres_of(p, head), gathered);
        }
        gathered.deliver(block, tally.slot(tally.own), block.shared<int64_t>());
      }
      block.sync_grid(p.barrier);
      from = to;
      to = other;
      other = const_cast<R*>(from);
      tally.before = tally.own;
      tally.own = tally.next;
      tally.next = (tally.next + 1) % kSlots;
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging::segmentation
