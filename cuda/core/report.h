// What an operation returns besides its arrays: a report struct. Its visit(visitor, report, parameters) names the
// fields, as visit() of the parameters does: choices, integers, reals, booleans, and tables of doubles,
//   v.record(name, table, wanted, where)   one row, or none
//   v.rows(name, table, most, where)       as many rows as the call writes, at most `most`
//   v.noted(name, table, words, rows, summary)   the nonzero words, each with its row, if JavaScript had no arrays made
//                                          for them (native/core/arguments.h, PackedParameters::kHeld); the addon fills
//                                          it
// A row is a struct of doubles only, all named in order by its own visit(visitor, row). Parameters point to their
// report, which their visit() passes on as v.report(p.report, p); null: nobody asked for it.
#pragma once
#include <cstdint>

namespace warploom {

/// Who fills a table. `host`: the operation, before it returns, in host memory on every backend. `device`: its kernels,
/// in the backend's memory; the table is downloaded with the call's results.
enum class Where : int32_t { host = 0, device = 1 };

/// Memory for rows, provided by the caller once the call has been checked.
template <class Row>
struct Table {
  Row* data = nullptr;
  int64_t count = 0;  ///< rows that fit; for `host`, afterwards the rows written
};

/// A nonzero status word, with its position and its row.
struct NotedWord {
  double place, word, row;
};

template <class Visitor>
void visit(Visitor& v, NotedWord& w) {
  v.real("place", w.place);
  v.real("word", w.word);
  v.real("row", w.row);
}

}  // namespace warploom
