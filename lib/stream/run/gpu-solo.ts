// A filter alone on all multiprocessors: what Algorithm 1 measures.
import { elementAt, required } from '../../core/known.ts';
import { inputArray, resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import type { DeviceModule } from '../../core/module.ts';
import { countsOf, kindsIn, type Kind } from '../plan/layout.ts';
import { openEnds } from '../plan/open-ends.ts';
import type { PipelineProgram } from '../targets/cuda-pipeline.ts';
import { elementTypes } from './gpu-ends.ts';
import { noFault, turnsEach } from './gpu.ts';
import {
  codesByActor, listBytes, packed, shuffleBytes, shuffleItems, stagedPlaces, typeOf, type DeviceSchedule,
} from './gpu-lists.ts';

/** How an actor runs alone. */
export interface SoloRequest {
  /** Of {@link PipelineProgram.graph}. */
  readonly actor: number;
  /** Threads of an instance; open ends move 1024 items whatever it is. */
  readonly threads: number;
  /** Firings of each block. */
  readonly firings: number;
  readonly blocks: number;
  /** Bytes that its channels may take: instances that do not fit take the items of others again. */
  readonly mostBytes: number;
}

/** Lists for one actor. */
interface SoloLists extends Pick<DeviceSchedule, 'lists' | 'listWords'> {
  readonly words: number;
  readonly stagedBytes: number;
  /** Firings whose items lie apart. */
  readonly firings: number;
}

interface Placed { readonly kind: Kind; readonly scalars: number; readonly at: number }

function listsFor(program: PipelineProgram, { actor, threads, firings, blocks, mostBytes }: SoloRequest): SoloLists {
  const { plan, graph, actors, instances, width } = program;
  const { codes } = instances, nodes = actors.groups.length;
  const own = actor < nodes ? elementAt(codesByActor(instances, nodes), actor)
    : { code: codes.length + actor - nodes, member: 0, ends: [] };
  const size = actor < nodes ? threads : shuffleItems;
  const channels = graph.channels.filter(({ from, to }) => from === actor || to === actor);
  const scalarsOf = (channel: number, kind: Kind): number => {
    const { to, push, pop } = required(channels.find(({ id }) => id === channel));
    return (to === actor ? pop : push) * countsOf(typeOf(plan, channel))[kind];
  };
  const all = firings / size;
  const bytesEach = channels.reduce((sum, { to, push, pop, bytesPerItem }) => sum + (to === actor ? pop : push) * bytesPerItem, 0) * size;
  let apart = all;
  while (apart > 1 && (all % apart !== 0 || apart * blocks * bytesEach > mostBytes)) --apart;
  const count = apart * blocks * size;
  let words = 0;
  const place = (channel: number, kind: Kind): Placed => {
    const scalars = scalarsOf(channel, kind) * count, at = words;
    words += Math.ceil(scalars * (kind === 'd' ? 2 : 1) / 64) * 64;
    return { kind, scalars, at };
  };
  const { at, bytes } = stagedPlaces(own.ends, threads);
  const ends = actor < nodes ? own.ends.map(({ channel, kind }, i) => ({ ...place(channel, kind), shared: elementAt(at, i) }))
    : channels.flatMap(({ id }) => kindsIn(countsOf(typeOf(plan, id))).map((kind) => ({ ...place(id, kind), shared: 0 })));
  const endWords = ends.flatMap(({ at: begin, scalars, shared }) => [begin, scalars, 1, 0, shared]);
  const entry = (first: number): number[] =>
    [9 + endWords.length, own.code, own.member, 0, first, apart, size, count, 1, ...endWords];
  const lists = Array.from({ length: blocks }, (_, block) => Array.from({ length: all / apart }, () => entry(block * apart)).flat());
  return {
    ...packed(lists), words, firings: count,
    stagedBytes: actor < nodes ? bytes : width === 1 ? 0 : Math.max(...channels.map(({ id }) => shuffleBytes(width, typeOf(plan, id)))),
  };
}

/** Microseconds of a launch that does nothing, which is part of every launch. */
export async function emptyLaunch(program: PipelineProgram, device: Device, module: DeviceModule, blocks: number): Promise<number> {
  const nothing = packed(Array.from({ length: blocks }, () => []));
  return timed(program, device, module, { ...nothing, words: 64, stagedBytes: 0, firings: 1 }, { blocks, threads: 32 });
}

/** Microseconds in which each block makes its firings; Infinity where a block of so many threads cannot run. */
export async function soloTime(program: PipelineProgram, device: Device, module: DeviceModule, request: SoloRequest): Promise<number> {
  const made = listsFor(program, request);
  if (required(module.kernels.get(program.kernel)).residentBlocks(request.threads, made.stagedBytes + listBytes) === 0) return Infinity;
  return timed(program, device, module, made, request);
}

const repeats = 4;

async function timed(
  { plan, kernel }: PipelineProgram, device: Device, module: DeviceModule, { lists, listWords, words, stagedBytes, firings }: SoloLists,
  { actor = 0, blocks, threads }: { readonly actor?: number; readonly blocks: number; readonly threads: number },
): Promise<number> {
  const made: DeviceArray[] = [];
  const keep = (array: DeviceArray): DeviceArray => {
    made.push(array);
    return array;
  };
  try {
    const { input, output } = openEnds(plan);
    const arrays = [input, output].flatMap(({ type }, i) => {
      const counts = countsOf(type);
      const items = actor === plan.graph.nodes.length + i ? firings : 1;
      return kindsIn(counts).map((kind) => keep(resultArray(device, elementTypes[kind], items * counts[kind])));
    });
    const fault = keep(inputArray(device, Int32Array.of(noFault))), barrier = keep(inputArray(device, new Int32Array(1)));
    const arena = keep(resultArray(device, 'int32', words, true)), list = keep(inputArray(device, lists));
    let best = Infinity;
    for (let repeat = 0; repeat < repeats; ++repeat) {
      const { deviceSeconds } = await module.launch(kernel, {
        blocks, threads, sharedBytes: stagedBytes + listBytes, arguments: [
          ...arrays, fault, arena, list, barrier, { i64: 0 }, { i64: 0 }, { f64: turnsEach },
          ...[1, 0, 1, 1, 1, listWords, stagedBytes, 0, 1, 0].map((value) => ({ i32: value })), // one iteration of one state, in one step
        ],
      });
      best = Math.min(best, 1e6 * deviceSeconds);
    }
    return best;
  } finally {
    for (const array of made) array.dispose();
  }
}
