// A step of imaging.segment on an image of one channel whose points are equally far apart. A warp marches down a strip
// of rows; its lanes hold four adjacent points of three rows in registers, and get neighbouring points by shuffles. The
// flux through each face is computed once. The first and the last lane only repeat points of the adjacent strips.
#pragma once
#include "cuda/imaging/segment_policy.h"
#include "cuda/imaging/segment_task.cuh"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

inline constexpr int kLanePoints = 4, kStripPoints = 30 * kLanePoints;

template <class R>
struct Four {
  R v[kLanePoints];
};

/// How a lane of a strip accesses memory.
template <class R>
struct StripColumn {
  int32_t x, nx, ny;
  bool whole;         ///< all four points are in the image, and 16-byte packs can be used
  unsigned int owned; ///< bits of the points that belong to the lane

  WARPLOOM_DEVICE StripColumn(const device::Block& block, const StepTask<R>& p, int32_t tile)
      : x(tile * kStripPoints + (block.lane() - 1) * kLanePoints), nx(static_cast<int32_t>(p.nx)), ny(static_cast<int32_t>(p.ny)),
        whole(p.wide != 0 && x >= 0 && x + kLanePoints <= nx), owned(0) {
    const int32_t left = nx - x;
    if (block.lane() > 0 && block.lane() < 31 && left > 0) owned = left < kLanePoints ? (1u << left) - 1 : (1u << kLanePoints) - 1;
  }

  static WARPLOOM_DEVICE int32_t held(int32_t i, int32_t count) { return i < 0 ? 0 : i >= count ? count - 1 : i; }
  WARPLOOM_DEVICE Four<R> load(const R* plane, int32_t y) const {
    const R* const row = plane + static_cast<int64_t>(held(y, ny)) * nx;
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
  WARPLOOM_DEVICE void store(R* plane, int32_t y, const Four<R>& four) const {
    if (owned == 0) return;
    R* const row = plane + static_cast<int64_t>(y) * nx;
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
        if (owns(k)) row[x + k] = four.v[k];
      }
    }
  }
  WARPLOOM_DEVICE bool owns(int k) const { return (owned >> k & 1u) != 0; }
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

/// The rows of a strip held in registers.
template <class R>
struct StripRows {
  using Face = operation::Face<R>;
  Four<R> before, here, next, spans;  ///< spans along x of `here`
  Face north[kLanePoints];

  WARPLOOM_DEVICE void faces_between(const Four<R>& upper, const Four<R>& lower, const Four<R>& upper_spans, const Four<R>& lower_spans,
                                     R eta16, Face (&faces)[kLanePoints]) const {
    WARPLOOM_UNROLL
    for (int k = 0; k < kLanePoints; ++k) {
      faces[k] = operation::face_of<R>(lower.v[k] - upper.v[k], upper_spans.v[k] + lower_spans.v[k], eta16, EvenAxes(), 1);
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
      faces[k] = operation::face_of<R>((last ? behind : here.v[other]) - here.v[k], (next.v[k] - before.v[k]) + span, eta16, EvenAxes(), 0);
    }
  }
};

/// The work of one warp: rows y0 … y1 - 1 of a strip.
template <class R>
class Strip {
 public:
  /// Loads the first rows.
  WARPLOOM_DEVICE Strip(const device::Block& block, const StepTask<R>& p, const R* from, int32_t tile, int32_t y0)
      : column_(block, p, tile), from_(from), y0_(y0),
        y1_(y0 + p.rows < p.ny ? y0 + static_cast<int32_t>(p.rows) : static_cast<int32_t>(p.ny)) {
    pixels_ = column_.load(p.image, y0);
    device::follow_previous_launch();
    rows_.before = column_.load(from, y0 - 1);
    rows_.here = column_.load(from, y0);
    rows_.next = column_.load(from, y0 + 1);
  }

