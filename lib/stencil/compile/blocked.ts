// Equations as C++ that takes several steps per pass over memory: functions of rows, and the scheme for runtime/blocked.h, which calls
// them. Rows run along the last axis; one and two dimensions have one cell along the axes before their own.
import { required } from '../../core/known.ts';
import { binary, get, i32, set, type Buffer, type Expression, type KernelFunction, type Program } from '../../kernel/ir.ts';
import { optimise } from '../../kernel/passes/index.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { cppParameters, printCpp } from '../../kernel/print/cpp.ts';
import { verify } from '../../kernel/verify.ts';
import { rateStatements } from './limit.ts';
import { RowFunction } from './row-function.ts';
import { checksAll, ghostsOf, isPeriodic, passObstacle, placeFunctions, type Ghost } from './scheme.ts';
import { sharedOf, type Shared } from './sharing.ts';
import { stageSize, type Stage, type StencilProgram, type Target } from './stages.ts';
import type { Input } from './trace.ts';
import { wideText } from './wide.ts';

/**
 * Offsets, extents or axes of an equation along those of the runtime: planes, rows, columns. In two dimensions a plane is a row of the
 * grid, in one the grid is a plane.
 */
export function ranked<T>(of: readonly T[], rest: T): readonly [T, T, T] {
  return [of.length > 1 ? required(of[0]) : rest, of.length > 2 ? required(of[1]) : rest, required(of.at(-1))];
}

/** The runtime's axis for each of an equation's. */
const runtimeAxes = (dimensions: number): readonly number[] => [[2], [0, 2], [0, 1, 2]][dimensions - 1] ?? [];

/** Nodes that a function of several rows may have: what its rows have in common is loaded and computed once. */
const mostGrouped = 200;
/**
 * Most rows of a function, side by side along the first axis, by dimensions: a level takes so many planes at a time, which are read once
 * for all of them. In three dimensions planes are large.
 */
const mostRows = [1, 4, 2];

/** Rows that the stages are compiled for at once: one, two or four. */
export function groupOf(made: StencilProgram, target: Target): 1 | 2 | 4 {
  const least = Math.min(...made.stages.map(stageSize));
  const most = Math.min(required(mostRows[made.names.dimensions - 1]), Math.floor(mostGrouped / least));
  if (isStaged(made, target) || most < 2) return 1;
  return most >= 4 ? 4 : 2;
}

/** Planes that a level takes at a time. */
export const batchOf = (made: StencilProgram, target: Target): number =>
  (groupOf(made, target) === 1 ? 1 : required(mostRows[made.names.dimensions - 1]));

/** Whether a stage is compiled for several rows at once. */
const isGrouped = (stage: Stage, rows: number): boolean => rows > 1 && rows * stageSize(stage) <= mostGrouped;

/** Numbers of a cell from those around it: by planes from the row of the function. */
function argumentsOf(row: RowFunction, made: StencilProgram, inputs: readonly Input[], by = 0): Expression[] {
  const reach = required(made.reach.at(-1));
  return inputs.map((input): Expression => {
    switch (input.kind) {
      case 'y': case 'c': {
        const [plane, line, column] = ranked(input.offset, 0);
        const name = input.kind === 'y' ? 'y' : 'coefficient';
        return row.read(`at.${name}(${input.index}, ${plane + by}, ${line})`, reach + required(column));
      }
      case 'u': return row.read(`at.start(${input.index}, ${by})`);
      case 'a': return row.read(`at.sum(${input.index}, ${by})`);
      default: return row.plain(input, undefined, by);
    }
  });
}

/** A stage of one row, or of several that lie side by side along the first axis. */
function stageRow(made: StencilProgram, target: Target, s: number, rows: 1 | 2 | 4): RowFunction {
  const row = new RowFunction(`${rows === 1 ? 'stage' : 'group'}_${s}`, made, target);
  const stage = required(made.stages[s]);
  const shared = sharedOf(stage, s);
  const { f, inputs } = shared?.finish ?? stage.point;
  const fields = made.names.fields.length;
  const writes: (() => void)[] = [];
  for (let by = 0; by < rows; by += 1) {
    const numbers = shared?.numbers.map(({ component, side }) =>
      row.read(`at.made(${component}, ${Number(side === 'before')}, ${Number(side === 'beside')})`)) ?? [];
    const results = f.results.map((type) => row.local(type));
    row.call(f.name, [...numbers, ...argumentsOf(row, made, inputs, by)], results);
    results.forEach((result, i) => writes.push(() => {
      row.write(i < fields ? `at.out(${i}, ${by})` : `at.sum_out(${i - fields}, ${by})`, get(result));
    }));
  }
  for (const write of writes) write();
  return row;
}

