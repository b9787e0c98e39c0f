// A program without state between whole steady states, its open ends among its channels: what schedules of a device see.
import { elementAt, required } from '../../core/known.ts';
import type { SdfGraph } from '../sdf.ts';
import { typeBytes } from '../interpret/values.ts';
import type { External, ProgramPlan } from './plan.ts';

/** The open ends of a program. */
export interface OpenEnds {
  readonly input: External;
  readonly output: External;
}

/** The open input and output, of a program that has no other external streams. */
export function openEnds({ externals }: ProgramPlan): OpenEnds {
  return {
    input: required(externals.find(({ kind }) => kind === 'input')), output: required(externals.find(({ kind }) => kind === 'output')),
  };
}

/**
 * The graph of rates with two more actors, behind those of the program: one brings the items of the input, the other takes those of the
 * output, one item in a firing. Their channels are the last two, numbered as the external streams are. It begins where the initialisation
 * ends: its tokens are what stands on the channels then, and those of the input what a firing peeks at beyond what it pops.
 */
export function withOpenEnds(plan: ProgramPlan): SdfGraph {
  const { sdf, steady } = plan;
  const { input, output } = openEnds(plan);
  const actors = sdf.actors.length;
  const end = (external: External, from: number, to: number) => {
    const { items, beyond } = external.later;
    const isIn = external === input;
    return {
      id: external.id, from, to, push: isIn ? 1 : items, pop: isIn ? items : 1, peek: isIn ? items + beyond : 1,
      tokens: isIn ? beyond : 0, bytesPerItem: typeBytes(external.type),
    };
  };
  return {
    actors: [...sdf.actors, ...['input', 'output'].map((name, i) => ({ id: actors + i, name, stateful: false, moves: true }))],
    channels: [
      ...sdf.channels.map(({ id, from, to, push, pop, peek, bytesPerItem }) =>
        ({ id, from, to, push, pop, peek, tokens: elementAt(steady.residual, id), bytesPerItem })),
      end(input, actors, input.node), end(output, output.node, actors + 1),
    ],
  };
}

/** Whether a channel keeps items between iterations, so that (3.15) does not apply: the items of an iteration are parts of two. */
export function keepsItems({ channels }: SdfGraph): boolean {
  return channels.some(({ tokens, peek, pop }) => tokens > 0 || peek > pop);
}
