// Where the iterations of groups begin at their ends.
import { elementAt, required } from '../../core/known.ts';
import type { Local } from '../../kernel/ir.ts';
import { common, powerIn, residue, type Residue } from '../../kernel/passes/residues.ts';
import type { Group } from '../plan/plan.ts';
import type { Gaps } from './cuda-gaps.ts';
import { copiesOf } from './cuda-copies.ts';
import type { PrintedLayout } from './cuda-layout.ts';
import type { Task } from './cuda-tasks.ts';

export interface GroupEnd extends Pick<Gaps, 'row' | 'gap'> {
  /** Items that an iteration moves, and those before the first. */
  readonly each: number;
  readonly base: number;
}

/** By group and place in `ix`. */
export type Ends = ReadonlyMap<Group, ReadonlyMap<number, GroupEnd>>;

export function endsOf({ plan, tiles, parts }: Pick<PrintedLayout, 'plan' | 'tiles' | 'parts'>): Ends {
  const { sdf, storage, rates, steady, externals, groups, groupOf } = plan;
  // Those of a channel or stream, alike in all its arrays: their names are its own and the kind.
  const gapsOf = new Map([...tiles].map(([buffer, { gaps }]) => [buffer.name.slice(0, -1), gaps]));
  const found = new Map(groups.map((group) => [group, new Map<number, GroupEnd>()]));
  const put = (node: number, slot: number, items: number, base: number, name: string): void => {
    const group = elementAt(groupOf, node);
    const { row, gap } = gapsOf.get(name) ?? { row: 0, gap: 0 };
    required(found.get(group)).set(slot, { each: items / group.iterations, base, row, gap });
  };
  const copies = copiesOf(plan);
  for (const { id, from, to } of sdf.channels) {
    if (storage[id] !== 'block') continue;
    const name = `c${copies.get(id) ?? id}`;
    put(to, 2 * id, elementAt(rates, id), 0, name);
    put(from, 2 * id + 1, elementAt(rates, id), elementAt(steady.residual, id), name);
  }
  for (const { id, node, slot, later } of externals) {
    const part = [...parts ?? []].find(([{ name }]) => name.slice(0, -1) === `x${id}`)?.[1];
    if (part === undefined) put(node, slot, later.items * elementAt(steady.repetitions, node), 0, `x${id}`);
    else put(node, slot, part.end - part.begin, -part.begin, `x${id}`);
  }
  return found;
}

/** What is known of the positions that the functions of tasks take, where no rows change them. */
export function positionResidues(tasks: readonly Task[], ends: Ends): ReadonlyMap<Local, Residue> {
  const found = new Map<Local, Residue>();
  for (const { f, isCounted, parts, width, members } of tasks) {
    const before = isCounted || parts > 1 ? 1 : 0;
    for (const { group, slots } of members) {
      slots.forEach((slot, at) => {
        const { each, base, row } = required(ends.get(group)?.get(slot));
        if (row > 0) return;
        const local = elementAt(f.parameters, before + at), own = residue(powerIn(each * width), base), other = found.get(local);
        found.set(local, other === undefined ? own : common(own, other));
      });
    }
  }
  return found;
}
