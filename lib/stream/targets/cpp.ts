// Planned programs in C++: functions as the kernel layer prints them, and tables by which the runtime (runtime/stream.cpp) runs them.
import { fileURLToPath } from 'node:url';
import { readBytesSync } from '../../core/files.ts';
import { required } from '../../core/known.ts';
import type { Buffer, KernelFunction, Program } from '../../kernel/ir.ts';
import { dropCopies } from '../../kernel/passes/copies.ts';
import { shareFunctions, type SharedFunctions } from '../../kernel/passes/share.ts';
import { dropNeedlessFills } from '../../kernel/passes/scalars.ts';
import { tabulate } from '../../kernel/passes/tables.ts';
import { tidy } from '../../kernel/passes/tidy.ts';
import { arithmeticHeader, cLiteral, cName, cTypes } from '../../kernel/print/c-family.ts';
import { cppParameters, printCpp } from '../../kernel/print/cpp.ts';
import { walkBody } from '../../kernel/visit.ts';
import { lowerProgram, type LoweredProgram } from '../lower/program.ts';
import { type ProgramPlan } from '../plan/plan.ts';

export interface CppOptions {
  /** Single-appearance schedule, one FIFO array per channel, nothing fused: the stand-in for the original compiler. */
  readonly baseline?: boolean;
  /** Items that channels must hold at least, by channel. */
  readonly capacities?: readonly number[];
  /** Runs on several threads: in launches, or the pieces of a program without state. Default: on one. */
  readonly threads?: 'launches' | 'pieces';
  /** Statements of groups from which on those of one shape are made once. Default 4000: compilers take too long to make each its own. */
  readonly shareFrom?: number;
  /** Most files that a program of many lines is cut into, to be compiled side by side. Default: one. */
  readonly mostUnits?: number;
  /** Lines beyond which a program in one file is not printed: see {@link LargeProgram}, {@link mostLinesIn}. Default: no limit. */
  readonly mostLines?: number;
}

/** A program that a C++ compiler would take minutes for. */
export class LargeProgram extends Error {
  readonly lines: number;

  constructor(lines: number) {
    super(`${lines} lines of C++`);
    this.lines = lines;
  }
}

export interface CppProgram {
  readonly lowered: LoweredProgram;
  readonly threads: CppOptions['threads'];
  /** The program, to stand in a namespace. */
  readonly body: string;
  /** Those of its functions that stand in files of their own, each text in the same namespace. */
  readonly units: readonly string[];
  /** Whether floats are cut to integers: see arithmetic.h. */
  readonly cuts: boolean;
  /** Whether its functions are mostly long code without loops. */
  readonly isLong: boolean;
}

/** Headers of the runtime. Programs need the first alone. */
const runtimeHeaders = ['stream.h', 'run.h', 'launches.h', 'pieces.h'];

function runtimeFile(name: string): string {
  return readBytesSync(fileURLToPath(new URL(`./runtime/${name}`, import.meta.url))).toString('utf8');
}

/** The files that stand beside the sources of a program and of the runtime, by name. */
export function cppHeaders(): Readonly<Record<string, string>> {
  return { 'arithmetic.h': arithmeticHeader(), ...Object.fromEntries(runtimeHeaders.map((name) => [name, runtimeFile(name)])) };
}

/** The source of the runtime, which is compiled on its own. */
export function cppRuntime(): string {
  return runtimeFile('stream.cpp');
}

/** Files of several programs: run with the paths of input and output and the program's number. */
export function cppFiles(programs: readonly CppProgram[]): readonly string[] {
  const head = [...(programs.some(({ cuts }) => cuts) ? ['#define WL_CUTS'] : []), '#include "arithmetic.h"', '#include "stream.h"'];
  const text = (body: string, i: number): string => `\nnamespace wl_program_${i} {\n${body}}`;
  const main = [
    ...head, ...programs.map(({ body }, i) => text(body, i)),
    `\nconst wl_program* const wl_programs[] = {${programs.map((_, i) => `&wl_program_${i}::wl_this`).join(', ')}};`,
    `const int wl_program_count = ${programs.length};`, '',
  ];
  return [main.join('\n'), ...programs.flatMap(({ units }, i) => units.map((unit) => [...head, text(unit, i), ''].join('\n')))];
}

