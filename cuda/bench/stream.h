// The floor of memory-bound operations on a GPU: arrays read once and one array written once.
#pragma once
#include <cstdint>

#include "cuda/core/backend.h"

namespace warploom::bench {

/// Reads up to four arrays of equal length, and writes the exclusive or of their bits.
struct StreamParameters {
  ScalarType type = ScalarType::float64;
  View first, second, third, fourth;  ///< all but the first may be absent
  View to;
  int32_t threads = 256;              ///< per block
  /// Blocks per multiprocessor, in a grid-stride loop over the arrays; 0: one thread per piece.
  int32_t blocks_per_multiprocessor = 0;
  int32_t access_bytes = 16;      ///< per access of a thread: 8 or 16
  int32_t pieces_per_thread = 1;  ///< accesses to each array that a thread keeps in flight: 1, 2 or 4
};

template <class Visitor>
void visit(Visitor& v, StreamParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.view("first", p.first, Role::input);
  v.view("second", p.second, Role::input);
  v.view("third", p.third, Role::input);
  v.view("fourth", p.fourth, Role::input);
  v.view("to", p.to, Role::output);
  v.integer("threads", p.threads);
  v.integer("blocksPerMultiprocessor", p.blocks_per_multiprocessor);
  v.integer("accessBytes", p.access_bytes);
  v.integer("piecesPerThread", p.pieces_per_thread);
}

}  // namespace warploom::bench

namespace warploom::cuda {
Status bench_stream(Device& device, const ::warploom::bench::StreamParameters& p);
}
