// Mathematical functions: their accuracy, their special values, and that all targets compute the same bits.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Machine } from '../../lib/kernel/interpret.ts';
import {
  forLoop, get, i32, load, math, mathFunctions, store, type Buffer, type KernelFunction, type MathName, type Program,
} from '../../lib/kernel/ir.ts';
import { mathLibrary } from '../../lib/kernel/math/index.ts';
import { mathOf, mathProgram } from '../../lib/kernel/math/run.ts';
import { arithmeticHeader, cName } from '../../lib/kernel/print/c-family.ts';
import { printCpp } from '../../lib/kernel/print/cpp.ts';
import { printCuda } from '../../lib/kernel/print/cuda.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { command, inFolder } from './c-run.ts';
import { argumentsFor, specialFor, type Arguments } from './math-arguments.ts';
import { distanceInPlaces, exactOf, precise } from './precise.ts';
import { isThorough } from '../support/thorough.ts';

const names = Object.keys(mathFunctions) as MathName[];
const isBinary = (name: MathName): boolean => mathFunctions[name] === 2;

/** Largest distances that were found with a million arguments each (`WARPLOOM_MATH_ARGUMENTS=1000000`), rounded up: units in the last place. */
const most: Readonly<Record<MathName, number>> = {
  acos: 0.7, acosh: 0.77, asin: 0.75, asinh: 0.77, atan: 0.88, atan2: 0.82, atanh: 0.77, cbrt: 0.68, cos: 0.8, cosh: 0.68, exp: 0.8, expm1: 0.8,
  hypot: 0.88, log: 0.88, log10: 0.65, log1p: 0.78, log2: 0.51, pow: 0.8, sin: 0.8, sinh: 0.68, tan: 0.9, tanh: 0.72,
};

/** Whether {@link precise} has a value for these. */
function isPlain(name: MathName, [x, y]: Arguments): boolean {
  if (!Number.isFinite(x) || !Number.isFinite(y) || x === 0) return false;
  if (name === 'log1p') return x > -1;
  if (name === 'acosh') return x > 1;
  if (name === 'log' || name === 'log10' || name === 'log2') return x > 0 && x !== 1;
  if (name === 'asin' || name === 'acos' || name === 'atanh') return Math.abs(x) < 1;
  if (name === 'sinh' || name === 'cosh' || name === 'exp' || name === 'expm1') return Math.abs(x) < 800;
  if (name === 'tanh') return Math.abs(x) < 50;
  if (name === 'atan2') return y !== 0 && !(y > 0 && Math.abs(x / y) < 2 ** -1074);
  if (name === 'hypot') return y !== 0;
  return name !== 'pow' || (x > 0 && x !== 1 && y !== 0 && Math.abs(y * Math.log2(x)) < 1200);
}

const text = (x: number): string => (Object.is(x, -0) ? '-0' : String(x));

function assertSame(name: string, args: readonly Arguments[], given: ArrayLike<number>, wanted: ArrayLike<number>): void {
  for (let i = 0; i < args.length; ++i) {
    if (!Object.is(given[i], wanted[i])) assert.fail(`${name}(${args[i]!.map(text).join(', ')}) is ${text(given[i]!)}, not ${text(wanted[i]!)}`);
  }
}

/** A program with a function for each of mathematics that fills `out`. */
function loops(count: number): Program {
  const buffer = (name: string, isReadOnly: boolean): Buffer => ({ name, element: 'f64', role: 'external', length: undefined, isReadOnly });
  const [x, y, out] = [buffer('x', true), buffer('y', true), buffer('out', false)];
  const functions = names.map((name): KernelFunction => {
    const i = { name: 'i', type: 'i32' } as const;
    const args = [load(x, get(i)), load(y, get(i))].slice(0, mathFunctions[name]);
    return {
      name: `run_${name}`, parameters: [], results: [], buffers: [],
      body: [forLoop({ name: 'L' }, i, { from: i32(0), to: i32(count) }, [store(out, get(i), math(name, ...args))])],
    };
  });
  return verify({ buffers: [x, y, out], imports: [], functions });
}

