// A worker thread that runs compiled programs: a run for each message, by the machine of the program that it was told last.
import { required } from '../../core/known.ts';
import { parentPort } from 'node:worker_threads';
import type { CommonData, MachineRun } from './common.ts';
import { Machine } from './machine.ts';

/** What a worker is told: a program where it is another than before, and a run of it. Neither: to let go of its program. */
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
