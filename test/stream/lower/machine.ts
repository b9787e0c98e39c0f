// Runs lowered programs by the kernel interpreter, which checks what printers take to hold: indices, ranges, arithmetic that does not wrap.
import { Machine, makeElements, Trap, type Elements } from '../../../lib/kernel/interpret.ts';
import { verify } from '../../../lib/kernel/verify.ts';
import { countRun, type RunCounts } from '../../../lib/stream/plan/counts.ts';
import { placesOf } from '../../../lib/stream/plan/layout.ts';
import { type ProgramPlan } from '../../../lib/stream/plan/plan.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import { lowerProgram, type LoweredProgram, type LowerOptions } from '../../../lib/stream/lower/program.ts';
import { joinItems, splitItems, type StreamArrays } from '../../../lib/stream/run/prepare.ts';

export interface Lowered {
  readonly output: readonly number[];
  /** Printed values, by site. */
  readonly printed: readonly (readonly [site: number, values: readonly number[]])[];
  /** The site of the fault that ended the run. */
  readonly fault: number | undefined;
}

const elementOf = { i: 'i32', f: 'f32', d: 'f64' } as const;

type Step = { readonly actor: number; readonly count: number };

/** A lowered program in a kernel machine. */
class Runner {
  readonly printed: [number, number[]][] = [];
  readonly #lowered: LoweredProgram;
  readonly #machine: Machine;
  readonly #fired = new Set<number>();
  #line: number[] = [];

  constructor(lowered: LoweredProgram, streams: ReadonlyMap<number, StreamArrays>) {
    this.#lowered = lowered;
    const { plan, program } = lowered;
    this.#machine = new Machine(program, {
      limit: 1e9, external: Object.fromEntries(plan.streamArrays.map(({ id, kind, name }) => [name, streams.get(id)![kind]!])),
      imports: {
        put: (x) => { this.#line.push(x); },
        print: (site) => {
          this.printed.push([site, this.#line]);
          this.#line = [];
        },
        room: (channel, need, capacity) => {
          if (this.#ix[2 * channel! + 1]! + need! > capacity!) this.toFront(channel!);
        },
      },
    });
    this.#machine.contents(lowered.system.steps)[0] = 1e6;
    for (let id = 0; id < plan.graph.nodes.length; ++id) this.#machine.contents(lowered.system.rs)[id] = 1 + id;
    for (const { id } of plan.graph.channels) this.#fill(id);
  }

  get #ix(): Elements {
    return this.#machine.contents(this.#lowered.system.ix);
  }

  /** What stands on a channel at the start. */
  #fill(id: number): void {
    const { initial, type } = this.#lowered.plan.graph.channels[id]!;
    this.#ix[2 * id + 1] = initial.length;
    for (const { buffer, kind, channel } of this.#lowered.declarations) {
      if (channel !== id) continue;
      const start = initial.flatMap(({ numbers }) => placesOf(type).flatMap((place, i) => (place.kind === kind ? [numbers[i] ?? 0] : [])));
      this.#machine.contents(buffer).set(start);
    }
  }

  toFront(id: number): void {
    const [from, to] = [this.#ix[2 * id]!, this.#ix[2 * id + 1]!];
    for (const { buffer, channel, stride } of this.#lowered.declarations) {
      if (channel === id) this.#machine.contents(buffer).copyWithin(0, from * stride!, to * stride!);
    }
    this.#ix[2 * id] = 0;
    this.#ix[2 * id + 1] = to - from;
  }

  #step({ actor, count }: Step): void {
    const isFirst = !this.#fired.has(actor) && this.#lowered.program.functions.some(({ name }) => name === `first_${actor}`);
    this.#fired.add(actor);
    if (isFirst) this.#machine.call(`first_${actor}`, [1]);
    for (let left = count - Number(isFirst); left > 0; --left) this.#machine.call(`fire_${actor}`, [1]);
  }

  run({ init, steadyStates, tail }: Pick<RunCounts, 'init' | 'steadyStates' | 'tail'>): void {
    const { plan } = this.#lowered;
    for (const each of init) this.#step(each);
    for (const { id } of plan.graph.channels) this.toFront(id);
    for (let left = steadyStates; left > 0; left -= plan.multiplicity) this.#machine.call('steady', [Math.min(left, plan.multiplicity)]);
    for (const each of tail) this.#step(each);
  }
}

/** Runs a program on an input until that is used up. */
export function runLowered(plan: ProgramPlan, input: ArrayLike<number>, options: LowerOptions = {}): Lowered & { readonly lowered: LoweredProgram } {
  const given = plan.externals.find(({ kind }) => kind === 'input')!;
  const counts = countRun(plan, { input: Math.floor(input.length / scalarCount(given.type)) });
  const lowered = lowerProgram(plan, { ...options, capacities: counts.peaks, nodes: plan.graph.nodes.map(({ id }) => id) });
  verify(lowered.program);
  const streams = new Map(plan.externals.map((each, i): [number, StreamArrays] => [each.id, each === given ? splitItems(input, each.type)
    : Object.fromEntries(plan.streamArrays.filter(({ id }) => id === each.id).map(({ kind, stride }) =>
      [kind, makeElements(elementOf[kind], stride * counts.passed[i]!)]))]));
  const runner = new Runner(lowered, streams);
  try {
    runner.run(counts);
  } catch (error) {
    if (!(error instanceof Trap)) throw error;
    return { output: [], printed: runner.printed, fault: error.site, lowered };
  }
  const at = plan.externals.findIndex(({ kind }) => kind === 'output');
  const output = at < 0 ? [] : [...joinItems(streams.get(plan.externals[at]!.id)!, plan.externals[at]!.type, counts.passed[at]!)];
  return { output, printed: runner.printed, fault: undefined, lowered };
}