describe('mathematical functions', function () {
  this.timeout(300_000);

  it('are valid in the representation', () => { verify(mathProgram()); });

  it('are compared with integers that agree with known digits', () => {
    const digits = (name: string, x: number, y = 0): string => {
      const { integer, exponent } = precise(name, x, y);
      return String((integer * 10n ** 40n) >> BigInt(-exponent));
    };
    assert.match(digits('exp', 1), /^2718281828459045235360287471352662497757/);
    assert.match(digits('atan', 1), /^785398163397448309615660845819875721049/);
    assert.match(digits('log', 2), /^693147180559945309417232121458176568075/);
    assert.match(digits('sin', 1), /^841470984807896506652502321630298999622/);
    assert.match(digits('cos', 1e22), /^5232147853951389454975944733847094921/);
    assert.match(digits('pow', 2, 0.5), /^1414213562373095048801688724209698078569/);
    assert.match(digits('tanh', 0.5), /^46211715726000975850231848364367254873/);
    assert.match(digits('acos', 0.25), /^1318116071652817965745664254646040469/);
    assert.match(digits('log10', 3), /^47712125471966243729502790325511530920/);
    assert.equal(distanceInPlaces(1, { integer: (1n << 100n) + (1n << 47n), exponent: -100 }), 0.5);
    assert.equal(distanceInPlaces(5e-324, exactOf(1.5e-323)), 2);
    assert.equal(distanceInPlaces(Infinity, exactOf(Number.MAX_VALUE)), Infinity);
  });

  for (const name of names) {
    it(`${name} is within ${most[name]} units in the last place`, () => {
      const count = Number(process.env.WARPLOOM_MATH_ARGUMENTS ?? 1000);
      const f = mathOf(name);
      let worst: readonly [number, Arguments] = [0, [0, 0]];
      let seen = 0;
      for (const args of [...argumentsFor(name, count), ...specialFor(isBinary(name))]) {
        if (!isPlain(name, args)) continue;
        ++seen;
        const distance = distanceInPlaces(f(...args), precise(name, ...args));
        if (!(distance <= worst[0])) worst = [distance, args];
      }
      if (process.env.WARPLOOM_MATH_ARGUMENTS !== undefined) console.log(`${name}: ${worst[0].toFixed(3)} at ${worst[1].map(text).join(', ')} of ${seen}`);
      assert.ok(worst[0] <= most[name], `${name}(${worst[1].map(text).join(', ')}) is ${worst[0]} away`);
      assert.ok(seen > count / 2);
    });
  }

  it('give at special values what C99 and, for powers, JavaScript say', () => {
    const odd: MathName[] = ['asin', 'asinh', 'atan', 'atanh', 'expm1', 'log1p', 'sin', 'sinh', 'tan', 'tanh'];
    for (const name of odd) for (const x of [0, -0, 5e-324, -5e-324, 1e-310]) assert.ok(Object.is(mathOf(name)(x), x), `${name}(${text(x)})`);
    for (const name of names) {
      const f = mathOf(name);
      const host = Math[name] as (...args: number[]) => number;
      for (const args of specialFor(isBinary(name))) {
        const [given, wanted] = [f(...args), host(...args)];
        const isExact = !Number.isFinite(wanted) || Number.isSafeInteger(wanted);
        const isNear = Math.abs(given - wanted) <= 2 ** -51 * Math.abs(wanted);
        assert.ok(Object.is(given, wanted) || (!isExact && isNear), `${name}(${args.map(text).join(', ')}) is ${text(given)}, not ${text(wanted)}`);
      }
    }
  });

  it('are exact where the true value is', () => {
    const [log10, pow, exp, log, hypot] = [mathOf('log10'), mathOf('pow'), mathOf('exp'), mathOf('log'), mathOf('hypot')];
    for (let n = 0; n <= 22; ++n) {
      assert.equal(log10(10 ** n), n);
      assert.equal(pow(10, n), 10 ** n);
    }
    for (let n = -1074; n < 1024; ++n) {
      assert.equal(pow(2, n), 2 ** n);
      assert.equal(mathOf('log2')(2 ** n), n);
    }
    for (let n = 0; n < 1000; ++n) assert.equal(mathOf('cbrt')(-(n ** 3)), -n);
    for (let base = 3; base < 100; ++base) {
      for (let n = 1, value = base; value < 2 ** 53; ++n, value *= base) {
        assert.equal(pow(base, n), value);
        assert.equal(pow(-base, n), n % 2 === 1 ? -value : value);
      }
      assert.equal(pow(base * base, 0.5), base);
    }
    assert.equal(exp(0), 1);
    assert.ok(Object.is(log(1), 0));
    assert.equal(exp(1), Math.E);
    assert.equal(hypot(3e300, 4e300), 5e300);
    assert.equal(hypot(5e-324, 0), 5e-324);
  });

  const cases = new Map(names.map((name) => [name, [...specialFor(isBinary(name)), ...argumentsFor(name, 20_000, 7)]]));
  const found = new Map<MathName, Float64Array>();
  const expected = (name: MathName): Float64Array => {
    let values = found.get(name);
    if (values === undefined) found.set(name, values = Float64Array.from(cases.get(name)!, (args) => mathOf(name)(...args)));
    return values;
  };

  for (const name of names) {
    it(`${name} gives the interpreter of the representation the bits of WebAssembly`, () => {
      const all = cases.get(name)!;
      // The interpreter is slow: special values, which come first, and some others.
      const args = isThorough ? all : all.slice(0, specialFor(isBinary(name)).length + 3000);
      const machine = new Machine(mathProgram(), { limit: 1e9 });
      const { length } = mathLibrary[name].f.parameters;
      assertSame(name, args, args.map((each) => machine.call(name, each.slice(0, length))[0] as number), expected(name).subarray(0, args.length));
    });
  }

  for (const [what, level, isCuda] of [
    ['C++', '-O3', false], ['C++ without optimisation', '-O0', false], ['CUDA C++ compiled for the host', '-O2', true],
  ] as const) {
    it(`all give ${what} the bits of WebAssembly`, function () {
      if (spawnSync('g++', ['--version']).status !== 0) this.skip();
      const count = Math.max(...[...cases.values()].map(({ length }) => length));
      const program = loops(count);
      const calls = names.map((name, i) => `  fread(x, 8, ${count}, stdin); fread(y, 8, ${count}, stdin);
  ${cName(`run_${name}`)}(x, ${isBinary(name) ? 'y, ' : ''}out); fwrite(out, 8, ${count}, stdout); (void)${i};`);
      const source = [
        `${isCuda ? '#define WL_STRUCT_LANES\n' : ''}#include <cstdio>`, arithmeticHeader(), '[[noreturn]] void wl_trap(int, double);',
        (isCuda ? printCuda : printCpp)(program), `static double x[${count}], y[${count}], out[${count}];`, `int main() {\n${calls.join('\n')}\n}`,
      ].join('\n');
      const input = new Float64Array(2 * count * names.length);
      names.forEach((name, i) => {
        cases.get(name)!.forEach(([x, y], j) => {
          input[2 * i * count + j] = x;
          input[(2 * i + 1) * count + j] = y;
        });
      });
      const output = inFolder((folder) => {
        const [from, to] = [join(folder, 'all.cpp'), join(folder, 'all')];
        writeFileSync(from, source);
        writeFileSync(join(folder, 'in'), input);
        command('g++', ['-std=c++17', level, '-march=native', '-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math', '-w', '-o', to, from]);
        command('sh', ['-c', `"${to}" < "${folder}/in" > "${folder}/out"`]);
        return new Float64Array(new Uint8Array(readFileSync(join(folder, 'out'))).buffer);
      });
      names.forEach((name, i) => {
        assertSame(name, cases.get(name)!, output.subarray(i * count, (i + 1) * count), expected(name));
      });
    });
  }

  it('are the language\'s own where compilers may reorder', function () {
    if (spawnSync('g++', ['--version']).status !== 0) this.skip();
    const source = `#include <cstdio>\n${arithmeticHeader()}\n${printCpp(loops(3))}
int main() { const double x[] = {0.5, 1, 2}; double out[3]; run_sin(x, out); printf("%d", out[1] == sin(1.0)); }`;
    inFolder((folder) => {
      writeFileSync(join(folder, 'a.cpp'), source);
      command('g++', ['-std=c++17', '-O2', '-ffast-math', '-w', '-o', join(folder, 'a'), join(folder, 'a.cpp')]);
      assert.equal(command(join(folder, 'a'), []), '1');
    });
    assert.match(source, /#ifdef __FAST_MATH__\n[^#]*wl_sin\(double x\) \{ return sin\(x\); \}/);
  });

  it('compile for a GPU', function () {
    if (spawnSync('nvcc', ['--version']).status !== 0) this.skip();
    const kernels = names.map((name) => `extern "C" __global__ void kernel_${name}(const double* x, const double* y, double* out) {
  ${cName(`run_${name}`)}(x, ${isBinary(name) ? 'y, ' : ''}out); }`);
    inFolder((folder) => {
      const from = join(folder, 'all.cu');
      writeFileSync(from, [arithmeticHeader(), printCuda(loops(64)), ...kernels].join('\n'));
      command('nvcc', ['-std=c++17', '-arch=sm_90', '-fmad=false', '-cubin', '-o', join(folder, 'all.cubin'), from]);
    });
  });
});
