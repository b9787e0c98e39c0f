// Loops around sums, as in products with a matrix: four sums at a time, written so that they become vector lanes.
import { type Body, type Local, type Program, type Statement, type StatementOf } from '../ir.ts';
import { mapBody, mapFunctions, Names, readsOf } from '../visit.ts';
import { required } from '../../core/known.ts';
import { jammed, mentionsIn, sizeOf, tripsOf, whole } from './unroll.ts';

type For = StatementOf<'for'>;

/** Sums of single precision that make up lanes. */
const width = 4;

function isSum(s: Statement): boolean {
  return s.kind === 'set' && s.local.type === 'f32' && readsOf(s.value).has(s.local);
}

/** A loop that does nothing but add to one sum, so often that it is worth it. */
function sumsUp(s: Statement): s is For {
  return s.kind === 'for' && s.body.length === 1 && isSum(required(s.body[0])) && (tripsOf(s) ?? 0) >= width;
}

/** The loop around a sum with four sums at a time; written out, with the loop of the sums, where that takes up to `most` nodes. */
function jammedSums(s: For, most: number, names: Names, mentions: ReadonlyMap<Local, number>): Statement | Body {
  const trips = tripsOf(s);
  const inner = s.body.filter(({ kind }) => kind === 'for');
  if (trips === undefined || trips % width !== 0 || inner.length !== 1 || !inner.every(sumsUp)) return s;
  const made = jammed(s, width, names, mentions);
  if (!Array.isArray(made)) return s;
  // Nothing is left for the loop of the rest.
  const [main] = made as [For];
  const short = main.body.flatMap((each): Body => {
    const turns = each.kind === 'for' ? required(tripsOf(each)) : 0;
    return each.kind === 'for' && turns * sizeOf(each.body) <= most ? whole(each, turns, names) : [each];
  });
  const turns = trips / width;
  return turns * sizeOf(short) <= most ? whole({ ...main, body: short }, turns, names) : [{ ...main, body: short }];
}

/**
 * Runs four sums of single precision through one loop where a loop with constant bounds, of a multiple of four iterations, makes one in
 * each. Each sum adds in the order in which it did.
 */
export function jamSums(program: Program, most = 1500): Program {
  return mapFunctions(program, (f) => {
    const names = Names.of(program, f);
    let found: ReadonlyMap<Local, number> | undefined;
    const mentions = (): ReadonlyMap<Local, number> => found ??= mentionsIn(f.body);
    const body = mapBody(f.body, { statement: (s) => (s.kind === 'for' ? jammedSums(s, most, names, mentions()) : s) });
    return body === f.body ? f : { ...f, body };
  });
}
