// Collects the two rows of the node that the ends split in one piece of memory, or writes them back (`hybrid`).
#pragma once
#include "cuda/swept/march.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class T>
struct EdgesAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    T* row[2];          ///< as long as a state
    /// [problem][row][component][point of the node]; page-locked host memory.
    T* edges;
    int64_t n, problems;
    int components;
    /// Place where the node begins, before 0. A place before 0 stands for the point n further on.
    int64_t first;
    int64_t width;
    bool collect;
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t id = block.index() * block.threads() + block.thread();
    if (id >= p.problems * 2 * p.components * p.width) return;
    const int64_t line = id / p.width, point = p.first + (id - line * p.width);
    const int64_t problem = line / (2 * p.components), of_problem = line - problem * 2 * p.components;
    const bool second = of_problem >= p.components;
    const int64_t component = problem * p.components + of_problem - (second ? p.components : 0);
    T* const there = (second ? p.row[1] : p.row[0]) + component * p.n + (point < 0 ? point + p.n : point);
    if (p.collect) p.edges[id] = *there;
    else *there = p.edges[id];
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
