// What the machines of a compiled program (machine.ts) are told: once for all runs, and for each.
import { availableParallelism } from 'node:os';
import { elementAt } from '../../core/known.ts';
import { mostPages } from '../../kernel/print/wasm-binary.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { makeArray, type Kind } from '../plan/layout.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import type { Step } from '../schedule/index.ts';
import { wasmModule, type MemoryLayout } from '../targets/wasm.ts';
import type { Scalars } from './prepare.ts';
import { engine } from './wasm-engine.ts';
import type { wayNumbers } from './words.ts';

/** What all machines of a run are told. */
export interface MachineRun {
  readonly way: (typeof wayNumbers)[keyof typeof wayNumbers];
  /** The launches or pieces, as words.ts writes them. */
  readonly words: Int32Array;
  /** By task of launches: one more than the last launch in which some machine took it. */
  readonly claims: SharedInts;
  /** The run ends when so many lines are printed; printed values that are too many. */
  readonly lines: number;
  readonly mostPrinted: number;
  /** By array of the external streams. */
  readonly streams: readonly Scalars[];
  /** Ends of channels and streams at the start. */
  readonly ix: Int32Array;
  readonly seed: number;
  /** Turns that loops without known end may make. */
  readonly turns: number;
  /** Time of `performance.now()` from which a machine in the calling thread looks for no further steady state. */
  readonly until: number;
  readonly init: readonly Step[];
  readonly steadyStates: number;
  readonly tail: readonly Step[];
}

/** Integers that several threads see. */
export type SharedInts = Int32Array<SharedArrayBuffer>;

export function shared(kind: Kind, length: number): Scalars {
  const buffer = new SharedArrayBuffer(length * (kind === 'd' ? 8 : 4));
  return kind === 'i' ? new Int32Array(buffer) : kind === 'f' ? new Float32Array(buffer) : new Float64Array(buffer);
}

/** The end of a stream at a function: items that one firing or iteration of it moves, and looks at beyond. */
export interface StreamEnd {
  readonly id: number;
  readonly isIn: boolean;
  readonly each: number;
  readonly more: number;
}

/** Streams whose items pass a node in order. */
function endsOf({ externals }: ProgramPlan, node: number, firings: number, isFirst: boolean): StreamEnd[] {
  return externals.filter((each) => each.node === node && each.kind !== 'reader').map(({ id, isIn, first, later }) => {
    const { items, beyond } = isFirst ? first : later;
    return { id, isIn, each: firings * items, more: Math.max(0, beyond) };
  });
}

/** Modules by program, for memory of one thread and of several: their code is warm when others begin to run it. */
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

/** Milliseconds for which those who wait for each other do so awake: going to sleep and waking up takes about as long. */
const spinMilliseconds = 0.3;

/** What all machines of a program have from their start. Those that share channels and state share memory. */
export function commonData(program: LoweredProgram, threads: number, isSharing: boolean) {
  const { plan } = program;
  const { module, layout } = moduleOf(program, isSharing);
  const numbers = (kind: Kind, length: number) => (isSharing ? shared(kind, length) : makeArray(kind, length));
  return {
    module, pages: layout.pages, mostPages, ownBytes: layout.ownBytes,
    memory: isSharing ? new engine.Memory({ initial: layout.pages, maximum: mostPages, shared: true }) : undefined,
    spin: threads <= availableParallelism() ? spinMilliseconds : 0,
    channels: plan.graph.channels.length, multiplicity: plan.multiplicity,
    /** By site: lines that end with what it prints. */
    linesOf: program.sites.map(({ print }) => print?.lines ?? 0),
    /** Machines that wait, rounds of waiting, pieces that were taken. */
    gate: shared('i', 3) as SharedInts,
    /** By machine: the first iteration that went wrong there; the first of all; ends of channels and streams before launches. */
    stops: numbers('d', threads), end: numbers('d', 1), base: numbers('i', 2 * (plan.graph.channels.length + plan.externals.length)),
    places: layout.places,
    arrays: program.declarations.map((each) => ({
      name: each.buffer.name, role: each.use, initial: each.buffer.initial ?? [], channel: each.channel ?? -1, stride: each.stride ?? 0,
    })),
    streams: plan.streamArrays,
    ends: plan.externals.map(({ id, slot, kind }) => ({ id, slot, isFile: kind === 'reader' })),
    fireEnds: plan.graph.nodes.map(({ id }) => endsOf(plan, id, 1, false)),
    firstEnds: plan.graph.nodes.map(({ id }) => endsOf(plan, id, 1, true)),
    steadyEnds: plan.graph.nodes.flatMap(({ id }) => endsOf(plan, id, elementAt(plan.steady.repetitions, id), false)),
    // Nodes of a loop may stand in several steps.
    groupEnds: plan.groups.map(({ steps }) => [...new Set(steps.map(({ actor }) => actor))].flatMap((node) =>
      endsOf(plan, node, steps.reduce((sum, { actor, count }) => sum + (actor === node ? count : 0), 0), false))),
  };
}

export type CommonData = ReturnType<typeof commonData>;
