// The points of a problem, and the values beyond its ends.
#pragma once
#include <cstdint>

#include "cuda/swept/equation.h"

namespace warploom::swept {

/// Where the value at a place comes from, and how it changes. Places beyond the ends are images of points. `moving`
/// ones obey the equation bit for bit like the point they mirror, so a tile may step them as if they were points.
struct Source {
  int64_t point = 0;      ///< 0…n-1
  bool mirrored = false;  ///< Equation::mirrored() of that point
  bool frozen = false;    ///< keeps its initial value
  bool follows = false;   ///< outflow: has the value of `point` at every sub-step
};

struct Domain {
  int64_t n = 0;
  Boundary left = Boundary::periodic, right = Boundary::periodic;
  /// Reflective ends mirror about the outer face of the end cell (Euler), otherwise about the end point.
  bool about_faces = false;
  /// Dirichlet ends are odd mirrors (KS), otherwise frozen end points.
  bool odd_dirichlet = false;

  WARPLOOM_PORTABLE bool holds(int64_t place) const { return place >= 0 && place < n; }
  /// Whether the end point itself is held by a dirichlet end.
  WARPLOOM_PORTABLE bool frozen_point(int64_t point) const {
    return !odd_dirichlet && ((point == 0 && left == Boundary::dirichlet) || (point == n - 1 && right == Boundary::dirichlet));
  }
  /// True if the equation's next() may be used at every place and image within reach: no frozen or following places.
  WARPLOOM_PORTABLE bool only_images() const { return only_images(left) && only_images(right); }
  WARPLOOM_PORTABLE bool only_images(Boundary end) const {
    return end == Boundary::periodic || end == Boundary::reflective || (end == Boundary::dirichlet && odd_dirichlet);
  }

  /// The source of the value at any place, at any distance from the domain.
  WARPLOOM_PORTABLE Source source(int64_t place) const {
    Source s;
    if (left == Boundary::periodic) {
      place %= n;
      s.point = place < 0 ? place + n : place;
      return s;
    }
    while (place < 0 || place >= n) {
      const bool before = place < 0;
      const Boundary end = before ? left : right;
      if (only_images(end)) {
        place = before ? -place : 2 * (n - 1) - place;
        if (about_faces) place += before ? -1 : 1;
        s.mirrored = !s.mirrored;
      } else {
        place = before ? 0 : n - 1;
        s.frozen = end == Boundary::dirichlet;
        s.follows = end == Boundary::outflow;
      }
    }
    s.point = place;
    s.frozen = s.frozen || frozen_point(place);
    return s;
  }

  /// The domain of an equation.
  static Domain make(Equation equation, int64_t n, Boundary left, Boundary right) {
    return {n, left, right, equation == Equation::euler, equation == Equation::kuramoto_sivashinsky};
  }
};

/// Which boundaries an equation accepts.
inline bool admits(Equation equation, Boundary boundary) {
  switch (equation) {
    case Equation::heat: return boundary != Boundary::outflow;
    case Equation::kuramoto_sivashinsky: return boundary == Boundary::periodic || boundary == Boundary::dirichlet;
    default: return true;
  }
}
inline int components_of(Equation equation) { return equation == Equation::euler ? 3 : 1; }
inline int reach_of(Equation equation) { return equation == Equation::heat ? 1 : 2; }
/// The fewest points of a problem: the width of the stencil.
inline int64_t least_points(Equation equation) { return equation == Equation::heat ? 3 : 5; }

}  // namespace warploom::swept
