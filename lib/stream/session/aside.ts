// A session with a thread of its own: because its caller asked for one, or because its program waits for input in the middle of firings.
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { UnavailableError, WarploomError, type ErrorCode } from '../../core/errors.ts';
import { reasonOf } from '../../core/progress.ts';
import { snapshot } from '../../core/snapshot.ts';
import { startThread } from '../../core/thread.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { InOrder, scalarsFrom, type Made, type Outlet, type SessionEngine } from './engine.ts';
import type { InterpretedOptions } from './interpret.ts';
import { WholeItems } from './items.ts';
import type { ThreadAnswer, ThreadCall, ThreadData } from './thread-calls.ts';

const noThread = 'the session needs a worker thread';

/** A run in a thread. */
export class AsideEngine implements SessionEngine {
  readonly backend: 'wasm' | 'interpret';
  readonly depth = 1;
  readonly #outlet: Outlet;
  readonly #whole: WholeItems | undefined;
  readonly #order: InOrder;
  readonly #stop: AbortSignal;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #calls = new Int32Array(new SharedArrayBuffer(4));
  /** Why the thread is gone. */
  #gone: Error | undefined;
  #fail: ((error: Error) => void) | undefined;

  private constructor(
    backend: 'wasm' | 'interpret', graph: StreamGraph, outlet: Outlet, options: InterpretedOptions, stop: AbortSignal,
  ) {
    this.backend = backend;
    this.#outlet = outlet;
    this.#whole = graph.input === undefined ? undefined : new WholeItems(graph.input.type);
    this.#order = new InOrder(stop);
    this.#stop = stop;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: ThreadData = { backend, graph, outlet, options, port: port2, calls: this.#calls };
    try {
      this.#worker = startThread(new URL('./worker.js', import.meta.url), { workerData, transferList: [port2] });
    } catch (cause) {
      port1.close();
      throw new UnavailableError(`${noThread}, which this process may not start`, { cause });
    }
    this.#worker.on('error', (cause: NodeJS.ErrnoException) => { this.#end(errorOf(cause)); });
    this.#worker.on('exit', (code) => {
      this.#end(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the session's thread ended with ${code}`));
    });
    this.#rest();
  }

  /** A run in a new thread. Throws UnsupportedProgram, UnavailableError where there is no thread. */
  static async start(
    backend: 'wasm' | 'interpret', graph: StreamGraph, outlet: Outlet, options: InterpretedOptions, stop: AbortSignal,
  ): Promise<AsideEngine> {
    const engine = new AsideEngine(backend, graph, outlet, options, stop);
    try {
      const { error } = await engine.#ask(undefined);
      if (error !== undefined) throw error;
      return engine;
    } catch (error) {
      engine.dispose();
      throw error;
    }
  }

  /** Lets the process end while nothing is asked. */
  #rest(): void {
    this.#worker.unref();
    this.#port.unref();
  }

  #end(error: Error): void {
    this.#gone ??= error;
    this.#fail?.(error);
  }

  /** Makes a call; undefined: waits for the start of the thread. */
  #ask(call: ThreadCall | undefined): Promise<Made> {
    return this.#order.do(() => new Promise<ThreadAnswer>((resolve, reject) => {
      const onStop = (): void => { fail(reasonOf(this.#stop)); };
      const settle = (): void => {
        this.#port.off('message', onMessage);
        this.#stop.removeEventListener('abort', onStop);
        this.#fail = undefined;
        this.#rest();
      };
      const onMessage = (answer: ThreadAnswer): void => {
        settle();
        resolve(answer);
      };
      const fail = (error: Error): void => {
        settle();
        reject(error);
      };
      if (this.#gone !== undefined) {
        reject(this.#gone);
        return;
      }
      this.#fail = fail;
      this.#stop.addEventListener('abort', onStop, { once: true });
      this.#port.on('message', onMessage);
      this.#worker.ref();
      if (call === undefined) return;
      this.#port.postMessage(call);
      Atomics.add(this.#calls, 0, 1);
      Atomics.notify(this.#calls, 0);
    })).then((answer) => this.#made(answer));
  }

  #made({ numbers, text, isOver, fault, failure }: ThreadAnswer): Made {
    const made = { output: scalarsFrom(numbers, this.#outlet.type), text, isOver };
    if (fault !== undefined) return { ...made, error: new StreamRunError(fault.message, fault.details) };
    if (failure === undefined) return made;
    const { message, code = 'ERR_WARPLOOM_INTERNAL' } = failure;
    if (code === 'ERR_WARPLOOM_UNSUPPORTED') return { ...made, error: new UnsupportedProgram(message) };
    return { ...made, error: new WarploomError(code as ErrorCode, message) };
  }

  push(numbers: ArrayLike<number>): Promise<Made> {
    return this.#ask({ kind: 'push', numbers: snapshot(this.#whole?.join(numbers) ?? []) });
  }

  end(): Promise<Made> {
    return this.#ask({ kind: 'end' });
  }

  pull(items: number): Promise<Made> {
    return this.#ask({ kind: 'pull', items });
  }

  dispose(): void {
    this.#gone ??= new Error('the session was closed');
    this.#port.close();
    void this.#worker.terminate();
  }
}

function errorOf(cause: NodeJS.ErrnoException): Error {
  if (cause.code === 'ERR_MODULE_NOT_FOUND') {
    const place = 'whose module is not where it was in the package: leave the package out of bundles';
    return new UnavailableError(`${noThread}, ${place}`, { cause });
  }
  const isMemory = cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return new WarploomError(isMemory ? 'ERR_WARPLOOM_OUT_OF_MEMORY' : 'ERR_WARPLOOM_SYSTEM_FAILED',
    `the session's thread ended unexpectedly: ${cause.message}`, { cause });
}
