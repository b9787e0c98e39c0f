// What a user's call takes, beside what its kernel takes.
//
//   calls/<domain.operation>/<shape>/<type>/<device|pinned|plain>   one awaited call
//   …/steps        on a GPU: the same call on device arrays, step by step (figures, in seconds, each from the step before)
//   …/queued       50 calls on device arrays, then all awaited: time of each
//   …/concurrent   plain calls made at once over the same one after the other
//
// `value` is the wall time of a call, `limit` what the device says of the operation proper; figures: `overhead` (their difference),
// `stall` (the longest time the event loop got no turn while the call ran), `synchronous` (until the call returned its promise),
// `megabytes` (of its arrays in host memory).
import { performance } from 'node:perf_hooks';
import { tridiagonal } from '../../lib/index.ts';
import { isUnsupported, type BenchContext } from '../domain.ts';
import { summarise } from '../statistics.ts';
import { callCases, crowds, Placement, type CallCase, type Memory, type Prepared } from './cases.ts';
import { moments, nativeBenchmarks } from '../native.ts';
import { pythonPeers, type Peers } from './peers.ts';

/** Seconds that the repeats of one row take. */
const kRowSeconds = 1;
/** Seconds of calls before the first that counts. */
const kWarmSeconds = 0.25;
const kQueued = 50;

/** Calls until the engine has compiled what they run, as in a process that has been serving for a while: seconds of one. */
async function warm({ call }: Prepared, quick: boolean): Promise<number> {
  const begin = performance.now();
  let [calls, last] = [0, begin];
  let once = 0;
  while (calls < (quick ? 2 : 5) || (!quick && last - begin < 1000 * kWarmSeconds)) {
    await call();
    const now = performance.now();
    once = (now - last) / 1000;
    last = now;
    calls += 1;
  }
  return once;
}

/** Calls one after the other: wall seconds of each, synchronous seconds, device seconds. */
async function timeCalls(prepared: Prepared, quick: boolean) {
  const { call } = prepared;
  const once = await warm(prepared, quick);
  const count = quick ? 3 : Math.max(5, Math.min(3000, Math.ceil(kRowSeconds / Math.max(once, 1e-6))));
  const wall: number[] = [];
  const synchronous: number[] = [];
  const device: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const start = performance.now();
    const pending = call();
    synchronous.push((performance.now() - start) / 1000);
    const seconds = await pending;
    wall.push((performance.now() - start) / 1000);
    if (seconds !== undefined) device.push(seconds);
  }
  const kernel = device.length > 0 ? summarise(device).median : undefined;
  return { wall: summarise(wall), synchronous: summarise(synchronous).median, kernel };
}

/** The longest time without a turn of the event loop while a few calls are made, in seconds. */
async function longestStall({ call }: Prepared, quick: boolean): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let watching = true;
  const turn = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (watching) setImmediate(turn);
  };
  const stalls: number[] = [];
  for (let i = 0; i < (quick ? 1 : 5); i += 1) {
    longest = 0;
    watching = true;
    last = performance.now();
    setImmediate(turn);
    await call();
    await new Promise((resolve) => setImmediate(resolve)); // the last gap, too
    watching = false;
    await new Promise((resolve) => setImmediate(resolve));
    stalls.push(longest / 1000);
  }
  return summarise(stalls).median;
}

/** Where the time of a call goes: seconds from each step to the next. */
async function benchmarkSteps(context: BenchContext, id: string, { call }: Prepared): Promise<void> {
  const { moments: watch } = nativeBenchmarks();
  const names = ['called', ...moments, 'resolved'];
  const spans = names.slice(1).map(() => [] as number[]);
  const whole: number[] = [];
  watch(true);
  for (let i = 0; i < (context.quick ? 20 : 3000); i += 1) {
    const called = Number(process.hrtime.bigint());
    await call();
    const resolved = Number(process.hrtime.bigint());
    const times = [called, ...watch(true), resolved];
    if (i < (context.quick ? 0 : 1000)) continue;
    whole.push((resolved - called) / 1e9);
    spans.forEach((span, k) => span.push(Math.max(0, times[k + 1]! - times[k]!) / 1e9));
  }
  watch(false);
  const { median, spread } = summarise(whole);
  context.emit({ id, value: median, unit: 's', spread,
    figures: Object.fromEntries(spans.map((span, k) => [names[k + 1]!, summarise(span).median])) });
}

