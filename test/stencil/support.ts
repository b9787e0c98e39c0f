// Random equations, grids and boundary conditions, and comparisons of states.
import assert from 'node:assert/strict';
import { stencil, type Device } from '../../lib/index.ts';

export type AnyEquation = stencil.Equation;
type AnyOptions = stencil.SimulateOptions<string, string, string>;

/** Draws numbers. */
export type Draw = () => number;

export const pick = <T>(draw: Draw, ...of: readonly T[]): T => of[draw() % of.length]!;

/** A reproducible sequence. */
export function sequence(seed: number): Draw {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}

const functionOf = (text: string): never => new Function(`return ${text}`)() as never;

const places = ['x', 'y', 'z'];

/** The text of a point function: reads at several offsets, conditions, places, parameters; its values stay moderate. */
export function randomPoint(draw: Draw, dimensions: number, { fields, isStep, hasCoefficient = true, reach = pick(draw, 1, 1, 2, 4) }: {
  readonly fields: readonly string[]; readonly isStep: boolean; readonly hasCoefficient?: boolean; readonly reach?: number;
}): string {
  const offset = (): string => Array.from({ length: dimensions }, () => (draw() % (2 * reach + 1)) - reach).join(', ');
  const read = (): string => pick(draw, `${pick(draw, ...fields)}(${offset()})`, `${pick(draw, ...fields)}()`,
    ...(hasCoefficient ? [`c(${offset()})`, 'c()'] : []));
  const place = (): string => pick(draw, 'p', 'q', 't', ...places.slice(0, dimensions), 'dx', ...(isStep ? ['dt', 'before.u()'] : []));
  const number = (depth: number): string => {
    if (depth <= 0) return pick(draw, read(), read(), read(), place(), '0.25', '-0.5');
    switch (draw() % 7) {
      case 0: return `(${number(depth - 1)} < ${number(depth - 1)} ? ${number(depth - 1)} : ${number(depth - 1)})`;
      case 1: return `Math.${pick(draw, 'abs', 'floor', 'sqrt')}(Math.abs(${number(depth - 1)}))`;
      case 2: return `Math.${pick(draw, 'min', 'max')}(${number(depth - 1)}, ${number(depth - 1)})`;
      case 3: return `laplacian(${pick(draw, ...fields)})`;
      case 4: return `(${number(depth - 1)} / (1 + ${read()} * ${read()} + ${place()} * ${place()}))`;
      default: return `(${number(depth - 1)} ${pick(draw, '+', '-', '*')} ${number(depth - 1)})`;
    }
  };
  const tools = `{ laplacian, dx, t, ${places.slice(0, dimensions).join(', ')}${isStep ? ', dt, before' : ''} }`;
  const body = fields.map((name) => `${name}: f_${name}`).join(', ');
  const locals = fields.map((name) => `const w_${name} = ${number(3)}; const f_${name} = 0.5 * w_${name} / (1 + w_${name} * w_${name});`).join(' ');
  return `({ ${[...fields, ...(hasCoefficient ? ['c'] : [])].join(', ')} }, { p, q }, ${tools}) => { ${locals} return { ${body} }; }`;
}

function randomCondition(draw: Draw, dimensions: number): unknown {
  const place = pick(draw, 't', ...places.slice(0, dimensions));
  const value = pick<unknown>(draw, 0.5, functionOf(`({ ${place} }, { p }) => ${place} * p + 0.1`));
  return pick<unknown>(draw, 'mirror', 'odd-mirror', 'outflow', { kind: 'outflow' }, { kind: 'dirichlet', value }, { kind: 'neumann',
    value },
    { kind: 'robin', alpha: 1, beta: 0.5, value }, { kind: 'function',
      value: functionOf('({ u }, { q }, { k, t }) => q * u(0) - 0.1 * k * t + 0.2 * u(k - 1)') });
}

/** Conditions for every side and, sometimes, field. */
export function randomBoundary(draw: Draw, dimensions: number, fields: readonly string[]): stencil.Boundary {
  const side = (): unknown => (draw() % 3 > 0 ? randomCondition(draw, dimensions)
    : { fields: Object.fromEntries(fields.map((name) => [name, randomCondition(draw, dimensions)])) });
  const axis = (): unknown => (draw() % 3 === 0 ? 'periodic' : { low: side(), high: side() });
  return Object.fromEntries(places.slice(0, dimensions).map((name) => [name, axis()])) as never;
}

/** The same, with fields that are periodic along axes where others are not. */
export function mixedBoundary(draw: Draw, dimensions: number, fields: readonly string[]): stencil.Boundary {
  const axis = (): unknown => {
    const periodic = fields.filter(() => draw() % 2 === 0);
    const side = (): unknown => ({ fields: Object.fromEntries(fields.map((name) =>
      [name, periodic.includes(name) ? 'periodic' : randomCondition(draw, dimensions)])) });
    return { low: side(), high: side() };
  };
  return Object.fromEntries(places.slice(0, dimensions).map((name) => [name, axis()])) as never;
}

/** What bounds the steps of random equations. */
const limits = {
  speed: functionOf('({ u, c }, { p }, { x, t }) => Math.abs(u()) + 0.1 * c() * c() + p + 0.01 * t * x * x'),
  diffusivity: functionOf('({ u }, { p, q }) => p * (1 + u() * u()) + q'),
};

export interface Case {
  readonly equation: AnyEquation;
  readonly options: AnyOptions;
  readonly steps: number;
  readonly text: string;
}

