// An equation as a scheme for the agents that take several steps per pass (cuda/stencil/streaming.cuh, planes.cuh): the text that both
// share. Axes have the names of the user's; one dimension is a single row along x, with columns along y.
import { required } from '../../core/known.ts';
import { binary, convert, get, type KernelFunction, type Local, type Program } from '../../kernel/ir.ts';
import { optimise } from '../../kernel/passes/index.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { printCuda } from '../../kernel/print/cuda.ts';
import { verify } from '../../kernel/verify.ts';
import { axisNames } from '../boundary.ts';
import { arithmeticOf, ghostFunctions } from './ghost.ts';
import { cellsText, stageFunctions } from './line-cells.ts';
import { isPersistent } from './persistence.ts';
import type { StencilProgram, Target } from './stages.ts';
import type { Input, Traced } from './trace.ts';

/** How a pass is cut: steps, columns per lane, rows per thread, warps of a block, and blocks that a multiprocessor must hold. */
export interface Shape {
  readonly depth: number;
  readonly points: number;
  readonly rows: number;
  readonly warps: number;
  readonly minBlocks: number;
}

export const passKernel = 'pass';
export const lanes = 32;

/** The numbers of a cell between stages: fields, then those of the beginning of the step, then the sums. */
interface Layout {
  readonly fields: number;
  readonly start: number | undefined;
  readonly sum: number | undefined;
  readonly components: number;
}

export function layoutOf({ stages, names }: StencilProgram): Layout {
  const fields = names.fields.length;
  const start = stages.some(({ readsStart }) => readsStart) ? fields : undefined;
  const sum = stages.some(({ readsSum }) => readsSum) ? fields + (start === undefined ? 0 : fields) : undefined;
  return { fields, start, sum, components: fields * (1 + Number(start !== undefined) + Number(sum !== undefined)) };
}

/** Why an equation cannot be streamed here; undefined if it can. */
export function streamingObstacle(made: StencilProgram, target: Target, members: number): string | undefined {
  const { reach } = made;
  if (members > 2 ** 20) return 'too many members';
  if (reach.includes(0)) return 'streaming needs neighbours along all axes';
  for (const { axis, made: { inputs } } of ghostsOf(made, target)) {
    if (innerCells([inputs]) > required(reach[axis]) + 1) return 'a boundary condition reads cells farther away than the equation';
  }
  return passObstacle(made, target);
}

/** Why cells beyond boundaries cannot be stored between stages, on any target; undefined if they can. */
export function passObstacle(made: StencilProgram, target: Target): string | undefined {
  for (const rules of target.rules) {
    const kinds = new Set(rules[0].map(({ kind }) => kind === 'periodic'));
    if (kinds.size > 1) return 'one field is periodic and another is not';
  }
  for (const { axis, made: { inputs } } of ghostsOf(made, target)) {
    const isCornered = (other: number): boolean => made.stages.some(({ point }) => point.inputs.some((input) =>
      input.kind === 'y' && input.offset[other] !== 0 && input.offset[axis] !== 0));
    const isPlaced = inputs.some((input) => input.kind === 'place' && input.axis < axis && isPeriodic(target, input.axis)
      && isCornered(input.axis));
    if (isPlaced) return 'a boundary condition depends on the place along a periodic axis';
  }
  return undefined;
}

/** Cells inside that conditions read. */
const innerCells = (inputs: readonly (readonly Input[])[]): number =>
  Math.max(0, ...inputs.flat().map((input) => (input.kind === 'inner' ? input.distance + 1 : 0)));

/** Cells inside that the conditions of an axis read. */
export const innerAlong = (made: StencilProgram, target: Target, axis: number): number =>
  innerCells(ghostsOf(made, target).filter((ghost) => ghost.axis === axis).map(({ made: { inputs } }) => inputs));

/** An equation as an agent sees it that has more axes than it: those before its own have one cell. By default agents have at least two. */
export interface Ranked extends StencilProgram {
  readonly rank?: number;
}

