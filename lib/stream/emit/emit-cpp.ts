// A written program as one C++17 file: reads a run from a binary file, writes what came out to another.
import { cppDialect, cppLiteral, cppType, plainSites } from './dialect-cpp.ts';
import { launchText, threadIncludes } from './launch-cpp.ts';
import { countsOf, kindsIn, placesOf, type Kind } from '../plan/layout.ts';
import { streamArrayName, streamArrays, type ProgramPlan } from '../plan/plan.ts';
import { piecesText } from './pieces-cpp.ts';
import { cppIncludes, cppPrelude } from './prelude-cpp.ts';
import { writeProgram } from './program.ts';
import type { ArrayDeclaration, ProgramText } from './program-writer.ts';
import { shareFunctions, type Call, type Written } from './share-cpp.ts';

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Throws unless the name can stand in generated code. */
function checkName(name: string): string {
  if (!plainName.test(name)) throw new Error(`${JSON.stringify(name)} is no name`);
  return name;
}

export interface CppOptions {
  /** Single-appearance schedule, one FIFO array per channel, nothing fused: the stand-in for the original compiler. */
  readonly baseline?: boolean;
  /** Items that channels must hold at least, by channel. */
  readonly capacities?: readonly number[];
  /** Runs on several threads: in launches, or the pieces of a program without state. Default: on one. */
  readonly threads?: 'launches' | 'pieces';
  /** Lines of groups from which on those of one shape are written once. Default 6000: compilers take too long to make each its own. */
  readonly shareFrom?: number;
}

export interface CppProgram {
  readonly text: ProgramText;
  readonly isThreaded: boolean;
  /** The program, to stand in a namespace. */
  readonly body: string;
}

/** One file of several programs: run with the paths of input and output and the program's number. */
export function cppFile(programs: readonly CppProgram[]): string {
  const cases = programs.map((_, i) => `    case ${i}: return wl_program_${i}::run(words);`);
  return [
    cppIncludes, ...(programs.some(({ isThreaded }) => isThreaded) ? [threadIncludes] : []),
    ...programs.map(({ body }, i) => `namespace wl_program_${i} {\n${body}}`),
    'int main(int count, char** words) {', '  if (count != 4) return 2;', '  switch (atoi(words[3])) {', ...cases, '  }',
      '  return 2;', '}', '',
  ].join('\n');
}

function arrayText({ name, kind, role, length, initial }: ArrayDeclaration, start: readonly number[], isOwn: boolean): string {
  const numbers = initial === undefined ? start : Array.from(initial);
  const list = numbers.every((x) => Object.is(x, 0)) ? '' : ` = {${numbers.map((x) => cppLiteral(kind, x)).join(', ')}}`;
  const isConstant = role === 'table' && list !== '';
  const own = isOwn && role === 'channel' ? 'thread_local ' : '';
  return `alignas(64) static ${own}${isConstant ? 'const ' : ''}${cppType[kind]} ${checkName(name)}[${Math.max(length, 1)}]${list};`;
}

/** Initial items of a channel, of one kind. */
function startOf(plan: ProgramPlan, { role, channel, kind }: ArrayDeclaration): number[] {
  if (role !== 'channel') return [];
  return plan.graph.channels[channel!]!.initial.flatMap((item) => numbersOf(item.type, item.numbers, kind));
}

function numbersOf(type: Parameters<typeof countsOf>[0], numbers: ArrayLike<number>, kind: Kind): number[] {
  return placesOfKind(type, kind).map((place) => numbers[place] ?? 0);
}

/** Lines from which on functions that are called rarely are not worth a compiler's effort, most of which they would take. */
const longRare = 200;

