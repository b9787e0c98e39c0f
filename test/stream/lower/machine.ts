// Runs lowered programs by the kernel interpreter, which checks what printers take to hold: indices, ranges, arithmetic that does not wrap.
import { Machine, makeElements, Trap, type Elements } from '../../../lib/kernel/interpret.ts';
import { verify } from '../../../lib/kernel/verify.ts';
import { countRun } from '../../../lib/stream/emit/counts.ts';
import { placesOf } from '../../../lib/stream/emit/layout.ts';
import { streamArrays, type ProgramPlan } from '../../../lib/stream/emit/plan.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import { lowerProgram, type LoweredProgram, type LowerOptions } from '../../../lib/stream/lower/program.ts';
import { joinItems, splitItems, type StreamArrays } from '../../../lib/stream/run/streams.ts';

export interface Lowered {
  readonly output: readonly number[];
  /** Printed values, by site. */
  readonly printed: readonly (readonly [site: number, values: readonly number[]])[];
  /** The site of the fault that ended the run. */
  readonly fault: number | undefined;
}

const elementOf = { i: 'i32', f: 'f32', d: 'f64' } as const;

/** Runs a program on an input until that is used up. */
export function runLowered(plan: ProgramPlan, input: ArrayLike<number>, options: LowerOptions = {}): Lowered & { readonly lowered: LoweredProgram } {
  const given = plan.externals.find(({ kind }) => kind === 'input')!;
  const counts = countRun(plan, { input: Math.floor(input.length / scalarCount(given.type)) });
  const lowered = lowerProgram(plan, { ...options, capacities: counts.peaks, nodes: plan.graph.nodes.map(({ id }) => id) });
  const program = verify(lowered.program);
  const streams = new Map(plan.externals.map((each, i): [number, StreamArrays] => [each.id, each === given ? splitItems(input, each.type)
    : Object.fromEntries(streamArrays(plan).filter(({ id }) => id === each.id).map(({ kind, stride }) =>
      [kind, makeElements(elementOf[kind], stride * counts.passed[i]!)]))]));
  const printed: [number, number[]][] = [];
  let line: number[] = [];
  const contents = new Map<string, Elements>();
  const room = (channel: number, need: number, capacity: number): undefined => {
    const ix = contents.get('ix')!;
    const [from, to] = [ix[2 * channel]!, ix[2 * channel + 1]!];
    if (to + need <= capacity) return;
    for (const { buffer, channel: of, stride } of lowered.declarations) {
      if (of === channel) contents.get(buffer.name)!.copyWithin(0, from * stride!, to * stride!);
    }
    [ix[2 * channel], ix[2 * channel + 1]] = [0, to - from];
  };
  const machine = new Machine(program, {
    limit: 1e9, external: Object.fromEntries(streamArrays(plan).map(({ id, kind, name }) => [name, streams.get(id)![kind]!])),
    imports: {
      put: (x) => { line.push(x); },
      print: (site) => {
        printed.push([site, line]);
        line = [];
      },
      room: (...args) => room(...args as [number, number, number]),
    },
  });
  for (const buffer of program.buffers) contents.set(buffer.name, machine.contents(buffer));
  const { ix, rs, steps } = lowered.system;
  machine.contents(steps)[0] = 1e6;
  for (let id = 0; id < plan.graph.nodes.length; ++id) machine.contents(rs)[id] = 1 + id;
  for (const { id, initial, type } of plan.graph.channels) {
    machine.contents(ix)[2 * id + 1] = initial.length;
    for (const { buffer, kind, channel } of lowered.declarations) {
      if (channel !== id) continue;
      const start = initial.flatMap(({ numbers }) => placesOf(type).flatMap((place, i) => (place.kind === kind ? [numbers[i] ?? 0] : [])));
      machine.contents(buffer).set(start);
    }
  }
  const fired = new Set<number>();
  const step = ({ actor, count }: { readonly actor: number; readonly count: number }): void => {
    const isFirst = !fired.has(actor) && program.functions.some(({ name }) => name === `first_${actor}`);
    fired.add(actor);
    if (isFirst) machine.call(`first_${actor}`, [1]);
    for (let left = count - Number(isFirst); left > 0; --left) machine.call(`fire_${actor}`, [1]);
  };
  try {
    counts.init.forEach(step);
    const words = machine.contents(ix);
    plan.graph.channels.forEach((_, id) => room(id, 0, -1));
    for (let left = counts.steadyStates; left > 0;) {
      const now = Math.min(left, plan.multiplicity);
      machine.call('steady', [now]);
      left -= now;
    }
    plan.graph.channels.forEach((_, id) => { [words[2 * id], words[2 * id + 1]] = [0, counts.steadyStates > 0 ? plan.steady.residual[id]! : words[2 * id + 1]!]; });
    counts.tail.forEach(step);
  } catch (error) {
    if (!(error instanceof Trap)) throw error;
    return { output: [], printed, fault: error.site, lowered };
  }
  const at = plan.externals.findIndex(({ kind }) => kind === 'output');
  const output = at < 0 ? [] : [...joinItems(streams.get(plan.externals[at]!.id)!, plan.externals[at]!.type, counts.passed[at]!)];
  return { output, printed, fault: undefined, lowered };
}
