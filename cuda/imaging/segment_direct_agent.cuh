// A step of imaging.segment with one thread per point, which reads all neighbours: images, volumes, any number of
// channels.
#pragma once
#include "cuda/imaging/segment_task.cuh"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

/// phi near a point; outside the grid the nearest point repeats.
template <class R>
struct Around {
  const R* centre;
  int64_t west, east, north, south, above, below;

  WARPLOOM_DEVICE Around(const R* phi, int64_t x, int64_t y, int64_t z, int64_t nx, int64_t ny, int64_t nz)
      : centre(phi + (z * ny + y) * nx + x), west(x > 0 ? -1 : 0), east(x + 1 < nx ? 1 : 0), north(y > 0 ? -nx : 0),
        south(y + 1 < ny ? nx : 0), above(z > 0 ? -nx * ny : 0), below(z + 1 < nz ? nx * ny : 0) {}
  WARPLOOM_DEVICE R operator()(int dx, int dy, int dz) const {
    return centre[(dx < 0 ? west : dx > 0 ? east : 0) + (dy < 0 ? north : dy > 0 ? south : 0) + (dz < 0 ? above : dz > 0 ? below : 0)];
  }
};

/// The point of a thread: blocks of 32 x 8 points of a plane, in order.
struct PointPlace {
  static constexpr int kWide = 32, kHigh = 8;
  int32_t x, y, z;
  bool idle;

  static WARPLOOM_HOST_DEVICE int64_t blocks(int64_t nx, int64_t ny, int64_t nz) {
    return (nx + kWide - 1) / kWide * ((ny + kHigh - 1) / kHigh) * nz;
  }
  WARPLOOM_DEVICE PointPlace(const device::Block& block, int64_t index, int64_t nx, int64_t ny) {
    const uint32_t at = static_cast<uint32_t>(index), columns = static_cast<uint32_t>((nx + kWide - 1) / kWide);
    const uint32_t rows = static_cast<uint32_t>((ny + kHigh - 1) / kHigh), rest = at / columns, plane = rest / rows;
    x = static_cast<int32_t>(at - rest * columns) * kWide + block.lane();
    y = static_cast<int32_t>(rest - plane * rows) * kHigh + block.warp();
    z = static_cast<int32_t>(plane);
    idle = x >= nx || y >= ny;
  }
};

template <class R, int kDimensions, class Axes>
WARPLOOM_DEVICE operation::Bend<R> bend_at(const Around<R>& around, R eta16, const Axes& axes) {
  if constexpr (kDimensions == 2) return operation::bend_in_plane<R>(around, eta16, axes);
  else return operation::bend_in_space<R>(around, eta16, axes);
}

/// kEven: points are equally far apart along all axes.
template <class R, int kDimensions, bool kEven>
struct SegmentDirectAgent {
  static constexpr int kMaxThreads = PointPlace::kWide * PointPlace::kHigh;
  static constexpr bool kOverlapped = true;
  static constexpr int kMinBlocks = 3;
  using Parameters = StepTask<R>;
  static size_t shared_bytes(int64_t channels) {
    return kTallyBytes + static_cast<size_t>(channels > 1 ? channels : 0) * sizeof(Centres<R>);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    const PointPlace place(block, block.index(), p.nx, p.ny);
    const int64_t at = (static_cast<int64_t>(place.z) * p.ny + place.y) * p.nx + place.x;
    operation::Bend<R> bend = {R(0), R(0), R(0)};
    R phi = R(0), pixel = R(0);
    if (!place.idle) {  // before the means arrive, which takes as long as all this
      const Around<R> around(p.from, place.x, place.y, place.z, p.nx, p.ny, p.nz);
      if constexpr (kEven) bend = bend_at<R, kDimensions>(around, p.flow.eta16, EvenAxes());
      else bend = bend_at<R, kDimensions>(around, p.flow.eta16, p.flow.axes);
      phi = p.from[at];
      pixel = p.image[at];
    }
    Head head;
    if (!begin_step(block, p.tally, &head)) return;
    Centres<R>* const centres = block.shared<Centres<R>>(kTallyBytes);
    if (p.channels > 1) {
      find_centres(block, p, head, centres);
      block.sync();
    }
    Gathered gathered;
    if (!place.idle) {
      bool data = operation::has_data(p.flow, pixel);
      const Centres<R> only = p.channels > 1 ? Centres<R>() : centres_of(p, head);
      const R force = p.channels > 1 ? force_of_channels(p, at, centres, &data)
                                     : operation::force_of(p.flow, pixel, only.inside, only.outside);
      const R change = operation::increment(p.flow, phi, bend.curvature, bend.weights, force);
      const R level = phi + change;
      p.to[at] = level;
      gathered.add(p.scales, change, p.channels > 1 ? R(0) : operation::value_of(p.flow, pixel), true, data && level > R(0));
    }
    deliver_together<kWarps>(block, gathered, p.tally.slot(p.tally.own), block.shared<int64_t>());
  }

 private:
  static constexpr int kWarps = kMaxThreads / 32;
  static constexpr size_t kTallyBytes = 3 * kWarps * sizeof(int64_t);

  static WARPLOOM_DEVICE void find_centres(const device::Block& block, const Parameters& p, const Head& head, Centres<R>* centres) {
    const int64_t* const sums = p.tally.slot(p.tally.before) + operation::kHeads * operation::kHeadWords;
    for (int64_t c = block.thread(); c < p.channels; c += block.threads()) {
      const operation::Means means =
          operation::means_of(head.word[operation::kInside], sums[c], p.tally.totals[0], p.tally.totals[1 + c], p.tally.unit);
      centres[c] = {static_cast<R>(means.inside), static_cast<R>(means.outside)};
    }
  }
  static WARPLOOM_DEVICE R force_of_channels(const Parameters& p, int64_t at, const Centres<R>* centres, bool* data) {
    R sum = R(0);
    for (int64_t c = 0; c < p.channels; ++c) {
      const R pixel = p.image[c * p.points + at];
      const R weight = p.weights[c];
      *data = *data && operation::has_data(p.flow, pixel);
      sum = sum + operation::misfit_of(operation::value_of(p.flow, pixel), centres[c].inside, centres[c].outside,
                                       p.flow.lambda1 * weight, p.flow.lambda2 * weight);
    }
    return p.flow.nu + (*data ? sum : R(0));
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging::segmentation
