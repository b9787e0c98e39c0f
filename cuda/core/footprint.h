// What is known about a call before it runs: which outputs it reads or leaves partly unchanged, so that their old contents have to
// be transferred (whatever is between the elements of a window stays in any case), and roughly how much work it is. Every operation
// of the registry has, beside its check(),
//   void footprint(Footprint&, const <domain>::Parameters&)
// in cuda/<domain>/<operation>.cpp. It is called before check(), with any values.
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

  /// For an output: the call leaves elements of its window, or entries of the array, as they were.
  void keeps(const void* field) {
    if (count_ < kMost) kept_[count_++] = field;
    else keeps_all_ = true;
  }
  /// Every output, in_out ones too.
  void keeps_all() { keeps_all_ = true; }
  /// For an in_out view: this call reads nothing of it.
  void overwrites(const View& view) { overwritten_ = &view; }
  /// The work of the call: about as many updates of an element as the extents multiplied. Calls that never say how much are
  /// taken for long ones.
  void works(Extents extents) { work_ = product(extents, kLong); }

  /// Every element of its arrays is read, and written, about once, and by many threads at a time: where the arrays are small, the
  /// device may reach for them in the host's memory, which is sooner done than a copy each way.
  void goes_through_once() { once_ = true; }

  /// Whether old contents of an output (an Array or a View) are read or stay.
  bool needs(const void* field, Role role) const {
    if (keeps_all_ || std::find(kept_, kept_ + count_, field) != kept_ + count_) return true;
    return role == Role::in_out && field != overwritten_;
  }
  int64_t work() const { return work_; }
  bool once() const { return once_; }

  static constexpr int64_t kLong = int64_t{1} << 40;

 private:
  /// The product of extents of at least 1; -1 where it is above `most` or an extent is none.
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
