// The variant `tiled` of swept.advance against a plain march, bit for bit: every tile shape of its tuning table, a problem in one
// tile, resident tiles and passes over memory.
#include "test/device/support/operations.h"
#include "test/device/swept_matrix.h"
#include "test/device/swept_tiles.h"

namespace warploom::test {
namespace {

namespace policy = swept::policy;

/// Small problems in one tile.
template <class T>
void small(const Devices& devices, Equation equation) {
  Matrix m{Variant::tiled, equation, sizes_up_to(equation, 40)};
  if (harness::kThreadSanitizer) m.sizes = {swept::least_points(equation), 40};
  else if (kSanitized) m.sizes = {swept::least_points(equation), swept::least_points(equation) + 1, 8, 17, 32, 33, 40};
  const TileOf tile = tiles_of(equation)[0];
  m.shapes = {{}, {tile.points, 0, 0}, {tile.points, 3, tile.threads}, {0, 1, 0}};
  if (harness::kThreadSanitizer) m.shapes = {{tile.points, 2, tile.threads}};
  m.most_updates = 2000;
  run_matrix<T>(devices, m);
}

/// Around the most points that one tile holds, and twice that: `single` and `resident`.
template <class T>
void around_tile(const Devices& devices, Equation equation, const TileOf& tile, int cases) {
  Matrix m{Variant::tiled, equation, {}};
  const int64_t one = tile.places - 2 * policy::kSingleDepth * tile.step_reach;
  m.sizes = {one - 1, one, one + 1, tile.places - 1, tile.places, tile.places + 1, 2 * tile.places + 3};
  if (kSanitized) m.sizes = {one, one + 1, tile.places + 1};
  m.shapes = {{tile.points, 0, tile.threads}, {tile.points, 5, tile.threads}, {tile.points, 1, 0}};
  m.cases_per_size = cases;
  m.most_updates = tile.places * (kSanitized ? 12 : 60);
  m.batches = {1};
  run_matrix<T>(devices, m);
}

/// More problems than stand on the device at once: passes.
template <class T>
void passes(const Devices& devices, Equation equation, const TileOf& tile) {
  Matrix m{Variant::tiled, equation, {tile.places + 1, tile.places + 101}};
  if (kSanitized) m.sizes = {tile.places + 7};
  m.shapes = {{tile.points, 0, tile.threads}, {tile.points, 3, tile.threads}, {tile.points, 1, tile.threads}};
  m.batches = {5};
  m.most_updates = tile.places * (kSanitized ? 10 : 40);
  run_matrix<T>(devices, m);
}

template <class T>
void equation_tests(const Devices& devices, Equation equation) {
  small<T>(devices, equation);
  const std::vector<TileOf> tiles = tiles_of(equation);
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (kSanitized && i > 0) break;  // the plain build has the others
    around_tile<T>(devices, equation, tiles[i], i == 0 && !kSanitized ? 4 : 1);
    if (i < 2) passes<T>(devices, equation, tiles[i]);
  }
}

/// The first step that is not finite, in each mode.
void bad_steps(const Devices& devices) {
  const TileOf heat = tiles_of(Equation::heat)[0], euler = tiles_of(Equation::euler)[0];
  find_bad_steps<double>(*devices.device[0], Variant::tiled, {}, 37, {Equation::heat, Equation::kuramoto_sivashinsky, Equation::euler});
  if (harness::kThreadSanitizer) return;
  find_bad_steps<double>(*devices.device[1], Variant::tiled, {heat.points, 3, heat.threads}, heat.places + 5, {Equation::heat});
  find_bad_steps<double>(*devices.device[2], Variant::tiled, {euler.points, 0, euler.threads}, euler.places + 5, {Equation::euler});
}

/// Passes look whether the call was cancelled.
void cancelled(const Devices& devices) {
  const TileOf tile = tiles_of(Equation::heat)[0];
  cancel(*devices.device[0], Variant::tiled, {tile.points, 2, tile.threads}, 3 * tile.places, 40, {0, 1});
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  const test::Devices devices;
  for (const swept::Equation equation : test::kEquations) {
    test::equation_tests<double>(devices, equation);
    if constexpr (!test::kSanitized) test::equation_tests<float>(devices, equation);
  }
  test::bad_steps(devices);
  if (!harness::kThreadSanitizer) test::cancelled(devices);
  return harness::summary();
}
