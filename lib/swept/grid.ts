// Points, boundaries and spacing of a problem.
import { describeValue, float64Of } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { callChecks } from '../core/call.ts';
import { anything, choice, oneOf, whole, type Check } from '../core/checks.ts';
import { needed, normally, optionsOf, parametersOf } from '../core/options.ts';
import { required } from '../core/known.ts';
import { boundaries, variants, type BoundaryName, type EquationName, type Variant } from './types.ts';

/** A boundary after checking; `value` as the caller gave it. */
export interface CheckedEnd {
  readonly kind: BoundaryName;
  readonly value: unknown;
}

/** The boundaries at both ends. */
export interface Ends {
  readonly left: CheckedEnd;
  readonly right: CheckedEnd;
}

/** Boundaries that each equation supports, as in `admits` of cuda/swept/domain.h. */
export const admitted: Record<EquationName, readonly BoundaryName[]> = {
  heat: ['periodic', 'reflective', 'dirichlet'],
  'kuramoto-sivashinsky': ['periodic', 'dirichlet'],
  euler: boundaries,
};

const admittedEnds: Record<EquationName, Check> = {
  heat: choice(admitted.heat), 'kuramoto-sivashinsky': choice(admitted['kuramoto-sivashinsky']), euler: choice(admitted.euler),
};
const endFields = optionsOf('an end', { kind: needed(choice(['dirichlet'])), value: anything });
const bothEnds = optionsOf('both ends', { left: anything, right: anything });

function checkEnd(end: unknown, name: string, equation: EquationName): CheckedEnd {
  if (typeof end === 'object' && end !== null) {
    const { value } = endFields.read<{ readonly value?: unknown }>(end, name);
    if (value !== undefined && equation === 'kuramoto-sivashinsky') {
      throw refusal(`${name}.value`, 'none: dirichlet boundaries of kuramoto-sivashinsky hold u = u_xx = 0', describeValue(value));
    }
    return { kind: 'dirichlet', value };
  }
  admittedEnds[equation](end, name);
  return { kind: end as BoundaryName, value: undefined };
}

/** Checks the option `boundary`. */
export function checkEnds(boundary: unknown, equation: EquationName, normal: BoundaryName): Ends {
  const given = boundary === undefined ? normal : boundary;
  const apart = typeof given === 'object' && given !== null && ('left' in given || 'right' in given);
  if (!apart) {
    const end = checkEnd(given, 'boundary', equation);
    return { left: end, right: end };
  }
  const { left, right } = bothEnds.read<{ readonly left?: unknown; readonly right?: unknown }>(given, 'boundary');
  const ends = { left: checkEnd(left, 'boundary.left', equation), right: checkEnd(right, 'boundary.right', equation) };
  if ((ends.left.kind === 'periodic') !== (ends.right.kind === 'periodic')) {
    const odd = ends.left.kind === 'periodic' ? 'right' : 'left';
    throw refusal(`boundary.${odd}`, "'periodic' at both ends or at none", describeValue(ends[odd].kind));
  }
  return ends;
}

/**
 * Distances of points in the length: between the end points (heat, KS), all the way round when periodic; cells of Euler but
 * those that hold an end state.
 */
function intervals(equation: EquationName, n: number, { left, right }: Ends): number {
  if (equation === 'euler') return n - Number(left.kind === 'dirichlet') - Number(right.kind === 'dirichlet');
  return left.kind === 'periodic' ? n : n - 1;
}

/** The spacing from `dx` or `length`; `normal` if neither is given. */
export function spacing(
  options: { readonly dx?: number; readonly length?: number }, equation: EquationName, n: number, ends: Ends,
  normal: { dx?: number; length?: number },
): number {
  const { dx, length } = oneOf(options, ['dx', 'length']) === undefined ? normal : options;
  if (dx === undefined && length === undefined) throw refusal('dx', 'dx or length', 'neither');
  const result = dx ?? required(length) / intervals(equation, n, ends);
  // Coefficients hold dx to the fourth power.
  if (!(result > 1e-60 && result < 1e60)) throw refusal(dx === undefined ? 'length' : 'dx', 'a spacing from 1e-60 to 1e60', String(result));
  return result;
}

/** Positions of the points; the left end of the domain is 0. */
export function places(equation: EquationName, n: number, dx: number, leftEnd: BoundaryName): Float64Array {
  const shift = equation !== 'euler' ? 0 : leftEnd === 'dirichlet' ? -0.5 : 0.5;
  return float64Of(n, (i) => (i + shift) * dx);
}

/** Length that the points span. */
export function lengthOf(equation: EquationName, n: number, dx: number, ends: Ends): number {
  return dx * intervals(equation, n, ends);
}

const known = choice(variants);

/** The name of a variant. */
const variantName: Check<Variant> = (value, name) => {
  if (value === 'cpu-swept') {
    const expected = "'cpu-tiled', as this variant is called now (its tiles overlap, which those of the swept rule do not)";
    throw refusal(name, expected, describeValue(value));
  }
  known(value, name);
};

/** Checks of the options that say where and how a simulation runs. */
export const placementChecks = {
  variant: normally(variantName, 'auto'), points: normally(whole(0, 1024), 0), depth: normally(whole(0, 2 ** 20), 0),
  ...parametersOf('swept.advance', 'threads'), device: callChecks.device,
};
