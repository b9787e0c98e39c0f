// The pair of lib/imaging/phantoms.ts, whose displacement is known exactly, on any grid.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/imaging/grid.h"

namespace warploom::bench {

struct Errors {
  double mean = 0, p95 = 0, most = 0;
};

struct KnownPair {
  ::warploom::imaging::Grid grid;
  std::vector<double> reference, moving, exact;
  std::vector<char> mask;

  KnownPair(const ::warploom::imaging::Grid& g, double amplitude) : grid(g) {
    const int64_t points = points_of(g), axes = dimensions_of(g), extent[3] = {g.nx, g.ny, g.nz};
    reference.resize(static_cast<size_t>(points));
    moving = reference;
    exact.resize(static_cast<size_t>(points * axes));
    mask.resize(static_cast<size_t>(points));
    for (int64_t i = 0; i < points; ++i) {
      const int64_t at[3] = {i % g.nx, i / g.nx % g.ny, i / (g.nx * g.ny)};
      double p[3] = {0, 0, 0}, q[3] = {0, 0, 0};
      for (int a = 0; a < axes; ++a) p[a] = static_cast<double>(2 * at[a] + 1) / static_cast<double>(extent[a]) - 1;
      for (int a = 0; a < axes; ++a) {
        const double shift = amplitude * warp(a, p);
        exact[static_cast<size_t>(a * points + i)] = shift;
        q[a] = p[a] + 2 * shift / static_cast<double>(extent[a]);
      }
      moving[static_cast<size_t>(i)] = object(p);
      reference[static_cast<size_t>(i)] = object(q);
      mask[static_cast<size_t>(i)] = reference[static_cast<size_t>(i)] > 0.1;
    }
  }

  template <class T>
  static std::vector<T> as(const std::vector<double>& values) { return std::vector<T>(values.begin(), values.end()); }

  /// Distances to the exact displacement within the object.
  Errors errors(const std::vector<double>& displacement) const {
    const size_t points = mask.size(), axes = exact.size() / points;
    std::vector<double> distances;
    for (size_t i = 0; i < points; ++i) {
      if (!mask[i]) continue;
      double square = 0;
      for (size_t a = 0; a < axes; ++a) square += std::pow(displacement[a * points + i] - exact[a * points + i], 2);
      distances.push_back(std::sqrt(square));
    }
    std::sort(distances.begin(), distances.end());
    Errors result;
    for (const double distance : distances) result.mean += distance / static_cast<double>(distances.size());
    result.p95 = distances[static_cast<size_t>(0.95 * static_cast<double>(distances.size() - 1))];
    result.most = distances.back();
    return result;
  }
  Errors start() const { return errors(std::vector<double>(exact.size(), 0)); }

 private:
  static double wave(double t, int waves) { return std::cos(1.57079632679489661923 * waves * (t + 1)); }
  static double warp(int axis, const double (&p)[3]) {
    const double a = p[axis], b = p[(axis + 1) % 3], c = p[(axis + 2) % 3];
    if (axis == 0) return 0.55 * wave(b, 2) - 0.35 * wave(a, 1) * wave(b, 1);
    if (axis == 1) return 0.55 * wave(c, 2) + 0.3 * wave(a, 2) * wave(c, 1);
    return 0.5 * wave(b, 1) * wave(c, 1) - 0.5 * wave(a, 2);
  }
  static double object(const double (&p)[3]) {
    const double pi = 3.14159265358979323846, x = p[0], y = p[1], z = p[2];
    const double radius = std::sqrt(std::pow(x / 0.72, 2) + std::pow(y / 0.6, 2) + std::pow(z / 0.66, 2));
    const double body = 1 / (1 + std::exp((radius - 1) / 0.035));
    const double coarse = std::cos(3.1 * pi * x + 0.7) * std::cos(2.6 * pi * y - 0.4) * std::cos(1.9 * pi * z);
    const double fine = std::cos(7.1 * pi * x - 1.1) * std::cos(6.2 * pi * y + 0.3) * std::cos(3.7 * pi * z + 0.2);
    return body * (0.52 + 0.26 * coarse + 0.2 * fine);
  }
};

}  // namespace warploom::bench
