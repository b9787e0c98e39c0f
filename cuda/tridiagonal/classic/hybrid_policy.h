// Where the classical hybrids switch from one method to the other.
#pragma once
#include <cstdint>

namespace warploom::tridiagonal {

/// pcr-thomas in one block: sub-systems of about this many rows, one per thread.
inline constexpr int64_t kPcrThomasRows = 4;
inline constexpr int kPcrThomasMostSubsystems = 256;

inline int pcr_thomas_subsystems(int64_t n) {
  int subsystems = 1;
  while (2 * subsystems <= kPcrThomasMostSubsystems && 2 * subsystems * kPcrThomasRows <= n) subsystems *= 2;
  return subsystems;
}

/// pcr-thomas of large systems: PCR steps of each tiled pass, and the tile's shape.
struct TilePlan {
  int first_steps = 0;   ///< pass 1, on the original rows: 2^first_steps sub-systems
  int first_depth = 0;   ///< rows that a tile finishes
  int second_steps = 0;  ///< pass 2, on those sub-systems; 0: no second pass
  int second_depth = 0;
  int second_width_bits = 0;  ///< 2^bits neighbouring sub-systems in a tile
  int64_t subsystems() const { return int64_t{1} << (first_steps + second_steps); }
};

/// Enough sub-systems for `threads` threads over `problems` systems of n rows, with tiles of at most `tile_rows` rows,
/// at most half of which are halo.
inline TilePlan plan_tiles(int64_t n, int64_t problems, int64_t threads, int64_t tile_rows, int element_bytes) {
  TilePlan plan;
  const auto room = [](int64_t rows, int steps) { return 4 * ((int64_t{1} << steps) - 1) <= rows; };
  plan.first_steps = 1;
  while (room(tile_rows, plan.first_steps + 1) &&
         (plan.first_steps < 5 || problems << plan.first_steps < threads)) {
    ++plan.first_steps;
  }
  plan.first_depth = static_cast<int>(tile_rows - 2 * ((int64_t{1} << plan.first_steps) - 1));
  const int64_t left = n >> plan.first_steps;
  while (element_bytes << plan.second_width_bits < 64) ++plan.second_width_bits;  // two memory sectors per row
  const int64_t second_rows = tile_rows >> plan.second_width_bits;
  if (plan.second_width_bits > plan.first_steps) return plan;
  while (room(second_rows, plan.second_steps + 1) && left >> plan.second_steps > 32 &&
         problems << (plan.first_steps + plan.second_steps) < threads) {
    ++plan.second_steps;
  }
  plan.second_depth = static_cast<int>(second_rows - 2 * ((int64_t{1} << plan.second_steps) - 1));
  return plan;
}

}  // namespace warploom::tridiagonal
