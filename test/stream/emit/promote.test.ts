// Elements of local arrays that a loop reads and writes in every turn are kept in variables; nothing else changes.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { graphOf } from '../support.ts';

const filter = (body: string, more = ''): string => `float->float filter A { ${more} float[9][9] c;
  init { for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) c[i][j] = i * 3 - j; }
  work pop 81 push 81 { float[9][9] a; float[9][9] b; for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) a[i][j] = pop();
  for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) { ${body} } for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) push(b[i][j]); } }`;
const bodies: Readonly<Record<string, readonly [body: string, keeps: boolean, more?: string]>> = {
  'a sum of products': ['b[i][j] = 0; for (int k = 0; k < 9; k++) b[i][j] += c[j][k] * a[i][k];', true],
  'the sum read in the loop': ['b[i][j] = 1; for (int k = 0; k < 9; k++) { b[i][j] += a[i][k]; a[i][k] = b[i][j] * 0.5; }', true],
  'other elements of the same array': ['b[i][j] = 0; for (int k = 0; k < 9; k++) b[i][j] += b[k][j] + a[i][k];', false],
  'an element that moves': ['for (int k = 0; k < 9; k++) b[i][k] += a[i][k] * c[j][k];', false],
  'an index set in the loop': ['int m = i; for (int k = 0; k < 9; k++) { b[m][j] += a[i][k]; m = k; }', false],
  'a way out': ['b[i][j] = 0; for (int k = 0; k < 9; k++) { b[i][j] += c[j][k] * a[i][k]; if (b[i][j] > 50) break; }', true],
  'the array lent to a function': ['b[i][j] = 0; for (int k = 0; k < 9; k++) { b[i][j] += a[i][k]; touch(b, k); }', false, 'void touch(float[9][9] x, int k) { x[k][0] = k; }'],
};
const input = Float32Array.from({ length: 81 * 5 }, (_, i) => Math.sin(i) * 4);

describe('elements kept in variables', () => {
  for (const [name, [body, keeps, more]] of Object.entries(bodies)) {
    it(`${keeps ? '' : 'not with '}${name}`, () => {
      const graph = graphOf(filter(body, more));
      const compiled = compileWasm(graph, { filterSize: 100 });
      assert.deepEqual(Array.from(compiled.run(input).output), Array.from(interpretSync(graph, { input }).output));
      assert.equal(/^ *kept = a\d+_group_0\[/m.test(compiled.source), keeps, compiled.source);
    });
  }
});