/** What the cells of a row make for themselves and for their neighbours. */
function shareRow(made: StencilProgram, target: Target, s: number, { common: { f, inputs } }: Shared): RowFunction {
  const row = new RowFunction(`share_${s}`, made, target);
  const results = f.results.map((type) => row.local(type));
  row.call(f.name, argumentsOf(row, made, inputs), results);
  results.forEach((result, i) => { row.write(`at.made(${i}, 0, 0)`, get(result)); });
  return row;
}

function ghostRow(made: StencilProgram, target: Target, name: string, ghosts: readonly Ghost[]): RowFunction {
  const row = new RowFunction(name, made, target);
  for (const { field, axis, side, made: { f, inputs } } of ghosts) {
    const args = inputs.map((input) => (input.kind === 'inner' ? row.read(`at.inner(${input.index}, ${input.distance})`)
      : row.plain(input, { axis, side })));
    const result = row.local();
    row.call(f.name, args, [result]);
    row.write(`at.out(${field})`, get(result));
  }
  return row;
}

/** Calls of the functions of rows in the scheme. */
interface RowCall {
  readonly row: RowFunction;
  readonly f: KernelFunction;
}

/** The rates of cells, for steps of varying length. */
function limitRow(made: StencilProgram, target: Target): RowFunction | undefined {
  const { limit, names } = made;
  if (limit === undefined) return undefined;
  const row = new RowFunction('limit', made, target);
  const reach = required(made.reach.at(-1));
  const read = (input: Input): Expression => {
    if (input.kind === 'y') return row.read(`at.state(${input.index})`);
    return input.kind === 'c' ? row.read(`at.coefficient(${input.index}, 0, 0)`, reach) : row.plain(input);
  };
  const rate = row.local();
  for (const s of rateStatements(limit, names, { read, scalar: (name) => row.plain({ kind: 'scalar', name }) }, rate)) row.add(s);
  row.write('at.rates()', get(rate));
  return row;
}

/** Parts of a text that belong together: a case of a switch. */
const cases = (list: readonly (readonly [label: number, text: string])[]): string[] =>
  list.map(([label, text]) => `      case ${label}: ${text} break;`);

const ghostKey = (axis: number, side: number, k: number): number => (axis * 2 + side) * 8 + k;

/** Stages, cells beyond boundaries (by {@link ghostKey}), the check of a row if cells have to be admissible, and their rates. */
interface Rows {
  readonly stages: readonly RowCall[];
  /** Of several rows, by stage. */
  readonly groups: ReadonlyMap<number, RowCall>;
  /** What cells make for their neighbours, by stage. */
  readonly shares: ReadonlyMap<number, RowCall>;
  readonly ghosts: ReadonlyMap<number, RowCall>;
  readonly check: RowCall | undefined;
  readonly limit: RowCall | undefined;
}

function rowsOf(made: StencilProgram, target: Target, ghosts: readonly Ghost[]): Rows {
  const { stages, names, isChecked, check } = made;
  const done = (row: RowFunction): RowCall => ({ row, f: row.finish() });
  const axes = runtimeAxes(names.dimensions);
  const beyond = new Map<number, RowCall>();
  for (const { axis, side, k } of ghosts) {
    const key = ghostKey(required(axes[axis]), side, k);
    const own = ghosts.filter((ghost) => ghost.axis === axis && ghost.side === side && ghost.k === k);
    if (!beyond.has(key)) beyond.set(key, done(ghostRow(made, target, `fill_${key}`, own)));
  }
  let admissible: RowCall | undefined;
  if (isChecked) {
    const row = new RowFunction('admissible', made, target);
    const [good, all] = [row.local('i32'), row.local('i32')];
    const fields = names.fields.map((_, field) => row.read(`at.out(${field})`));
    row.call(check.f.name, [...fields, ...check.inputs.map((input) => row.plain(input))], [good]);
    row.add(set(all, binary('band', get(all), get(good))));
    admissible = { row, f: row.finish([set(all, i32(1))], [get(all)]) };
  }
  const limit = limitRow(made, target);
  const group = groupOf(made, target);
  return {
    stages: stages.map((_, s) => done(stageRow(made, target, s, 1))), ghosts: beyond, check: admissible, limit: limit && done(limit),
    shares: new Map(stages.flatMap((stage, s) => {
      const shared = sharedOf(stage, s);
      return shared === undefined ? [] : [[s, done(shareRow(made, target, s, shared))]];
    })),
    groups: new Map(stages.flatMap((stage, s) => (isGrouped(stage, group) ? [[s, done(stageRow(made, target, s, group))]] : []))),
  };
}

