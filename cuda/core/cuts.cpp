#include "cuda/core/cuts.h"

#include <algorithm>

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
  const int d = axis(whole);
  return whole.strides[d] == 0 || (host_offsets_ == nullptr && whole.extents[d] != whole_);
}

bool Cuts::same(int a, int b) const {
  const View &v = views_[static_cast<size_t>(a)].whole, &w = views_[static_cast<size_t>(b)].whole;
  return v.offset == w.offset && v.rank == w.rank && std::equal(v.extents, v.extents + v.rank, w.extents) &&
         std::equal(v.strides, v.strides + v.rank, w.strides);
}

/// The distance from the first to the last element that the other indices reach.
int64_t Cuts::span_of_others(const View& view) const {
  int64_t span = 0;
  for (int d = 0; d < view.rank; ++d) {
    if (d != axis(view)) span += (view.extents[d] - 1) * view.strides[d];
  }
  return span;
}

bool Cuts::separable(int view) const {
  const View& whole = views_[static_cast<size_t>(view)].whole;
  if (shared(view)) return false;
  for (int d = 0; d < whole.rank; ++d) {
    if (whole.extents[d] < 1) return false;
  }
  return span_of_others(whole) < whole.strides[axis(whole)];
}

Cuts::Extent Cuts::extent(int view, int64_t begin, int64_t end) const {
  const View& whole = views_[static_cast<size_t>(view)].whole;
  const int64_t first = host_offsets_ != nullptr ? host_offsets_[begin] : begin;
  const int64_t last = host_offsets_ != nullptr ? host_offsets_[end] : end;
  const int64_t stride = whole.strides[axis(whole)];
  if (last <= first) return {whole.offset + first * stride, whole.offset + first * stride};
  return {whole.offset + first * stride, whole.offset + (last - 1) * stride + span_of_others(whole) + 1};
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
    if (host_offsets_ != nullptr) {
      field.view->extents[axis(field.whole)] = host_offsets_[end];
      continue;
    }
    if (field.whole.extents[0] != whole_) continue;
    field.view->offset += begin * field.whole.strides[0];
    field.view->extents[0] = end - begin;
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
