// Prints planned programs as C++: functions printed by the kernel layer, and the tables with which the runtime (runtime/stream.cpp) runs
// them.
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
  /** Single-appearance schedule, one FIFO array per channel, no fusion: the stand-in for the original compiler. */
  readonly baseline?: boolean;
  /** The minimum number of items each channel must have room for, by channel. */
  readonly capacities?: readonly number[];
  /** Runs on several threads: in launches, or in pieces if the program has no state. Default: one thread. */
  readonly threads?: 'launches' | 'pieces';
  /**
   * Group statements from which functions of the same shape are emitted only once. Default 4000: compiling each separately takes too long.
   */
  readonly shareFrom?: number;
  /** The maximum number of files into which a long program is split so that they compile in parallel. Default: one. */
  readonly mostUnits?: number;
  /** A program with more lines per file is not printed: see {@link LargeProgram}, {@link mostLinesIn}. Default: no limit. */
  readonly mostLines?: number;
}

/** A program that would take a C++ compiler minutes. */
export class LargeProgram extends Error {
  readonly lines: number;

  constructor(lines: number) {
    super(`${lines} lines of C++`);
    this.lines = lines;
  }

  /** What a run that another back end makes says. */
  get note(): string {
    return `the program is too large for a C++ compiler (${this.lines} lines of C++, which take minutes): it ran as WebAssembly`;
  }
}

export interface CppProgram {
  readonly lowered: LoweredProgram;
  readonly threads: CppOptions['threads'];
  /** The program text, to be placed in a namespace. */
  readonly body: string;
  /** Functions in files of their own; each text goes in the same namespace. */
  readonly units: readonly string[];
  /** Whether floats are truncated to integers: see arithmetic.h. */
  readonly cuts: boolean;
  /** Whether its functions are mostly long straight-line code. */
  readonly isLong: boolean;
}

/** Headers of the runtime. Programs include only the first. */
const runtimeHeaders = ['stream.h', 'run.h', 'launches.h', 'pieces.h', 'session.h'];

function runtimeFile(name: string): string {
  return readBytesSync(fileURLToPath(new URL(`./runtime/${name}`, import.meta.url))).toString('utf8');
}

/** The headers that sources of programs and of the runtime include, by name. */
export function cppHeaders(): Readonly<Record<string, string>> {
  return { 'arithmetic.h': arithmeticHeader(), ...Object.fromEntries(runtimeHeaders.map((name) => [name, runtimeFile(name)])) };
}

/** The source of the runtime, compiled separately. */
export function cppRuntime(): string {
  return runtimeFile('stream.cpp');
}

/** The files of several programs. The executable takes the paths of input and output and the number of a program. */
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

/** Rarely called functions with more statements are not optimised: they would take most of the compiler's time. */
const longRare = 200;
/** A program whose groups have at least this many statements counts as long. */
const longProgram = 1000;

/**
 * Whether a group's function is kept out of line. Otherwise it is inlined into its caller; but g++ vectorises long functions that write
 * streams better out of line (fft-coarse: 15 %).
 */
function isApart(streams: readonly Buffer[], statements: number): boolean {
  return statements > longRare && streams.some(({ isReadOnly }) => isReadOnly !== true);
}

/** A lowered program in which functions of the same shape are emitted once, and the calls that replace the originals. */
interface Arranged {
  readonly program: Program;
  /** Statements of the groups before functions are shared. */
  readonly statements: number;
  readonly calls: SharedFunctions['calls'];
  /** The pointers that functions take, by name. */
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
    // Otherwise compilers see that channels start empty, and where each item lies.
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

/** Text that calls a function of the program by name, for `n` firings or iterations. */
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
    // Without the barrier, the compiler could optimise across steady states, which real channels would prevent.
    ? [`  for (int k = 0; k < n; ++k) { ${call('group_0', '1')} ${call('settle', '1')} asm volatile("" ::: "memory"); }`]
    : [...groups.map(({ id, iterations }) => `  ${call(`group_${id}`, `n * ${iterations}`)}`), `  ${call('settle', 'n')}`];
  return `static void wl_steady(int n, void* const* streams) {\n${lines.join('\n')}\n}`;
}

/** A function that dispatches to one of several by number. */
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

/**
 * Maximum lines of a program split into `files` files: twice as many for two or more. No more than that, because not every core may be
 * free.
 */
export function mostLinesIn(files: number, mostLines = Infinity): number {
  return mostLines * Math.min(files, 2);
}

/** Programs are split from `cutFrom` lines on, into parts of at least `leastInUnit` lines. */
const [cutFrom, leastInUnit] = [8000, 4000];

/** Functions in parts that take about the same time to compile. The main part comes first and contains the callers. */
function unitsOf(functions: readonly KernelFunction[], mostUnits: number, threads: CppOptions['threads']): ReadonlySet<KernelFunction>[] {
  const sizes = new Map(functions.map((f) => [f, statementsIn(f)]));
  const lines = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  // Threads have their own buffers, which only one file can define.
  const count = lines < cutFrom || threads !== undefined ? 1 : Math.min(mostUnits, Math.floor(lines / leastInUnit));
  const units = Array.from({ length: count }, () => ({ size: 0, functions: new Set<KernelFunction>() }));
  for (const f of [...functions].sort((a, b) => required(sizes.get(b)) - required(sizes.get(a)))) {
    const least = units.reduce((a, b) => (b.size < a.size ? b : a));
    least.functions.add(f);
    least.size += required(sizes.get(f));
  }
  return units.map((unit) => unit.functions);
}

/** Passes for what C++ compilers do not do themselves. */
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
  // Each statement takes at least one line.
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
  // Functions with a single caller are inlined, which is faster.
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
