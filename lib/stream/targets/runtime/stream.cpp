// Runs a compiled stream program: reads its input from a file and writes the results to another (lib/stream/run/cpp.ts), or both through
// pipes, request by request (lib/stream/session/cpp.ts).
#include "stream.h"

#include "launches.h"
#include "pieces.h"
#include "run.h"
#include "session.h"

/// See lib/kernel/print/arithmetic.h.
extern int wl_nil;
int wl_nil = 0;

namespace wl_runtime {

/// Runs everything on this thread.
static void run_alone() {
  const wl_program& p = *run.program;
  enter_thread();
  reset_ends();
  const Moment begin = this_moment();
  fire_all(run.init, run.head->init_steps);
  all_to_fronts();
  // When the run ends at a number of lines, it may end after any steady state.
  const int most = run.head->lines < 1LL << 60 ? 1 : p.multiplicity;
  for (long long left = run.head->steady_states; left > 0 && run.lines < run.head->lines;) {
    const int now = (int)std::min<long long>(left, most);
    p.steady(now, here.streams.data());
    left -= now;
  }
  fire_all(run.tail, run.head->tail_steps);
  take_time(begin);
}

}  // namespace wl_runtime

using namespace wl_runtime;

void wl_trap(int site, double value) { throw Fault{site, value}; }

void put(double value) { run.line.push_back(value); }

void print(int site) {
  if ((long long)run.printed.size() > run.head->most_printed) wl_trap(site, 0);
  run.printed.push_back(site);
  run.printed.push_back((double)run.line.size());
  run.printed.insert(run.printed.end(), run.line.begin(), run.line.end());
  run.line.clear();
  run.lines += run.program->lines[site];
}

void room(int channel, int items, int capacity) {
  if (index_of(2 * channel + 1) + items <= capacity) return;
  move_to_front(channel);
  if (index_of(2 * channel + 1) + items > capacity) wl_trap(-1, channel);
}

int main(int count, char** words) {
  if (count != 4 || !open_run(words)) return kBadFile;
  try {
    switch ((Way)run.head->way) {
      case Way::alone: run_alone(); break;
      case Way::launches: Launches().run_all(); break;
      case Way::pieces: Pieces().run_all(); break;
      case Way::session: return Session().serve();
    }
  } catch (const Fault& fault) {
    return finish(&fault);
  }
  return finish(nullptr);
}
