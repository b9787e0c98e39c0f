// @domain@.@operation@: result[i] = factor * values[i]. Replace the formula; keep the shape of the file.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"

namespace warploom::@domain@ {

struct @Operation@Parameters {
  ScalarType type = ScalarType::float64;  ///< float32 or float64
  int64_t n = 0;                          ///< elements
  double factor = 1;
  View values, result;                    ///< one after another; may be the same window
};

template <class Visitor>
void visit(Visitor& v, @Operation@Parameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, at_least(0));
  v.real("factor", p.factor);
  v.view("values", p.values, Role::input);
  v.view("result", p.result, Role::output);
}

/// Shapes and ranges of a call, checked once for every backend before any work.
Status check(const @Operation@Parameters& p);

}  // namespace warploom::@domain@