/** The farthest cell from a boundary that the conditions along an axis read. */
const innerOf = (ghosts: readonly Ghost[], axis: number): number =>
  Math.max(0, ...ghosts.filter((ghost) => ghost.axis === axis).flatMap(({ made: { inputs } }) =>
    inputs.map((input) => (input.kind === 'inner' ? input.distance : 0))));

/** Cells that every stage needs around a tile, along the runtime's axes. */
export function marginsOf(made: StencilProgram, target: Target): readonly [number, number, number] {
  const ghosts = ghostsOf(made, target);
  return ranked(made.reach.map((reach, axis) => Math.max(reach, innerOf(ghosts, axis))), 0);
}

/** Whether a pass is one stage, because levels of a tile cannot know what is beyond the boundaries. */
export const isStaged = (made: StencilProgram, target: Target): boolean => passObstacle(made, target) !== undefined;

const list = (of: readonly (number | boolean)[]): string => `{${of.join(', ')}}`;
const anyOf = (conditions: readonly string[]): string => conditions.join(' || ') || 'false';

/** The functions of a cell, callees first. */
function pointsOf(stage: Stage, s: number): readonly KernelFunction[] {
  const shared = sharedOf(stage, s);
  return shared === undefined ? [stage.point.f] : [...shared.callees, shared.common.f, shared.finish.f];
}

/** What the runtime knows of an equation at compile time. */
function constantsText(made: StencilProgram, target: Target, ghosts: readonly Ghost[]): readonly string[] {
  const { stages, names, reach } = made;
  const which = (test: (at: number) => boolean): string => anyOf(stages.flatMap((_, s) => (test(s) ? [`s == ${s}`] : [])));
  const axes = runtimeAxes(names.dimensions);
  const isWhole = isStaged(made, target);
  const faces = stages.map((stage, s) => sharedOf(stage, s)?.common.f.results.length ?? 0);
  const group = groupOf(made, target);
  const wraps = ranked(reach.map((_, axis) => isPeriodic(target, axis)), false);
  const periodic = target.rules.flatMap(([low], axis) => low.flatMap(({ kind }, field) =>
    (isWhole && kind === 'periodic' ? [`(field == ${field} && axis == ${axes[axis]})`] : [])));
  return [
    `  using Real = ${names.precision === 'f32' ? 'float' : 'double'};`,
    `  static constexpr int kFields = ${names.fields.length}, kStages = ${stages.length}, kParameters = ${names.parameters.length};`,
    `  static constexpr int kCoefficients = ${names.coefficients.length};`,
    `  static constexpr int kReach[3] = ${list(ranked(reach, 0))}, kMargin[3] = ${list(marginsOf(made, target))};`,
    `  static constexpr int kInner[3] = ${list(ranked(reach.map((_, axis) => innerOf(ghosts, axis)), 0))};`,
    `  static constexpr bool kStaged = ${isWhole}, kLimited = ${made.limit !== undefined}, kChecksAll = ${checksAll(made)};`,
    `  static constexpr bool kWraps[3] = ${list(wraps)}, kPeriodic[3] = ${list(wraps.map((each) => each && !isWhole))};`,
    `  static constexpr int kGroup = ${group}, kBatch = ${batchOf(made, target)};`,
    `  static constexpr bool groups(int s) { return ${which((s) => isGrouped(required(stages[s]), group))}; }`,
    `  static constexpr int kFaces = ${Math.max(0, ...faces)};`,
    `  static constexpr bool shares(int s) { return ${which((s) => required(faces[s]) > 0)}; }`,
    `  static constexpr double kTime[] = ${list(stages.map(({ time }) => time))};`,
    `  static constexpr double kDivisorH[] = ${list(stages.map(({ h }) => h.divisor))};`,
    `  static constexpr double kDivisorG[] = ${list(stages.map(({ g }) => g.divisor))};`,
    `  static constexpr bool reads_start(int s) { return ${which((s) => required(stages[s]).readsStart)}; }`,
    `  static constexpr bool reads_sum(int s) { return ${which((s) => required(stages[s]).readsSum)}; }`,
    `  static constexpr bool writes_sum(int s) { return ${which((s) => required(stages[s]).writesSum)}; }`,
    `  static constexpr bool periodic(int field, int axis) { return ${anyOf(periodic)}; }`,
  ];
}

