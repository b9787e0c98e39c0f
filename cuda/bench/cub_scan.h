// CUB's inclusive sums, for comparison with `scan`: compiled if the CUDA toolkit has CUB's headers.
#pragma once
#include <cstdint>
#include <string>

#include "cuda/core/backend.h"

namespace warploom::bench {

/// `batch` rows of n elements, contiguous; the sums go to `result`.
struct CubScanParameters {
  ScalarType type = ScalarType::float64;  ///< float32 or float64
  int64_t n = 0;
  int64_t batch = 0;
  View values, result;
};

template <class Visitor>
void visit(Visitor& v, CubScanParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n);
  v.integer("batch", p.batch);
  v.view("values", p.values, Role::input);
  v.view("result", p.result, Role::output);
}

}  // namespace warploom::bench

namespace warploom::cuda {
Status bench_cub_scan(Device& device, const ::warploom::bench::CubScanParameters& p);
/// Whether the build has CUB. `reason`: its version, or that it was not found.
bool bench_cub_available(std::string* reason);
}
