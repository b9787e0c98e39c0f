// The table of roots of a cosine transform.
#pragma once
#include <vector>

#include "cuda/imaging/cosine_plan.h"

namespace warploom::imaging {

/// The plan's table as (real, imaginary) pairs, each rounded once.
template <class T>
std::vector<T> cosine_table(const CosinePlan& plan);

}  // namespace warploom::imaging
