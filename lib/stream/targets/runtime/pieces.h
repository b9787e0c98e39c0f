// Runs stateless programs in pieces. Each piece uses the channels of the thread that runs it: see lib/stream/run/threads.ts.
#pragma once
#include <atomic>
#include <system_error>
#include <thread>

#include "run.h"

namespace wl_runtime {

struct Piece {
  /// Where the input and output of the piece begin, in items; how many items come out before its own, and after how many steady states.
  int input, output, dropped, warm_up, states, tail_steps;
  const Step* tail;
};

class Pieces {
 public:
  Pieces();
  void run_all();

 private:
  void begin_streams(const Piece& piece);
  void warm_up(const Piece& piece);
  void settle_down(const Piece& piece);
  void run_piece(const Piece& piece);
  void work();

  int threads_;
  std::vector<Piece> pieces_;
  std::atomic<int> next_{0};
  /// By piece; site -1: none.
  std::vector<Fault> faults_;
};

inline Pieces::Pieces() {
  threads_ = run.words[0];
  const int count = run.words[1];
  const int* at = run.words + 2;
  for (int number = 0; number < count; ++number, at += 6 + 2 * at[5]) {
    pieces_.push_back({at[0], at[1], at[2], at[3], at[4], at[5], (const Step*)(at + 6)});
  }
  faults_.resize((size_t)count, Fault{-1, 0});
}

/// This thread's streams, starting at the piece's part.
inline void Pieces::begin_streams(const Piece& piece) {
  const wl_program& p = *run.program;
  for (int i = 0; i < p.streams; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    const int from = p.roles[external] == wl_role::input ? piece.input : piece.output;
    here.streams[(size_t)i] = (char*)run.streams[(size_t)i] + (size_t)from * (size_t)bytes;
  }
}

/// Buffers for the first items of a piece, which are discarded.
inline thread_local std::vector<std::vector<double>> dropped;

/// Redirects output while the items to be discarded come out.
inline void Pieces::warm_up(const Piece& piece) {
  const wl_program& p = *run.program;
  dropped.resize((size_t)p.streams);
  for (int i = 0; i < p.streams; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    if (p.roles[external] != wl_role::output) continue;
    auto& items = dropped[(size_t)i];
    items.resize(2 * (size_t)piece.dropped * (size_t)bytes / sizeof(double) + 1);
    here.streams[(size_t)i] = items.data();
  }
}

/// Ends that, and keeps the items that came out after them: they belong to the piece.
inline void Pieces::settle_down(const Piece& piece) {
  const wl_program& p = *run.program;
  for (int i = 0; i < p.streams; ++i) {
    const auto& [external, bytes] = p.of_streams[i];
    if (p.roles[external] != wl_role::output) continue;
    const char* items = (const char*)dropped[(size_t)i].data();
    const size_t from = (size_t)piece.dropped * (size_t)bytes;
    const size_t to = (size_t)index_of(2 * (p.channels + external) + 1) * (size_t)bytes;
    char* output = (char*)run.streams[(size_t)i] + (ptrdiff_t)(piece.output - piece.dropped) * bytes;
    if (to > from) memcpy(output + from, items + from, to - from);
    here.streams[(size_t)i] = output;
  }
}

inline void Pieces::run_piece(const Piece& piece) {
  const wl_program& p = *run.program;
  const auto states = [&p](int count) {
    for (int left = count; left > 0; left -= p.multiplicity) p.steady(std::min(left, p.multiplicity), here.streams.data());
  };
  reset_ends();
  here.own.steps[0] = (double)run.head->turns;
  begin_streams(piece);
  if (piece.warm_up > 0) warm_up(piece);
  fire_all(run.init, run.head->init_steps);
  all_to_fronts();
  states(piece.warm_up);
  if (piece.warm_up > 0) settle_down(piece);
  states(piece.states - piece.warm_up);
  fire_all(piece.tail, piece.tail_steps);
}

/// Takes pieces in order. After a fault, earlier pieces are still run, and later ones no longer matter.
inline void Pieces::work() {
  const int count = (int)pieces_.size();
  for (int number; (number = next_++) < count;) {
    try {
      run_piece(pieces_[(size_t)number]);
    } catch (const Fault& fault) {
      faults_[(size_t)number] = fault;
      next_ = count;
    }
  }
}

inline void Pieces::run_all() {
  std::atomic<int> ready{0};
  const int others = threads_ - 1;
  std::vector<std::thread> threads;
  try {
    for (int number = 0; number < others; ++number) {
      threads.emplace_back([this, others, &ready] {
        enter_thread();
        for (++ready; ready <= others;) std::this_thread::yield();
        work();
      });
    }
  } catch (const std::system_error&) {
    _Exit(kNoThreads);
  }
  enter_thread();
  while (ready < others) std::this_thread::yield();
  const Moment begin = this_moment();
  ++ready;
  work();
  for (auto& each : threads) each.join();
  take_time(begin);
  for (const auto& fault : faults_) {
    if (fault.site >= 0) throw fault;
  }
}

}  // namespace wl_runtime