function statementsIn({ body }: KernelFunction): number {
  let count = 0;
  walkBody(body, { statement: () => { ++count; } });
  return count;
}

function hasCuts({ functions }: Program): boolean {
  let found = false;
  for (const { body } of functions) {
    walkBody(body, { expression: (e) => { found ||= e.kind === 'convert' && e.type === 'i32' && e.operand.type !== 'bool'; } });
  }
  return found;
}

/** Statements from which on functions that are called rarely are not worth a compiler's effort, most of which they would take. */
const longRare = 200;
/** Statements of groups from which on a program is long. */
const longProgram = 1000;

/**
 * Whether a group's function stays apart from the one that calls it, of which it becomes part otherwise: g++ makes better vectors of a long
 * one that writes streams then, by 15 % in fft-coarse.
 */
function isApart(streams: readonly Buffer[], statements: number): boolean {
  return statements > longRare && streams.some(({ isReadOnly }) => isReadOnly !== true);
}

/** A lowered program with functions of one shape made once, and what to call in place of each. */
interface Arranged {
  readonly program: Program;
  /** How many the groups have before functions are shared. */
  readonly statements: number;
  readonly calls: SharedFunctions['calls'];
  /** Pointers that functions take, by name. */
  readonly parameters: ReturnType<typeof cppParameters>;
  readonly attributes: (f: KernelFunction) => string;
}

function arranged({ program, plan }: LoweredProgram, { baseline = false, shareFrom = 4000 }: CppOptions): Arranged {
  const groupNames = new Set((baseline ? [{ id: 0 }] : plan.groups).map(({ id }) => `group_${id}`));
  const others = new Set([...groupNames, 'settle', 'steady']);
  const rare = program.functions.filter(({ name }) => !others.has(name));
  const groups = program.functions.filter(({ name }) => groupNames.has(name));
  const settle = program.functions.filter(({ name }) => name === 'settle');
  const statements = groups.reduce((sum, f) => sum + statementsIn(f), 0);
  const isLong = !baseline && statements >= shareFrom;
  const single = (functions: readonly KernelFunction[]): SharedFunctions => ({
    functions, buffers: [], calls: new Map(functions.map(({ name }) => [name, { callee: name, args: [], buffers: new Map() }])),
  });
  const rareOnce = baseline ? single(rare) : shareFunctions(program, rare, 'fires');
  const groupsOnce = isLong ? shareFunctions(program, groups, 'groups') : single(groups);
  const isRare = new Set(rareOnce.functions), isShared = new Set(isLong ? groupsOnce.functions : []), isSettle = new Set(settle);
  const made: Program = {
    ...program, buffers: [...program.buffers, ...rareOnce.buffers, ...groupsOnce.buffers],
    functions: [...rareOnce.functions, ...groupsOnce.functions, ...settle],
  };
  const parameters = cppParameters(made);
  const attributes = (f: KernelFunction): string => {
    // Otherwise compilers see that channels are empty before, and where each item lies.
    if (baseline && groupNames.has(f.name)) return '__attribute__((noinline, noclone)) ';
    const spared = statementsIn(f) > longRare ? ', optimize("O0")' : '';
    if (isRare.has(f)) return `__attribute__((cold, noinline${spared})) `;
    if (isShared.has(f) || isApart(required(parameters.get(f.name)), statementsIn(f))) return '__attribute__((noinline)) ';
    return isSettle.has(f) && spared !== '' ? `__attribute__((noinline${spared})) ` : '';
  };
  return {
    program: made, parameters, statements,
    calls: new Map([...rareOnce.calls, ...groupsOnce.calls, ...single(settle).calls]), attributes,
  };
}

