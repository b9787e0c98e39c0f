// Launches in a generated C++ program: threads of one process, a barrier of their own, tables of tasks that come with the run.
import { endKinds, type LaunchPlan } from '../plan/launches.ts';
import type { ProgramText } from './program-writer.ts';
import type { Call } from './share-cpp.ts';

/** Heads that a program on several threads needs besides. */
export const threadIncludes = ['atomic', 'condition_variable', 'mutex', 'system_error', 'thread', 'tuple']
  .map((name) => `#include <${name}>`).join('\n');

/** A plan as the words that {@link launchText} reads. */
export function launchWords(
  { multiplier, lastStage, chunk, stages, tasks, orders, ends, rings }: LaunchPlan, iterations: readonly number[],
): Int32Array {
  const words = [orders.length, multiplier, lastStage, chunk];
  for (const ring of rings) words.push(ring?.items ?? 0, ring?.slots ?? 0, ring?.residual ?? 0);
  ends.forEach((list, group) => {
    words.push(stages[group]!, iterations[group]!, list.length);
    for (const { kind, slot, each, id } of list) words.push(kind, slot, each, id);
  });
  words.push(tasks.length);
  for (const { slices } of tasks) {
    words.push(slices.length);
    for (const { actor, from, count } of slices) words.push(actor, from, count);
  }
  for (const order of orders) words.push(order.length, ...order);
  return Int32Array.from(words);
}

function mirrorText({ plan, arrays }: ProgramText): string {
  const cases = plan.graph.channels.flatMap(({ id }) => {
    if (plan.storage[id] !== 'block' || plan.steady.residual[id] === 0) return [];
    const copies = arrays.filter(({ role, channel }) => role === 'channel' && channel === id).map(({ name, stride }) =>
      `std::copy_n(${name} + (size_t)from * ${stride!}, (size_t)count * ${stride!}, ${name} + (size_t)to * ${stride!});`);
    return [`    case ${id}: ${copies.join(' ')} break;`];
  });
  return `static void mirror(int channel, int to, int from, int count) {\n  switch (channel) {\n${cases.join('\n')}\n  }\n}\n`;
}

function groupsText({ groups }: ProgramText, call: Call): string {
  const cases = groups.map(({ name }, id) => `    case ${id}: ${call(name, 'n')} break;`);
  return `static void group(int id, int n) {\n  switch (id) {\n${cases.join('\n')}\n  }\n}\n`;
}

const barrier = `
static inline void wl_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
static int wl_threads, wl_last_stage, wl_chunk;
static long long wl_multiplier, wl_iterations;
static std::atomic<int> wl_met{0}, wl_round{0};
static std::chrono::microseconds wl_spin{0};
static std::mutex wl_gate;
static std::condition_variable wl_bell;
static long long wl_stop;
struct wl_first { long long iteration; int group, from; wl_fault fault; };
static std::vector<wl_first> wl_faults;
static void wl_meet() {
  const int round = wl_round.load();
  if (wl_met.fetch_add(1) == wl_threads - 1) {
    wl_stop = wl_iterations;
    for (const auto& each : wl_faults) wl_stop = std::min(wl_stop, each.iteration);
    wl_met = 0;
    { std::lock_guard<std::mutex> lock(wl_gate); wl_round = round + 1; }
    wl_bell.notify_all();
    return;
  }
  // Going to sleep and waking up takes about as long.
  for (const auto until = std::chrono::steady_clock::now() + wl_spin; std::chrono::steady_clock::now() < until;) {
    for (int i = 0; i < 50; ++i) {
      if (wl_round.load(std::memory_order_acquire) != round) return;
      wl_pause();
    }
  }
  std::unique_lock<std::mutex> lock(wl_gate);
  wl_bell.wait(lock, [round] { return wl_round.load() != round; });
}`.trim();