/** `isRare`: called for what comes before and after whole steady states only, and not worth a compiler's time. */
function functionText({ function: { name, lines, locals }, parameters: own, isShared }: Written, usual: string, isRare: boolean): string {
  // Large arrays do not belong on the stack.
  const arrays = locals.map((local) => `  alignas(64) ${local.length > 4096 ? 'static thread_local ' : ''}${cppType[local.kind]} ${
    checkName(local.name)}[${local.length}];\n`).join('');
  const nil = lines.some((line) => line.includes('wl_nil')) ? '  const int wl_nil = wl_zero;\n' : '';
  const effort = lines.length > longRare ? ', optimize("O0")' : '';
  const how = isRare ? `__attribute__((cold, noinline${effort})) ` : isShared ? '__attribute__((noinline)) ' : '';
  const parameters = `int n${usual}${own.map((each) => `, ${each}`).join('')}`;
  return `${how}static void ${checkName(name)}(${parameters}) {\n${nil}${arrays}${lines.map(plainSites).join('\n')}\n}\n`;
}

function settleText({ plan, arrays }: ProgramText): string {
  // Where there are many, calls that are not made part of the function: a compiler takes long over such functions.
  const move = plan.graph.channels.length > 256 ? 'wl_move' : 'memmove';
  const lines = arrays.flatMap(({ name, role, channel, stride, kind }) => {
    if (role !== 'channel' || plan.storage[channel!] !== 'block' || plan.steady.residual[channel!] === 0) return [];
    const [rate, rest] = [plan.rates[channel!]! * stride!, plan.steady.residual[channel!]! * stride!];
    return [`  ${move}(${name}, ${name} + (size_t)n * ${rate}, ${rest} * sizeof(${cppType[kind]}));`];
  });
  return `static void settle(int n) {\n  (void)n;\n${lines.join('\n')}\n}\n`;
}

function toFrontsText({ plan, arrays }: ProgramText): string {
  const lines = arrays.filter(({ role }) => role === 'channel').map(({ name, channel, stride, kind }) =>
    `  wl_to_front(${name}, ${channel!}, ${stride!} * sizeof(${cppType[kind]}));`);
  const indices = `  for (int c = 0; c < ${plan.graph.channels.length}; ++c) { wl_ix[2 * c + 1] -= wl_ix[2 * c]; wl_ix[2 * c] = 0; }`;
  return `__attribute__((cold)) static void to_fronts() {\n${[...lines, indices].join('\n')}\n}\n`;
}

function steadyText({ plan, groups }: ProgramText, isBaseline: boolean, call: Call): string {
  const lines = isBaseline
    // The barrier keeps the compiler from seeing through several steady states at once, which nobody's channels would let it.
    ? [`  for (int k = 0; k < n; ++k) { ${call(groups[0]!.name, '1')} settle(1); asm volatile("" ::: "memory"); }`]
    : [...groups.map(({ name }, i) => `  ${call(name, `n * ${plan.groups[i]!.iterations}`)}`), '  settle(n);'];
  return `static void steady(int n) {\n${lines.join('\n')}\n}\n`;
}

function dispatchText({ fire, first }: ProgramText, call: Call): string {
  const cases = fire.map(({ name }, id) => {
    const one = first[id] === undefined ? '' : `if (wl_fired[${id}] == 0 && n > 0) { ${call(first[id].name, '1')} --n; } `;
    return `    case ${id}: ${one}wl_fired[${id}] = 1; if (n > 0) ${call(name, 'n')} break;`;
  });
  return `static void fire(int node, int n) {\n  switch (node) {\n${cases.join('\n')}\n  }\n}\n`;
}

/** Sets pointers of the external streams: into the file that was read, or new. */
function streamsText(plan: ProgramPlan): string {
  const lines = plan.externals.flatMap(({ id, type, kind }, i) => kindsIn(countsOf(type)).map((scalar) => {
    const count = `(size_t)wl_run.items[${i}] * ${countsOf(type)[scalar]}`;
    const isIn = kind === 'input' || kind === 'reader';
    return `  ${streamArrayName(id, scalar)} = ${isIn ? 'wl_take' : 'wl_make'}<${cppType[scalar]}>(${count});`;
  }));
  const lengths = plan.externals.flatMap(({ id, kind }, i) =>
    (kind === 'reader' ? [`  wl_ix[${2 * id + 1}] = (int)wl_run.items[${i}];`] : []));
  return `static void open_streams() {\n${[...lines, ...lengths].join('\n')}\n}\n`;
}