  WARPLOOM_DEVICE void run(const device::Block& block, const StepTask<R>& p, R* to, const Centres<R>& centres, Gathered& gathered) {
    const R eta16 = p.flow.eta16;
    rows_.spans = spans_along(block, rows_.here);
    rows_.faces_between(rows_.before, rows_.here, spans_along(block, rows_.before), rows_.spans, eta16, rows_.north);
    WARPLOOM_NO_UNROLL
    for (int32_t y = y0_; y < y1_; ++y) {
      const Four<R> coming = column_.load(from_, y + 2), coming_pixels = column_.load(p.image, y + 1);
      Face east[kLanePoints], south[kLanePoints];
      rows_.faces_along(block, eta16, east);
      const Four<R> next_spans = spans_along(block, rows_.next);
      rows_.faces_between(rows_.here, rows_.next, rows_.spans, next_spans, eta16, south);
      column_.store(to, y, updated(block, p, east, south, centres, gathered));
      rows_.before = rows_.here;
      rows_.here = rows_.next;
      rows_.next = coming;
      rows_.spans = next_spans;
      pixels_ = coming_pixels;
      WARPLOOM_UNROLL
      for (int k = 0; k < kLanePoints; ++k) rows_.north[k] = south[k];
    }
  }

 private:
  using Face = operation::Face<R>;

  WARPLOOM_DEVICE Four<R> updated(const device::Block& block, const StepTask<R>& p, const Face (&east)[kLanePoints],
                                  const Face (&south)[kLanePoints], const Centres<R>& centres, Gathered& gathered) const {
    Face west;
    west.flux = device::shuffle_up(block, east[kLanePoints - 1].flux, 1);
    west.weight = device::shuffle_up(block, east[kLanePoints - 1].weight, 1);
    west.square = R(0);
    Four<R> result;
    WARPLOOM_UNROLL
    for (int k = 0; k < kLanePoints; ++k) {
      const auto bend = operation::bend_of<R>(east[k], k > 0 ? east[k > 0 ? k - 1 : 0] : west, south[k], rows_.north[k], EvenAxes());
      const R force = operation::force_of<R>(p.flow, pixels_.v[k], centres.inside, centres.outside);
      const R change = operation::increment<R>(p.flow, rows_.here.v[k], bend.curvature, bend.weights, force);
      result.v[k] = rows_.here.v[k] + change;
      gathered.add(p.scales, change, operation::value_of(p.flow, pixels_.v[k]), column_.owns(k),
                   operation::has_data(p.flow, pixels_.v[k]) && result.v[k] > R(0));
    }
    return result;
  }

  StripColumn<R> column_;
  StripRows<R> rows_;
  Four<R> pixels_;
  const R* from_;
  int32_t y0_, y1_;
};

/// kEarly: the next launch begins before the sums are delivered.
template <class R, bool kEarly = false>
struct SegmentMarchAgent {
  static constexpr int kMaxThreads = 32 * ::warploom::imaging::segment_policy::kStripWarps;
  static constexpr bool kOverlapped = true;
  static constexpr int kMinBlocks = sizeof(R) == 4 ? 4 : 3;
  using Parameters = StepTask<R>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const uint32_t warps = static_cast<uint32_t>(block.threads() / 32);
    const uint32_t strip = static_cast<uint32_t>(block.index()) * warps + static_cast<uint32_t>(block.warp());
    const uint32_t tiles = static_cast<uint32_t>(p.tiles), level = strip / tiles;
    const int32_t y0 = static_cast<int32_t>(level * static_cast<uint32_t>(p.rows));
    // The rows load while the means do; a strip below the image loads the image's last rows.
    Strip<R> rows(block, p, p.from, static_cast<int32_t>(strip - level * tiles), y0);
    Head head;
    if (!begin_step(block, p.tally, &head) || y0 >= p.ny) return;
    Gathered gathered;
    rows.run(block, p, p.to, centres_of(p, head), gathered);
    if constexpr (kEarly) device::let_next_launch_begin();
    gathered.deliver(block, p.tally.slot(p.tally.own), strip);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging::segmentation
