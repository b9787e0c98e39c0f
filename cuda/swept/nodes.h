// How the swept rule cuts a problem into nodes (paper, section 4), here of any n and any number of steps.
//
// Phase 0 takes each node up as far as its own points allow: sub-step t holds the node without t * reach points at each side (the
// up-triangle). The nodes of the next phase lie between the middles of these: they fill the valleys between their neighbours'
// flanks (down), then go up in their turn; and so on alternately, until the last phase fills the valleys only. Where the paper
// copies edges into arrays L and R, here the two rows of the working array are in two arrays of the length of a state, at the
// places of their points: the left half of a node (L) is met there by the node that keeps it, the right half (R) by the next.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"

namespace warploom::swept {

struct Nodes {
  int64_t n = 0;
  int64_t count = 1;  ///< nodes; the first `wider` of them have width + 1 points, the others width
  int64_t width = 0, wider = 0;

  static Nodes make(int64_t n, int64_t most_points) {
    Nodes nodes;
    nodes.n = n;
    nodes.count = (n + most_points - 1) / most_points;
    nodes.width = n / nodes.count;
    nodes.wider = n % nodes.count;
    return nodes;
  }
  /// Most sub-steps that a phase goes up. Without tips it leaves `reach` points on each side of the middle that are not needed there, so
  /// that what the next phase reads beside a valley is in its own node. The paper goes one sub-step further: then the last
  /// sub-step of a valley reads `reach` points of either neighbour's half, the tips, which each phase copies for the next.
  WARPLOOM_PORTABLE int64_t most_levels(int reach, bool tips) const { return width / 2 / reach - (tips ? 0 : 1); }

  WARPLOOM_PORTABLE int64_t begin(int64_t node) const { return node * width + (node < wider ? node : wider); }
  WARPLOOM_PORTABLE int64_t middle(int64_t node) const {
    return begin(node) + (node < wider ? width + 1 : width) / 2;
  }
  /// First place of a node; the shifted node 0 is split by the ends of the domain and begins before 0. Its length is width or
  /// width + 1 in both positions.
  WARPLOOM_PORTABLE int64_t first(int64_t node, bool shifted) const {
    if (!shifted) return begin(node);
    return node > 0 ? middle(node - 1) : middle(count - 1) - n;
  }
  WARPLOOM_PORTABLE int64_t end(int64_t node, bool shifted) const { return shifted ? middle(node) : begin(node + 1); }
  /// Where the valley stands that a node fills: its right side begins here.
  WARPLOOM_PORTABLE int64_t valley(int64_t node, bool shifted) const { return shifted ? begin(node) : middle(node); }
};

/// One phase: `down` sub-steps of valleys, then `up` sub-steps. The first has no valleys, the last only those.
struct Phase {
  int down = 0, up = 0;
  bool shifted = false;
};

}  // namespace warploom::swept
