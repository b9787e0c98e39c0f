#include "cuda/core/cuts.h"

namespace warploom {

int Cuts::find(void* const* pointer) const {
  for (size_t i = 0; i < views_.size(); ++i) {
    const View* const view = views_[i].view;
    if (pointer == &view->data || pointer == &view->imaginary) return static_cast<int>(i);
  }
  return -1;
}

bool Cuts::shared(int view) const {
  const View& whole = views_[static_cast<size_t>(view)].whole;
  return (host_offsets_ != nullptr ? whole.row_stride : whole.system_stride) == 0;
}

bool Cuts::same(int a, int b) const {
  const ViewField &one = views_[static_cast<size_t>(a)], &other = views_[static_cast<size_t>(b)];
  const View &v = one.whole, &w = other.whole;
  return one.rows == other.rows && one.rhs_count == other.rhs_count && v.offset == w.offset && v.system_stride == w.system_stride &&
         v.row_stride == w.row_stride && v.rhs_stride == w.rhs_stride;
}

/// Windows that leave their buffer (at rows that nobody reads) are left alone: what may be read there depends on the buffer's
/// end.
bool Cuts::separable(int view) const {
  const auto& [field, rows, rhs_count, whole] = views_[static_cast<size_t>(view)];
  if (shared(view) || whole.row_stride < 0 || whole.rhs_stride < 0 || whole.offset < 0) return false;
  if (rows < 1 || rhs_count < 1) return false;
  if (host_offsets_ != nullptr) {
    if ((rhs_count - 1) * whole.rhs_stride >= whole.row_stride) return false;
  } else {
    if ((rows - 1) * whole.row_stride + (rhs_count - 1) * whole.rhs_stride >= whole.system_stride) return false;
  }
  return extent(view, 0, whole_).last <= whole.length;
}

Cuts::Extent Cuts::extent(int view, int64_t begin, int64_t end) const {
  const auto& [field, rows, rhs_count, whole] = views_[static_cast<size_t>(view)];
  const int64_t last_rhs = (rhs_count - 1) * whole.rhs_stride;
  if (host_offsets_ != nullptr) {
    const int64_t first = host_offsets_[begin], last = host_offsets_[end];
    if (last <= first) return {whole.offset + first * whole.row_stride, whole.offset + first * whole.row_stride};
    return {whole.offset + first * whole.row_stride, whole.offset + (last - 1) * whole.row_stride + last_rhs + 1};
  }
  return {whole.offset + begin * whole.system_stride,
          whole.offset + (end - 1) * whole.system_stride + (rows - 1) * whole.row_stride + last_rhs + 1};
}

void Cuts::settle() {
  for (ViewField& field : views_) {
    field.whole.data = field.view->data;
    field.whole.imaginary = field.view->imaginary;
  }
  for (ArrayField& field : arrays_) field.whole = *field.data;
  if (offsets_ != nullptr) whole_offsets_ = offsets_->data;
}

void Cuts::select(int64_t begin, int64_t end) {
  *count_ = end - begin;
  if (slice_ != nullptr) {
    slice_->first = begin;
    slice_->whole = whole_;
    slice_->first_row = host_offsets_ != nullptr ? host_offsets_[begin] - host_offsets_[0] : begin * rows_;
  }
  for (const ViewField& field : views_) {
    *field.view = field.whole;
    if (host_offsets_ == nullptr) field.view->offset += begin * field.whole.system_stride;
  }
  for (const ArrayField& field : arrays_) {
    *field.data = field.whole + begin * field.each * field.bytes;
    *field.length = (end - begin) * field.each;
  }
  if (offsets_ == nullptr) return;
  offsets_->data = whole_offsets_ + begin;
  offsets_->length = end - begin + 1;
}

void Cuts::move(int view, const Extent& extent, void* data, void* imaginary) {
  View& field = *views_[static_cast<size_t>(view)].view;
  field.data = data;
  field.imaginary = imaginary;
  field.offset -= extent.first;
  field.length = extent.last - extent.first;
}

}  // namespace warploom
