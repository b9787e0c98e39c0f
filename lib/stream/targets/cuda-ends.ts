// Where the iterations of groups begin at their ends.
import { elementAt, required } from '../../core/known.ts';
import type { Local } from '../../kernel/ir.ts';
import { common, powerIn, residue, type Residue } from '../../kernel/passes/residues.ts';
import type { Group } from '../plan/plan.ts';
import type { Gaps } from './cuda-gaps.ts';
import { copiesOf } from './cuda-copies.ts';
import type { PrintedLayout, Run } from './cuda-layout.ts';
import type { Task } from './cuda-tasks.ts';
import { viewsOf, type View } from './cuda-views.ts';

/** A part of where an iteration begins: `by` items for every so many iterations. */
export interface Advance {
  readonly every: number;
  readonly by: number;
}

export interface GroupEnd {
  /** Items before the first iteration's. */
  readonly base: number;
  /** @param width iterations that are made together and count as one */
  readonly advances: (width: number) => readonly Advance[];
}

/** By group and place in `ix`. */
export type Ends = ReadonlyMap<Group, ReadonlyMap<number, GroupEnd>>;

/** Where iterations of `each` items begin in rows of `row` items, with gaps between rows. */
function plainEnd(each: number, base: number, { row, gap }: Pick<Gaps, 'row' | 'gap'>): GroupEnd {
  return { base, advances: (width) => {
    const moved = each * width;
    // Iterations that begin in a row of their own move by what a row takes.
    return [{ every: 1, by: moved + (row === moved ? gap : 0) }, ...(row > moved && gap > 0 ? [{ every: row / moved, by: gap }] : [])];
  } };
}

/** Where iterations begin in an array that is another one's view. @param items of a steady state in that array */
function stridedEnd({ base, outer }: View, items: number, gap: number): GroupEnd {
  const advances: Advance[] = [];
  let every = 1, taken = 0;
  for (const { count, step } of [...outer, { count: Infinity, step: items + gap }]) {
    // What the digits before have moved by then is taken back.
    advances.push({ every, by: step - taken });
    every *= count;
    taken = step * count;
  }
  return { base, advances: () => advances };
}

export function endsOf({ plan, tiles, parts }: Pick<PrintedLayout, 'plan' | 'tiles' | 'parts'>): Ends {
  const { sdf, storage, rates, steady, externals, groups, groupOf } = plan;
  // Those of a channel or stream, alike in all its arrays: their names are its own and the kind.
  const gapsOf = new Map([...tiles].map(([buffer, { gaps }]) => [buffer.name.slice(0, -1), gaps]));
  const found = new Map(groups.map((group) => [group, new Map<number, GroupEnd>()]));
  const put = (node: number, slot: number, items: number, base: number, name: string): void => {
    const group = elementAt(groupOf, node);
    required(found.get(group)).set(slot, plainEnd(items / group.iterations, base, gapsOf.get(name) ?? { row: 0, gap: 0 }));
  };
  const copies = copiesOf(plan);
  const partOf = (id: number): Run | undefined => [...parts ?? []].find(([{ name }]) => name.slice(0, -1) === `x${id}`)?.[1];
  for (const { id, from, to } of sdf.channels) {
    if (storage[id] !== 'block') continue;
    const name = `c${copies.get(id) ?? id}`;
    put(to, 2 * id, elementAt(rates, id), 0, name);
    put(from, 2 * id + 1, elementAt(rates, id), elementAt(steady.residual, id), name);
  }
  for (const view of viewsOf(plan).all) {
    const name = `${view.root < sdf.channels.length ? 'c' : 'x'}${view.root}`;
    const part = partOf(view.root), gap = gapsOf.get(name)?.gap ?? 0;
    required(found.get(view.group)).set(view.slot, part === undefined ? stridedEnd(view, view.items, gap)
      : stridedEnd({ ...view, base: view.base - part.begin }, part.end - part.begin, gap));
  }
  for (const { id, node, slot, later } of externals) {
    const part = partOf(id);
    if (part === undefined) put(node, slot, later.items * elementAt(steady.repetitions, node), 0, `x${id}`);
    else put(node, slot, part.end - part.begin, -part.begin, `x${id}`);
  }
  return found;
}

/** What is known of the positions that the functions of tasks take, where no gaps change them. */
export function positionResidues(tasks: readonly Task[], ends: Ends): ReadonlyMap<Local, Residue> {
  const found = new Map<Local, Residue>();
  for (const { f, isCounted, parts, width, members } of tasks) {
    const before = isCounted || parts > 1 ? 1 : 0;
    for (const { group, slots } of members) {
      slots.forEach((slot, at) => {
        const { base, advances } = required(ends.get(group)?.get(slot));
        const local = elementAt(f.parameters, before + at), other = found.get(local);
        const own = residue(Math.min(...advances(width).map(({ by }) => powerIn(by))), base);
        found.set(local, other === undefined ? own : common(own, other));
      });
    }
  }
  return found;
}