/** A random equation with everything that a run takes. Sides have 1 to 9 cells, or as many as the boundary conditions need. */
export async function randomCase(
  seed: number, dimensions: 1 | 2 | 3 = pick(sequence(seed + 1), 1, 2, 3), { isMixed = false }: { readonly isMixed?: boolean } = {},
): Promise<Case> {
  const draw = sequence(seed);
  const fields = draw() % 2 === 0 && !isMixed ? ['u'] : ['u', 'v'];
  const isStep = draw() % 4 === 0;
  const text = (): string => randomPoint(draw, dimensions, { fields, isStep });
  const texts = isStep ? Array.from({ length: 1 + (draw() % 3) }, text) : [text()];
  const boundary = (isMixed ? mixedBoundary : randomBoundary)(draw, dimensions, fields);
  const equation = stencil.define({
    dimensions, fields, parameters: ['p', 'q'], coefficients: ['c'], boundary, ...limits,
    ...(isStep ? { step: texts.map(functionOf) } : { rate: functionOf(texts[0]!), method: pick(draw, ...stencil.methods) }),
  }) as AnyEquation;
  const spacing = draw() % 2 === 0 ? 0.5 : Array.from({ length: dimensions }, () => pick(draw, 0.5, 1, 0.3));
  const { leastShape } = await stencil.inspect(equation, { spacing });
  const shape = leastShape.map((least) => Math.max(least, 1 + (draw() % 9)));
  const cells = shape.reduce((a, b) => a * b);
  const members = pick(draw, 1, 1, 3);
  const numbers = (length: number): Float64Array => Float64Array.from({ length }, () => ((draw() % 2001) - 1000) / 1000);
  const options = {
    shape, spacing, origin: -1, dt: 0.125, initial: Object.fromEntries(fields.map((name) => [name,
      numbers(cells * (draw() % 2 === 0 ? members : 1))])),
    parameters: { p: 0.7, q: members === 1 ? 0.3 : Array.from({ length: members }, (_, i) => 0.1 * i) },
    coefficients: { c: numbers(cells) }, threads: 1,
  };
  return { equation, options, steps: 1 + (draw() % 3), text: texts.join('\n') };
}

/** A random case for variants that take several steps at once: wide enough for tiles between boundaries, mostly. */
export function randomPasses(seed: number, dimensions: 1 | 2 | 3): Case & { readonly depth: number; readonly points: number } {
  const draw = sequence(seed);
  const fields = draw() % 2 === 0 ? ['u'] : ['u', 'v'];
  const isStep = draw() % 3 === 0;
  const hasCoefficient = draw() % 2 === 0;
  const text = randomPoint(draw, dimensions, { fields, isStep, hasCoefficient, reach: pick(draw, 1, 1, 1, 2) });
  const f = new Function(`return ${text}`)() as never;
  const equation = stencil.define({
    dimensions, fields, parameters: ['p', 'q'], coefficients: hasCoefficient ? ['c'] : [], boundary: randomBoundary(draw, dimensions, fields),
    ...(isStep ? { step: f } : { rate: f, method: pick(draw, 'euler', 'euler', 'midpoint', 'ssprk2', 'ssprk3', 'rk4') }),
  } as never);
  const members = pick(draw, 1, 1, 2);
  const shape = { 1: [60 + (draw() % 900)], 2: [1 + (draw() % 40), 60 + (draw() % 150)],
    3: [1 + (draw() % 7), pick(draw, 1 + (draw() % 9), 8, 12, 17), pick(draw, 1 + (draw() % 9), 32, 40, 67)] }[dimensions];
  const cells = shape.reduce((a, b) => a * b);
  const numbers = (length: number): Float64Array => Float64Array.from({ length }, () => ((draw() % 2001) - 1000) / 1000);
  const options = {
    shape, spacing: 0.5, dt: 0.125, initial: Object.fromEntries(fields.map((name) => [name, numbers(cells)])),
    parameters: { p: 0.7, q: members === 1 ? 0.3 : [0.3, 0.1] }, coefficients: (hasCoefficient ? { c: numbers(cells) } : {}) as Readonly<Record<string, Float64Array>>,
  };
  return { equation: equation as never, options, steps: 1 + (draw() % 9), text, depth: 1 + (draw() % (dimensions === 1 ? 12 : 3)),
    points: dimensions === 3 ? pick(draw, 1, 2) : pick(draw, 2, 4) };
}

/** The state after some steps, as one array. */
export async function after(
  { equation, options, steps }: Case, more: Partial<AnyOptions> & { readonly device?: Device },
): Promise<stencil.RealArray> {
  await using run = await stencil.simulate(equation, { ...options, ...more } as never);
  await run.advance(steps);
  return joined(await run.state());
}

export function joined(state: stencil.State<string>): stencil.RealArray {
  const all = Object.values(state);
  const made = all[0] instanceof Float32Array ? new Float32Array(all.length * all[0].length) : new Float64Array(all.length * all[0]!.length);
  all.forEach((each, i) => { made.set(each, i * each.length); });
  return made;
}

/** Asserts that two states have the same bits. */
export function same(a: stencil.RealArray, b: stencil.RealArray, what: string): void {
  assert.equal(a.length, b.length, what);
  const at = a.findIndex((value, i) => !Object.is(value, b[i]));
  assert.ok(at < 0, `${what}: element ${at} is ${a[at]}, not ${b[at]}`);
}
