// C++ and CUDA C++ as printed do what the interpreter does, to the bit.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { arithmeticHeader, cTypes } from '../../lib/kernel/print/c-family.ts';
import { cudaCanFail, cudaParameters, printCuda } from '../../lib/kernel/print/cuda.ts';
import { printCpp } from '../../lib/kernel/print/cpp.ts';
import { optimise } from '../../lib/kernel/passes/index.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { command, inFolder, runCompiled } from './c-run.ts';
import { interpreted, randomInput, randomProgram, type RunInput } from './random.ts';
import type { Program } from '../../lib/kernel/ir.ts';
import { casesOf } from '../support/thorough.ts';

function has(tool: string): boolean {
  return spawnSync(tool, ['--version']).status === 0;
}

function casesFrom(first: number, count: number): (readonly [Program, RunInput])[] {
  return Array.from({ length: count }, (_, i) => [verify(randomProgram(first + i)), randomInput(first + i)] as const);
}

/** A kernel around the main function of each program, so that nvcc makes code of all that it calls. */
function kernelText(program: Program, at: number): string {
  const parameters = cudaParameters(program).get('main')!;
  const pointers = parameters.map(({ name, element, isReadOnly }) => `, ${isReadOnly === true ? 'const ' : ''}${cTypes[element]}* ${name}`);
  const args = ['i, f, d', 'r0[0], r1[0], r2[0]', ...parameters.map(({ name }) => name), ...(cudaCanFail(program, 'main') ? ['fault[0]'] : [])];
  return `namespace k${at} {\n${printCuda(program)}
WARPLOOM_DEVICE void note(int i, double x, double& y) { y = i * 0.5 + x; }
}
extern "C" __global__ void kernel_${at}(int i, float f, double d, int* r0, float* r1, double* r2, wl_fault* fault${pointers.join('')}) {
  k${at}::q0main(${args.join(', ')});
}`;
}

const programs = casesOf(80, 150);

describe('kernel printers: C++ and CUDA C++', function () {
  this.timeout(300_000);

  for (const language of ['cpp', 'cuda'] as const) {
    it(`${language} does on ${programs} random programs what the interpreter does`, function () {
      if (!has('g++')) this.skip();
      const cases = casesFrom(language === 'cpp' ? 0 : 2000, programs);
      const given = cases.map(([program, input], i) => [i % 3 === 0 ? optimise(program, { vectors: i % 2 === 0 }) : program, input] as const);
      const outcomes = runCompiled(language, given);
      cases.forEach(([program, input], i) => { assert.deepEqual(outcomes[i], interpreted(program, input), `seed ${i}`); });
    });
  }

  it('nvcc takes the device code of 12 random programs', function () {
    if (!has('nvcc')) this.skip();
    inFolder((folder) => {
      const from = join(folder, 'all.cu');
      writeFileSync(from, [arithmeticHeader(), ...casesFrom(3000, 12).map(([program], i) => kernelText(program, i))].join('\n'));
      command('nvcc', ['-std=c++17', '-arch=sm_90', '-fmad=false', '-Xptxas', '-O1', '-cubin', '-o', join(folder, 'all.cubin'), from]);
    });
  });

  it('renames what the language keeps for itself, and keeps different names different', () => {
    const program = verify(parseProgram('global int f64[1]\nfunction main(float: f32, q0float: f32, a__b: f32) -> (f32) { return (add(float, q0float)) }'));
    const text = printCpp(program);
    assert.match(text, /static double q0int\[1\]/);
    assert.match(text, /void q0main\(float q0float, float q0q0float, float q0a_0_0b, float& wl_result_0\)/);
    assert.match(text, /wl_result_0 = \(q0float \+ q0q0float\);/);
  });

  it('declares locals where they are first needed', () => {
    const text = printCpp(verify(parseProgram(`function f(n: i32) -> (i32) {
      var i: i32 var t: i32 var s: i32 var u: i32
      s = 0
      for L: i = 0 to n step 2 { t = mul(i, i) if gt(t, 5) { u = 1 } else { u = 2 } s = add(s, u) }
      return (s)
    }`)));
    assert.equal(text.trim(), `static void f(int n, int& wl_result_0) {
  int s = 0;
  for (int i = 0; i < n; i += 2) {
    int t = wl_mul(i, i);
    int u;
    if ((t > 5)) {
      u = 1;
    } else {
      u = 2;
    }
    s = wl_add(s, u);
  }
  wl_result_0 = s;
  return;
}`);
  });

  it('keeps compilers from gathering across loops that only move elements', () => {
    const transposed = (value: string, to = 'n'): string => printCpp(verify(parseProgram(`global a f32[64]\nglobal b f32[64]
      function f(n: i32) { var k: i32 var i: i32 var j: i32
      for L: k = 0 to ${to} step 1 { for M: i = 0 to 8 step 1 { for N: j = 0 to 8 step 1 { b[add.exact(mul.exact(j, 8), i)] = ${value} } } } }`)));
    const element = 'a[add.exact(mul.exact(i, 8), j)]';
    assert.match(transposed(element), /k < n; \+\+k\) \{\n +WL_SERIAL;/);
    assert.equal(transposed(element).split('WL_SERIAL').length - 1, 1, 'the outermost loop alone');
    for (const text of [transposed(`mul(${element}, f32(2))`), transposed(element, '4')]) assert.doesNotMatch(text, /WL_SERIAL/);
  });
});
