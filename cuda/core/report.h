// What an operation returns besides its arrays: a report struct whose fields its visit(visitor, report, parameters) names, as
// visit() of the parameters names theirs: choices, integers, reals, booleans, and tables of doubles,
//   v.record(name, table, wanted, where)   one row, or none
//   v.rows(name, table, most, where)       as many rows as the call writes, `most` at most
//   v.noted(name, table, words, rows, summary)   the words that are not zero, each with its row, where JavaScript had no arrays
//                                          made for them (native/core/arguments.h, PackedParameters::kHeld); filled by the addon
// A row is a struct of doubles alone, all named in order by its own visit(visitor, row). Parameters point to their report,
// which visit() of the parameters passes on as v.report(p.report, p); null: nobody asked for it.
#pragma once
#include <cstdint>

namespace warploom {

/// Who fills a table. `host`: the operation before it returns, in host memory on every backend. `device`: its kernels, in
/// memory of the backend, which travels back with the call's results.
enum class Where : int32_t { host = 0, device = 1 };

/// Memory for rows, given by the caller when the call has been checked.
template <class Row>
struct Table {
  Row* data = nullptr;
  int64_t count = 0;  ///< rows there is room for; host: then those that were written
};

/// A status word that is not zero, with its place and its row.
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
