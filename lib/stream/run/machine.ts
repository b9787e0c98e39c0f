// Runs a compiled program, as a whole, in pieces or in launches: in the calling thread, or in a worker (worker.ts), which loads only what
// is imported here.
import { elementAt } from '../../core/known.ts';
import { Fault, type Answer, type Done } from './answers.ts';
import type { CommonData, MachineRun } from './common.ts';
import { Instance } from './instance.ts';
import { runLaunches } from './machine-launches.ts';
import type { Scalars } from './prepare.ts';
import { readPieces, wayNumbers, type PieceOrder } from './words.ts';

/** One of the machines that run a program together. */
export class Machine {
  readonly #instance: Instance;
  readonly #number: number;

  /** @param number its number among the machines of the program */
  constructor(common: CommonData, number: number) {
    this.#instance = new Instance(common);
    this.#number = number;
  }

  /** Runs this machine's part of a run. */
  run(run: MachineRun): Answer {
    const begin = performance.now();
    try {
      if (run.way === wayNumbers.launches) return runLaunches(this.#instance, run, this.#number);
      return run.way === wayNumbers.pieces ? this.#runPieces(run, begin) : this.#runWhole(run, begin);
    } catch (error) {
      // In launches, others may be waiting for this machine: see crew.ts.
      if (error instanceof Fault) return error.answer(run.way === wayNumbers.launches ? undefined : []);
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error), isMemory: error instanceof RangeError };
    } finally {
      this.#instance.end();
    }
  }

  /** What a buffer of the program's state holds after a run; undefined if there is none of the name. */
  contents(name: string): Scalars | undefined {
    return this.#instance.contents(name);
  }

  #runWhole(run: MachineRun, begin: number): Answer {
    const machine = this.#instance;
    machine.begin(run);
    machine.initialise();
    const most = run.lines === Infinity ? machine.common.multiplicity : 1;
    for (let left = run.steadyStates; left > 0 && machine.lines < run.lines; left -= most) {
      machine.runStates(Math.min(left, most));
      if (performance.now() > run.until) return { kind: 'late' };
    }
    for (const step of run.tail) if (machine.lines < run.lines) machine.fire(step);
    return this.#done(begin);
  }

  /** Takes pieces that no other machine has taken. After a fault, earlier pieces are still run, and later ones no longer matter. */
  #runPieces(run: MachineRun, begin: number): Answer {
    const { gate } = this.#instance.common;
    const pieces = readPieces(run.words);
    for (let number; (number = Atomics.add(gate, 2, 1)) < pieces.length;) {
      try {
        this.#runPiece(run, elementAt(pieces, number));
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        Atomics.store(gate, 2, pieces.length);
        return error.answer([number]);
      }
    }
    return this.#done(begin);
  }

  #runPiece(run: MachineRun, { inputFrom, outputFrom, dropped, steadyStates, tail }: PieceOrder): void {
    const machine = this.#instance;
    const { streams, multiplicity } = machine.common;
    const firstWanted: number[] = [];
    for (const { id } of streams) firstWanted[id] = outputFrom;
    machine.begin(run, firstWanted);
    for (const { id, role } of streams) machine.position[id] = role === 'input' ? inputFrom : outputFrom - dropped;
    machine.initialise();
    for (let left = steadyStates; left > 0; left -= multiplicity) machine.runStates(Math.min(left, multiplicity));
    for (const step of tail) machine.fire(step);
  }

  #done(begin: number): Done {
    return { kind: 'done', before: [], printed: this.#instance.takePrinted(), behind: [], milliseconds: performance.now() - begin };
  }
}
