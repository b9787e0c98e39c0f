// One block's tile of `tiled`: overlapping tiles on two levels. Warps keep their places in registers, and take as many
// steps as the lanes they share with their neighbours allow; then they exchange these lanes through shared memory.
// Tiles do the same with their margins: once per launch through the state in memory, or continuously by messages
// between resident blocks.
#pragma once
#include <type_traits>

#include "cuda/swept/lane.cuh"
#include "cuda/swept/tile_messages.cuh"
#include "cuda/swept/tile_shape.h"

namespace warploom::WARPLOOM_TARGET::swept {

using operation::TileMode;

template <class Equation>
struct TiledParameters {
  Equation equation;
  Domain domain;
  const typename Equation::Real* from;
  typename Equation::Real* to;
  /// Tiles per problem; the first `longer` of them own one place more than the others.
  int tiles;
  int own, longer;
  int margin, depth;
  int steps;
  TileMode mode;
  unsigned int first_tag;   ///< for this launch's messages
  device::Message* boxes;
};

template <class Equation, class Shape>
class Tile {
 public:
  using Real = typename Equation::Real;
  using Value = typename Equation::Value;
  using Parameters = TiledParameters<Equation>;
  static constexpr int kComponents = Equation::kComponents, kPoints = Shape::kPoints, kLanes = Shape::kHaloLanes;
  static constexpr int kSteps = Shape::kHalo / (Equation::kReach * Equation::kSubsteps);  ///< between two exchanges of warps
  static_assert(kSteps >= 1, "a step uses up more than the warps share");
  static constexpr int kUnroll = Shape::kUnroll;
  static constexpr bool kMayHaveEnds = Equation::kHeldEnds;
  static constexpr bool kMayFollow = Equation::kFollowedEnds;

  // Shared memory: both margins of each warp; lanes exchanged by the warps, twice; one stage per warp; in `single` mode
  // the problem, twice.
  static constexpr int kHaloReals = Shape::kWarps * 2 * kComponents * Shape::kHalo;
  static constexpr int kLaneReals = kPoints | 1;  ///< odd, so that lanes reading their places have no bank conflicts
  static constexpr int kStageReals = kComponents * 32 * kLaneReals;
  static constexpr size_t kMarginBytes = Shape::kWarps * 2 * sizeof(MarginSource);
  static constexpr int kFixedReals = 2 * kHaloReals + Shape::kWarps * kStageReals;
  static constexpr size_t shared_bytes(TileMode mode, int64_t n) {
    return kMarginBytes + sizeof(Real) * static_cast<size_t>(kFixedReals + (mode == TileMode::single ? 2 * kComponents * n : 0));
  }

  WARPLOOM_DEVICE Tile(const device::Block& block, const Parameters& parameters) : block_(block), p_(parameters) {
    const unsigned int index = static_cast<unsigned int>(block.index()), tiles = static_cast<unsigned int>(p_.tiles);
    const unsigned int problem = index / tiles;
    place_.tile = static_cast<int>(index - problem * tiles);
    place_.tiles = p_.tiles;
    place_.first_tile = static_cast<int>(index) - place_.tile;
    place_.margin = p_.margin;
    place_.own = p_.own + (place_.tile < p_.longer ? 1 : 0);
    begin_ = static_cast<int64_t>(place_.tile) * p_.own + (place_.tile < p_.longer ? place_.tile : p_.longer);
    offset_ = static_cast<int64_t>(problem) * kComponents * p_.domain.n;
    warp_first_ = block.warp() * Shape::kStride;
    reals_ = block.template shared<Real>(kMarginBytes);
    find_neighbours();
  }

  WARPLOOM_DEVICE void march() {
    load();
    if (kMayHaveEnds) find_ends();
    int left = p_.steps, taken = 0;
    unsigned int round = 0;
    while (true) {
      int count = p_.depth - taken < kSteps ? p_.depth - taken : kSteps;
      if (left < count) count = left;
      take(count);
      left -= count;
      taken += count;
      if (left == 0) break;
      const bool used_up = taken == p_.depth;
      if (used_up) publish(round);
      exchange();
      if (used_up) {
        renew(round);
        ++round;
        taken = 0;
      }
      if (kMayFollow && has_ends_) follow_ends(block_, u_, ends_);
    }
    store();
  }

