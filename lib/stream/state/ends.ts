// The ways in which control leaves code, and what is known there.
import { required } from '../../core/known.ts';
import type { Label } from '../../kernel/ir.ts';
import { joined, type Scene } from './scene.ts';

/** How control left a body. */
export interface Ends {
  readonly normal: Scene | undefined;
  readonly breaks: ReadonlyMap<Label, Scene>;
  readonly continues: ReadonlyMap<Label, Scene>;
  readonly returned: Scene | undefined;
}

export const nowhere: Ends = { normal: undefined, breaks: new Map(), continues: new Map(), returned: undefined };

function bothMaps(a: ReadonlyMap<Label, Scene>, b: ReadonlyMap<Label, Scene>): ReadonlyMap<Label, Scene> {
  if (a.size === 0 || b.size === 0) return a.size === 0 ? b : a;
  const made = new Map(a);
  for (const [label, scene] of b) made.set(label, required(joined(made.get(label), scene)));
  return made;
}

/** `first` until its end, then `second`; or either of them, if `isEither`. */
export function both(first: Ends, second: Ends, isEither: boolean): Ends {
  return {
    normal: isEither ? joined(first.normal, second.normal) : second.normal, breaks: bothMaps(first.breaks, second.breaks),
    continues: bothMaps(first.continues, second.continues), returned: joined(first.returned, second.returned),
  };
}

export function without(map: ReadonlyMap<Label, Scene>, label: Label): ReadonlyMap<Label, Scene> {
  if (!map.has(label)) return map;
  const made = new Map(map);
  made.delete(label);
  return made;
}

/** Whether control left only by the end. */
export const leavesOnly = ({ breaks, continues, returned }: Ends): boolean =>
  breaks.size === 0 && continues.size === 0 && returned === undefined;
