// The report of a call (cuda/core/report.h) with its type erased: memory for its tables, and conversion to JavaScript
// values.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "native/core/napi_setup.h"
#include "native/core/report_tables.h"

namespace warploom {

/// visit()'s visitor that makes the list JavaScript gets: the seconds on the device, then every field in order. Choices
/// and booleans become numbers, tables become Float64Arrays, and records that nobody requested become undefined.
class ReportWriter {
 public:
  /// JavaScript memory for a table that must be fetched.
  struct Fetch {
    void* const* table;
    char* memory;
    int64_t bytes;
  };

  ReportWriter(napi_env env, double seconds);
  napi_value list() const { return list_; }
  const std::vector<Fetch>& fetches() const { return fetches_; }
  int64_t table_bytes() const { return table_bytes_; }

  template <class E, size_t kCount>
  void choice(const char*, E& value, const char* const (&)[kCount]) {
    add(static_cast<double>(static_cast<int64_t>(value)));
  }
  template <class T>
  void integer(const char*, T& value) {
    add(static_cast<double>(value));
  }
  void real(const char*, double& value) { add(value); }
  void boolean(const char*, bool& value) { add(value ? 1 : 0); }
  template <class Row>
  void record(const char*, Table<Row>& table, bool, Where where) {
    if (table.count == 0) add_nothing();
    else add_table(table, where);
  }
  template <class Row>
  void rows(const char*, Table<Row>& table, int64_t, Where where) {
    add_table(table, where);
  }
  template <class... Rest>
  void noted(const char*, Table<NotedWord>& table, Rest&&...) {
    if (table.count == 0) add_nothing();
    else add_table(table, Where::host);
  }

 private:
  template <class Row>
  void add_table(Table<Row>& table, Where where) {
    const int64_t bytes = table.count * static_cast<int64_t>(sizeof(Row));
    char* const memory = add_array(bytes, where == Where::host ? reinterpret_cast<const char*>(table.data) : nullptr);
    if (where == Where::device && bytes > 0) fetches_.push_back({reinterpret_cast<void**>(&table.data), memory, bytes});
  }
  void add(double value);
  void add_nothing();
  char* add_array(int64_t bytes, const char* contents);

  napi_env env_;
  napi_value list_ = nullptr;
  uint32_t count_ = 0;
  std::vector<Fetch> fetches_;
  int64_t table_bytes_ = 0;
};

class Report {
 public:
  virtual ~Report() = default;
  /// The call must have been checked.
  virtual void request(TableRequests& requests) = 0;
  virtual void write(ReportWriter& writer) = 0;
  virtual void find(WordsOfCall& words) = 0;
};

/// The report that visit() of the parameters declares with `v.report(p.report, p)`.
template <class Fields, class Parameters>
class TypedReport final : public Report {
 public:
  explicit TypedReport(const Parameters& parameters) : parameters_(parameters) {}
  Fields* fields() { return &fields_; }
  void request(TableRequests& requests) override { visit(requests, fields_, parameters_); }
  void write(ReportWriter& writer) override { visit(writer, fields_, parameters_); }
  void find(WordsOfCall& words) override { visit(words, fields_, parameters_); }

 private:
  const Parameters& parameters_;
  Fields fields_;
};

}  // namespace warploom
