// The report of a call: memory for its tables, and the value JavaScript gets.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "native/core/call.h"
#include "native/core/js.h"
#include "native/core/traffic.h"

namespace warploom {
namespace {

Failure no_memory() { return Failure::from(Status(Code::out_of_memory, "not enough host memory")); }

}  // namespace

/// Allocates the tables of the report, now that their largest sizes are known. Tables that the device fills lie among
/// the results.
Failure Call::make_tables() {
  if (report_ == nullptr) return {};
  TableRequests requests;
  report_->request(requests);
  bool travels = false;
  for (const TableRequest& table : requests.list()) {
    if (table.where == Where::host) {
      Failure failure = session_->reserve(table.bytes, held_bytes());
      if (failure) return failure;
      tables_bytes_ += table.bytes;
      tables_.emplace_back(std::calloc(static_cast<size_t>(table.bytes), 1), &std::free);
      if (tables_.back() == nullptr) return no_memory();
      *table.data = tables_.back().get();
      continue;
    }
    Buffer buffer;
    buffer.name = table.name;
    buffer.is_array = buffer.output = buffer.table = true;
    buffer.bytes = table.bytes;
    pointers_.push_back({table.data, buffers_.size()});
    buffers_.push_back(std::move(buffer));
    travels = true;
  }
  if (!travels) return {};
  parts_[kResults].block.reset();
  place_buffers();
  return reserve_parts();
}

const Buffer* Call::buffer_at(const void* pointer) const {
  for (const Pointer& each : pointers_) {
    if (each.target == pointer) return &buffers_[each.buffer];
  }
  return nullptr;
}

/// After the operation: reads back bytes of a result or of held words.
Status Call::read_back(const Buffer& buffer, int64_t from, int64_t bytes, void* to, Device& device) {
  const Part& part = parts_[static_cast<size_t>(buffer.part)];
  if (buffer.part == kHeld && !session_->host_memory()) {
    return device.download(to, static_cast<char*>(memory_) + part.device_offset + buffer.offset + from, bytes);
  }
  std::vector<HostCopy> copies;
  part.block->copy_back({static_cast<char*>(to), buffer.offset + from, bytes}, &copies);
  copy_all(copies);
  return {};
}

/// On the device's thread, after the operation: collects, for the report, the nonzero ones among the words that only
/// the call sees.
Status Call::note_words(Device& device) {
  constexpr int64_t kAtOnce = int64_t{1} << 18;
  WordsOfCall found;
  if (report_ != nullptr) report_->find(found);
  const Buffer *const words = buffer_at(found.word_pointer), *const rows = buffer_at(found.row_pointer);
  if (words == nullptr || rows == nullptr || !words->held || !rows->held) return {};
  if (const Buffer* const summary = buffer_at(found.summary_pointer); summary != nullptr) {
    std::vector<double> numbers(static_cast<size_t>(found.summary_bytes) / sizeof(double));
    WARPLOOM_TRY(read_back(*summary, 0, found.summary_bytes, numbers.data(), device));
    if (found.plain(numbers.data())) return {};
  }
  const int64_t count = words->bytes / static_cast<int64_t>(sizeof(int32_t));
  std::vector<int32_t> each(static_cast<size_t>(std::min(count, kAtOnce))), its_row(each.size());
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const auto here = static_cast<size_t>(std::min(kAtOnce, count - first));
    const int64_t from = first * static_cast<int64_t>(sizeof(int32_t)), bytes = static_cast<int64_t>(here * sizeof(int32_t));
    WARPLOOM_TRY(read_back(*words, from, bytes, each.data(), device));
    if (std::all_of(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(here), [](int32_t word) { return word == 0; })) continue;
    WARPLOOM_TRY(read_back(*rows, from, bytes, its_row.data(), device));
    for (size_t i = 0; i < here; ++i) {
      if (each[i] != 0) noted_.push_back({static_cast<double>(first) + static_cast<double>(i), double(each[i]), double(its_row[i])});
    }
  }
  *found.table = {noted_.data(), static_cast<int64_t>(noted_.size())};
  return {};
}

/// Makes the promise's value, and lists the copies that fill its tables.
Failure Call::write_report(napi_env env, std::vector<HostCopy>* copies, napi_value* result) {
  if (report_ == nullptr) {
    *result = js::number(env, device_seconds);
    return {};
  }
  ReportWriter writer(env, device_seconds);
  try {
    report_->write(writer);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  for (const ReportWriter::Fetch& fetch : writer.fetches()) {
    for (const Pointer& pointer : pointers_) {
      if (pointer.target != fetch.table) continue;
      const Buffer& buffer = buffers_[pointer.buffer];
      parts_[static_cast<size_t>(buffer.part)].block->copy_back({fetch.memory, buffer.offset, fetch.bytes}, copies);
    }
  }
  Traffic::get().returned += writer.table_bytes();
  *result = writer.list();
  return {};
}

}  // namespace warploom
