// A generated C++ program without state on several threads: each takes pieces of the run, as run/split.ts cuts it, and runs them on
// channels of its own.
import { cppType } from './dialect-cpp.ts';
import { streamArrays, type ProgramPlan } from '../plan/plan.ts';
import type { RunCounts } from '../plan/counts.ts';

/** A piece as {@link piecesText} reads it. */
export interface PieceWords {
  readonly inputFrom: number;
  readonly outputFrom: number;
  readonly dropped: number;
  readonly warmUp: number;
  readonly counts: RunCounts;
}

/** Pieces as words. */
export function pieceWords(pieces: readonly PieceWords[], threads: number): Int32Array {
  return Int32Array.from([Math.min(threads, pieces.length), pieces.length, ...pieces.flatMap(
    ({ inputFrom, outputFrom, dropped, warmUp, counts: { steadyStates, tail } }) => [inputFrom, outputFrom, dropped, warmUp, steadyStates,
      tail.length, ...tail.flatMap(({ actor, count }) => [actor, count])])]);
}

/** Functions that point a thread's streams to its piece: `warm_up` has items that are not wanted go elsewhere, `settle_down` ends that. */
function streamsText(plan: ProgramPlan): string {
  const arrays = streamArrays(plan).map((each) => ({ ...each, type: cppType[each.kind] }));
  const begin = (role: string) => (role === 'input' ? 'piece.input' : 'piece.output');
  const outputs = arrays.filter(({ role }) => role === 'output');
  return `
${arrays.map(({ name, type }) => `static ${type}* whole_${name};`).join('\n')}
${outputs.map(({ name, type }) => `static thread_local std::vector<${type}> dropped_${name};`).join('\n')}
static void find_streams() {
${arrays.map(({ name }) => `  whole_${name} = ${name};`).join('\n')}
}
static void begin_streams(const wl_piece& piece) {
${arrays.map(({ name, stride, role }) => `  ${name} = whole_${name} + (size_t)${begin(role)} * ${stride};`).join('\n')}
}
static void warm_up(const wl_piece& piece) {
${outputs.map(({ name, stride }) => `  dropped_${name}.resize((size_t)piece.dropped * ${2 * stride});
  ${name} = dropped_${name}.data();`).join('\n')}
}
static void settle_down(const wl_piece& piece) {
${outputs.map(({ name, stride, id }) => `  ${name} = whole_${name} + ((size_t)piece.output - piece.dropped) * ${stride};
  std::copy(dropped_${name}.begin() + (size_t)piece.dropped * ${stride}, dropped_${name}.begin() + (size_t)wl_ix[${2 * id + 1}] * ${stride},
    ${name} + (size_t)piece.dropped * ${stride});`).join('\n')}
}`.trim();
}

const pieces = `
struct wl_piece { int input, output, dropped, warm_up, states, tail_steps; const int* tail; };`.trim();

const work = `
static std::vector<wl_piece> wl_pieces;
static std::atomic<int> wl_ready{0}, wl_next{0};
static std::vector<wl_fault> wl_faults;
static void run_states(int left) {
  for (; left > 0; left -= wl_multiplicity) steady(std::min(left, wl_multiplicity));
}
static void run_piece(const wl_piece& piece) {
  std::fill(std::begin(wl_ix), std::end(wl_ix), 0);
  std::fill(std::begin(wl_fired), std::end(wl_fired), 0);
  wl_steps = wl_run.turns;
  begin_streams(piece);
  if (piece.warm_up > 0) warm_up(piece);
  for (int i = 0; i < wl_run.init_steps; ++i) fire(wl_run.init[2 * i], wl_run.init[2 * i + 1]);
  to_fronts();
  run_states(piece.warm_up);
  if (piece.warm_up > 0) settle_down(piece);
  run_states(piece.states - piece.warm_up);
  for (int i = 0; i < piece.tail_steps; ++i) fire(piece.tail[2 * i], piece.tail[2 * i + 1]);
}
// Takes pieces in order: when one goes wrong those before it are taken, and those after it no longer matter.
static void work() {
  const int count = (int)wl_pieces.size();
  for (int number; (number = wl_next++) < count;) {
    try {
      run_piece(wl_pieces[number]);
    } catch (const wl_fault& fault) {
      wl_faults[number] = fault;
      wl_next = count;
    }
  }
}
static void read_pieces(const int* at, int count) {
  for (int number = 0; number < count; ++number, at += 6 + 2 * at[5]) {
    wl_pieces.push_back({at[0], at[1], at[2], at[3], at[4], at[5], at + 6});
  }
  wl_faults.resize(count, wl_fault{-1, 0});
}
static int run(char** words) {
  if (!wl_open(words[1])) return 2;
  wl_result_path = words[2];
  open_streams();
  find_streams();
  const int others = wl_run.launches[0] - 1;
  read_pieces(wl_run.launches + 2, wl_run.launches[1]);
  std::vector<std::thread> threads;
  try {
    for (int number = 0; number < others; ++number) {
      threads.emplace_back([others] {
        for (++wl_ready; wl_ready <= others;) std::this_thread::yield();
        work();
      });
    }
  } catch (const std::system_error&) {
    _Exit(3);
  }
  while (wl_ready < others) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  ++wl_ready;
  work();
  for (auto& each : threads) each.join();
  begin_streams(wl_piece{});
  wl_nanoseconds = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  for (const auto& fault : wl_faults) if (fault.site >= 0) return wl_finish(1, fault.site, fault.value, nullptr);
  return wl_finish(0, 0, 0, write_streams);
}`.trim();

/** The program's `run`. */
export function piecesText(plan: ProgramPlan): string {
  return [pieces, streamsText(plan), work].join('\n');
}
