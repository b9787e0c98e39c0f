// Programs in many styles: accepted, with warnings where their meaning is not plain, and right in the interpreter, as WebAssembly and in
// C++.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { UnsupportedProgram } from '../../../lib/stream/plan/unsupported.ts';
import { compileCppTogether } from '../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { build, hasCompiler } from '../support.ts';
import { styles } from './styles.ts';

const input = Array.from({ length: 24 }, (_, i) => i + 1);

describe('programs in many styles', () => {
  for (const { name, source, output, printed, warned = [], isCompiled = !warned.includes('S0604') } of styles) {
    it(name, () => {
      const { graph, diagnostics } = build(source);
      assert.deepEqual(diagnostics.filter(({ severity }) => severity === 'error'), []);
      for (const code of warned) assert.ok(diagnostics.some((each) => each.code === code), `${code} among ${diagnostics.map((each) => each.code).join()}`);
      const from = graph!.input === undefined ? undefined : input;
      const limits = output === undefined ? { iterations: 6 } : {};
      const found = interpretSync(graph!, { ...(from === undefined ? {} : { input: from }), ...limits });
      if (output !== undefined) assert.deepEqual(found.output, [...output(input)].map((x) => (x === 0 ? 0 : x)));
      else assert.deepEqual(found.printed, printed!.map((line) => `${line}\n`).join(''));
      try {
        const compiled = compileWasm(graph!).run(from, limits);
        assert.deepEqual([...compiled.output], found.output);
        assert.equal(compiled.printed, found.printed);
      } catch (error) {
        assert.ok(error instanceof UnsupportedProgram && !isCompiled, String(error));
      }
    });
  }

  it('give the same in C++', async function () {
    this.timeout(120_000);
    if (!hasCompiler()) this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      const some = styles.filter(({ warned = [], isCompiled }) => isCompiled === true || !warned.includes('S0604'));
      const graphs = some.map(({ source }) => build(source).graph!);
      const compiled = await compileCppTogether(graphs, { cacheFolder: folder, effort: 1 });
      for (const [i, { name, output }] of some.entries()) {
        const from = graphs[i]!.input === undefined ? undefined : input;
        const limits = output === undefined ? { iterations: 6 } : {};
        const expected = interpretSync(graphs[i]!, { ...(from === undefined ? {} : { input: from }), ...limits });
        const found = await compiled[i]!.run(from, limits);
        assert.deepEqual([...found.output], expected.output, name);
        assert.equal(found.printed, expected.printed, name);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('print exactly as many lines as are asked for, however many a firing prints', () => {
    const { graph } = build('void->void filter F { int n; work { println(n); print("a"); println("b"); println(n++); print("c"); } }');
    for (const items of [1, 2, 3, 4, 7]) {
      const found = interpretSync(graph!, { items }).printed;
      assert.equal(found.split('\n').length - 1, items);
      assert.equal(compileWasm(graph!).run(undefined, { items }).printed, found);
    }
  });

  it('count the items of a file, not lines, where there is one', () => {
    const { graph } = build('void->void pipeline P { add void->int filter { int n; work push 1 { println(n); push(n++); } }; add FileWriter<int>("f"); }');
    const found = interpretSync(graph!, { items: 5 });
    assert.equal(found.files['f']!.length, 20);
    assert.equal(compileWasm(graph!).run(undefined, { items: 5 }).printed, found.printed);
  });

  it('take numbers that do not fit the input as its type holds them, in both', () => {
    const numbers = [0, 1, 2, 3.7, -1.5, 4294967297, 0.1];
    for (const type of ['bit', 'boolean', 'int', 'float', 'double', 'int[1]', 'boolean[1]']) {
      const { graph } = build(`${type}->${type} filter F { work pop 1 push 1 { push(pop()); } }`);
      const found = interpretSync(graph!, { input: numbers }).output;
      assert.deepEqual([...compileWasm(graph!).run(numbers).output], found, type);
      if (type.startsWith('int')) assert.deepEqual(found, [0, 1, 2, 3, -1, 1, 0]);
      if (type.startsWith('boolean')) assert.deepEqual(found, [0, 1, 1, 1, 1, 1, 1]);
    }
  });

  it('are at least fifty', () => assert.ok(styles.length >= 50, `${styles.length}`));
});
