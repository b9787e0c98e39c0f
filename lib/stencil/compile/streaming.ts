// Equations in one and two dimensions as one kernel that takes several steps per pass over memory: the scheme for
// cuda/stencil/streaming.cuh. Its rows (x) run along the first of two axes, its columns (y) along the last; one dimension is a single row.
import { required } from '../../core/known.ts';
import { binary, convert, get, type KernelFunction, type Local, type Program } from '../../kernel/ir.ts';
import { optimise } from '../../kernel/passes/index.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { printCuda } from '../../kernel/print/cuda.ts';
import { verify } from '../../kernel/verify.ts';
import { classicText, type DeviceText } from './cuda.ts';
import { arithmeticOf, ghostFunctions } from './ghost.ts';
import { isPersistent } from './persistence.ts';
import type { StencilProgram, Target } from './stages.ts';
import type { Input, Traced } from './trace.ts';

/** How a pass is cut: steps, columns per lane, and blocks that a multiprocessor must hold. */
export interface Shape {
  readonly depth: number;
  readonly points: number;
  readonly minBlocks: number;
}

export const streamingKernel = 'pass';
export const streamingThreads = 32;
const lanes = 32;

/** Lanes at each side of a strip that are lost, and columns of a strip. */
export function stripOf({ stages, reach }: StencilProgram, { depth, points }: Pick<Shape,
  'depth' | 'points'>): { readonly halo: number; readonly own: number } {
  const halo = Math.ceil((stages.length * depth * required(reach.at(-1))) / points);
  return { halo, own: (lanes - 2 * halo) * points };
}

/** Rows of a strip in shared memory: where there is more than one, all but one are on their way. */
const ringOf = ({ names }: StencilProgram): number => (names.dimensions === 1 ? 1 : 4);

/** Bytes of shared memory of a block. */
export function streamingBytes(made: StencilProgram, { points }: Pick<Shape, 'points'>): number {
  const { fields, precision } = made.names;
  return ringOf(made) * fields.length * lanes * points * (precision === 'f32' ? 4 : 8);
}

/** The numbers of a cell between stages: fields, then those of the beginning of the step, then the sums. */
interface Layout {
  readonly fields: number;
  readonly start: number | undefined;
  readonly sum: number | undefined;
  readonly components: number;
}

function layoutOf({ stages, names }: StencilProgram): Layout {
  const fields = names.fields.length;
  const start = stages.some(({ readsStart }) => readsStart) ? fields : undefined;
  const sum = stages.some(({ readsSum }) => readsSum) ? fields + (start === undefined ? 0 : fields) : undefined;
  return { fields, start, sum, components: fields * (1 + Number(start !== undefined) + Number(sum !== undefined)) };
}

/** Why an equation cannot be streamed here; undefined if it can. */
export function streamingObstacle(made: StencilProgram, target: Target, members: number): string | undefined {
  const { names, reach } = made;
  if (names.dimensions === 3) return 'streaming is for one and two dimensions';
  if (names.coefficients.length > 0) return 'streaming has no coefficient fields yet';
  if (members > 2 ** 20) return 'too many members';
  for (const rules of target.rules) {
    const kinds = new Set(rules[0].map(({ kind }) => kind === 'periodic'));
    if (kinds.size > 1) return 'one field is periodic and another is not';
  }
  const [rx, ry] = [rowReach(made), required(reach.at(-1))];
  if (ry === 0 || (rx === 0 && names.dimensions === 2)) return 'streaming needs neighbours along all axes';
  for (const ghost of ghostsOf(made, target)) {
    const farthest = Math.max(0, ...ghost.made.inputs.map((input) => (input.kind === 'inner' ? input.distance : 0)));
    if (farthest > (isColumn(made, ghost.axis) ? ry : rx)) return 'a boundary condition reads cells farther away than the equation';
    const isPlaced = ghost.made.inputs.some((input) => input.kind === 'place' && input.axis === 0);
    if (ghost.axis === 1 && isPlaced && isPeriodic(target, 0) && made.stages.some((_, s) => besideOf(made, s).some(({ dx }) => dx !== 0))) {
      return 'a boundary condition depends on the place along a periodic axis';
    }
  }
  return undefined;
}

