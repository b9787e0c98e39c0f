// The systems that comparison solvers accept.
#pragma once
#include <cstdint>

#include "cuda/core/backend.h"

namespace warploom::bench {

/// Bands and right-hand sides of the solver peers: contiguous, `solution` holds the right-hand sides on entry.
struct SystemsParameters {
  ScalarType type = ScalarType::float64;  ///< float32 or float64
  int64_t n = 0;
  int64_t batch = 0;
  View lower, diagonal, upper, rhs, solution;
};

template <class Visitor>
void visit(Visitor& v, SystemsParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n);
  v.integer("batch", p.batch);
  v.view("lower", p.lower, Role::input);
  v.view("diagonal", p.diagonal, Role::input);
  v.view("upper", p.upper, Role::input);
  v.view("rhs", p.rhs, Role::input);
  v.view("solution", p.solution, Role::in_out);
}

}  // namespace warploom::bench