async function queued({ call }: Prepared, quick: boolean): Promise<{ median: number; spread: number }> {
  const each: number[] = [];
  for (let i = 0; i < (quick ? 2 : 7); i += 1) {
    const start = performance.now();
    await Promise.all(Array.from({ length: kQueued }, () => call()));
    each.push((performance.now() - start) / 1000 / kQueued);
  }
  return summarise(each);
}

async function benchmarkCase(context: BenchContext, each: CallCase, memory: Memory, peers: Peers): Promise<void> {
  const prefix = `calls/${each.operation}/${each.shape}/${each.type}`;
  const id = `${prefix}/${memory}`;
  const withQueue = memory === 'device' && context.wanted(`${prefix}/queued`);
  const withSteps = memory === 'device' && context.device.backend === 'cuda' && each.steps === true && context.wanted(`${prefix}/steps`);
  if (!context.wanted(id) && !withQueue && !withSteps) return;
  const where = new Placement(context.device, memory);
  try {
    const prepared = await each.prepare(where);
    const { wall, synchronous, kernel } = await timeCalls(prepared, context.quick);
    const stall = await longestStall(prepared, context.quick);
    const figures = {
      ...(kernel === undefined ? {} : { kernel, overhead: wall.median - kernel }), synchronous, stall,
      ...(memory === 'device' ? {} : { megabytes: prepared.bytes / 1e6 }),
    };
    const known = peers[id];
    context.emit({
      id, value: wall.median, unit: 's', spread: wall.spread, figures,
      ...(kernel === undefined || kernel === 0 ? {} : { limit: kernel, fraction: kernel / wall.median }),
      ...(known === undefined ? {} : { peers: known }),
    });
    if (withSteps) {
      await benchmarkSteps(context, `${prefix}/steps`, prepared);
    }
    if (!withQueue) return;
    const many = await queued(prepared, context.quick);
    context.emit({
      id: `${prefix}/queued`, value: many.median, unit: 's', spread: many.spread,
      ...(kernel === undefined || kernel === 0 ? {} : { limit: kernel, fraction: kernel / many.median }),
      ...(peers[`${prefix}/queued`] === undefined ? {} : { peers: peers[`${prefix}/queued`]! }),
    });
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    context.say(`${id}: ${error.message}`);
  } finally {
    where.free();
    await context.device.trim();
  }
}

/** Calls on plain arrays made at once, over as many made one after the other. */
async function benchmarkCrowd(context: BenchContext, { batch, n, count }: { batch: number; n: number; count: number }): Promise<void> {
  const id = `calls/tridiagonal.solve/${count}x${batch}x${n}/float64/concurrent`;
  if (!context.wanted(id)) return;
  const total = batch * n;
  const problems = Array.from({ length: count }, () => ({
    lower: new Float64Array(total).fill(-1), diagonal: new Float64Array(total).fill(4), upper: new Float64Array(total).fill(-1),
    rhs: new Float64Array(total).fill(1), out: new Float64Array(total), n, batch, device: context.device,
  }));
  const serial: number[] = [];
  const atOnce: number[] = [];
  for (let i = 0; i < (context.quick ? 2 : 7); i += 1) {
    let start = performance.now();
    for (const problem of problems) await tridiagonal.solve(problem);
    serial.push((performance.now() - start) / 1000);
    start = performance.now();
    await Promise.all(problems.map((problem) => tridiagonal.solve(problem)));
    atOnce.push((performance.now() - start) / 1000);
  }
  const [one, all] = [summarise(serial), summarise(atOnce)];
  context.emit({ id, value: all.median, unit: 's', limit: one.median, fraction: one.median / all.median, spread: all.spread,
    figures: { serial: one.median, megabytes: (5 * 8 * total) / 1e6 } });
}

/** All rows on the context's device. */
export async function benchmarkCalls(context: BenchContext): Promise<void> {
  const peers = context.device.backend === 'cuda' && !context.quick ? await pythonPeers(context) : {};
  for (const each of callCases(context.device.backend, context.quick)) {
    for (const memory of each.memories) {
      // Memory of the cpu backend is what plain aligned memory is.
      if (memory === 'pinned' && context.device.backend !== 'cuda') continue;
      await benchmarkCase(context, each, memory, peers);
    }
  }
  for (const crowd of crowds(context.device.backend, context.quick)) await benchmarkCrowd(context, crowd);
}
