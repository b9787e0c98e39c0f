// Jams loops around sums, as in matrix products: four sums at a time, in a form that becomes vector lanes.
import { type Body, type Local, type Program, type Statement, type StatementOf } from '../ir.ts';
import { mapBody, mapFunctions, Names, readsOf } from '../visit.ts';
import { required } from '../../core/known.ts';
import { jammed, mentionsIn, sizeOf, tripsOf, whole } from './unroll.ts';

type For = StatementOf<'for'>;

/** How many single-precision sums form a vector. */
const width = 4;

function isSum(s: Statement): boolean {
  return s.kind === 'set' && s.local.type === 'f32' && readsOf(s.value).has(s.local);
}

/** A loop whose body only adds to one sum, with enough iterations to be worthwhile. */
function sumsUp(s: Statement): s is For {
  return s.kind === 'for' && s.body.length === 1 && isSum(required(s.body[0])) && (tripsOf(s) ?? 0) >= width;
}

/** Jams the loop around a sum by four. Both loops are unrolled if the result has at most `most` nodes. */
function jammedSums(s: For, most: number, names: Names, mentions: ReadonlyMap<Local, number>): Statement | Body {
  const trips = tripsOf(s);
  const inner = s.body.filter(({ kind }) => kind === 'for');
  if (trips === undefined || trips % width !== 0 || inner.length !== 1 || !inner.every(sumsUp)) return s;
  const made = jammed(s, width, names, mentions);
  if (!Array.isArray(made)) return s;
  // There is no remainder loop.
  const [main] = made as [For];
  const short = main.body.flatMap((each): Body => {
    const turns = each.kind === 'for' ? required(tripsOf(each)) : 0;
    return each.kind === 'for' && turns * sizeOf(each.body) <= most ? whole(each, turns, names) : [each];
  });
  const turns = trips / width;
  return turns * sizeOf(short) <= most ? whole({ ...main, body: short }, turns, names) : [{ ...main, body: short }];
}

/**
 * Where a loop with constant bounds and a multiple of four iterations computes a single-precision sum in each iteration, computes four sums
 * in one inner loop. The order of additions within each sum stays the same.
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
