// How the swept rule cuts a problem into nodes (paper, section 4), here for any n and any number of steps.
//
// Phase 0 advances each node as far as its own points allow: at sub-step t the node has lost t * reach points at each
// side (the up-triangle). The nodes of the next phase lie between the middles of these. They first fill the valleys
// between the flanks of their neighbours (down), then go up themselves. Shifted and unshifted phases alternate, and the
// last one only fills the valleys. The paper copies edges into arrays L and R. Here the two rows of the working array
// are in two arrays, each as long as a state, where every point has its place: the left half of a node (L) is read
// there by the node that keeps it, the right half (R) by the next one.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"

namespace warploom::swept {

struct Nodes {
  int64_t n = 0;
  /// Nodes. The first `wider` of them have width + 1 points, the others width.
  int64_t count = 1;
  int64_t width = 0, wider = 0;

  static Nodes make(int64_t n, int64_t most_points) {
    Nodes nodes;
    nodes.n = n;
    nodes.count = (n + most_points - 1) / most_points;
    nodes.width = n / nodes.count;
    nodes.wider = n % nodes.count;
    return nodes;
  }
  /// The most sub-steps that a phase goes up. Without tips, it stops while `reach` unused points remain on each side of
  /// the middle, so that everything the next phase reads beside a valley is in its own node. The paper goes one
  /// sub-step further: the last sub-step of a valley then reads `reach` points of each neighbour's half, the tips,
  /// which each phase copies for the next.
  WARPLOOM_PORTABLE int64_t most_levels(int reach, bool tips) const { return width / 2 / reach - (tips ? 0 : 1); }

  WARPLOOM_PORTABLE int64_t begin(int64_t node) const { return node * width + (node < wider ? node : wider); }
  WARPLOOM_PORTABLE int64_t middle(int64_t node) const {
    return begin(node) + (node < wider ? width + 1 : width) / 2;
  }
  /// First place of a node. The shifted node 0 is split by the ends of the domain and begins before 0. In both
  /// positions its length is width or width + 1.
  WARPLOOM_PORTABLE int64_t first(int64_t node, bool shifted) const {
    if (!shifted) return begin(node);
    return node > 0 ? middle(node - 1) : middle(count - 1) - n;
  }
  WARPLOOM_PORTABLE int64_t end(int64_t node, bool shifted) const { return shifted ? middle(node) : begin(node + 1); }
  /// The position of the valley that a node fills: its right side begins here.
  WARPLOOM_PORTABLE int64_t valley(int64_t node, bool shifted) const { return shifted ? begin(node) : middle(node); }
};

/// One phase: `down` sub-steps of valleys, then `up` sub-steps. The first phase has no valleys, the last has nothing
/// else.
struct Phase {
  int down = 0, up = 0;
  bool shifted = false;
};

}  // namespace warploom::swept
