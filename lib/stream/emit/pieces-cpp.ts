// A generated C++ program without state on several threads: each runs a part of the input on channels of its own, as run/split.ts cuts it.
import { cppType } from './dialect-cpp.ts';
import { streamArrays, type ProgramPlan } from './plan.ts';
import type { RunCounts } from './counts.ts';

/** A piece as {@link piecesText} reads it. */
export interface PieceWords {
  readonly inputFrom: number;
  readonly outputFrom: number;
  readonly counts: RunCounts;
}

/** Pieces as words. */
export function pieceWords(pieces: readonly PieceWords[]): Int32Array {
  return Int32Array.from([pieces.length, ...pieces.flatMap(({ inputFrom, outputFrom, counts: { steadyStates, tail } }) =>
    [inputFrom, outputFrom, steadyStates, tail.length, ...tail.flatMap(({ actor, count }) => [actor, count])])]);
}

/** The program's `run`. */
export function piecesText(plan: ProgramPlan): string {
  const streams = streamArrays(plan).map(({ name, kind, stride, role }) =>
    ({ name, type: cppType[kind], offset: `(size_t)at[${role === 'input' ? 0 : 1}] * ${stride}` }));
  return `
${streams.map(({ name, type }) => `static ${type}* whole_${name};`).join('\n')}
static std::atomic<int> wl_ready{0};
static std::vector<wl_fault> wl_faults;
static void work(const int* at, int number) {
${streams.map(({ name, offset }) => `  ${name} = whole_${name} + ${offset};`).join('\n')}
  wl_steps = wl_run.turns;
  try {
    for (int i = 0; i < wl_run.init_steps; ++i) fire(wl_run.init[2 * i], wl_run.init[2 * i + 1]);
    to_fronts();
    for (int left = at[2]; left > 0; left -= wl_multiplicity) steady(std::min(left, wl_multiplicity));
    for (int i = 0; i < at[3]; ++i) fire(at[4 + 2 * i], at[5 + 2 * i]);
  } catch (const wl_fault& fault) {
    wl_faults[number] = fault;
  }
}
static int run(char** words) {
  if (!wl_open(words[1])) return 2;
  wl_result_path = words[2];
  open_streams();
${streams.map(({ name }) => `  whole_${name} = ${name};`).join('\n')}
  const int count = wl_run.launches[0];
  wl_faults.resize(count, wl_fault{-1, 0});
  std::vector<std::thread> threads;
  const int* at = wl_run.launches + 1;
  try {
    for (int number = 1; number < count; ++number) {
      at += 4 + 2 * at[3];
      threads.emplace_back([at, number, count] {
        for (++wl_ready; wl_ready <= count - 1;) std::this_thread::yield();
        work(at, number);
      });
    }
  } catch (const std::system_error&) {
    _Exit(3);
  }
  while (wl_ready < count - 1) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  ++wl_ready;
  work(wl_run.launches + 1, 0);
  for (auto& each : threads) each.join();
  wl_nanoseconds = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  for (const auto& fault : wl_faults) if (fault.site >= 0) return wl_finish(1, fault.site, fault.value, nullptr);
  return wl_finish(0, 0, 0, write_streams);
}
`.trim();
}