/** Whether columns run along an axis; rows do otherwise. */
const isColumn = ({ names }: StencilProgram, axis: number): boolean => axis === names.dimensions - 1;

/** Largest offset from row to row. */
const rowReach = ({ names, reach }: StencilProgram): number => (names.dimensions === 1 ? 0 : required(reach[0]));

/** The offsets of a read, from row to row and from column to column. */
const offsetsOf = (offset: readonly number[]): readonly [dx: number, dy: number] => [offset.length === 1 ? 0 : required(offset[0]),
  required(offset.at(-1))];

const isPeriodic = ({ rules }: Target, axis: number): boolean => rules[axis]?.[0][0]?.kind === 'periodic';

interface Ghost {
  readonly axis: number;
  readonly side: 0 | 1;
  readonly field: number;
  readonly k: number;
  readonly value: Traced | undefined;
  readonly made: Traced;
}

function ghostsOf({ names, reach }: StencilProgram, { rules }: Target): readonly Ghost[] {
  return rules.flatMap((axisRules, axis) => ([0, 1] as const).flatMap((side) => axisRules[side].flatMap((rule, field) => {
    if (rule.kind === 'periodic') return [];
    return Array.from({ length: required(reach[axis]) }, (_, i): Ghost => {
      const { value, ghost } = ghostFunctions({ axis, side, field, k: i + 1, rule }, names);
      return { axis, side, field, k: i + 1, value, made: ghost };
    });
  })));
}

/** Components and rows that a stage reads beside the column itself. */
export function besideOf({ stages }: StencilProgram, s: number): readonly { readonly component: number; readonly dx: number }[] {
  return required(stages[s]).point.inputs.flatMap((input) => {
    if (input.kind !== 'y') return [];
    const [dx, dy] = offsetsOf(input.offset);
    return dy === 0 ? [] : [{ component: input.index, dx }];
  });
}

/** The text of a number that a stage takes. */
function inputText(made: StencilProgram, input: Input, { start, sum }: Layout): string {
  switch (input.kind) {
    case 'y': return `at.template get<${[input.index, ...offsetsOf(input.offset)].join(', ')}>()`;
    case 'u': return `at.template get<${required(start) + input.index}, 0, 0>()`;
    case 'a': return `at.template get<${required(sum) + input.index}, 0, 0>()`;
    default: return plainText(made, input);
  }
}

function plainText(made: StencilProgram, input: Input): string {
  if (input.kind === 'place') return isColumn(made, input.axis) ? 'y' : 'x';
  if (input.kind !== 'scalar') throw new TypeError(`${input.kind} is not plain`);
  return /^p\d/.test(input.name) ? `q.p[${input.name.slice(1)}]` : `q.${input.name}`;
}

/** A chain of `if constexpr`. */
function chain(cases: readonly (readonly [condition: string, lines: readonly string[]])[]): string[] {
  return cases.flatMap(([condition, body], i) => [`    ${i === 0 ? '' : 'else '}if constexpr (${condition}) {`,
    ...body.map((line) => `      ${line}`), '    }']);
}

function stageText(made: StencilProgram, layout: Layout): readonly string[] {
  const { stages } = made;
  const { fields, start, sum } = layout;
  const cases = stages.map(({ point, writesSum }, s) => {
    const results = point.f.results.map((_, i) => `out[${i < fields ? i : required(sum) + i - fields}]`);
    const carried = s === stages.length - 1 ? [] : Array.from({ length: fields }, (_, i) => [
      ...(start === undefined ? [] : [`out[${start + i}] = at.template get<${s === 0 ? i : start + i}, 0, 0>();`]),
      ...(sum === undefined || writesSum ? [] : [`out[${sum + i}] = ${s === 0 ? 'Real(0)' : `at.template get<${sum + i}, 0, 0>()`};`]),
    ]).flat();
    const args = [...point.inputs.map((input) => inputText(made, input, layout)), ...results].join(', ');
    return [`kStage == ${s}`, [`${cName(point.f.name)}(${args});`, ...carried]] as const;
  });
  return [
    '  template <int kStage, class Read>',
    '  static WARPLOOM_DEVICE void stage(const Read& at, const Q& q, Real x, Real y, Real (&out)[kComponents]) {', ...chain(cases), '  }',
  ];
}