function resultsText(plan: ProgramPlan): string {
  const lines = plan.externals.flatMap(({ id, type, kind }, i) => (kind === 'input' || kind === 'reader' ? [] : kindsIn(countsOf(type)).map(
    (scalar) => `  fwrite(${streamArrayName(id, scalar)}, sizeof(${cppType[scalar]}), (size_t)wl_run.items[${i}] * ${
      countsOf(type)[scalar]}, file);`)));
  return `static void write_streams(FILE* file) {\n  (void)file;\n${lines.join('\n')}\n}\n`;
}

/** Writes a planned program in C++. */
export function emitCpp(plan: ProgramPlan, options: CppOptions = {}): CppProgram {
  const { baseline: isBaseline = false, threads, shareFrom = 6000 } = options;
  const [isPlaced, isCut] = [threads === 'launches', threads === 'pieces'];
  const text = writeProgram(plan, cppDialect, { ...options, placed: isPlaced });
  const names = streamArrays(plan).map(({ name }) => name);
  const typeOf = (name: string) => cppType[name.at(-1) as Kind];
  const parameters = names.map((name) => `, ${typeOf(name)}* __restrict ${checkName(name)}`).join('');
  const args = names.map((name) => `, ${name}`).join('');
  const rare = [...text.fire, ...text.first].filter((each) => each !== undefined);
  const all = [...rare, ...text.groups];
  const isLong = text.groups.reduce((sum, { lines }) => sum + lines.length, 0) >= shareFrom;
  const shared = [
    shareFunctions(rare, isBaseline ? 0 : 2, 'fires'), shareFunctions(text.groups, isLong && !isBaseline ? 2 : 0, 'groups'),
  ] as const;
  const calls = new Map([...shared[0].calls, ...shared[1].calls]);
  const call: Call = (name, n) => {
    const { name: called, args: own } = calls.get(name)!;
    return `${called}(${n}${args}${own.map((each) => `, ${each}`).join('')});`;
  };
  const streams = plan.graph.channels.length + plan.externals.length;
  const ends = plan.graph.channels.flatMap(({ initial }) => [0, initial.length]);
  const cuts = !isBaseline && all.some(({ lines }) => lines.some((line) => line.includes('wl_int(')));
  const body = [
    cppPrelude({ cuts, streams, externals: plan.externals.length, nodes: plan.graph.nodes.length, ends, multiplicity: plan.multiplicity,
      isThreaded: threads !== undefined }),
    ...names.map((name) => `static ${isCut ? 'thread_local ' : ''}${typeOf(name)}* ${name};`),
    ...text.arrays.map((each) => arrayText(each, startOf(plan, each), isCut)),
    ...shared.flatMap(({ written }, i) => written.map((each) => functionText(each, parameters, i === 0))),
    toFrontsText(text), dispatchText(text, call),
    streamsText(plan), resultsText(plan),
    ...(isPlaced ? [launchText(text, call)] : [settleText(text), steadyText(text, isBaseline, call)]),
    ...(isPlaced ? [] : [isCut ? piecesText(plan) : mainText, '']),
  ].join('\n');
  return { text, body, isThreaded: threads !== undefined };
}

const mainText = `
static int run(char** words) {
  if (!wl_open(words[1])) return 2;
  wl_result_path = words[2];
  open_streams();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < wl_run.init_steps; ++i) fire(wl_run.init[2 * i], wl_run.init[2 * i + 1]);
  to_fronts();
  for (long long left = wl_run.steady_states; left > 0 && wl_lines < wl_run.lines;) {
    const int now = (int)std::min<long long>(left, wl_run.lines < wl_no_limit ? 1 : wl_multiplicity);
    steady(now);
    left -= now;
  }
  for (int i = 0; i < wl_run.tail_steps && wl_lines < wl_run.lines; ++i) fire(wl_run.tail[2 * i], wl_run.tail[2 * i + 1]);
  wl_nanoseconds = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  return wl_finish(0, 0, 0, write_streams);
}`;

function placesOfKind(type: Parameters<typeof countsOf>[0], kind: Kind): number[] {
  return placesOf(type).flatMap((place, i) => (place.kind === kind ? [i] : []));
}