const rankOf = ({ rank, names }: Ranked): number => rank ?? Math.max(2, names.dimensions);
/** The letters of an agent's axes; the letter of an axis of the equation, and the extent along it. */
const lettersOf = (made: Ranked): readonly string[] => axisNames.slice(0, rankOf(made));
const letterOf = (made: Ranked, axis: number): string => required(axisNames[rankOf(made) - made.names.dimensions + axis]);
const extentOf = (made: Ranked, axis: number): string => `n${rankOf(made) - made.names.dimensions + axis}`;

/** Offsets as an agent counts them. */
const offsetsOf = (made: Ranked, offset: readonly number[]): readonly number[] =>
  [...Array<number>(rankOf(made) - offset.length).fill(0), ...offset];

export const isPeriodic = ({ rules }: Target, axis: number): boolean => rules[axis]?.[0][0]?.kind === 'periodic';

/** A cell beyond a boundary, as a function. */
export interface Ghost {
  readonly axis: number;
  readonly side: 0 | 1;
  readonly field: number;
  readonly k: number;
  readonly value: Traced | undefined;
  readonly made: Traced;
}

export function ghostsOf({ names, reach }: StencilProgram, { rules }: Target): readonly Ghost[] {
  return rules.flatMap((axisRules, axis) => ([0, 1] as const).flatMap((side) => axisRules[side].flatMap((rule, field) => {
    if (rule.kind === 'periodic') return [];
    return Array.from({ length: required(reach[axis]) }, (_, i): Ghost => {
      const { value, ghost } = ghostFunctions({ axis, side, field, k: i + 1, rule }, names);
      return { axis, side, field, k: i + 1, value, made: ghost };
    });
  })));
}

/** A read beside the cell itself: not only along the first axis, along which passes stream. */
export interface BesideRead {
  readonly component: number;
  readonly dx: number;
  /** Along the other axes. */
  readonly rest: readonly number[];
}

export function besideOf(made: Ranked, s: number): readonly BesideRead[] {
  return required(made.stages[s]).point.inputs.flatMap((input) => {
    if (input.kind !== 'y') return [];
    const [dx = 0, ...rest] = offsetsOf(made, input.offset);
    return rest.every((offset) => offset === 0) ? [] : [{ component: input.index, dx, rest }];
  });
}

/** The text of a number that a stage takes. */
function inputText(made: Ranked, input: Input, { start, sum }: Layout): string {
  const own = lettersOf(made).map(() => 0);
  switch (input.kind) {
    case 'y': return `at.template get<${[input.index, ...offsetsOf(made, input.offset)].join(', ')}>()`;
    case 'c': return `at.template coefficient<${[input.index, ...offsetsOf(made, input.offset)].join(', ')}>()`;
    case 'u': return `at.template get<${[required(start) + input.index, ...own].join(', ')}>()`;
    case 'a': return `at.template get<${[required(sum) + input.index, ...own].join(', ')}>()`;
    default: return plainText(made, input);
  }
}

function plainText(made: Ranked, input: Input): string {
  if (input.kind === 'place') return letterOf(made, input.axis);
  if (input.kind !== 'scalar') throw new TypeError(`${input.kind} is not plain`);
  return /^p\d/.test(input.name) ? `q.p[${input.name.slice(1)}]` : `q.${input.name}`;
}

/** A chain of `if constexpr`. */
function chain(cases: readonly (readonly [condition: string, lines: readonly string[]])[]): string[] {
  return cases.flatMap(([condition, body], i) => [`    ${i === 0 ? '' : 'else '}if constexpr (${condition}) {`,
    ...body.map((line) => `      ${line}`), '    }']);
}

const places = (letters: readonly string[]): string => letters.map((letter) => `Real ${letter}`).join(', ');

/** How a stage's results are written to `out`, and what carries other numbers to the next stage. */
function resultsOf(made: Ranked, { fields, start, sum }: Layout, s: number, count: number, out: string):
{ readonly results: readonly string[]; readonly carried: readonly string[] } {
  const { stages } = made;
  const own = lettersOf(made).map(() => 0).join(', ');
  const results = Array.from({ length: count }, (_, i) => `${out}[${i < fields ? i : required(sum) + i - fields}]`);
  const carried = s === stages.length - 1 ? [] : Array.from({ length: fields }, (_, i) => [
    ...(start === undefined ? [] : [`${out}[${start + i}] = at.template get<${s === 0 ? i : start + i}, ${own}>();`]),
    ...(sum === undefined || required(stages[s]).writesSum ? []
      : [`${out}[${sum + i}] = ${s === 0 ? 'Real(0)' : `at.template get<${sum + i}, ${own}>()`};`]),
  ]).flat();
  return { results, carried };
}

