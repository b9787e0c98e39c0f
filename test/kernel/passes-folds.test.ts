// Loops that look for the largest or smallest value, cut into parts.
import assert from 'node:assert/strict';
import { Machine } from '../../lib/kernel/interpret.ts';
import type { KernelFunction, Program } from '../../lib/kernel/ir.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { foldTrips, splitFold } from '../../lib/kernel/passes/split-fold.ts';
import { verify } from '../../lib/kernel/verify.ts';

const head = 'external x f32[64]\nexternal y f32[2]\n';
/** A loop over `k` with an inner one, so that it is worth being cut. */
const text = (start: string, join: string, trips = 37, locals = ''): string => `${head}function f() {
  var k: i32 var i: i32 var s: f32 var v: f32 ${locals} v = ${start}
  for K: k = 2 to ${2 + trips} step 1 { s = x[k] for I: i = 0 to 20 step 1 { s = sub(mul(x[add(k, 3)], s), mul(x[add(i, 5)], x[i])) }
    s = mul(s, x[sub(40, k)]) ${join} }
  y[0] = v y[1] = mul(v, f32(2)) }`;

const values = [0, -0, 1.5, -2, 0.25, -0.5, NaN, 3];
const inputs = [1, 3, 5].map((by) => Float32Array.from({ length: 64 }, (_, i) => (values.at(i * by % values.length)! * (i % 4) / 4)));

function outputs(program: Program, calls: readonly (readonly [string, readonly number[]])[], x: Float32Array, set?: (machine: Machine) => void): number[] {
  const machine = new Machine(program, { external: { x: x.slice(), y: new Float32Array(2) } });
  set?.(machine);
  for (const [name, args] of calls) machine.call(name, args);
  return [...machine.contents(program.buffers.find(({ name }) => name === 'y')!)];
}

const join = (how: string, a: number, b: number): number => {
  if (how === 'max') return Math.max(a, b);
  if (how === 'min') return Math.min(a, b);
  return (how === 'gt' ? b > a : b < a) ? b : a;
};

/** The function gives the same in parts, whatever their number. */
function same(source: string): void {
  const program = verify(parseProgram(source));
  const f = program.functions.at(-1)!;
  assert.ok(foldTrips(f) > 0);
  for (const parts of [2, 3, 8, 32]) {
    const split = splitFold(program, f, parts)!;
    const functions: KernelFunction[] = [split.part, split.rest];
    const made = verify({ ...program, buffers: [...program.buffers, split.out], functions });
    for (const x of inputs) {
      const expected = outputs(program, [['f', []]], x);
      let found: number | undefined;
      for (let part = 0; part < parts; ++part) {
        const machine = new Machine(made, { external: { x: x.slice(), y: new Float32Array(2), [split.out.name]: new Float32Array(1) } });
        machine.call(split.part.name, [part]);
        const own = machine.contents(split.out)[0]!;
        found = found === undefined ? own : join(split.join, found, own);
      }
      const machine = new Machine(made, { external: { x: x.slice(), y: new Float32Array(2), [split.out.name]: Float32Array.of(found!) } });
      machine.call(split.rest.name, []);
      assert.deepEqual([...machine.contents(program.buffers.find(({ name }) => name === 'y')!)], expected, `${parts} parts`);
    }
  }
}

function refused(source: string): void {
  const program = verify(parseProgram(source));
  assert.equal(foldTrips(program.functions.at(-1)!), 0);
  assert.equal(splitFold(program, program.functions.at(-1)!, 4), undefined);
}

describe('kernel pass: splitFold', () => {
  for (const start of ['f32(0)', 'f32(-0)', 'f32(-1e30)', 'f32(1e30)', 'x[9]']) {
    it(`finds the largest and the smallest from ${start} on`, () => {
      same(text(start, 'v = select(gt(s, v), s, v)'));
      same(text(start, 'v = select(lt(v, s), s, v)'));
      same(text(start, 'v = select(gt(v, s), s, v)'));
      same(text(start, 'if lt(s, v) { v = s }'));
      same(text(start, 'if gt(x[k], f32(0)) { v = max(s, v) }'));
      same(text(start, 'v = min(v, s)', 4 * 9));
    });
  }

  it('leaves what depends on other iterations, on the order, or is little work', () => {
    refused(text('f32(0)', 'v = select(gt(s, v), x[k], v)'));
    refused(text('f32(0)', 'v = select(ge(s, v), s, v)'));
    refused(text('f32(0)', 'v = select(gt(v, s), v, s)'));
    refused(text('f32(0)', 'v = select(gt(add(s, v), v), add(s, v), v)'));
    refused(text('f32(0)', 'v = select(gt(s, v), s, v) v = add(v, f32(1))'));
    refused(text('f32(0)', 'v = select(gt(s, v), s, v) y[1] = s'));
    refused(text('f32(0)', 'v = select(gt(s, v), s, v) last = s', 37, 'var last: f32 last = f32(0)').replace('y[0] = v', 'y[0] = add(v, last)'));
    refused(text('f32(0)', 'v = select(gt(s, v), s, v) if eq(v, f32(1)) { break K }'));
    refused(text('f32(0)', 'v = select(gt(s, v), s, v)', 3));
  });
});
