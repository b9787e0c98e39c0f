// A run of the interpreter that goes on as input comes: the firings of `interpret`, in the same order.
import { elementAt } from '../../core/known.ts';
import type { Engine, Taken } from '../interpret/engine.ts';
import { sinksOf } from '../interpret/sinks.ts';
import type { Outlet } from './engine.ts';

/** Scalars and text that came out. */
export interface Walked {
  readonly numbers: readonly number[];
  readonly text: string;
}

/** Fires a node, if it can. */
function fire(engine: Engine, node: number): 'fired' | 'waits' | 'over' {
  if (engine.fire(node)) return 'fired';
  const { waits } = engine;
  engine.waits = false;
  return waits ? 'waits' : 'over';
}

/** Fires sinks in turn; yields `waits` when more input is needed, and `fired` after each firing. */
export function* walk(engine: Engine): Generator<'fired' | 'waits', void> {
  const sinks = sinksOf(engine.graph);
  const alive = sinks.map(() => true);
  for (let i = 1; alive.includes(true); ++i) {
    for (const [at, node] of sinks.entries()) {
      while (elementAt(engine.actors, node).firings < i && elementAt(alive, at)) {
        const end = fire(engine, node);
        if (end === 'over') alive[at] = false;
        else yield end;
      }
    }
  }
}

/** What a session gives of what came out of the engine. */
export function walked({ path }: Outlet, { output, written, printed }: Taken): Walked {
  const numbers = path === undefined ? output : written.get(path) ?? [];
  return { numbers, text: printed };
}
