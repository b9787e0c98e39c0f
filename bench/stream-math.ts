// Times of mathematical functions in a loop over 4096 random arguments, and of the host's, as the best of many runs. Rows, in
// nanoseconds per value:
//   stream/math/<function>/wasm   in WebAssembly; peer: the engine's own, imported (`Math`)
//   stream/math/<function>/cpp    in C++ as stream programs are compiled; peer: the C library's
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engine } from '../lib/core/wasm-engine.ts';
import {
  call, forLoop, get, i32, load, math, mathFunctions, store, type Buffer, type MathName, type Program,
} from '../lib/kernel/ir.ts';
import { arithmeticHeader } from '../lib/kernel/print/c-family.ts';
import { printCpp } from '../lib/kernel/print/cpp.ts';
import { layoutWasm } from '../lib/kernel/print/wasm-layout.ts';
import { printWasm } from '../lib/kernel/print/wasm.ts';
import { compilerArguments } from '../lib/core/compile/sources.ts';
import type { HostContext } from './domain.ts';

const count = 4096;
/** Where the arguments lie. */
const ranges: Readonly<Record<MathName, readonly [number, number]>> = {
  acos: [-1, 1], acosh: [1, 10], asin: [-1, 1], asinh: [-5, 5], atan: [-3, 3], atan2: [-5, 5], atanh: [-1, 1], cbrt: [-10, 10],
  cos: [-10, 10], cosh: [-5, 5], exp: [-20, 20], expm1: [-2, 2], hypot: [-5, 5], log: [1e-3, 1e3], log10: [1e-3, 1e3],
  log1p: [-0.9, 9], log2: [1e-3, 1e3], pow: [0.1, 10], sin: [-10, 10], sinh: [-5, 5], tan: [-10, 10], tanh: [-3, 3],
};

/** `out[i] = f(x[i], y[i])`; of the host: an import. */
function loopOf(name: MathName, isOwn: boolean): Program {
  const buffer = (of: string): Buffer => ({ name: of, element: 'f64', role: 'global', length: count });
  const [x, y, out] = [buffer('x'), buffer('y'), buffer('out')];
  const [i, r] = [{ name: 'i', type: 'i32' }, { name: 'r', type: 'f64' }] as const;
  const args = [load(x, get(i)), load(y, get(i))].slice(0, mathFunctions[name]);
  const body = isOwn ? [store(out, get(i), math(name, ...args))] : [call(name, args, [r]), store(out, get(i), get(r))];
  return {
    buffers: [x, y, out], imports: isOwn ? [] : [{ name, parameters: args.map(() => 'f64'), results: ['f64'] }],
    functions: [{
      name: 'fill', parameters: [], results: [], buffers: [],
      body: [forLoop({ name: 'L' }, i, { from: i32(0), to: i32(count) }, body)],
    }],
  };
}

function argumentsOf(name: MathName): readonly [Float64Array, Float64Array] {
  const [low, high] = ranges[name];
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return low + (high - low) * (state / 2 ** 32);
  };
  return [Float64Array.from({ length: count }, next), Float64Array.from({ length: count }, next)];
}

function wasmLoop(name: MathName, isOwn: boolean): () => void {
  const program = loopOf(name, isOwn);
  const layout = layoutWasm(program);
  const memory = new engine.Memory({ initial: layout.pages, maximum: layout.pages + 1 });
  program.buffers.slice(0, 2).forEach((buffer, i) => {
    new Float64Array(memory.buffer, layout.places.get(buffer)!.at, count).set(argumentsOf(name)[i]!);
  });
  const host = { memory, own: 0, [name]: Math[name] };
  const { exports } = new engine.Instance(new engine.Module(printWasm(program, { layout })), { host });
  return () => { exports.fill!(); };
}

/** Best nanoseconds a value of each, in turns. */
function bestOf(loops: readonly (() => void)[], turns: number): number[] {
  const best = loops.map(() => Infinity);
  for (let turn = 0; turn < turns; ++turn) {
    loops.forEach((loop, i) => {
      const begin = process.hrtime.bigint();
      for (let k = 0; k < 5; ++k) loop();
      best[i] = Math.min(best[i]!, Number(process.hrtime.bigint() - begin) / 5 / count);
    });
  }
  return best;
}

function cppText(names: readonly MathName[]): string {
  const parts = names.map((name) => {
    const args = ['x[i]', 'y[i]'].slice(0, mathFunctions[name]).join(', ');
    return `namespace n_${name} {\n${printCpp(loopOf(name, true), { attributes: () => '__attribute__((noinline)) ' })}
__attribute__((noinline)) static void library() { for (int i = 0; i < ${count}; ++i) out[i] = ::${name}(${args}); }\n}`;
  });
  const runs = names.map((name) => {
    const given = argumentsOf(name).map((_, i) => `for (int i = 0; i < ${count}; ++i) n_${name}::${'xy'[i]}[i] = given_${name}_${i}[i];`);
    // Compilers must take it that somebody reads what is written.
    return `{ ${given.join(' ')} asm volatile("" :: "r"(n_${name}::out) : "memory"); best(n_${name}::fill, n_${name}::library); }`;
  });
  const given = names.flatMap((name) =>
    argumentsOf(name).map((list, i) => `static const double given_${name}_${i}[] = {${list.join(', ')}};`));
  return `#include <chrono>\n#include <cstdio>\n${arithmeticHeader()}\n${given.join('\n')}\n${parts.join('\n')}
static double once(void (*f)()) {
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < 5; ++k) { f(); asm volatile("" ::: "memory"); }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / 5 / ${count};
}
static void best(void (*own)(), void (*library)()) {
  double a = 1e9, b = 1e9;
  for (int k = 0; k < 200; ++k) { const double s = once(own), t = once(library); a = s < a ? s : a; b = t < b ? t : b; }
  std::printf("%g %g\\n", a, b);
}
int main() {\n${runs.join('\n')}\n}`;
}

/** Nanoseconds in C++, own and the library's; undefined without a compiler. */
function cppTimes(names: readonly MathName[]): readonly (readonly number[])[] | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'warploom-bench-'));
  try {
    const [from, to] = [join(folder, 'math.cpp'), join(folder, 'math')];
    writeFileSync(from, cppText(names));
    if (spawnSync('g++', [...compilerArguments('strict'), '-o', to, from], { stdio: 'inherit' }).status !== 0) return undefined;
    return spawnSync(to, { encoding: 'utf8' }).stdout.trim().split('\n').map((line) => line.split(' ').map(Number));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `npm run bench -- stream --math`. */
export function benchmarkStreamMath(context: HostContext): Promise<void> {
  const names = (Object.keys(mathFunctions) as MathName[]).filter((name) => context.wanted(`stream/math/${name}/`));
  for (const name of names) {
    const [own, host] = bestOf([wasmLoop(name, true), wasmLoop(name, false)], context.quick ? 20 : 300) as [number, number];
    context.emit({ id: `stream/math/${name}/wasm`, value: own, unit: 'ns', spread: 0, peers: { Math: host } });
  }
  const times = cppTimes(names);
  if (times === undefined) context.say('no g++: no rows of C++');
  names.forEach((name, i) => {
    const [own, library] = times?.[i] ?? [];
    if (own === undefined || library === undefined) return;
    context.emit({ id: `stream/math/${name}/cpp`, value: own, unit: 'ns', spread: 0, peers: { libm: library } });
  });
  return Promise.resolve();
}