function ghostText(made: StencilProgram, ghosts: readonly Ghost[], isColumns: boolean, reach: number): readonly string[] {
  const axis = ghosts.find((ghost) => isColumn(made, ghost.axis) === isColumns)?.axis ?? -1;
  const cases = ([0, 1] as const).flatMap((side) => Array.from({ length: reach }, (_, i) => {
    const own = ghosts.filter((ghost) => ghost.axis === axis && ghost.side === side && ghost.k === i + 1);
    return [`kSide == ${side} && kK == ${i + 1}`, own.map(({ made: { f, inputs }, field }) =>
      `${cName(f.name)}(${[...inputs.map((input) => {
      if (input.kind === 'inner') return `inner.template get<${input.index}, ${input.distance}>()`;
      return input.kind === 'place' && input.axis === axis ? `face_${axis}_${side}(q)` : plainText(made, input);
    }), `out[${field}]`].join(', ')});`)] as const;
  }));
  const [name, other] = isColumns ? ['y', 'x'] : ['x', 'y'];
  return [
    '  template <int kSide, int kK, class Inner>',
    `  static WARPLOOM_DEVICE void ghost_${name}(`,
    `      const Inner& inner, const Q& q, Real ${other}, Real (&out)[kFields]) {`, ...chain(cases), '  }',
  ];
}

/** Places of cells and faces as functions. */
function placeFunctions({ names: { spacing, precision } }: StencilProgram, { origin }: Target): readonly KernelFunction[] {
  const at = arithmeticOf(precision);
  return spacing.flatMap((d, axis) => ([['centre', 0.5], ['face', undefined]] as const).map(([name, half]): KernelFunction => {
    const index: Local = { name: 'index', type: 'i32' };
    const number = convert(precision, get(index));
    const moved = half === undefined ? number : at.add(number, at.number(half));
    const value = binary('add', binary('mul', moved, at.number(d)), at.number(required(origin[axis])));
    return { name: `${name}_${axis}`, parameters: [index], results: [precision], buffers: [], body: [{ kind: 'return', values: [value] }] };
  }));
}

function placeText(made: StencilProgram, { origin }: Target): readonly string[] {
  const { names } = made;
  const at = arithmeticOf(names.precision);
  const axes = names.spacing.flatMap((_, axis) => {
    const [name, extent] = isColumn(made, axis) ? ['y', 'n1'] : ['x', 'n0'];
    return [
      `  static WARPLOOM_DEVICE Real centre_${name}(int index) {`, '    Real made;', `    centre_${axis}(index, made);`,
        '    return made;', '  }',
      `  static WARPLOOM_DEVICE Real face_${axis}_0(const Q&) { return Real(${literal(at.number(required(origin[axis])))}); }`,
      `  static WARPLOOM_DEVICE Real face_${axis}_1(const Q& q) {`, '    Real made;', `    face_${axis}(q.${extent}, made);`,
        '    return made;',
      '  }',
    ];
  });
  return names.dimensions === 1 ? [...axes, '  static WARPLOOM_DEVICE Real centre_x(int) { return Real(0); }'] : axes;
}

