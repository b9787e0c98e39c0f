// A worker thread that takes steps in WebAssembly.
import { parentPort } from 'node:worker_threads';
import { required } from '../../core/known.ts';
import type { Span } from './span.ts';
import { WasmMachine, type WasmPlan } from './wasm-machine.ts';

/** A message to a worker: what to work on, once, then spans. */
export type WorkerTask =
  | { readonly plan: WasmPlan; readonly number: number; readonly own: number }
  | { readonly span: Span; readonly isSwapped: boolean };

const port = required(parentPort);
let machine: WasmMachine | undefined;
port.on('message', (task: WorkerTask) => {
  if ('plan' in task) {
    machine = new WasmMachine(task.plan, task.number, task.own);
    return;
  }
  required(machine).run(task.span, task.isSwapped);
  port.postMessage('done');
});