function stageText(made: Ranked, layout: Layout): readonly string[] {
  const cases = made.stages.map(({ point }, s) => {
    const { results, carried } = resultsOf(made, layout, s, point.f.results.length, 'out');
    const args = [...point.inputs.map((input) => inputText(made, input, layout)), ...results].join(', ');
    return [`kStage == ${s}`, [`${cName(point.f.name)}(${args});`, ...carried]] as const;
  });
  return [
    '  template <int kStage, class Read>',
    `  static WARPLOOM_DEVICE void stage(const Read& at, const Q& q, ${places(lettersOf(made))}, Real (&out)[kComponents]) {`,
    ...chain(cases), '  }',
  ];
}

/** For lines: the stages whose cells share work. */
const lineCellsText = (made: Ranked, layout: Layout): readonly string[] => cellsText(made, {
  input: (input) => inputText(made, input, layout),
  results: (s, count) => resultsOf(made, layout, s, count, 'made[e]').results,
  carried: (s) => resultsOf(made, layout, s, 0, 'made[e]').carried,
});

/** What is beyond the boundaries along an axis, given its letter. */
function ghostText(made: Ranked, ghosts: readonly Ghost[], letter: string): readonly string[] {
  const axis = made.names.spacing.findIndex((_, i) => letterOf(made, i) === letter);
  const cases = ([0, 1] as const).flatMap((side) => Array.from({ length: made.reach[axis] ?? 0 }, (_, i) => {
    const own = ghosts.filter((ghost) => ghost.axis === axis && ghost.side === side && ghost.k === i + 1);
    return [`kSide == ${side} && kK == ${i + 1}`, own.map(({ made: { f, inputs }, field }) =>
      `${cName(f.name)}(${[...inputs.map((input) => {
      if (input.kind === 'inner') return `inner.template get<${input.index}, ${input.distance}>()`;
      return input.kind === 'place' && input.axis === axis ? `face_${axis}_${side}(q)` : plainText(made, input);
    }), `out[${field}]`].join(', ')});`)] as const;
  }));
  const others = lettersOf(made).filter((other) => other !== letter);
  return [
    '  template <int kSide, int kK, class Inner>',
    `  static WARPLOOM_DEVICE void ghost_${letter}(`,
    `      const Inner& inner, const Q& q, ${places(others)}, Real (&out)[kFields]) {`, ...chain(cases), '  }',
  ];
}

/** Places of cells and faces as functions. */
export function placeFunctions({ names: { spacing, precision } }: StencilProgram, { origin }: Target): readonly KernelFunction[] {
  const at = arithmeticOf(precision);
  return spacing.flatMap((d, axis) => ([['centre', 0.5], ['face', undefined]] as const).map(([name, half]): KernelFunction => {
    const index: Local = { name: 'index', type: 'i32' };
    const number = convert(precision, get(index));
    const moved = half === undefined ? number : at.add(number, at.number(half));
    const value = binary('add', binary('mul', moved, at.number(d)), at.number(required(origin[axis])));
    return { name: `${name}_${axis}`, parameters: [index], results: [precision], buffers: [], body: [{ kind: 'return', values: [value] }] };
  }));
}

function placeText(made: Ranked, { origin }: Target): readonly string[] {
  const { names } = made;
  const at = arithmeticOf(names.precision);
  const axes = names.spacing.flatMap((_, axis) => [
    `  static WARPLOOM_DEVICE Real centre_${letterOf(made, axis)}(int index) {`, '    Real made;', `    centre_${axis}(index, made);`,
    '    return made;', '  }',
    `  static WARPLOOM_DEVICE Real face_${axis}_0(const Q&) { return Real(${literal(at.number(required(origin[axis])))}); }`,
    `  static WARPLOOM_DEVICE Real face_${axis}_1(const Q& q) {`, '    Real made;',
    `    face_${axis}(q.${extentOf(made, axis)}, made);`, '    return made;', '  }',
  ]);
  const others = lettersOf(made).slice(0, rankOf(made) - names.dimensions);
  return [...axes, ...others.map((letter) => `  static WARPLOOM_DEVICE Real centre_${letter}(int) { return Real(0); }`)];
}

