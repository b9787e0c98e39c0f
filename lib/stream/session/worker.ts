// The thread of a session whose program has dynamic rates: it runs the interpreter, and sleeps where that needs input. See aside.ts.
import { receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import type { StreamGraph } from '../graph.ts';
import { Engine } from '../interpret/engine.ts';
import { StreamRunError } from '../interpret/error.ts';
import type { Outlet } from './engine.ts';
import type { InterpretedOptions } from './interpret.ts';
import { walk, walked, type Walked } from './walk.ts';

/** What the thread is started with. */
export interface ThreadData {
  readonly graph: StreamGraph;
  readonly outlet: Outlet;
  readonly options: InterpretedOptions;
  readonly port: MessagePort;
  /** How many calls were made. */
  readonly calls: Int32Array;
}

/** A call: input, its end, or how many items are wanted. */
export type ThreadCall = { readonly kind: 'push'; readonly numbers: readonly number[] } | { readonly kind: 'end' }
  | { readonly kind: 'pull'; readonly items: number };

/** The answer to a call; errors of programs by their parts. */
export type ThreadAnswer = Walked & {
  /** Whether nothing more will come out. */
  readonly isOver: boolean;
  readonly fault?: { readonly message: string; readonly details: ConstructorParameters<typeof StreamRunError>[1] };
  readonly failure?: { readonly message: string; readonly isMemory: boolean };
};

const { graph, outlet, options, port, calls } = workerData as ThreadData;
const now = {
  engine: undefined as Engine | undefined,
  /** Calls that were taken; whether one has yet to be answered. */
  taken: 0, isAsked: false,
  /** Items that must have come out for the call to be answered, and whether it is the last. */
  wanted: Infinity, isOver: false,
  /** Whether nothing can fire any longer. */
  isDone: false,
};

function answer(error?: unknown): void {
  if (!now.isAsked) return;
  now.isAsked = false;
  const { numbers, text } = now.engine === undefined ? { numbers: [], text: '' } : walked(outlet, now.engine.take(now.isOver));
  const made: ThreadAnswer = { numbers, text, isOver: now.isDone, ...(error === undefined ? {} : partsOf(error)) };
  port.postMessage(made);
}

function partsOf(error: unknown): Pick<ThreadAnswer, 'fault' | 'failure'> {
  if (error instanceof StreamRunError) {
    const { message, diagnostic, node, firing } = error;
    return { fault: { message, details: { diagnostic, node, firing } } };
  }
  return { failure: { message: error instanceof Error ? error.message : String(error), isMemory: error instanceof RangeError } };
}

/** Sleeps until there is a call. */
function nextCall(): ThreadCall {
  for (;;) {
    const found = receiveMessageOnPort(port);
    if (found !== undefined) {
      ++now.taken;
      now.isAsked = true;
      return found.message as ThreadCall;
    }
    Atomics.wait(calls, 0, now.taken);
  }
}

function take(made: Engine): void {
  answer();
  const call = nextCall();
  made.renew();
  now.wanted = call.kind === 'pull' ? made.items + call.items : Infinity;
  if (call.kind === 'push') made.input?.give(call.numbers);
  if (call.kind !== 'end') return;
  now.isOver = true;
  made.input?.close();
  if (made.input === undefined) now.wanted = 0;
}

try {
  const made: Engine = new Engine(graph, { ...options, input: [], open: { wait: () => { take(made); } } });
  now.engine = made;
  if (graph.input === undefined) take(made);
  for (const _ of walk(made)) while (made.items >= now.wanted) take(made);
  now.isDone = true;
  answer();
} catch (error) {
  // What is wrong with the program from the start is the answer to the first call.
  if (!now.isAsked) nextCall();
  answer(error);
}
// Later calls find that nothing is left to do.
for (;;) {
  nextCall();
  answer();
}
