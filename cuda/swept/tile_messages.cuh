// How resident tiles exchange their edges: every tile posts the points at both ends of its own part, and its neighbours
// (at a mirror, itself) read their margins from there.
#pragma once
#include "cuda/swept/march.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// The places of a warp (counted from its first) that a margin holds, and where they come from: place i is place first
/// + slope * i of all edges concatenated. Mirror images run backwards.
struct alignas(16) MarginSource {
  int begin = 0, end = 0;
  int first = 0, slope = 1;
};

/// A mirrored margin may skip the end point, so an edge has one place more than a margin.
WARPLOOM_HOST_DEVICE int edge_of(int margin) { return margin + 1; }

/// A tile among those of its problem. `margin` other places precede its own.
struct TilePlace {
  int tile, tiles;
  int first_tile;  ///< of the problem, among all
  int margin, own;

  WARPLOOM_DEVICE bool owns(int i) const { return i >= margin && i < margin + own; }

  /// Places of the left (side 0) or right margin, for a warp that begins at place `warp_first` of the tile; empty if
  /// nothing needs renewal.
  WARPLOOM_DEVICE MarginSource margin_source(const Domain& domain, int side, int warp_first, int places) const {
    MarginSource s;
    const bool outer = tile == (side == 0 ? 0 : tiles - 1);
    const Boundary end = side == 0 ? domain.left : domain.right;
    const int edge = edge_of(margin), skip = domain.about_faces ? 0 : 1;
    if (outer && !domain.only_images(end)) return s;
    const bool mirrored = outer && end != Boundary::periodic;
    const int next = side == 0 ? (tile == 0 ? tiles - 1 : tile - 1) : (tile == tiles - 1 ? 0 : tile + 1);
    const int source = ((first_tile + (mirrored ? tile : next)) * 2 + (mirrored ? side : 1 - side)) * edge;
    const int begin = side == 0 ? 0 : margin + own;
    // Place m of the margin is place m + edge - margin or m of the edge; in a mirror it is counted from the other end.
    int base = side == 0 ? edge - margin : 0;
    if (mirrored) base = side == 0 ? margin - 1 + skip : edge - 1 - skip;
    s.slope = mirrored ? -1 : 1;
    s.first = source + base + s.slope * (warp_first - begin);
    s.begin = begin > warp_first ? begin - warp_first : 0;
    s.end = begin + margin < warp_first + places ? begin + margin - warp_first : places;
    return s;
  }
};

/// Messages of one round. A tile posts round r + 2 only after its neighbours have received all of round r - 2, so four
/// boxes in turn are enough. Proof: a warp posts round r + 2 after the barrier of r + 1. The tile's other warps reach
/// that barrier only once they have the messages of round r, which the neighbours posted after their barrier of r - 1,
/// which they reached with the messages of r - 2.
template <class Value>
class MessageBox {
 public:
  static constexpr int kBoxes = 4;
  static constexpr int kWords = static_cast<int>(sizeof(Value)) / 4, kUnits = (kWords + 2) / 3;
  static constexpr int kAtOnce = kUnits == 1 ? 4 : 2;  ///< places that a lane waits for at once

  static int64_t bytes(int64_t blocks, int margin) {
    return kBoxes * blocks * 2 * edge_of(margin) * kUnits * static_cast<int64_t>(sizeof(device::Message));
  }
  WARPLOOM_DEVICE MessageBox(const device::Block& block, device::Message* boxes, int margin, unsigned int tag)
      : edge_(edge_of(margin)), tag_(tag) {
    box_ = boxes + static_cast<int64_t>(tag % kBoxes) * block.count() * 2 * edge_ * kUnits;
  }
  WARPLOOM_DEVICE int edge() const { return edge_; }
  /// Where the block posts place `place` of its left (side 0) or right edge.
  WARPLOOM_DEVICE device::Message* at(const device::Block& block, int side, int place) const {
    return box_ + ((block.index() * 2 + side) * edge_ + place) * kUnits;
  }
  WARPLOOM_DEVICE void post(const device::Block& block, device::Message* to, const Value& value) const {
    unsigned int words[3 * kUnits] = {};
    memcpy(words, &value, sizeof(Value));
    WARPLOOM_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      device::post(block, to + u, {{words[3 * u], words[3 * u + 1], words[3 * u + 2]}, tag_});
    }
  }

  WARPLOOM_DEVICE unsigned int tag() const { return tag_; }
  /// Where the warp's place i arrives, given `first` and `slope` of its margin.
  WARPLOOM_DEVICE const device::Message* at(int first, int slope, int i) const {
    return box_ + static_cast<int64_t>(first + slope * i) * kUnits;
  }
  static WARPLOOM_DEVICE Value read(const device::Message* messages) {
    unsigned int words[3 * kUnits];
    WARPLOOM_UNROLL
    for (int w = 0; w < 3 * kUnits; ++w) words[w] = messages[w / 3].word[w % 3];
    Value value;
    memcpy(&value, words, sizeof(Value));
    return value;
  }

  /// Calls take(i, value) for the warp's places of a margin, each in one lane.
  template <class Take>
  WARPLOOM_DEVICE void receive(const device::Block& block, const MarginSource& margin, const Take& take) const {
    WARPLOOM_NO_UNROLL
    for (int first = margin.begin; first < margin.end; first += 32 * kAtOnce) {
      device::Message messages[kAtOnce * kUnits];
      device::receive_at_once(block, tag_, [&](int m) {
        const int i = first + m / kUnits * 32 + block.lane(), last = margin.end - 1;
        return at(margin.first, margin.slope, i < last ? i : last) + m % kUnits;
      }, messages);
      WARPLOOM_UNROLL
      for (int a = 0; a < kAtOnce; ++a) {
        const int i = first + a * 32 + block.lane();
        if (i < margin.end) take(i, read(messages + a * kUnits));
      }
    }
  }

 private:
  int edge_;
  unsigned int tag_;
  device::Message* box_;
};

}  // namespace warploom::WARPLOOM_TARGET::swept
