// Lists of schedules, followed item by item: what an instance reads was written by an earlier launch, or before by its own block, and
// nobody writes where somebody still reads in the same launch. Shares no code with what makes the lists.
import assert from 'node:assert/strict';
import { textFor, type PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import type { DeviceSchedule } from '../../../lib/stream/run/gpu-lists.ts';
import { scheduleFor } from '../../../lib/stream/run/gpu-schedule.ts';
import type { PipelineProgram } from '../../../lib/stream/targets/cuda-pipeline.ts';
import { randomProgram } from '../emit/random-programs.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { echo } from './loop-programs.ts';

/** What has happened at a place of a ring: the item there, and who touched it last. */
interface Place { item: number; written: Touch; read: Touch }
interface Touch { readonly step: number; readonly block: number }

const never: Touch = { step: -1, block: -1 };
const head = 9, endWords = 5;

/** Follows some iterations; throws where blocks would race, or an item is not there. */
function follow({ graph, actors, instances }: PipelineProgram, schedule: DeviceSchedule, iterations: number): number {
  const { lists, listWords, steps, stages, blocks } = schedule;
  const own = actors.groups.length;
  const rings = new Map<string, Place[]>();
  /** Ends of an entry, in the order in which the codes have them. */
  const endsOf = (code: number, member: number, actor: number) => code < instances.codes.length
    ? instances.codes[code]!.ends[member]!.map(({ channel, isInput, kind, stride }) => ({ channel, isInput, kind, stride }))
    : graph.channels.filter(({ from, to }) => from === actor || to === actor).flatMap(({ id, to }) => {
      const number = actors.channels[id]!;
      const other = instances.codes.flatMap(({ ends }) => ends.flat()).filter(({ channel }) => channel === number);
      return other.map(({ kind, stride }) => ({ channel: number, isInput: to === actor, kind, stride }));
    });
  /** What an end reads and writes: a channel inside a loop is read and written by one actor, everything else stands still. */
  const ratesOf = (channel: number) => {
    const inner = actors.inner.find(({ id }) => id === channel);
    const rates = inner === undefined ? graph.channels[actors.channels.indexOf(channel)]! : undefined;
    return rates ?? { push: inner!.items, pop: inner!.items, peek: inner!.items, tokens: inner!.tokens };
  };
  let touched = 0;
  for (let step = 0; step < (iterations + stages - 1) * steps; ++step) {
    for (let block = 0; block < blocks; ++block) {
      const list = (step % steps * blocks + block) * listWords;
      for (let at = list; lists[at]! > 0; at += lists[at]!) {
        const [, code, member, stage, first, count, threads] = lists.subarray(at, at + head) as unknown as [number, number, number, number, number, number, number];
        const iteration = Math.floor(step / steps) - stage;
        if (iteration < 0 || iteration >= iterations) continue;
        const actor = code < instances.codes.length ? instances.codes[code]!.actors[member]! : own + code - instances.codes.length;
        endsOf(code, member, actor).forEach(({ channel, isInput, kind, stride }, number) => {
          if (channel < 0) return;
          const isInner = actors.inner.some(({ id }) => id === channel);
          const { push, pop, peek, tokens } = ratesOf(channel);
          const [begin, each, slots] = lists.subarray(at + head + number * endWords, at + head + number * endWords + 3) as unknown as [number, number, number];
          const key = `${channel} ${kind}`;
          let ring = rings.get(key);
          if (ring === undefined) rings.set(key, ring = Array.from({ length: each * slots }, () => ({ item: -1, written: never, read: never })));
          assert.equal(ring.length, each * slots, `${key} at ${begin}: both ends see the same ring`);
          const rate = (isInput ? pop : push) * stride, window = isInput ? (peek - pop) * stride : 0;
          const from = iteration * each + first * threads * rate - (isInput ? tokens * stride : 0);
          for (let item = from; item < from + count * threads * rate + window + (isInner ? tokens * stride : 0); ++item) {
            const isRead = isInner ? item < from + tokens * stride : isInput;
            const place: Place = ring[((item % ring.length) + ring.length) % ring.length]!;
            const isOrdered = (touch: Touch): boolean => touch.step < step || touch.block === block;
            ++touched;
            if (isRead) {
              if (item < 0) continue; // what stood there at the start
              assert.equal(place.item, item, `step ${step}: actor ${actor} reads an item of ${key} that is not there`);
              assert.ok(isOrdered(place.written), `step ${step}: actor ${actor} reads what another block writes to ${key}`);
              place.read = { step, block };
            } else {
              assert.ok(isOrdered(place.read) && isOrdered(place.written), `step ${step}: actor ${actor} writes to ${key} where another block reads`);
              place.item = item;
              place.written = { step, block };
            }
          }
        });
      }
    }
  }
  return touched;
}

/** Longer schedules take too long to follow. */
const mostBytes = 2 ** 21;

async function check(graph: ReturnType<typeof program>, options: PipelineOptions): Promise<void> {
  const { text, choice } = textFor(graph, options);
  const { mode, coarsening = 1, processors = 3 } = options;
  const schedule = await scheduleFor(text, choice, { mode, coarsening: [coarsening], processors, mostBytes: 2 ** 30 });
  if (schedule.arenaBytes > mostBytes) return;
  assert.ok(follow(text, schedule, schedule.steps === 1 ? 5 : 3) > 0);
  // The check sees what is wrong.
  if (schedule.stages < 3) return;
  const lists = schedule.lists.slice();
  for (let list = 0; list < lists.length; list += schedule.listWords) for (let at = list; lists[at]! > 0; at += lists[at]!) lists[at + 3] = 0;
  assert.throws(() => follow(text, { ...schedule, lists }, 5), /step \d+/);
}

const ways: readonly PipelineOptions[] = [
  { mode: 'swp', width: 32, threads: 32, coarsening: 1, processors: 3 }, { mode: 'swp', width: 32, threads: 64, coarsening: 3, processors: 7 },
  { mode: 'swpnc', threads: 32, coarsening: 2, processors: 16 }, { mode: 'serial', width: 32, threads: 32, coarsening: 1, processors: 4 },
];

describe('lists of the schedules of chapter 3', function () {
  this.timeout(120_000);

  for (const name of ['bitonic', 'fft-coarse', 'filterbank', 'fm-radio']) {
    it(`${name}: no block waits for another of its launch, and nothing is overwritten too early`, async () => {
      for (const options of ways) await check(program(name), options);
    });
  }

  it('the same of a loop that is not contracted', async () => {
    for (const options of ways.slice(0, 3)) {
      for (const delay of [100, 1000, 3000]) await check(graphOf(echo(delay)), { ...options, coarsening: 1 });
    }
  });

  it('the same of random programs', async () => {
    let taken = 0;
    for (let seed = 5000; taken < 20; ++seed) {
      const graph = graphOf(randomProgram(seed).source);
      try {
        await check(graph, ways[seed % ways.length]!);
        ++taken;
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ERR_WARPLOOM_UNSUPPORTED') throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
  });
});
