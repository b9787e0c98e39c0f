// The tables of a call's report (cuda/core/report.h): the memory they need, and the words that only the call sees.
#pragma once
#include <cstdint>
#include <vector>

#include "cuda/core/report.h"
#include "cuda/core/types.h"

namespace warploom {

/// A table that needs memory.
struct TableRequest {
  const char* name;
  void** data;  ///< of the Table
  int64_t bytes;
  Where where;
};

/// Ignores fields of a report.
struct PassedOver {
  template <class... Rest>
  void choice(Rest&&...) {}
  template <class... Rest>
  void integer(Rest&&...) {}
  template <class... Rest>
  void real(Rest&&...) {}
  template <class... Rest>
  void boolean(Rest&&...) {}
  template <class... Rest>
  void record(Rest&&...) {}
  template <class... Rest>
  void rows(Rest&&...) {}
  template <class... Rest>
  void noted(Rest&&...) {}
};

/// visit()'s visitor that sets the row counts of tables and collects their memory requests.
class TableRequests : public PassedOver {
 public:
  const std::vector<TableRequest>& list() const { return list_; }

  template <class Row>
  void record(const char* name, Table<Row>& table, bool wanted, Where where) {
    rows(name, table, wanted ? 1 : 0, where);
  }
  template <class Row>
  void rows(const char* name, Table<Row>& table, int64_t most, Where where) {
    table.count = most;
    if (most > 0) list_.push_back({name, reinterpret_cast<void**>(&table.data), most * static_cast<int64_t>(sizeof(Row)), where});
  }

 private:
  std::vector<TableRequest> list_;
};

/// visit()'s visitor that finds the status words of a call; they need not be in JavaScript's arrays.
class WordsOfCall : public PassedOver {
 public:
  Table<NotedWord>* table = nullptr;  ///< null: the operation writes no words
  /// Places in the parameters; the last may be null.
  const void *word_pointer = nullptr, *row_pointer = nullptr, *summary_pointer = nullptr;
  int64_t summary_bytes = 0;
  bool (*plain)(const void* summary) = nullptr;  ///< whether the summary says that all words are zero

  template <class Summary>
  void noted(const char*, Table<NotedWord>& noted, const Array<int32_t>& words, const Array<int32_t>& rows, const Table<Summary>& summary) {
    table = &noted;
    word_pointer = &words.data;
    row_pointer = &rows.data;
    if (summary.count == 0) return;
    summary_pointer = &summary.data;
    summary_bytes = sizeof(Summary);
    plain = [](const void* found) { return static_cast<const Summary*>(found)->plain(); };
  }
};

}  // namespace warploom
