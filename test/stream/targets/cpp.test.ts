// Programs as C++: the runtime and what is printed are C++ without warnings, and valid in the kernel representation.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../../lib/core/binding.ts';
import { elaborate } from '../../../lib/stream/compile.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { gccArguments } from '../../../lib/core/compile/sources.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileCpp, defaultCppPlan } from '../../../lib/stream/run/cpp.ts';
import { cppFiles, cppHeaders, cppProgram, cppRuntime, LargeProgram, type CppProgram } from '../../../lib/stream/targets/cpp.ts';
import { command, inFolder } from '../../kernel/c-run.ts';
import { graphOf, hasCompiler } from '../support.ts';

const warnings = ['-Wall', '-Wextra', '-Wconversion', '-Wsign-conversion', '-Wshadow', '-pedantic', '-Werror'];

function compile(name: string, text: string, flags: readonly string[]): void {
  inFolder((folder) => {
    for (const [header, content] of Object.entries(cppHeaders())) writeFileSync(join(folder, header), content);
    writeFileSync(join(folder, name), text);
    command('g++', ['-std=c++17', '-fsyntax-only', ...flags, join(folder, name)]);
  });
}

describe('programs as C++', function () {
  this.timeout(120_000);

  it('run on a runtime that compiles without warnings, each header on its own', function () {
    if (!hasCompiler()) this.skip();
    compile('stream.cpp', cppRuntime(), warnings);
    for (const header of Object.keys(cppHeaders()).filter((name) => name !== 'arithmetic.h')) {
      compile('one.cpp', `#include "${header}"\nint main() {}\n`, warnings);
    }
  });

  it('are C++ for the programs of the examples, in all forms', async function () {
    if (!hasCompiler()) this.skip();
    const folder = join(packageRoot(), 'examples/stream');
    const programs: CppProgram[] = [];
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.str'))) {
      const { graph } = await elaborate(readFileSync(join(folder, file), 'utf8'));
      const plan = planProgram(graph, defaultCppPlan);
      for (const options of [{}, { baseline: true }, { threads: 'launches' }, { threads: 'pieces' }, { shareFrom: 0 }] as const) {
        programs.push(cppProgram(plan, options));
      }
    }
    compile('all.cpp', cppFiles(programs)[0]!, ['-Wall', '-Wextra', '-Werror', '-Wno-unused-variable', '-Wno-unused-function', '-Wno-unused-parameter']);
  });

  it('have their large arrays beside the stack, and what threads do not share apart', () => {
    const graph = graphOf(`int->int filter F { work pop 1 push 1 { int[5000] a; int k = pop(); a[k % 5000 & 4095] = k; push(a[k & 7]); } }
      int->int pipeline P { add F; add int->int filter { work pop 1 push 1 peek 2 { push(pop() + peek(0)); } }; }`);
    const [alone, pieces] = [{}, { threads: 'pieces' } as const].map((options) => cppProgram(planProgram(graph), options).body);
    assert.match(alone!, /alignas\(64\) static thread_local int a\d+_group_0\[5000\];/);
    assert.match(alone!, /alignas\(64\) static int ix\[/);
    for (const name of ['ix', 'steps', 'c0i']) assert.match(pieces!, new RegExp(`static thread_local (?:int|double) ${name}\\[`));
  });

  it('are long where their functions are, and then compiled with fewer vectors by compilers that know how', async () => {
    const pipeline = (n: number): string => `int->int pipeline P { for (int i = 0; i < ${n}; i++) add F(i); }
      int->int filter F(int k) { work pop 4 push 4 { for (int i = 0; i < 4; i++) push(pop() * (k + i) ^ i); } }`;
    const isLong = (n: number, options = {}): boolean => cppProgram(planProgram(graphOf(pipeline(n)), defaultCppPlan), options).isLong;
    assert.deepEqual([isLong(3), isLong(400), isLong(400, { baseline: true })], [false, true, false]);
    if (!hasCompiler()) return;
    const short = await gccArguments(false);
    const more = (await gccArguments(true)).filter((each) => !short.includes(each));
    assert.ok(more.every((each) => each.startsWith('-fvect-cost-model=')));
  });

  it('are cut into files where they are large: functions anywhere, arrays in one file, tables in all that read them', async function () {
    const lines = (f: number): string => Array.from({ length: 120 }, (_, i) => `x = (x * ${f + i} ^ k[(x + ${i * f}) & 3]) + s;`).join(' ');
    const filter = (f: number): string => `int->int filter F${f} { int[4] k = {1, ${f}, 3, 4}; int s; work pop 1 push 1 { int x = pop(); ${lines(f)} s++; push(x); } }`;
    const all = Array.from({ length: 48 }, (_, i) => i + 2);
    const graph = graphOf(`${all.map(filter).join('\n')} int->int pipeline P { ${all.map((f) => `add F${f};`).join(' ')} }`);
    const plan = planProgram(graph, defaultCppPlan);
    const cut = cppProgram(plan, { mostUnits: 3 });
    assert.equal(cut.units.length, 2);
    assert.deepEqual([cppProgram(plan).units, cppProgram(plan, { mostUnits: 3, threads: 'launches' }).units], [[], []]);
    const heads = (text: string): number => text.match(/^.*void (?:fire|group)\w*\(.*\{$/gm)?.length ?? 0;
    const files = cppFiles([cut]);
    assert.equal(files.map(heads).reduce((a, b) => a + b), heads(cppProgram(plan).body));
    for (const file of files) assert.ok(heads(file) > 0);
    if (!hasCompiler()) this.skip();
    const input = Int32Array.from({ length: 300 }, (_, i) => i * 7919);
    const folder = mkdtempSync(join(tmpdir(), 'warploom-units-'));
    try {
      const compiled = await compileCpp(graph, { cacheFolder: folder, effort: 1 });
      assert.equal(compiled.source.split('#include "stream.h"').length - 1, Math.min(availableParallelism(), 3));
      assert.deepEqual(Array.from((await compiled.run(input)).output), Array.from(interpretSync(graph, { input }).output));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('are refused before they are printed where they are too large', () => {
    const graph = graphOf('int->int pipeline P { for (int i = 0; i < 40; i++) add int->int filter { work pop 1 push 1 { push(pop() * i); } }; }');
    assert.throws(() => cppProgram(planProgram(graph), { mostLines: 20 }), LargeProgram);
    assert.equal(cppProgram(planProgram(graph), { mostLines: 1000 }).lowered.plan.graph.nodes.length, 40);
  });
});
