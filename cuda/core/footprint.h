// What is known about a call before it runs: roughly how much work it is, and which outputs it reads or leaves partly
// unchanged. Only those need their old contents transferred (gaps between the elements of a window are kept in any
// case). Besides its check(), every operation of the registry has
//   void footprint(Footprint&, const <domain>::Parameters&)
// in cuda/<domain>/<operation>.cpp. It is called before check(), so the parameters may have any values.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "cuda/core/operations.h"
#include "cuda/core/types.h"

namespace warploom {

class Footprint {
 public:
  using Extents = std::initializer_list<int64_t>;

  /// For an output: the call leaves some elements of its window, or entries of the array, unchanged.
  void keeps(const void* field) {
    if (count_ < kMost) kept_[count_++] = field;
    else keeps_all_ = true;
  }
  /// The same for every output, including in_out ones.
  void keeps_all() { keeps_all_ = true; }
  /// For an in_out view: this call does not read it.
  void overwrites(const View& view) { overwritten_ = &view; }
  /// The work of the call: roughly the product of the extents, in element updates. Calls that never state their work
  /// count as long.
  void works(Extents extents) { work_ = product(extents, kLong); }

  /// The call reads and writes every element of its arrays about once, with many threads at a time. If the arrays are
  /// small, the device may access them in host memory, which is faster than a copy each way.
  void goes_through_once() { once_ = true; }

  /// Whether old contents of an output (an Array or a View) are read or kept.
  bool needs(const void* field, Role role) const {
    if (keeps_all_ || std::find(kept_, kept_ + count_, field) != kept_ + count_) return true;
    return role == Role::in_out && field != overwritten_;
  }
  int64_t work() const { return work_; }
  bool once() const { return once_; }

  static constexpr int64_t kLong = int64_t{1} << 40;

 private:
  /// The product of extents of at least 1; -1 if it exceeds `most` or any extent is smaller than 1.
  static int64_t product(Extents extents, int64_t most) {
    int64_t value = 1;
    for (const int64_t extent : extents) {
      if (extent < 1 || extent > most / value) return -1;
      value *= extent;
    }
    return value;
  }

  static constexpr int kMost = 8;
  const void* kept_[kMost] = {};
  int count_ = 0;
  bool keeps_all_ = false;
  const void* overwritten_ = nullptr;
  int64_t work_ = -1;
  bool once_ = false;
};

#define WARPLOOM_OPERATION(domain, name, Parameters)      \
  namespace domain {                                      \
  void footprint(Footprint&, const Parameters&);          \
  }
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION

}  // namespace warploom