/** Text that calls a function of the program, by its name, for `n` firings or iterations. */
type Call = (name: string, n: string) => string;

function callsOf({ parameters, calls }: Arranged, streams: ReadonlyMap<string, number>): Call {
  const argument = (buffer: Buffer): string => {
    const stream = streams.get(buffer.name);
    return stream === undefined ? cName(buffer.name) : `(${cTypes[buffer.element]}*)streams[${stream}]`;
  };
  return (name, n) => {
    const { callee, args, buffers } = required(calls.get(name));
    const list = [
      n, ...args.map(({ type, value }) => cLiteral(type as 'i32', value)),
      ...required(parameters.get(callee)).map((buffer) => argument(buffers.get(buffer) ?? buffer)),
    ];
    return `${cName(callee)}(${list.join(', ')});`;
  };
}

function steadyText({ groups }: ProgramPlan, isBaseline: boolean, call: Call): string {
  const lines = isBaseline
    // The barrier keeps the compiler from seeing through several steady states at once, which nobody's channels would let it.
    ? [`  for (int k = 0; k < n; ++k) { ${call('group_0', '1')} ${call('settle', '1')} asm volatile("" ::: "memory"); }`]
    : [...groups.map(({ id, iterations }) => `  ${call(`group_${id}`, `n * ${iterations}`)}`), `  ${call('settle', 'n')}`];
  return `static void wl_steady(int n, void* const* streams) {\n${lines.join('\n')}\n}`;
}

/** A function that calls one of several by number. */
function switchText(head: string, cases: readonly (readonly [number: number, text: string])[], end = ''): string {
  return `static ${head} {\n  switch (number) {\n${cases.map(([number, text]) => `    case ${number}: ${text}`).join('\n')}\n  }\n${end}}`;
}

function listText(type: string, name: string, values: readonly (number | string)[]): string {
  return `static const ${type} ${name}[] = {${values.length === 0 ? '0' : values.join(', ')}};`;
}

function tablesText({ plan, declarations, sites }: LoweredProgram, threads: CppOptions['threads']): string {
  const arrays = declarations.filter(({ use }) => use === 'channel').map(({ buffer, channel, stride }) =>
    `{${cName(buffer.name)}, ${required(channel)}, ${required(stride) * (buffer.element === 'f64' ? 8 : 4)}}`);
  const first = plan.graph.channels.length;
  const streams = plan.streamArrays.map(({ id, kind, stride }) => `{${id - first}, ${stride * (kind === 'd' ? 8 : 4)}}`);
  const counts = [
    first, plan.externals.length, plan.graph.nodes.length, plan.groups.length, arrays.length, streams.length, plan.multiplicity,
  ];
  const own = threads === 'pieces' ? 'thread_local ' : '';
  return [
    listText('int', 'wl_initial', plan.graph.channels.map(({ initial }) => initial.length)),
    listText('int', 'wl_iterations', plan.groups.map(({ iterations }) => iterations)),
    listText('int', 'wl_lines', sites.map(({ print }) => print?.lines ?? 0)),
    `static const wl_role wl_roles[] = {${[...plan.externals.map(({ kind }) => `wl_role::${kind}`), 'wl_role::input'].join(', ')}};`,
    `static const wl_stream wl_of_streams[] = {${[...streams, '{0, 0}'].join(', ')}};`,
    'static wl_own wl_get_own() {',
    `  static const ${own}wl_array arrays[] = {${[...arrays, '{nullptr, -1, 0}'].join(', ')}};`, '  return {ix, steps, arrays};', '}',
    `static const wl_program wl_this = {${[
      ...counts, 'wl_initial', 'wl_iterations', 'wl_lines', 'wl_roles', 'wl_of_streams', 'rs', 'wl_get_own', 'wl_first', 'wl_fire',
      ...(threads === 'launches' ? ['wl_group', 'nullptr'] : ['nullptr', 'wl_steady']),
    ].join(', ')}};`,
  ].join('\n');
}