function literal(e: ReturnType<ReturnType<typeof arithmeticOf>['number']>): string {
  const value = e.kind === 'constant' ? e.value : 0;
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function besideText(made: StencilProgram): readonly string[] {
  const { stages, reach } = made;
  const newest = stages.map((_, s) => Math.max(-99, ...besideOf(made, s).map(({ dx }) => dx)));
  const conditions = stages.flatMap((_, s) => {
    const least = new Map<number, number>();
    for (const { component, dx } of besideOf(made, s)) least.set(component, Math.min(dx, least.get(component) ?? dx));
    return [...least].map(([component, dx]) => ({ s, text: `component == ${component} && dx >= ${dx} && dx <= ${required(newest[s])}`,
      any: `dx >= ${dx} && dx <= ${required(newest[s])}` }));
  });
  const any = (part: 'text' | 'any'): string => conditions.map((each) => `(stage == ${each.s} && ${each[part]})`).join(' || ') || 'false';
  return [
    `  static constexpr WARPLOOM_DEVICE int newest(int stage) { return ${newest.map((dx, s) => `stage == ${s} ? ${dx} : `).join('')}-99; }`,
    `  static constexpr WARPLOOM_DEVICE bool beside(int stage, int component, int dx) { return ${any('text')}; }`,
    `  static constexpr WARPLOOM_DEVICE bool any_beside(int stage, int dx) { return ${any('any')}; }`,
    `  static constexpr int kReachX = ${rowReach(made)}, kReachY = ${required(reach.at(-1))};`,
  ];
}

/** Whether a pass has to look at the state after each of its steps. */
export function checksAll({ stages, names, isChecked }: StencilProgram): boolean {
  return isChecked || !isPersistent(stages, names.fields.length);
}

/** The kernels of both variants: those of `classic`, for single steps, and the pass. */
export function streamingText(made: StencilProgram, target: Target, { depth, points, minBlocks }: Shape): DeviceText {
  const { stages, check, names, reach } = made;
  const layout = layoutOf(made);
  const ghosts = ghostsOf(made, target);
  const functions = new Map<string, KernelFunction>();
  for (const { value, made: ghost } of ghosts) for (const each of [value, ghost]) if (each !== undefined) functions.set(each.f.name,
    each.f);
  for (const f of [...placeFunctions(made, target), check.f, ...stages.map(({ point }) => point.f)]) functions.set(f.name, f);
  const roots = new Set([...functions.keys()].filter((name) => !name.startsWith('value_')));
  const program: Program = verify(optimise({ buffers: [], imports: [], functions: [...functions.values()] }, { roots, vectors: false,
    unroll: 0 }));
  const classic = classicText(made);
  const fields = names.fields.map((_, i) => `fields[${i}]`);
  const distances = ghosts.filter(({ axis }) => isColumn(made, axis)).flatMap(({ made: { inputs } }) =>
    inputs.flatMap((input) => (input.kind === 'inner' ? [input.distance + 1] : [])));
  const scheme = [
    'namespace streaming {', printCuda(program), '', 'struct Scheme {',
    `  using Real = ${names.precision === 'f32' ? 'float' : 'double'};`,
    `  static constexpr int kFields = ${layout.fields}, kComponents = ${layout.components}, kStages = ${stages.length};`,
    `  static constexpr int kDepth = ${depth}, kPoints = ${points}, kMinBlocks = ${minBlocks}, kParameters = ${names.parameters.length};`,
    `  static constexpr int kRing = ${ringOf(made)};`,
    `  static constexpr bool kChecksAll = ${checksAll(made)};`,
    `  static constexpr int kInnerY = ${Math.max(1, ...distances)};`,
    `  static constexpr bool kPeriodicX = ${names.dimensions === 1 || isPeriodic(target, 0)};`,
    `  static constexpr bool kPeriodicY = ${isPeriodic(target, names.dimensions - 1)};`,
    '  using Q = warploom::WARPLOOM_TARGET::stencil::Scalars<Real, kParameters>;',
    ...besideText(made), ...placeText(made, target), ...stageText(made, layout),
    ...ghostText(made, ghosts, false, rowReach(made)), ...ghostText(made, ghosts, true, required(reach.at(-1))),
    '  static WARPLOOM_DEVICE int check(const Real (&fields)[kFields], const Q& q) {', '    int good;',
    `    streaming::check(${[...fields, ...check.inputs.map((input) => plainText(made, input)), 'good'].join(', ')});`,
      '    return good;', '  }', '};',
      '}  // namespace streaming',
    `WARPLOOM_KERNEL(${streamingKernel}, warploom::WARPLOOM_TARGET::stencil::StreamingAgent<streaming::Scheme>)`, '',
  ];
  return {
    source: [classic.source, '#include "cuda/stencil/streaming.cuh"', ...scheme].join('\n'), kernels: [...classic.kernels, streamingKernel],
  };
}
