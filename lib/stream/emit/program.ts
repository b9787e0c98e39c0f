// A program as functions of a target language: one for each node, one for each group of nodes, and the arrays they share.
import type { Group, ProgramPlan } from '../plan/plan.ts';
import type { Dialect } from './dialect.ts';
import { FunctionMaker } from './function.ts';
import { ProgramWriter, type ProgramText, type WriteOptions } from './program-writer.ts';

/** All nodes as one group, in the order of the single-appearance schedule. */
function wholeOf({ schedule }: ProgramPlan): Group {
  return { id: 0, steps: schedule.steps, iterations: 1, isLoop: true };
}

/** Writes a planned program in a language. Throws UnsupportedProgram where it holds what compiled code does not do. */
export function writeProgram(plan: ProgramPlan, dialect: Dialect, options: WriteOptions = {}): ProgramText {
  const writer = new ProgramWriter(plan, dialect, options);
  const fire = plan.graph.nodes.map(({ id }) => writer.make((lessons) => new FunctionMaker(writer, lessons, 'node').fire(id, false)));
  const first = plan.graph.nodes.map((node) => (node.kind === 'filter' && node.code.prework !== undefined
    ? writer.make((lessons) => new FunctionMaker(writer, lessons, 'node').fire(node.id, true)) : undefined));
  const groups = writer.isBaseline ? [writer.make((lessons) => new FunctionMaker(writer, lessons, 'baseline').group(wholeOf(plan)))]
    : plan.groups.map((group) =>
      writer.make((lessons, size) => new FunctionMaker(writer, lessons, size === 'full' ? 'group' : 'small').group(group)));
  return {
    plan, dialect, arrays: writer.arrays, sites: writer.sites, fire, first, groups, capacities: writer.capacities,
  };
}