/** The program of a run, to be compiled with the runtime. It is the same for all grids. */
export function blockedText(made: StencilProgram, target: Target): string {
  const { stages, names, check, limit } = made;
  const ghosts = ghostsOf(made, target);
  const rows = rowsOf(made, target, ghosts);
  const others = [rows.check, rows.limit].filter((each) => each !== undefined);
  const calls = [...rows.stages, ...rows.groups.values(), ...rows.shares.values(), ...rows.ghosts.values(), ...others];
  const points = new Map<string, KernelFunction>();
  for (const { value, made: ghost } of ghosts) {
    for (const each of [value, ghost]) if (each !== undefined) points.set(each.f.name, each.f);
  }
  for (const each of [limit?.speed, limit?.diffusivity]) if (each !== undefined) points.set(each.f.name, each.f);
  for (const f of [...placeFunctions(made, target), check.f, ...stages.flatMap(pointsOf)]) points.set(f.name, f);
  const program: Program = verify(optimise({
    buffers: calls.flatMap(({ row }) => row.buffers), imports: [], functions: [...points.values(), ...calls.map(({ f }) => f)],
  }, { roots: new Set(calls.map(({ f }) => f.name)), vectors: false, unroll: 0 }));
  const pointers = cppParameters(program);
  // Where a stage is inlined, its loop competes for registers with the code around it.
  const own = new Set([...rows.stages, ...rows.groups.values(), ...rows.shares.values()].map(({ f }) => f.name));
  const attributes = ({ name }: KernelFunction): string => (own.has(name) ? '__attribute__((noinline)) ' : '');
  const axes = runtimeAxes(names.dimensions);
  const wide = new Map(program.functions.filter(({ name }) => own.has(name)).flatMap((f) => {
    const texts = required(calls.find((each) => each.f.name === f.name)).row.texts;
    const centre = (buffer: Buffer): number | undefined => (texts.get(buffer)?.startsWith('at.y(') ? made.reach.at(-1) : undefined);
    const text = wideText(f, required(pointers.get(f.name)), centre);
    return text === undefined ? [] : [[f.name, text]];
  }));
  const nameOf = (name: string): string => (wide.has(name) ? `WL_EITHER(wl_equation::${cName(name)})` : `wl_equation::${cName(name)}`);
  const callText = ({ row, f }: RowCall, results: readonly string[] = []): string => `${nameOf(f.name)}(${[
    'count', ...axes.map((axis) => `i[${axis}]`), ...axes.map((axis) => `n[${axis}]`), ...made.scalars.map((_, at) => `q[${at}]`),
    ...results, ...required(pointers.get(f.name)).map((buffer) => required(row.texts.get(buffer))),
  ].join(', ')});`;
  const arguments_ = 'const At& at, int count, const int (&i)[3], const int (&n)[3], const Real* q';
  return [
    '#define WL_CUTS', '#include "arithmetic.h"', '[[noreturn]] void wl_trap(int site, double value);', '#include "blocked.h"',
    ...(names.precision === 'f32' ? ['#define WL_REAL float', '#define WL_LANE int']
      : ['#define WL_REAL double', '#define WL_LANE long long']),
    '#include "wide.h"', 'namespace wl_equation {', printCpp(program, { attributes }),
    '#ifdef WL_WIDE', ...wide.values(), '#endif', '}', '', 'namespace {', 'struct Scheme {',
    ...constantsText(made, target, ghosts), `  static constexpr bool kWide = ${wide.size > 0};`,
    `  template <class At> static void stage(int s, ${arguments_}) {`, '    switch (s) {',
    ...cases(rows.stages.map((each, s) => [s, callText(each)])), '    }', '  }',
    `  template <class At> static void group(int s, ${arguments_}) {`, '    switch (s) {',
    ...cases([...rows.groups].map(([s, each]) => [s, callText(each)])), '    }', '  }',
    `  template <class At> static void share(int s, ${arguments_}) {`, '    switch (s) {',
    ...cases([...rows.shares].map(([s, each]) => [s, callText(each)])), '    }', '  }',
    `  template <class At> static void fill(int axis, int side, int k, ${arguments_}) {`, '    switch ((axis * 2 + side) * 8 + k) {',
    ...cases([...rows.ghosts].map(([key, each]) => [key, callText(each)])), '      default: break;', '    }', '  }',
    '  template <class At> static bool check(const At& at, int count, const int (&n)[3], const Real* q) {',
    ...(rows.check === undefined
      ? ['    for (int field = 0; field < kFields; ++field) if (!wl_stencil::all_finite(at.out(field), count)) return false;',
        '    return true;']
      : ['    const int i[3] = {};', '    int good;', `    ${callText(rows.check, ['good'])}`, '    return good != 0;']),
    '  }', `  template <class At> static void limit(${arguments_}) {`, ...(rows.limit === undefined ? [] : [`    ${callText(rows.limit)}`]),
    '  }', '};', '}  // namespace', 'const wl_stencil::Program wl_stencil::program = wl_stencil::program_of<Scheme>();', '',
  ].join('\n');
}