const work = `
struct wl_ring { int items, slots, residual; };
struct wl_end { int kind, slot, each, id; };
struct wl_slice { int group, from, count; };
static const wl_ring* wl_rings;
static struct { int stage, iterations, count; const wl_end* ends; } wl_groups[wl_group_count];
static std::vector<std::pair<int, const wl_slice*>> wl_tasks;
static std::vector<std::pair<int, const int*>> wl_orders;
// One more than the last launch in which some core took it.
static std::vector<std::atomic<long long>> wl_claims;
static int wl_base[sizeof(wl_ix) / sizeof(int)];
static void read_launches() {
  const int* at = wl_run.launches;
  wl_threads = *at++;
  wl_multiplier = *at++;
  wl_last_stage = *at++;
  wl_chunk = *at++;
  wl_rings = (const wl_ring*)at;
  at += 3 * wl_channels;
  for (auto& each : wl_groups) {
    each = {at[0], at[1], at[2], (const wl_end*)(at + 3)};
    at += 3 + 4 * each.count;
  }
  const int tasks = *at++;
  for (int id = 0; id < tasks; ++id, at += 1 + 3 * at[0]) wl_tasks.push_back({at[0], (const wl_slice*)(at + 1)});
  for (int core = 0; core < wl_threads; ++core, at += 1 + at[0]) wl_orders.push_back({at[0], at + 1});
  wl_claims = std::vector<std::atomic<long long>>(tasks);
  if (wl_threads <= (int)std::thread::hardware_concurrency()) wl_spin = std::chrono::microseconds(300);
  wl_stop = wl_iterations = wl_run.steady_states / wl_multiplier;
  wl_faults.resize(wl_threads, wl_first{1LL << 62, 0, 0, {0, 0}});
}
static void place(int id, long long iteration, int from, int core) {
  const auto& g = wl_groups[id];
  for (int i = 0; i < g.count; ++i) {
    const wl_end& e = g.ends[i];
    if (e.kind == ${endKinds.own}) {
      wl_ix[e.slot] = core * wl_rings[e.id].items;
      continue;
    }
    if (e.kind <= ${endKinds.write}) {
      const wl_ring& r = wl_rings[e.id];
      wl_ix[e.slot] = (int)(iteration % r.slots) * r.items + from * e.each + (e.kind == ${endKinds.write} ? r.residual : 0);
      continue;
    }
    const long long at = wl_base[e.slot] + (iteration * wl_multiplier * g.iterations + from) * e.each;
    wl_ix[e.slot] = (int)(e.kind == ${endKinds.stream} || at == 0 ? at : (at - 1) % wl_base[e.slot + 1] + 1);
  }
}
static void mirror_all(int id, long long iteration, int from, int count) {
  const auto& g = wl_groups[id];
  for (int i = 0; i < g.count; ++i) {
    const wl_end& e = g.ends[i];
    if (e.kind != ${endKinds.write} || wl_rings[e.id].residual == 0) continue;
    const wl_ring& r = wl_rings[e.id];
    const int length = r.items * r.slots, at = (int)(iteration % r.slots) * r.items + from * e.each + r.residual;
    const int begin = std::max(at, length), end = at + count * e.each;
    if (end > begin) mirror(e.id, begin - length, begin, end - begin);
  }
}
static bool is_before(const wl_first& a, const wl_first& b) {
  return std::tie(a.iteration, a.group, a.from) < std::tie(b.iteration, b.group, b.from);
}
// After a fault the task goes on with iterations before it. Other tasks run on as a whole: which core does them must not matter.
static void run_task(int core, int id, long long number) {
  long long end = wl_stop;
  for (int i = 0; i < wl_tasks[id].first; ++i) {
    const wl_slice& slice = wl_tasks[id].second[i];
    const long long iteration = number - wl_groups[slice.group].stage;
    if (iteration < 0 || iteration >= end) continue;
    place(slice.group, iteration, slice.from, core);
    try {
      group(slice.group, slice.count);
    } catch (const wl_fault& fault) {
      const wl_first found = {iteration, slice.group, slice.from, fault};
      if (is_before(found, wl_faults[core])) wl_faults[core] = found;
      end = iteration;
      continue;
    }
    mirror_all(slice.group, iteration, slice.from, slice.count);
  }
}
static void launch(int core, long long number) {
  for (int i = 0; i < wl_orders[core].first; ++i) {
    const int id = wl_orders[core].second[i];
    if (wl_claims[id].load(std::memory_order_relaxed) > number || wl_claims[id].exchange(number + 1) > number) continue;
    run_task(core, id, number);
  }
}
static void work(int core) {
  memcpy(wl_ix, wl_base, sizeof(wl_ix));
  wl_steps = wl_run.turns;
  for (long long number = 0; number < wl_stop + wl_last_stage; ++number) {
    launch(core, number);
    wl_meet();
  }
}
static void rest() {
  const int states = (int)(wl_run.steady_states - wl_iterations * wl_multiplier);
  int done = 0;
  do {
    const int now = std::min(states - done, wl_chunk);
    for (int id = 0; id < wl_group_count; ++id) {
      place(id, wl_iterations, done * wl_groups[id].iterations, 0);
      if (now > 0) group(id, now * wl_groups[id].iterations);
    }
    done += now;
  } while (done < states);
  for (int id = 0; id < wl_channels; ++id) {
    const wl_ring& r = wl_rings[id];
    wl_ix[2 * id] = wl_ix[2 * id + 1] = 0;
    if (r.slots == 0) continue;
    wl_ix[2 * id] = (int)((wl_iterations % r.slots) * r.items + states * (r.items / wl_multiplier));
    wl_ix[2 * id + 1] = wl_ix[2 * id] + r.residual;
  }
}
static void run_all() {
  for (int i = 0; i < wl_run.init_steps; ++i) fire(wl_run.init[2 * i], wl_run.init[2 * i + 1]);
  to_fronts();
  memcpy(wl_base, wl_ix, sizeof(wl_ix));
  wl_meet();
  work(0);
  const wl_first* first = &wl_faults[0];
  for (const auto& each : wl_faults) {
    if (is_before(each, *first)) first = &each;
  }
  if (first->iteration < wl_iterations) throw first->fault;
  rest();
  for (int i = 0; i < wl_run.tail_steps; ++i) fire(wl_run.tail[2 * i], wl_run.tail[2 * i + 1]);
}
static int run(char** words) {
  if (!wl_open(words[1])) return 2;
  wl_result_path = words[2];
  open_streams();
  read_launches();
  std::vector<std::thread> threads;
  try {
    for (int core = 1; core < wl_threads; ++core) threads.emplace_back([core] { wl_meet(); wl_meet(); work(core); });
  } catch (const std::system_error&) {
    _Exit(3);
  }
  wl_meet();
  const auto begin = std::chrono::steady_clock::now();
  try {
    run_all();
  } catch (const wl_fault& fault) {
    _Exit(wl_finish(1, fault.site, fault.value, nullptr));
  }
  wl_nanoseconds = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  for (auto& each : threads) each.join();
  return wl_finish(0, 0, 0, write_streams);
}`.trim();

/** What takes the place of the loop over steady states, with the program's `run`. */
export function launchText(text: ProgramText, call: Call): string {
  const { graph, groups } = text.plan;
  const counts = `static const int wl_channels = ${graph.channels.length}, wl_group_count = ${groups.length};`;
  return [counts, groupsText(text, call), mirrorText(text), barrier, work, ''].join('\n');
}
