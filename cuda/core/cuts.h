// How a call can be cut along its batch, so that some parts are transferred while others are computed. Besides its
// check(), every operation of the registry has
//   void cuts(Cuts&, <domain>::Parameters&)
// in cuda/<domain>/<operation>.cpp. It names the views and arrays that have a part for every item of the batch; an
// operation that must see the whole batch names nothing. It is called after check(), while index arrays are in host
// memory.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

#include "cuda/core/operations.h"
#include "cuda/core/slice.h"
#include "cuda/core/types.h"

namespace warploom {

class Cuts {
 public:
  /// Elements first…last-1 of a view's buffer.
  struct Extent {
    int64_t first = 0, last = 0;
  };
  /// Items that implementations process together: slices end between such groups if there are any.
  static constexpr int64_t kGroup = 32;

  // --- for operations ---

  /// The parameter that counts the items of the batch, each of `rows` rows if there are no offsets. `slice`: the
  /// parameter that tells the operation about the slice, if it needs to know.
  void along(int64_t& count, int64_t rows, Slice* slice = nullptr) {
    count_ = &count;
    whole_ = count;
    rows_ = rows;
    slice_ = slice;
  }
  /// Allows slices on the cpu backend too. All have at least kGroup items, because below that the backend may make
  /// other choices.
  void on_processors() { on_processors_ = true; }
  /// count + 1 row offsets that say where the items begin in every view.
  void offsets(Array<const int64_t>& offsets) {
    if (offsets.data == nullptr) return;
    offsets_ = &offsets;
    host_offsets_ = offsets.data;
  }
  /// A view whose first index is the item or, with offsets, whose last index counts the rows of all items. An absent
  /// view, or one that all items share, stays unchanged.
  void view(View& view) {
    if (view.data != nullptr && view.rank > 0) views_.push_back({&view, view});
  }
  /// An array with `each` elements per item.
  template <class T>
  void array(Array<T>& array, int64_t each) {
    if (array.data == nullptr || array.length == 0) return;
    const auto data = reinterpret_cast<char**>(const_cast<std::remove_const_t<T>**>(&array.data));
    arrays_.push_back({data, &array.length, each, static_cast<int64_t>(sizeof(T)), nullptr});
  }

  // --- for core ---

  /// Items of the batch; 0: the call cannot be cut.
  int64_t count() const { return count_ != nullptr ? whole_ : 0; }
  bool for_processors() const { return on_processors_; }
  int views() const { return static_cast<int>(views_.size()); }
  /// The view that a pointer of the parameters belongs to; -1: none.
  int find(void* const* pointer) const;
  bool is_imaginary(int view, void* const* pointer) const { return pointer == &views_[static_cast<size_t>(view)].view->imaginary; }
  bool shared(int view) const;
  /// Whether two views address the same elements of their buffers.
  bool same(int a, int b) const;
  /// Whether neighbouring items are neighbours in the view's buffer, each in its own interval.
  bool separable(int view) const;
  /// The interval of items begin…end-1 in a separable view.
  Extent extent(int view, int64_t begin, int64_t end) const;

  /// Called once all pointers have their final values, for the whole buffers.
  void settle();
  /// Restricts the parameters to items begin…end-1.
  void select(int64_t begin, int64_t end);
  /// After select(): restricts the view's buffer to `extent`, which is now at `data` and `imaginary`.
  void move(int view, const Extent& extent, void* data, void* imaginary);

 private:
  struct ViewField {
    View* view;
    View whole;
  };
  /// The index that tells items apart.
  int axis(const View& view) const { return host_offsets_ != nullptr ? view.rank - 1 : 0; }
  int64_t span_of_others(const View& view) const;
  struct ArrayField {
    char** data;
    int64_t* length;
    int64_t each, bytes;
    char* whole;
  };

  bool on_processors_ = false;
  int64_t* count_ = nullptr;
  int64_t whole_ = 0, rows_ = 0;
  Slice* slice_ = nullptr;
  Array<const int64_t>* offsets_ = nullptr;
  const int64_t* host_offsets_ = nullptr;
  const int64_t* whole_offsets_ = nullptr;
  std::vector<ViewField> views_;
  std::vector<ArrayField> arrays_;
};

#define WARPLOOM_OPERATION(domain, name, Parameters) \
  namespace domain {                                 \
  void cuts(Cuts&, Parameters&);                     \
  }
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION

}  // namespace warploom
