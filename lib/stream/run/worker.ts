// A worker thread that runs compiled programs: each message is a run, executed by the machine of the last program received.
import { required } from '../../core/known.ts';
import { parentPort } from 'node:worker_threads';
import type { CommonData, MachineRun } from './common.ts';
import { Machine } from './machine.ts';

/** A message to a worker: a program if it has changed, and a run of it. With neither, the worker releases its program. */
export interface WorkerTask {
  readonly program?: { readonly common: CommonData; readonly number: number } | undefined;
  readonly run?: MachineRun;
}

const port = required(parentPort);
let machine: Machine | undefined;
port.on('message', ({ program, run }: WorkerTask) => {
  if (program !== undefined) machine = new Machine(program.common, program.number);
  else if (run === undefined) machine = undefined;
  if (run !== undefined) port.postMessage(required(machine).run(run));
});