 private:
  /// Converts place i of the warp to a place in the tile, and in the domain.
  WARPLOOM_DEVICE int in_tile(int i) const { return warp_first_ + i; }
  WARPLOOM_DEVICE int64_t in_domain(int i) const { return begin_ - place_.margin + warp_first_ + i; }
  /// Lanes whose places only this warp stores and sends.
  WARPLOOM_DEVICE bool owns(int lane) const {
    return (lane >= kLanes || block_.warp() == 0) && (lane < 32 - kLanes || block_.warp() == Shape::kWarps - 1);
  }
  WARPLOOM_DEVICE Real* stage(int component, int i) const {
    Real* const begin = reals_ + 2 * kHaloReals + block_.warp() * kStageReals;
    return begin + component * 32 * kLaneReals + i + (kLaneReals - kPoints) * (i / kPoints);
  }
  /// Left and right margin of this warp.
  WARPLOOM_DEVICE MarginSource* margins() const { return block_.template shared<MarginSource>() + block_.warp() * 2; }
  WARPLOOM_DEVICE void unstage(int j) {
    WARPLOOM_UNROLL
    for (int k = 0; k < kComponents; ++k) u_[j].item[k] = *stage(k, block_.lane() * kPoints + j);
  }

  /// Memory is read in the order of places; then every lane takes its own places from the stage.
  WARPLOOM_DEVICE void load() {
    if (block_.lane() < 2) {
      margins()[block_.lane()] = place_.margin_source(p_.domain, block_.lane(), warp_first_, Shape::kWarpPlaces);
    }
    const Real* const problem = p_.from + offset_;
    const bool inside = in_domain(0) >= 0 && in_domain(Shape::kWarpPlaces) <= p_.domain.n;
    if (inside) {
      WARPLOOM_UNROLL
      for (int r = 0; r < kPoints; ++r) {
        const int i = r * 32 + block_.lane();
        WARPLOOM_UNROLL
        for (int k = 0; k < kComponents; ++k) *stage(k, i) = problem[k * p_.domain.n + in_domain(i)];
      }
    } else {
      WARPLOOM_NO_UNROLL
      for (int i = block_.lane(); i < Shape::kWarpPlaces; i += 32) put(i, value_at(p_.equation, p_.domain, problem, in_domain(i)));
    }
    block_.sync_warp();
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) unstage(j);
  }
  WARPLOOM_DEVICE void put(int i, const Value& value) const {
    WARPLOOM_UNROLL
    for (int k = 0; k < kComponents; ++k) *stage(k, i) = value.item[k];
  }

