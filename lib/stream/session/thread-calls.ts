// What a session and its thread tell each other.
import type { MessagePort } from 'node:worker_threads';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { Outlet } from './engine.ts';
import type { InterpretedOptions } from './interpret.ts';

/** What the thread is started with. */
export interface ThreadData {
  readonly backend: 'wasm' | 'interpret';
  readonly graph: StreamGraph;
  readonly outlet: Outlet;
  readonly options: InterpretedOptions;
  readonly port: MessagePort;
  /** How many calls were made. */
  readonly calls: Int32Array;
}

/** A call: input, its end, or how many items are wanted. */
export type ThreadCall = { readonly kind: 'push'; readonly numbers: ArrayLike<number> } | { readonly kind: 'end' }
  | { readonly kind: 'pull'; readonly items: number };

/** The answer to a call, and to the start of the thread; errors of programs by their parts. */
export interface ThreadAnswer {
  readonly numbers: ArrayLike<number>;
  readonly text: string;
  /** Whether nothing more will come out. */
  readonly isOver: boolean;
  readonly fault?: { readonly message: string; readonly details: ConstructorParameters<typeof StreamRunError>[1] };
  readonly failure?: { readonly message: string; readonly code: string | undefined };
}

/** The parts of an error. */
export function partsOf(error: unknown): Pick<ThreadAnswer, 'fault' | 'failure'> {
  if (error instanceof StreamRunError) {
    const { message, diagnostic, node, firing } = error;
    return { fault: { message, details: { diagnostic, node, firing } } };
  }
  if (error instanceof UnsupportedProgram) return { failure: { message: error.reason, code: error.code } };
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof RangeError ? 'ERR_WARPLOOM_OUT_OF_MEMORY' : (error as { code?: string }).code;
  return { failure: { message, code } };
}
