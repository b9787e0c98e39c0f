// Channels that hold the same items: a splitter that duplicates fills one array for all its readers.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer } from '../../kernel/ir.ts';
import { mapBody, mapFunctions } from '../../kernel/visit.ts';
import type { LoweredProgram } from '../lower/program.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { nodesWithState } from '../state/index.ts';

/** By channel: the one whose array it shares, if that is not its own. */
export type Copies = ReadonlyMap<number, number>;

const none: Copies = new Map();
const found = new WeakMap<ProgramPlan, Copies>();

/** The channels of a plan that share arrays: those between groups, from one duplicating splitter, on which as many items stay. */
export function copiesOf(plan: ProgramPlan): Copies {
  let copies = found.get(plan);
  if (copies === undefined) found.set(plan, copies = nodesWithState(plan).length > 0 ? none : findCopies(plan));
  return copies;
}

function findCopies({ graph, storage, steady: { residual } }: ProgramPlan): Copies {
  const copies = new Map<number, number>();
  for (const { kind, outputs } of graph.nodes) {
    if (kind !== 'duplicate') continue;
    /** By items that stay: the first channel. */
    const firsts = new Map<number, number>();
    for (const channel of outputs) {
      if (channel === undefined || storage[channel] !== 'block') continue;
      const stay = elementAt(residual, channel), first = firsts.get(stay);
      if (first === undefined) firsts.set(stay, channel);
      else copies.set(channel, first);
    }
  }
  return copies;
}

/** The program without arrays of copies: what is stored there is not, and what is loaded comes from the array that has it. */
export function withoutCopies(lowered: LoweredProgram): LoweredProgram {
  const copies = copiesOf(lowered.plan);
  if (copies.size === 0) return lowered;
  const arrays = lowered.declarations.filter(({ use }) => use === 'channel');
  const instead = new Map<Buffer, Buffer>(arrays.flatMap(({ buffer, channel, kind }) => {
    const first = copies.get(required(channel));
    return first === undefined ? []
      : [[buffer, required(arrays.find((other) => other.channel === first && other.kind === kind)).buffer] as const];
  }));
  const program = mapFunctions(lowered.program, (f) => {
    const body = mapBody(f.body, {
      expression: (e) => {
        const own = e.kind === 'load' ? instead.get(e.buffer) : undefined;
        return e.kind !== 'load' || own === undefined ? e : { ...e, buffer: own };
      },
      statement: (s) => {
        if (s.kind === 'store' || s.kind === 'fill') return instead.has(s.buffer) ? [] : s;
        if (s.kind !== 'copy') return s;
        if (instead.has(s.to)) return [];
        const own = instead.get(s.from);
        return own === undefined ? s : { ...s, from: own };
      },
    });
    return body === f.body ? f : { ...f, body };
  });
  return { ...lowered, program };
}