/** Lines of a program in so many files: twice as many in two, no more in more of them, for not all cores may be free. */
export function mostLinesIn(files: number, mostLines = Infinity): number {
  return mostLines * Math.min(files, 2);
}

/** Lines from which on a program is cut, and that a part has at least. */
const [cutFrom, leastInUnit] = [8000, 4000];

/** Functions in parts that take a compiler about the same time; that of the others comes first, with what calls them. */
function unitsOf(functions: readonly KernelFunction[], mostUnits: number, threads: CppOptions['threads']): ReadonlySet<KernelFunction>[] {
  const sizes = new Map(functions.map((f) => [f, statementsIn(f)]));
  const lines = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  // Threads have buffers of their own, which only one file can hold.
  const count = lines < cutFrom || threads !== undefined ? 1 : Math.min(mostUnits, Math.floor(lines / leastInUnit));
  const units = Array.from({ length: count }, () => ({ size: 0, functions: new Set<KernelFunction>() }));
  for (const f of [...functions].sort((a, b) => required(sizes.get(b)) - required(sizes.get(a)))) {
    const least = units.reduce((a, b) => (b.size < a.size ? b : a));
    least.functions.add(f);
    least.size += required(sizes.get(f));
  }
  return units.map((unit) => unit.functions);
}

/** What a compiler does not do by itself. */
function passes(program: Program): Program {
  return tidy(program, dropCopies(dropNeedlessFills(tabulate(program))));
}

/** Lowers a planned program and prints it. */
export function cppProgram(plan: ProgramPlan, options: CppOptions = {}): CppProgram {
  const { baseline = false, capacities, threads } = options;
  const nodes = plan.graph.nodes.map(({ id }) => id);
  const lowered = lowerProgram(plan, {
    baseline, placed: threads === 'launches', nodes,
    ...(baseline ? {} : { passes }), ...(capacities === undefined ? {} : { capacities }),
  });
  const made = arranged(lowered, options);
  const [first, ...others] = unitsOf(made.program.functions, baseline ? 1 : options.mostUnits ?? 1, threads);
  // Each statement takes a line at least.
  const lines = made.program.functions.reduce((sum, f) => sum + statementsIn(f), 0);
  if (lines > mostLinesIn(1 + others.length, options.mostLines)) throw new LargeProgram(lines);
  const { ix, steps } = lowered.system;
  const own = new Set([
    ...(threads === undefined ? [] : [ix, steps]),
    ...(threads === 'pieces' ? lowered.declarations.filter(({ use }) => use === 'channel').map(({ buffer }) => buffer) : []),
  ]);
  const call = callsOf(made, new Map(plan.streamArrays.map(({ name }, i) => [name, i])));
  const fires = nodes.map((id) => [id, `${call(`fire_${id}`, 'n')} break;`] as const);
  const firsts = nodes.flatMap((id) => (made.calls.has(`first_${id}`) ? [[id, `${call(`first_${id}`, '1')} return true;`] as const] : []));
  // Functions that are called from one place alone are made part of it, which is quicker.
  const steady = threads === 'launches'
    ? switchText('void wl_group(int number, int n, void* const* streams)',
      plan.groups.map(({ id }) => [id, `${call(`group_${id}`, 'n')} break;`] as const))
    : steadyText(plan, baseline, call);
  const printed = { isOwn: (buffer: Buffer) => own.has(buffer), attributes: made.attributes, knowsImports: true };
  const body = [
    printCpp(made.program, others.length === 0 ? printed : { ...printed, unit: { functions: required(first), isFirst: true } }),
    switchText('bool wl_first(int number, void* const* streams)', firsts, '  return false;\n'),
    switchText('void wl_fire(int number, int n, void* const* streams)', fires),
    steady, tablesText(lowered, threads), '',
  ].join('\n');
  const units = others.map((functions) => printCpp(made.program, { ...printed, unit: { functions, isFirst: false } }));
  return { lowered, threads, body, units, cuts: !baseline && hasCuts(made.program), isLong: !baseline && made.statements >= longProgram };
}
