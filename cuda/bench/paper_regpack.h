// CR-RegPack as printed (Davidson, Owens 2011), for comparison with the solver's own version, which differs from it.
#pragma once
#include <cstdint>

#include "cuda/bench/systems.h"

namespace warploom::bench {

struct PaperRegpackParameters : SystemsParameters {
  /// Rows per thread: 4, 8 or 16. n / depth must be a power of two, and at least the size of a warp.
  int32_t depth = 8;
};

template <class Visitor>
void visit(Visitor& v, PaperRegpackParameters& p) {
  visit(v, static_cast<SystemsParameters&>(p));
  v.integer("depth", p.depth);
}

}  // namespace warploom::bench

namespace warploom::cuda {
Status bench_paper_regpack(Device& device, const ::warploom::bench::PaperRegpackParameters& p);
}
namespace warploom::simt {
Status bench_paper_regpack(Device& device, const ::warploom::bench::PaperRegpackParameters& p);
}
