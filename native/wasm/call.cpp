#include "native/wasm/call.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "cuda/core/view.h"

namespace warploom::wasm {

void Binder::refuse(std::string argument, std::string expected, std::string received, const Slot* slot) {
  if (refusal_) return;
  refusal_ = {std::move(argument), std::move(expected), std::move(received), slot != nullptr ? static_cast<int>(slot - first_slot_) : -1};
}

/// Null if the caller passed none.
Slot* Binder::next(const char* name, ElementType type, Role role, const void* array) {
  Slot* const slot = slots_++;
  if (slot->state == Slot::kAbsent) return nullptr;
  const auto found = static_cast<ElementType>(static_cast<int32_t>(slot->type));
  if (slot->state == Slot::kGiven && found != type && found != real_type(type)) {
    refuse(name, std::string("a ") + typed_array_name(type) + " or a device array", "", slot);
    return nullptr;
  }
  uses_.push_back({name, slot, role, array != nullptr, array, false});
  return slot;
}

void* Binder::memory_of(const Slot& slot) {
  static char nothing[16];  // an empty array counts as passed, not as absent
  if (slot.state == Slot::kHeld) {
    held_.emplace_back(new char[static_cast<size_t>(slot.bytes) + 1]());
    return held_.back().get();
  }
  return slot.bytes > 0 ? reinterpret_cast<void*>(static_cast<uintptr_t>(slot.address)) : nothing;
}

void Binder::view(const char* name, View& view, Role role) {
  numbers_ += 2;
  view.offset = std::isnan(*numbers_) ? view.offset : static_cast<int64_t>(*numbers_);
  ++numbers_;
  const double code = *numbers_++;
  const bool is_whole = std::isnan(code), is_dense = code < 0;
  const int rank = is_whole ? 0 : static_cast<int>(is_dense ? -1 - code : code);
  view.rank = rank;
  for (int d = 0; d < rank; ++d) view.extents[d] = static_cast<int64_t>(*numbers_++);
  for (int d = 0; d < rank && !is_dense; ++d) view.strides[d] = static_cast<int64_t>(*numbers_++);
  const bool split = slots_[1].state != Slot::kAbsent;
  const ElementType type = split ? real_type(element_type(scalar_)) : element_type(scalar_);
  if (slots_[0].state == Slot::kAbsent) {
    slots_ += 2;
    return;
  }
  if (split && !is_complex(scalar_)) return refuse(std::string(name) + ".imaginary", "nothing: the call's type is real", "an array");
  const size_t first = uses_.size();
  const Slot* const data = next(name, type, role, nullptr);
  const Slot* const imaginary = next(name, type, role, nullptr);
  if (data == nullptr) return;
  const int64_t size = element_bytes(type), bytes = static_cast<int64_t>(data->bytes);
  if (bytes % size != 0) return refuse(name, "pairs of real and imaginary parts", "an odd length");
  view.data = memory_of(*data);
  view.length = bytes / size;
  if (is_whole) {
    view.rank = 1;
    view.extents[0] = std::max<int64_t>(view.length - std::max<int64_t>(view.offset, 0), 0);
    view.strides[0] = 1;
  } else if (is_dense) {
    lay_out(&view);
  }
  for (size_t i = first; i < uses_.size(); ++i) {
    uses_[i].field = &view;
    uses_[i].whole = covers(view);
  }
  if (imaginary == nullptr) return;
  if (imaginary->bytes != data->bytes) {
    return refuse(std::string(name) + ".imaginary", "the length of the real parts, " + std::to_string(view.length),
                  std::to_string(static_cast<int64_t>(imaginary->bytes) / size));
  }
  view.imaginary = memory_of(*imaginary);
}

void Binder::finish(const Footprint& footprint) {
  for (const Use& use : uses_) {
    const bool kept = use.role == Role::input || footprint.needs(use.field, use.role);
    use.slot->needed = kept || !(use.is_array || use.whole) ? 1 : 0;
  }
  for (const Use& output : uses_) {
    if (output.role == Role::input || output.slot->state != Slot::kGiven || output.slot->bytes == 0) continue;
    for (const Use& other : uses_) {
      if (&other == &output || !(output.is_array || other.is_array) || other.slot->state != Slot::kGiven) continue;
      const bool apart = output.slot->address + output.slot->bytes <= other.slot->address ||
                         other.slot->address + other.slot->bytes <= output.slot->address;
      if (apart || other.slot->bytes == 0) continue;
      const bool is_output = output.is_array;
      return refuse(is_output ? output.name : other.name, "memory of its own",
                    std::string("memory that overlaps ") + (is_output ? other.name : output.name));
    }
  }
}

Refusal Call::bind(const double* numbers, Slot* slots) {
  Binder binder(numbers, slots);
  invocation_->bind(binder);
  if (!binder.refusal()) {
    Footprint footprint;
    invocation_->footprint(footprint);
    binder.finish(footprint);
  }
  report_ = binder.take_report();
  held_ = binder.take_held();
  return binder.refusal();
}

Status Call::check() {
  WARPLOOM_TRY(invocation_->validate());
  return make_tables();
}

Status Call::make_tables() {
  if (report_ == nullptr) return {};
  TableRequests requests;
  report_->request(requests);
  for (const TableRequest& table : requests.list()) {
    tables_.emplace_back(std::calloc(static_cast<size_t>(table.bytes), 1), &std::free);
    if (tables_.back() == nullptr) return Status(Code::out_of_memory, "not enough host memory");
    *table.data = tables_.back().get();
  }
  return {};
}

/// Collects, for the report, the nonzero ones among the words that only the call sees.
void Call::note_words() {
  WordsOfCall found;
  if (report_ != nullptr) report_->find(found);
  if (found.table == nullptr) return;
  const auto& words = *static_cast<const Array<int32_t>*>(found.word_pointer);
  const auto& rows = *static_cast<const Array<int32_t>*>(found.row_pointer);
  const auto is_held = [&](const Array<int32_t>& array) {
    return std::any_of(held_.begin(), held_.end(), [&](const auto& each) { return static_cast<const void*>(each.get()) == array.data; });
  };
  if (!is_held(words) || !is_held(rows)) return;
  for (int64_t i = 0; i < words.length; ++i) {
    if (words.data[i] != 0) noted_.push_back({static_cast<double>(i), double(words.data[i]), double(rows.data[i])});
  }
  *found.table = {noted_.data(), static_cast<int64_t>(noted_.size())};
}

Status Call::run(Control& control) {
  WARPLOOM_TRY(invocation_->perform(device_, control));
  note_words();
  NumberWriter writer;
  writer.list.push_back(control.device_seconds);
  if (report_ != nullptr) report_->write(writer);
  results_ = std::move(writer.list);
  return {};
}

}  // namespace warploom::wasm
