// The report of a call: memory for its tables, and what JavaScript gets of it.
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

/// Memory for the tables of the report, now that it is known how large they may be. Those that the device fills lie among
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

/// The promise's value, and the copies that fill the tables in it.
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
