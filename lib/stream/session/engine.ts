// What runs a program for a session, piece by piece.
import { setImmediate as later } from 'node:timers/promises';
import type { DeviceArray } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { scalarCount } from '../interpret/values.ts';
import { prints } from '../interpret/print-order.ts';
import type { StreamGraph } from '../graph.ts';
import type { IrType } from '../ir.ts';
import { countsOf, kindsIn } from '../plan/layout.ts';
import type { StreamBackend } from '../run/backends.ts';
import type { Scalars } from '../run/prepare.ts';

/** What a session gives at a time: scalars of items in memory order, or text of whole lines from programs that only print. */
export type StreamBlock = Float32Array | Float64Array | Int32Array | string;

/** What came out of a piece of a run. */
export interface Made {
  readonly output: Scalars;
  readonly text: string;
  /** What ended the run after that. */
  readonly error?: Error;
  /** Whether nothing more will come out. */
  readonly isOver?: boolean;
}

/** The same in memory of a device. */
export interface MadeArray extends Pick<Made, 'error'> {
  readonly output: DeviceArray;
}

/** A run that goes on as input comes. Calls are made in order, and take effect in that order; arrays are copied before a call returns. */
export interface SessionEngine {
  readonly backend: Exclude<StreamBackend, 'auto'>;
  /** Why another back end than requested runs the program. */
  readonly note?: string;
  /** Items of input that it holds back, beside those that rates say. */
  readonly heldBack?: number;
  /** How many pushes are worth having under way at once. */
  readonly depth: number;
  /** Takes scalars of items, and makes what they suffice for. */
  push(numbers: ArrayLike<number>): Promise<Made>;
  /** Makes what is left. */
  end(): Promise<Made>;
  /** Whether it takes this array, which lies on its device. */
  takes?(array: unknown): array is DeviceArray;
  /** The same as {@link push}, from and to memory of the device; the array must not change before the call settles. */
  pushArray?(array: DeviceArray): Promise<MadeArray>;
  /** Of a program without an open input: makes some items, about as many as given, or some lines. */
  pull(items: number): Promise<Made>;
  dispose(): void;
}

/** What a session of a program gives: items of a type, or text if there is none. */
export interface Outlet {
  /** Type of the items; undefined: text. */
  readonly type: IrType | undefined;
  /** Path of the file that takes the items in the program; undefined: the open output. */
  readonly path: string | undefined;
}

/** The outlet of a program. Throws ArgumentError where it has several. */
export function outletOf(graph: StreamGraph, hasPrint: boolean): Outlet {
  const writers = graph.nodes.flatMap((node) => (node.kind === 'writer' ? [node] : []));
  const [writer] = writers;
  if (writers.length > (graph.output === undefined ? 1 : 0)) {
    throw refusal('graph', 'a program with one output: an open one, a FileWriter, or lines', 'one that writes several, or files as well');
  }
  const channel = writer?.inputs[0];
  const type = graph.output?.type ?? (writer === undefined ? undefined
    : channel === undefined ? graph.input?.type : graph.channels[channel]?.type);
  if (type !== undefined && !hasPrint && graph.nodes.some(prints)) {
    throw refusal('print', 'a function for the text, as the program prints besides its output', 'undefined');
  }
  return { type, path: graph.output === undefined ? writer?.file.path : undefined };
}

/** An array of scalars, as a program's items come out: of one kind, or doubles where there are several. */
export function scalarsFrom(numbers: ArrayLike<number>, type: IrType | undefined): Scalars {
  const [kind, ...others] = type === undefined ? [] : kindsIn(countsOf(type));
  if (kind === undefined) return new Float32Array();
  if (others.length > 0 || kind === 'd') return Float64Array.from(numbers);
  return kind === 'i' ? Int32Array.from(numbers) : Float32Array.from(numbers);
}

/** Scalars of an item, at least 1. */
export const widthOf = (type: IrType | undefined): number => Math.max(1, type === undefined ? 1 : scalarCount(type));

/** Milliseconds after which work in the calling thread lets others have their turn. */
const turnMilliseconds = 10;

/** Lets other work of the process have its turn from time to time, and ends when the session does. */
export class Turns {
  readonly #stop: AbortSignal;
  #until = performance.now() + turnMilliseconds;

  constructor(stop: AbortSignal) {
    this.#stop = stop;
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  async next(): Promise<void> {
    await later();
    this.#stop.throwIfAborted();
    this.#until = performance.now() + turnMilliseconds;
  }
}

/** Does one thing after the other, in the order of the calls. */
export class InOrder {
  #last: Promise<unknown> = Promise.resolve();
  readonly #stop: AbortSignal;

  constructor(stop: AbortSignal) {
    this.#stop = stop;
  }

  do<T>(work: () => Promise<T>): Promise<T> {
    const made = this.#last.then(() => {
      this.#stop.throwIfAborted();
      return work();
    });
    this.#last = made.catch(() => undefined);
    return made;
  }
}