function literal(e: ReturnType<ReturnType<typeof arithmeticOf>['number']>): string {
  const value = e.kind === 'constant' ? e.value : 0;
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** Whether a pass has to look at the state after each of its steps. */
export function checksAll({ stages, names, isChecked }: StencilProgram): boolean {
  return isChecked || !isPersistent(stages, names.fields.length);
}

/** The newest row or plane that every stage reads beside the cell itself. */
export const newestOf = (made: Ranked): readonly number[] =>
  made.stages.map((_, s) => Math.max(-99, ...besideOf(made, s).map(({ dx }) => dx)));

/** The headers of a text without the kernels of `classic`. */
export const passHeaders = (header: string): string =>
  ['cuda/core/module.cuh', 'arithmetic.h', `cuda/stencil/${header}`].map((each) => `#include "${each}"`).join('\n');

/** The type `Scheme` in the namespace `streaming`, with what its agent needs beside that. `isLine`: with ./line-cells.ts. */
export function schemeText(
  made: Ranked, target: Target, { depth, points, minBlocks }: Shape, more: readonly string[], isLine = false,
): string {
  const { stages, check, names } = made;
  const layout = layoutOf(made);
  const ghosts = ghostsOf(made, target);
  const functions = new Map<string, KernelFunction>();
  for (const { value, made: ghost } of ghosts) for (const each of [value, ghost]) if (each !== undefined) functions.set(each.f.name,
    each.f);
  for (const f of [...placeFunctions(made, target), check.f, ...stages.map(({ point }) => point.f)]) functions.set(f.name, f);
  const roots = new Set([...functions.keys()].filter((name) => !name.startsWith('value_')));
  const linked = isLine ? stages.map((_, s) => stageFunctions(made, s)) : [];
  for (const f of linked.flatMap(({ all }) => all)) functions.set(f.name, f);
  for (const name of linked.flatMap((each) => each.roots)) roots.add(name);
  const program: Program = verify(optimise({ buffers: [], imports: [], functions: [...functions.values()] }, { roots, vectors: false,
    unroll: 0 }));
  const fields = names.fields.map((_, i) => `fields[${i}]`);
  const periodic = lettersOf(made).map((letter) => {
    const axis = names.spacing.findIndex((_, i) => letterOf(made, i) === letter);
    return `kPeriodic${letter.toUpperCase()} = ${axis < 0 || isPeriodic(target, axis)}`;
  });
  return [
    'namespace streaming {', printCuda(program), '', 'struct Scheme {',
    `  using Real = ${names.precision === 'f32' ? 'float' : 'double'};`,
    `  static constexpr int kFields = ${layout.fields}, kComponents = ${layout.components}, kStages = ${stages.length};`,
    `  static constexpr int kDepth = ${depth}, kPoints = ${points}, kMinBlocks = ${minBlocks}, kParameters = ${names.parameters.length};`,
    `  static constexpr bool kChecksAll = ${checksAll(made)}, ${periodic.join(', ')};`,
    '  using Q = warploom::WARPLOOM_TARGET::stencil::Scalars<Real, kParameters>;',
    `  static constexpr WARPLOOM_DEVICE int newest(int stage) { return ${newestOf(made).map((dx, s) =>
      `stage == ${s} ? ${dx} : `).join('')}-99; }`,
    ...more, ...placeText(made, target), ...stageText(made, layout), ...isLine ? lineCellsText(made, layout) : [],
    ...lettersOf(made).flatMap((letter) => ghostText(made, ghosts, letter)),
    '  static WARPLOOM_DEVICE int check(const Real (&fields)[kFields], const Q& q) {', '    int good;',
    `    streaming::check(${[...fields, ...check.inputs.map((input) => plainText(made, input)), 'good'].join(', ')});`,
    '    return good;', '  }', '};', '}  // namespace streaming',
  ].join('\n');
}
