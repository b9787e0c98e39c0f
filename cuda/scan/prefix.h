// scan.prefix: parallel prefix sum, product and maximum, batched and segmented.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"

namespace warploom::scan {

enum class Operator : int32_t { sum = 0, product = 1, max = 2 };
inline constexpr const char* kOperatorNames[] = {"sum", "product", "max"};

/// `regpack`: depth elements per thread in registers (section 3, Fig. 2b). `shared`: one element per thread in shared
/// memory (Fig. 2a), for comparison. `automatic`: regpack with the policy's depth.
enum class Algorithm : int32_t { automatic = 0, regpack = 1, shared = 2 };
inline constexpr const char* kAlgorithmNames[] = {"auto", "regpack", "shared"};

struct PrefixParameters {
  ScalarType type = ScalarType::float64;  ///< float32 or float64
  int64_t n = 0;      ///< elements per row
  int64_t batch = 1;  ///< independent rows; row r starts at r*n
  Operator op = Operator::sum;
  bool exclusive = false;
  Algorithm algorithm = Algorithm::automatic;
  int32_t depth = 0;             ///< elements per thread: 0 = policy, else 2, 4, 8, 16 or 32
  int32_t radix = 2;             ///< 2 or 4: fan-in of a downsweep stage (Fig. 8)
  Array<const uint8_t> flags;    ///< segmented: nonzero starts a new segment; batch*n entries, or null
  View values, result;           ///< batch * n contiguous elements; may be the same array
};

template <class Visitor>
void visit(Visitor& v, PrefixParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, at_least(0));
  v.integer("batch", p.batch, at_least(0));
  v.choice("operator", p.op, kOperatorNames);
  v.boolean("exclusive", p.exclusive);
  v.choice("algorithm", p.algorithm, kAlgorithmNames);
  v.integer("depth", p.depth, between(0, 32));
  v.integer("radix", p.radix, between(2, 4));
  v.array("flags", p.flags, Role::input);
  v.view("values", p.values, Role::input);
  v.view("result", p.result, Role::output);
}

Status check(const PrefixParameters& p);

}  // namespace warploom::scan
