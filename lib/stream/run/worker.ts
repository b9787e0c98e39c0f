// A worker thread that runs compiled programs: each message is a run, executed by the machine of the last program received.
import { readlinkSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { required } from '../../core/known.ts';
import type { CommonData, MachineRun } from './common.ts';
import { Machine } from './machine.ts';

/** A message to a worker: a program if it has changed, and a run of it. With neither, the worker releases its program. */
export interface WorkerTask {
  readonly program?: { readonly common: CommonData; readonly number: number } | undefined;
  readonly run?: MachineRun;
}

/** The system's number of this thread; 0 where it tells none. */
function threadNumber(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0;
  } catch {
    return 0;
  }
}

const port = required(parentPort);
let machine: Machine | undefined;
port.on('message', ({ program, run }: WorkerTask) => {
  if (program !== undefined) {
    program.common.threadNumbers[program.number] = threadNumber();
    machine = new Machine(program.common, program.number);
  }
  if (program === undefined && run === undefined) machine = undefined;
  if (run !== undefined) port.postMessage(required(machine).run(run));
});