  WARPLOOM_DEVICE void store() const {
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) put(block_.lane() * kPoints + j, u_[j]);
    block_.sync_warp();
    Real* const problem = p_.to + offset_;
    WARPLOOM_UNROLL
    for (int r = 0; r < kPoints; ++r) {
      const int i = r * 32 + block_.lane();
      if (!owns(i / kPoints) || !place_.owns(in_tile(i))) continue;
      WARPLOOM_UNROLL
      for (int k = 0; k < kComponents; ++k) problem[k * p_.domain.n + in_domain(i)] = *stage(k, i);
    }
  }

  WARPLOOM_DEVICE void find_ends() {
    has_ends_ = !p_.domain.only_images() && (in_domain(0) <= 0 || in_domain(Shape::kWarpPlaces) >= p_.domain.n);
    if (!has_ends_) return;
    WARPLOOM_NO_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      const int64_t place = in_domain(block_.lane() * kPoints + j);
      const Source source = p_.domain.source(place);
      ends_.frozen |= static_cast<uint64_t>(source.frozen) << j;
      if (!kMayFollow) continue;
      ends_.follow_left |= static_cast<unsigned int>(source.follows && place < 0) << j;
      ends_.follow_right |= static_cast<unsigned int>(source.follows && place >= 0) << j;
    }
    if (!kMayFollow) return;
    // A cell beyond a mirror has an image at the other end, and places beyond that follow the image.
    const int64_t n = p_.domain.n;
    lead(p_.domain.left == Boundary::outflow ? 0 : -n, &ends_.follow_left, &ends_.left_lane, &ends_.left_point);
    lead(p_.domain.right == Boundary::outflow ? n - 1 : 2 * n - 1, &ends_.follow_right, &ends_.right_lane, &ends_.right_point);
  }
  /// Where in the warp the cell at `place` is. If it is elsewhere, nothing here that follows it is ever used.
  WARPLOOM_DEVICE void lead(int64_t place, unsigned int* follow, int* lane, int* point) const {
    const int64_t i = place - in_domain(0);
    if (i < 0 || i >= Shape::kWarpPlaces) {
      *follow = 0;
    } else {
      *lane = static_cast<int>(i) / kPoints;
      *point = static_cast<int>(i) % kPoints;
    }
  }

  WARPLOOM_DEVICE void take(int count) {
    using Step = Stepper<Equation, kPoints>;
    if (kMayHaveEnds && has_ends_) {
      WARPLOOM_NO_UNROLL
      for (int i = 0; i < count; ++i) Step::template step<kMayHaveEnds>(block_, p_.equation, u_, ends_);
    } else {
      int i = 0;
      WARPLOOM_NO_UNROLL
      for (; kUnroll > 1 && i + kUnroll <= count; i += kUnroll) {
        WARPLOOM_UNROLL
        for (int k = 0; k < kUnroll; ++k) Step::template step<false>(block_, p_.equation, u_, ends_);
      }
      WARPLOOM_NO_UNROLL
      for (; i < count; ++i) Step::template step<false>(block_, p_.equation, u_, ends_);
    }
  }

  /// Finds which places this lane gives to a neighbouring warp (next to those it keeps), and where it gets its own
  /// (before them).
  WARPLOOM_DEVICE void find_neighbours() {
    const int lane = block_.lane(), warp = block_.warp(), from_right = lane - (32 - 2 * kLanes);
    if (lane >= kLanes && lane < 2 * kLanes) give_ = halo(warp, 0) + (lane - kLanes) * kPoints;
    if (from_right >= 0 && from_right < kLanes) give_ = halo(warp, 1) + from_right * kPoints;
    if (lane < kLanes && warp > 0) get_ = halo(warp - 1, 1) + lane * kPoints;
    if (from_right >= kLanes && warp < Shape::kWarps - 1) get_ = halo(warp + 1, 0) + (from_right - kLanes) * kPoints;
  }
  /// First component of what warp `warp` passes to its left (side 0) or right neighbour.
  WARPLOOM_DEVICE int halo(int warp, int side) const { return (warp * 2 + side) * kComponents * Shape::kHalo; }

  /// The part of a lane's places that is moved at once.
  struct One {
    static constexpr int kCount = 1;
    Real item[1];
  };
  using Lane = std::conditional_t<kPoints % device::Pack<Real>::kCount == 0, device::Pack<Real>, One>;
  WARPLOOM_DEVICE void exchange() {
    Real* const half = reals_ + (exchanges_ & 1) * kHaloReals;
    if (give_ >= 0) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kComponents; ++k) {
        Lane* const to = reinterpret_cast<Lane*>(half + give_ + k * Shape::kHalo);
        WARPLOOM_UNROLL
        for (int j = 0; j < kPoints; j += Lane::kCount) {
          Lane part;
          WARPLOOM_UNROLL
          for (int i = 0; i < Lane::kCount; ++i) part.item[i] = u_[j + i].item[k];
          to[j / Lane::kCount] = part;
        }
      }
    }
    block_.sync();
    if (get_ >= 0) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kComponents; ++k) {
        const Lane* const from = reinterpret_cast<const Lane*>(half + get_ + k * Shape::kHalo);
        WARPLOOM_UNROLL
        for (int j = 0; j < kPoints; j += Lane::kCount) {
          const Lane part = from[j / Lane::kCount];
          WARPLOOM_UNROLL
          for (int i = 0; i < Lane::kCount; ++i) u_[j + i].item[k] = part.item[i];
        }
      }
    }
    ++exchanges_;
  }

  /// Before the barrier of an exchange: publishes the values from which margins are renewed.
  WARPLOOM_DEVICE void publish(unsigned int round) const {
    if (p_.mode == TileMode::resident) {
      if (!owns(block_.lane())) return;
      const MessageBox<Value> box(block_, p_.boxes, p_.margin, p_.first_tag + round);
      const int left = in_tile(block_.lane() * kPoints) - p_.margin, right = left - place_.own + box.edge();
      post(box, 0, left);
      post(box, 1, right);
    } else if (owns(block_.lane())) {
      WARPLOOM_UNROLL
      for (int j = 0; j < kPoints; ++j) {
        const int i = in_tile(block_.lane() * kPoints + j);
        if (!place_.owns(i)) continue;
        WARPLOOM_UNROLL
        for (int k = 0; k < kComponents; ++k) problem(round, k)[i - p_.margin] = u_[j].item[k];
      }
    }
  }
  /// Posts the lane's places that are in an edge; `first` is the lane's first place, counted in that edge.
  WARPLOOM_DEVICE void post(const MessageBox<Value>& box, int side, int first) const {
    if (first <= -kPoints || first >= box.edge()) return;
    device::Message* const to = box.at(block_, side, first);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      if (first + j >= 0 && first + j < box.edge()) box.post(block_, to + j * box.kUnits, u_[j]);
    }
  }
  WARPLOOM_DEVICE Real* problem(unsigned int round, int component) const {
    return reals_ + kFixedReals + ((round & 1u) * kComponents + component) * p_.domain.n;
  }

  /// After the barrier of an exchange: renews the margins through the stage.
  WARPLOOM_DEVICE void renew(unsigned int round) {
    const MarginSource left = margins()[0], right = margins()[1];
    if (left.begin >= left.end && right.begin >= right.end) return;
    if (p_.mode == TileMode::resident) {
      const MessageBox<Value> box(block_, p_.boxes, p_.margin, p_.first_tag + round);
      if constexpr (kDirect) {
        receive(box, left, right);
        return;
      } else {
        WARPLOOM_NO_UNROLL
        for (int side = 0; side < 2; ++side) {
          const MarginSource from = margins()[side];
          box.receive(block_, from, [&](int i, const Value& value) { put(i, from.slope < 0 ? p_.equation.mirrored(value) : value); });
        }
      }
    } else {
      renew_from_problem(round, left.begin, left.end);
      renew_from_problem(round, right.begin, right.end);
    }
    block_.sync_warp();
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      const int i = block_.lane() * kPoints + j;
      if ((i >= left.begin && i < left.end) || (i >= right.begin && i < right.end)) unstage(j);
    }
  }
  /// Every lane waits for its own places, which is faster if they are few.
  static constexpr bool kDirect = kPoints * MessageBox<Value>::kUnits <= 8;
  WARPLOOM_DEVICE void receive(const MessageBox<Value>& box, const MarginSource& left, const MarginSource& right) {
    constexpr int kUnits = MessageBox<Value>::kUnits;
    const int first = block_.lane() * kPoints;
    device::Message messages[kPoints * kUnits];
    device::receive_at_once(block_, box.tag(), [&](int m) {
      const int i = first + m / kUnits;  // for places in no margin: the nearest place of one
      const bool to_left = i < left.end || right.begin >= right.end;
      const int begin = to_left ? left.begin : right.begin, last = (to_left ? left.end : right.end) - 1;
      const int at_least = i < begin ? begin : i, bounded = at_least < last ? at_least : last;
      return box.at(to_left ? left.first : right.first, to_left ? left.slope : right.slope, bounded) + m % kUnits;
    }, messages);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      const int i = first + j;
      const bool in_left = i >= left.begin && i < left.end, in_right = i >= right.begin && i < right.end;
      const Value value = box.read(messages + j * kUnits);
      const bool mirrored = (in_left ? left.slope : right.slope) < 0;
      const Value image = p_.equation.mirrored(value);
      WARPLOOM_UNROLL
      for (int k = 0; k < kComponents; ++k) {
        const Real received = mirrored ? image.item[k] : value.item[k];
        u_[j].item[k] = in_left || in_right ? received : u_[j].item[k];
      }
    }
  }
  WARPLOOM_DEVICE void renew_from_problem(unsigned int round, int begin, int end) const {
    WARPLOOM_NO_UNROLL
    for (int i = begin + block_.lane(); i < end; i += 32) {
      const Source source = p_.domain.source(in_domain(i));
      Value value;
      WARPLOOM_UNROLL
      for (int k = 0; k < kComponents; ++k) value.item[k] = problem(round, k)[source.point];
      put(i, source.mirrored ? p_.equation.mirrored(value) : value);
    }
  }

  const device::Block& block_;
  const Parameters& p_;
  TilePlace place_;
  int64_t begin_, offset_;
  Real* reals_;
  int give_ = -1, get_ = -1;  ///< positions in half of the halos; -1: none
  int warp_first_;
  unsigned int exchanges_ = 0;
  bool has_ends_ = false;
  LaneEnds ends_;
  Value u_[kPoints];
};

template <class Equation, class Shape>
struct TiledAgent {
  using Parameters = TiledParameters<Equation>;
  static constexpr int kMaxThreads = Shape::kThreads, kMinBlocks = Shape::kMinBlocks;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) { Tile<Equation, Shape>(block, p).march(); }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
