// Runs programs of random.ts as C++, and as CUDA device code compiled for the host: many in one file.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Buffer, Program } from '../../lib/kernel/ir.ts';
import { arithmeticHeader, cLiteral, cTypes } from '../../lib/kernel/print/c-family.ts';
import { cppParameters, printCpp } from '../../lib/kernel/print/cpp.ts';
import { cudaCanFail, cudaParameters, printCuda } from '../../lib/kernel/print/cuda.ts';
import { changing, outcomeOf, type Outcome, type RunInput } from './random.ts';

const head = (isCuda: boolean): string => `${isCuda ? '#define WL_STRUCT_LANES\n' : ''}#include <cstdio>\n#include <cstring>
${arithmeticHeader()}
struct Trapped { int site; double value; };
[[noreturn]] void wl_trap(int site, double value) { throw Trapped{site, value}; }
template <class T> void show(T x) {
  double wide = (double)x;
  unsigned long long bits;
  memcpy(&bits, &wide, 8);
  printf("%016llx ", bits);
}
static char notes[1 << 20];
static void add_note(int i, double x) {
  unsigned long long bits;
  memcpy(&bits, &x, 8);
  sprintf(notes + strlen(notes), "%016llx:", bits);
  x = i;
  memcpy(&bits, &x, 8);
  sprintf(notes + strlen(notes), "%016llx ", bits);
}
`;

function arrayText({ element, role, name, initial }: Buffer, given: ArrayLike<number> | undefined, length: number): string {
  const numbers = Array.from({ length }, (_, i) => cLiteral(element, (role === 'external' ? given! : initial ?? [])[i] ?? 0));
  return `${cTypes[element]} ${name}[${length}] = {${numbers.join(', ')}};`;
}

function caseText(program: Program, { args, external }: RunInput, at: number, isCuda: boolean): string {
  const parameters = (isCuda ? cudaParameters : cppParameters)(program).get('main')!;
  const canFail = isCuda && cudaCanFail(program, 'main');
  const note = `${isCuda ? 'WARPLOOM_DEVICE' : 'static'} void note(int i, double x, double& y) { add_note(i, x); y = wl_add(0, i) * 0.5 + x; }`;
  const given = program.buffers.filter(({ role }) => role === 'external' || (isCuda && role === 'global'));
  const call = [
    cLiteral('i32', args[0]!), cLiteral('f32', args[1]!), cLiteral('f64', args[2]!), 'r0', 'r1', 'r2',
    ...parameters.map(({ name }) => `data::${name}`), ...(canFail ? ['fault'] : []),
  ].join(', ');
  const buffers = changing.map((name) => {
    const isGiven = given.some((each) => each.name === name);
    return `printf("\\n"); for (int i = 0; i < 16; ++i) show(${isGiven ? `data::${name}` : name}[i]);`;
  });
  const run = canFail ? `if (q0main(${call})) printf("results "), show(r0), show(r1), show(r2);\n  else printf("trap %d ", fault.site), show(fault.value);`
    : `try { q0main(${call}); printf("results "); show(r0); show(r1); show(r2); }\n  catch (Trapped t) { printf("trap %d ", t.site); show(t.value); }`;
  return `namespace k${at} {\n${(isCuda ? printCuda : printCpp)(program)}\n${note}\nnamespace data {
${given.map((buffer) => arrayText(buffer, external[buffer.name], 16)).join('\n')}\n}
static void run() {
  int r0 = 0; float r1 = 0; double r2 = 0; wl_fault fault = {0, 0}; (void)fault;
  notes[0] = 0;
  ${run}
  printf("\\n%s", notes);
  ${buffers.join('\n  ')}
  printf("\\n--\\n");
}
}`;
}

const scratch = new DataView(new ArrayBuffer(8));
function decoded(hex: string): number {
  scratch.setBigUint64(0, BigInt(`0x${hex}`));
  return scratch.getFloat64(0);
}

function parsed(text: string): Outcome {
  const [first, notes, ...buffers] = text.split('\n') as [string, string, ...string[]];
  const numbers = (line: string): number[] => line.split(' ').filter(Boolean).map(decoded);
  const [kind, ...rest] = first.trim().split(' ');
  return outcomeOf({
    results: kind === 'results' ? rest.map(decoded) : [],
    trap: kind === 'trap' ? { site: Number(rest[0]), value: decoded(rest[1]!) } : undefined,
    notes: notes.split(' ').filter(Boolean).map((each) => {
      const [x, i] = each.split(':');
      return [decoded(i!), decoded(x!)];
    }),
    buffers: buffers.map(numbers),
  });
}

/** Calls `use` with a folder that is gone afterwards. */
export function inFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'warploom-kernel-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a command; its output. Throws with what it said where it fails. */
export function command(name: string, args: readonly string[]): string {
  const done = spawnSync(name, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.error === undefined && done.status === 0) return done.stdout;
  const errors = (done.stderr ?? '').split('\n').filter((line) => !/warning/.test(line) && /error|fatal/i.test(line));
  throw new Error(`${name} ${done.status}: ${done.error?.message ?? ''} ${errors.slice(0, 10).join('\n')}`);
}

/** Compiles all programs into one, with all warnings that hint at a wrong program, and runs each. */
export function runCompiled(language: 'cpp' | 'cuda', cases: readonly (readonly [Program, RunInput])[], level = '-O1'): Outcome[] {
  const isCuda = language === 'cuda';
  const source = [
    head(isCuda), ...cases.map(([program, input], i) => caseText(program, input, i, isCuda)),
    `int main() {\n${cases.map((_, i) => `  k${i}::run();`).join('\n')}\n}\n`,
  ].join('\n');
  return inFolder((folder) => {
    const [from, to] = [join(folder, 'all.cpp'), join(folder, 'all')];
    writeFileSync(from, source);
    command('g++', ['-std=c++17', level, '-ffp-contract=off', '-Werror=uninitialized', '-Werror=return-type', '-Werror=parentheses', '-w',
      '-Wno-psabi', '-o', to, from]);
    return command(to, []).split('\n--\n').slice(0, -1).map(parsed);
  });
}
