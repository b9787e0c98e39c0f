// The data that the machines of a compiled program (machine.ts) receive: once for all runs, and for each run.
import { availableParallelism } from 'node:os';
import { elementAt } from '../../core/known.ts';
import { mostPages } from '../../kernel/print/wasm-binary.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { makeArray, type Kind } from '../plan/layout.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import type { Step } from '../schedule/index.ts';
import { wasmModule, type MemoryLayout } from '../targets/wasm.ts';
import type { Scalars } from './prepare.ts';
import { engine } from '../../core/wasm-engine.ts';
import type { wayNumbers } from './words.ts';

/** The data that all machines of a run receive. */
export interface MachineRun {
  readonly way: (typeof wayNumbers)[keyof typeof wayNumbers];
  /** The launches or pieces, as encoded by words.ts. */
  readonly words: Int32Array;
  /** By task: one more than the number of the last launch in which a machine took it. */
  readonly claims: SharedInts;
  /** The run ends when this many lines have been printed; it fails when `mostPrinted` values have been. */
  readonly lines: number;
  readonly mostPrinted: number;
  /** By array of the external streams. */
  readonly streams: readonly Scalars[];
  /** Items of streams that the arrays lack, by number of the stream: no machine reads or writes them. */
  readonly gaps?: readonly StreamGap[];
  /** Ends of channels and streams at the start. */
  readonly ix: Int32Array;
  readonly seed: number;
  /** The limit on iterations of loops with unknown trip counts. */
  readonly turns: number;
  /** The time (`performance.now()`) after which a machine in the calling thread starts no further steady state. */
  readonly until: number;
  readonly init: readonly Step[];
  readonly steadyStates: number;
  readonly tail: readonly Step[];
  /** Whether the thread that started the machines meets them at the barriers, and works between the launches and what is around them. */
  readonly isConducted?: boolean;
}

/** Items `from` to `from + items − 1` of a stream. */
export interface StreamGap {
  readonly id: number;
  readonly from: number;
  readonly items: number;
}

/** Integers shared by several threads. */
export type SharedInts = Int32Array<SharedArrayBuffer>;

export function shared(kind: Kind, length: number): Scalars {
  const buffer = new SharedArrayBuffer(length * (kind === 'd' ? 8 : 4));
  return kind === 'i' ? new Int32Array(buffer) : kind === 'f' ? new Float32Array(buffer) : new Float64Array(buffer);
}

/** One end of a stream, for a function: items that one firing or iteration moves, and items beyond them that it peeks at. */
export interface StreamEnd {
  readonly id: number;
  readonly isIn: boolean;
  readonly each: number;
  readonly more: number;
}

/** The streams whose items pass a node in order. */
function endsOf({ externals }: ProgramPlan, node: number, firings: number, isFirst: boolean): StreamEnd[] {
  return externals.filter((each) => each.node === node && each.kind !== 'reader').map(({ id, isIn, first, later }) => {
    const { items, beyond } = isFirst ? first : later;
    return { id, isIn, each: firings * items, more: Math.max(0, beyond) };
  });
}

/** Compiled modules by program, for one thread and for several: threads that start later find the code already optimised. */
const modules = [new WeakMap<LoweredProgram, Module>(), new WeakMap<LoweredProgram, Module>()] as const;
interface Module { readonly module: object; readonly layout: MemoryLayout }

function moduleOf(program: LoweredProgram, isSharing: boolean): Module {
  const known = modules[isSharing ? 1 : 0];
  let made = known.get(program);
  if (made === undefined) {
    const { bytes, layout } = wasmModule(program, isSharing);
    known.set(program, made = { module: new engine.Module(bytes), layout });
  }
  return made;
}

/** How long waiting threads spin, in milliseconds: going to sleep and waking up takes about as long. */
const spinMilliseconds = 0.3;

/** The data that the machines of a program have from the start. Machines that share channels and state share memory. */
export function commonData(program: LoweredProgram, threads: number, isSharing: boolean) {
  const { plan } = program;
  const { module, layout } = moduleOf(program, isSharing);
  const numbers = (kind: Kind, length: number) => (isSharing ? shared(kind, length) : makeArray(kind, length));
  return {
    module, pages: layout.pages, mostPages, ownBytes: layout.ownBytes,
    memory: isSharing ? new engine.Memory({ initial: layout.pages, maximum: mostPages, shared: true }) : undefined,
    spin: threads <= availableParallelism() ? spinMilliseconds : 0,
    channels: plan.graph.channels.length, multiplicity: plan.multiplicity,
    /** By site: lines completed by what it prints. */
    linesOf: program.sites.map(({ print }) => print?.lines ?? 0),
    /** The number of waiting machines, of barriers passed and of pieces taken. */
    gate: shared('i', 3) as SharedInts,
    /** By machine on a worker: the system's number of its thread. */
    threadNumbers: shared('i', threads) as SharedInts,
    /**
     * The first faulty iteration of each machine and of the device, the first of all, and the ends of channels and streams before the
     * launches.
     */
    stops: numbers('d', threads + 1), end: numbers('d', 1), base: numbers('i', 2 * (plan.graph.channels.length + plan.externals.length)),
    places: layout.places,
    arrays: program.declarations.map((each) => ({
      name: each.buffer.name, role: each.use, initial: each.buffer.initial ?? [], channel: each.channel ?? -1, stride: each.stride ?? 0,
    })),
    streams: plan.streamArrays,
    ends: plan.externals.map(({ id, slot, kind }) => ({ id, slot, isFile: kind === 'reader' })),
    fireEnds: plan.graph.nodes.map(({ id }) => endsOf(plan, id, 1, false)),
    firstEnds: plan.graph.nodes.map(({ id }) => endsOf(plan, id, 1, true)),
    steadyEnds: plan.graph.nodes.flatMap(({ id }) => endsOf(plan, id, elementAt(plan.steady.repetitions, id), false)),
    // Nodes of a feedback loop may occur in several steps.
    groupEnds: plan.groups.map(({ steps }) => [...new Set(steps.map(({ actor }) => actor))].flatMap((node) =>
      endsOf(plan, node, steps.reduce((sum, { actor, count }) => sum + (actor === node ? count : 0), 0), false))),
  };
}

export type CommonData = ReturnType<typeof commonData>;
