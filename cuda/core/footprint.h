// What is known of a call before it runs: which outputs it writes whole, so that their old contents need not travel, and
// about how much work it is. Every operation of the registry has, beside its check(),
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

  /// A call that succeeds writes every element (system, row, right-hand side) of the view's window.
  void writes_window(const View& view, int64_t rows, int64_t systems, int64_t rhs_count = 1) {
    struct Dimension {
      int64_t stride, count;
    };
    Dimension dimensions[] = {{view.row_stride, rows}, {view.system_stride, systems}, {view.rhs_stride, rhs_count}};
    std::sort(std::begin(dimensions), std::end(dimensions),
              [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
    int64_t span = 1;
    for (const auto& [stride, count] : dimensions) {
      if (count == 1) continue;
      if (count < 1 || stride != span || count > view.length / span) return;
      span *= count;
    }
    if (view.offset == 0 && span == view.length) add(&view);
  }
  /// It writes the first `extents` multiplied elements of a view whose elements are adjacent.
  void writes(const View& view, Extents extents) {
    if (view.offset == 0 && product(extents, view.length) == view.length) add(&view);
  }
  template <class T>
  void writes(const Array<T>& array, Extents extents) {
    if (product(extents, array.length) == array.length) add(&array);
  }
  /// The work of the call: about as many updates of an element as the extents multiplied. Calls that never say how much are
  /// taken for long ones.
  void works(Extents extents) { work_ = product(extents, kLong); }

  /// Every element of its arrays is read, and written, about once, and by many threads at a time: where the arrays are small, the
  /// device may reach for them in the host's memory, which is sooner done than a copy each way.
  void goes_through_once() { once_ = true; }

  bool whole(const void* field) const { return std::find(whole_, whole_ + count_, field) != whole_ + count_; }
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
  void add(const void* field) {
    if (count_ < kMost) whole_[count_++] = field;
  }

  static constexpr int kMost = 8;
  const void* whole_[kMost] = {};
  int count_ = 0;
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
