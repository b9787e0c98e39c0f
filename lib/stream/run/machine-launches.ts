// A machine's part of a run in launches. The plan comes with the run (words.ts): machines meet at a barrier between launches, and within a
// launch take tasks that no other machine has taken. The C++ counterpart is targets/runtime/launches.h.
import { elementAt, required } from '../../core/known.ts';
import { Fault, type Answer, type Faulty } from './answers.ts';
import type { MachineRun } from './common.ts';
import type { Instance } from './instance.ts';
import { readLaunches, type LaunchOrders } from './words.ts';

/** Runs the part of machine `number`. */
export function runLaunches(instance: Instance, run: MachineRun, number: number): Answer {
  instance.begin(run);
  return new Launches(instance, run, number).run();
}

/** Whether `a` comes first in program order. */
function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at >= 0 && elementAt(a, at) < elementAt(b, at);
}

/** Whether cores have nothing to do in launches, so that they need not meet who conducts between them. */
export function isOnDevice({ tasks }: { readonly tasks: readonly (readonly unknown[])[] }): boolean {
  return tasks.every(({ length }) => length === 0);
}

class Launches {
  readonly #machine: Instance;
  readonly #run: MachineRun;
  readonly #number: number;
  readonly #orders: LaunchOrders;
  readonly #iterations: number;
  /** The first of this machine's faults. */
  #first: Faulty | undefined;

  constructor(machine: Instance, run: MachineRun, number: number) {
    this.#machine = machine;
    this.#run = run;
    this.#number = number;
    this.#orders = readLaunches(run.words, machine.common.channels, machine.common.groupEnds.length);
    this.#iterations = Math.floor(run.steadyStates / this.#orders.multiplier);
  }

  run(): Answer {
    const { common: { stops, end, base, ends }, position } = this.#machine;
    const isFirst = this.#number === 0;
    if (isFirst) {
      stops.fill(this.#iterations);
      end[0] = this.#iterations;
    }
    this.#meet();
    const begin = performance.now();
    if (isFirst) {
      this.#machine.initialise();
      base.set(this.#machine.ix);
      for (const { id, slot, isFile } of ends) if (!isFile) base[slot] = elementAt(position, id);
    }
    const before = this.#machine.takePrinted();
    this.#meet();
    // What stands on the channels is taken to the device, before anybody stores other items there.
    if (this.#run.isConducted === true) this.#meet();
    this.#machine.ix.set(base);
    const isIdle = this.#run.isConducted === true && isOnDevice(this.#orders);
    for (let launch = 0; !isIdle && launch < elementAt(end, 0) + this.#orders.lastStage; ++launch) {
      this.#launch(launch);
      this.#meet();
    }
    // What the device leaves on the channels has been brought back.
    if (this.#run.isConducted === true) this.#meet();
    const printed = this.#machine.takePrinted();
    if (this.#first !== undefined) return this.#first;
    if (isFirst && end[0] === this.#iterations) {
      this.#runRest(this.#run.steadyStates - this.#iterations * this.#orders.multiplier);
      for (const step of this.#run.tail) this.#machine.fire(step);
    }
    return { kind: 'done', before, printed, behind: this.#machine.takePrinted(), milliseconds: performance.now() - begin };
  }

  /** Waits at the barrier. */
  #meet(): void {
    const { gate, stops, end, spin } = this.#machine.common;
    const round = Atomics.load(gate, 1);
    if (Atomics.add(gate, 0, 1) === this.#orders.threads - 1) {
      end[0] = Math.min(...stops);
      Atomics.store(gate, 0, 0);
      Atomics.add(gate, 1, 1);
      Atomics.notify(gate, 1);
      return;
    }
    for (const until = performance.now() + spin; performance.now() < until;) {
      for (let i = 0; i < 300; ++i) if (Atomics.load(gate, 1) !== round) return;
    }
    while (Atomics.load(gate, 1) === round) Atomics.wait(gate, 1, round);
  }

  #launch(launch: number): void {
    const { claims } = this.#run;
    for (const task of elementAt(this.#orders.orders, this.#number)) {
      if (Atomics.load(claims, task) > launch || Atomics.exchange(claims, task, launch + 1) > launch) continue;
      this.#runTask(elementAt(this.#orders.tasks, task), launch);
    }
  }

  /**
   * After a fault, the task continues with earlier iterations only. Other tasks run to their end: the result must not depend on which
   * machine runs them.
   */
  #runTask(slices: LaunchOrders['tasks'][number], launch: number): void {
    const { stops, end: { 0: iterations } } = this.#machine.common;
    let end = required(iterations);
    for (const { group, from, count } of slices) {
      const iteration = launch - elementAt(this.#orders.groups, group).stage;
      if (iteration < 0 || iteration >= end) continue;
      this.#place(group, iteration, from, this.#number);
      try {
        this.#machine.runGroup(group, count);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        const order = [iteration, group, from];
        if (this.#first === undefined || isBefore(order, required(this.#first.order))) this.#first = error.answer(order);
        stops[this.#number] = Math.min(elementAt(stops, this.#number), iteration);
        end = iteration;
        continue;
      }
      this.#mirror(group, iteration, from, count);
    }
  }

  /** Sets the ends of a group for its iterations starting at `from`, within one iteration of the run. */
  #place(group: number, iteration: number, from: number, core: number): void {
    const { ix, position, common: { base } } = this.#machine;
    const { ends, iterations } = elementAt(this.#orders.groups, group);
    for (const { kind, slot, each, id } of ends) {
      if (kind === 'own') ix[slot] = core * elementAt(this.#orders.rings, id).items;
      else if (kind === 'read' || kind === 'write') {
        const { items, slots, residual } = elementAt(this.#orders.rings, id);
        ix[slot] = (iteration % slots) * items + from * each + (kind === 'write' ? residual : 0);
      } else {
        const at = elementAt(base, slot) + (iteration * this.#orders.multiplier * iterations + from) * each;
        if (kind === 'stream') position[id] = at;
        else ix[slot] = at === 0 ? 0 : (at - 1) % elementAt(base, slot + 1) + 1;
      }
    }
  }

  /** Items past the last slot of a ring are also stored at its front. */
  #mirror(group: number, iteration: number, from: number, count: number): void {
    for (const { kind, each, id } of elementAt(this.#orders.groups, group).ends) {
      if (kind !== 'write') continue;
      const { items, slots, residual } = elementAt(this.#orders.rings, id);
      if (residual === 0) continue;
      const length = items * slots, at = (iteration % slots) * items + from * each + residual, to = at + count * each;
      const begin = Math.max(at, length);
      if (to > begin) this.#machine.copyItems(id, begin - length, begin, to);
    }
  }

  /** Runs the remaining whole steady states on one machine, then moves the ends of channels to where single firings expect them. */
  #runRest(states: number): void {
    const { groups, rings, chunk, multiplier } = this.#orders;
    let done = 0;
    do {
      const now = Math.min(states - done, chunk);
      groups.forEach(({ iterations }, group) => {
        this.#place(group, this.#iterations, done * iterations, 0);
        if (now > 0) this.#machine.runGroup(group, now * iterations);
      });
      done += now;
    } while (done < states);
    const { ix } = this.#machine;
    rings.forEach(({ items, slots, residual }, id) => {
      ix[2 * id] = slots === 0 ? 0 : (this.#iterations % slots) * items + states * (items / multiplier);
      ix[2 * id + 1] = elementAt(ix, 2 * id) + residual;
    });
  }
}
