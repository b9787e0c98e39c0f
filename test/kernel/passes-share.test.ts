// Functions of one shape made once: those that differ in more than constants and buffers stay apart, and a call means what it meant.
import assert from 'node:assert/strict';
import type { Buffer, Expression, KernelFunction, Local, Program } from '../../lib/kernel/ir.ts';
import { Machine, Trap } from '../../lib/kernel/interpret.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { renameBody } from '../../lib/kernel/passes/clone.ts';
import { shareFunctions, type SharedFunctions } from '../../lib/kernel/passes/share.ts';
import { verify } from '../../lib/kernel/verify.ts';

function shared(text: string): { program: Program; made: SharedFunctions } {
  const program = verify(parseProgram(text));
  const made = shareFunctions(program, program.functions, 'of');
  verify({ ...program, buffers: [...program.buffers, ...made.buffers], functions: made.functions });
  return { program, made };
}

/** What a call of the shared function does, as a function: its arguments and buffers instead of what stands for them. */
function meant(f: KernelFunction, { made }: { made: SharedFunctions }): KernelFunction {
  const { callee, args, buffers } = made.calls.get(f.name)!;
  const by = made.functions.find(({ name }) => name === callee)!;
  const own = by.parameters.length - args.length;
  const locals = new Map<Local, Expression>(by.parameters.slice(own).map((local, i) => [local, args[i]!]));
  return { ...by, name: f.name, parameters: by.parameters.slice(0, own), body: renameBody(by.body, { locals, buffers }) };
}

/** What a function leaves in the buffers of its program after a run of so many turns, and where it traps. */
function outcome(program: Program, f: KernelFunction, turns: number): unknown {
  const machine = new Machine(verify({ ...program, functions: [f] }));
  let site: number | undefined;
  try {
    machine.call(f.name, [turns]);
  } catch (error) {
    if (!(error instanceof Trap)) throw error;
    site = error.site;
  }
  return [site, ...program.buffers.map((buffer) => Array.from(machine.contents(buffer)))];
}

const stage = (name: string, table: string, from: string, to: string, scale: number, offset: number): string => `function ${name}(n: i32) {
  local own_${name} f32[8]
  var i: i32 in 0..${offset + 10} var t_${name}: f32
  for L_${name}: i = 0 to n step 1 most ${offset + 40} {
    t_${name} = mul(${from}[i + ${offset}], f32(${scale}))
    own_${name}[0] = t_${name}
    guard lt(i, ${offset + 9}) else ${offset} f64(1)
    ${to}[i] = add(own_${name}[0], ${table}[${offset}])
  }
}`;
const buffers = `constant k0 f32[16] = (1, 2) constant k1 f32[16] = (3, 4)
  global a f32[64] = (5, 1, 2, 3, 4, 5, 6, 7, 8, 9) global b f32[64] = (9, 8, 7, 6, 5, 4, 3, 2, 1, 7, 3) global c f32[64]`;

describe('sharing of functions', () => {
  it('makes constants, indices, sites and buffers parameters where they differ', () => {
    const all = shared(`${buffers} ${stage('f', 'k0', 'a', 'b', 0.5, 3)} ${stage('g', 'k1', 'b', 'c', -2, 7)} ${stage('h', 'k0', 'a', 'c', 0.5, 1)}`);
    assert.equal(all.made.functions.length, 1);
    assert.deepEqual(all.made.functions[0]!.parameters.map(({ type }) => type), ['i32', 'i32', 'f32', 'i32']);
    assert.deepEqual(all.made.buffers.map(({ element, isReadOnly }: Buffer) => [element, isReadOnly]), [['f32', false], ['f32', true], ['f32', false]]);
    for (const f of all.program.functions) {
      for (const turns of [0, 2, 15]) assert.deepEqual(outcome(all.program, meant(f, all), turns), outcome(all.program, f, turns), f.name);
      assert.notDeepEqual(outcome(all.program, f, 2), outcome(all.program, f, 0));
      assert.ok((outcome(all.program, f, 40) as unknown[])[0] !== undefined);
    }
  });

  it('keeps what is the same in all', () => {
    const { made } = shared(`${buffers} ${stage('f', 'k0', 'a', 'b', 0.5, 3)} ${stage('g', 'k0', 'a', 'b', 0.25, 3)}`);
    assert.deepEqual(made.functions.map(({ parameters }) => parameters.length), [2]);
    assert.deepEqual(made.buffers, []);
    assert.deepEqual(made.calls.get('g')!.args.map(({ value }) => value), [0.25]);
  });

  it('does not take buffers for different ones that are the same in another function', () => {
    const { made } = shared(`${buffers} ${stage('f', 'k0', 'a', 'b', 1, 3)} ${stage('g', 'k0', 'a', 'a', 1, 3)}`);
    assert.deepEqual(made.functions.map(({ name }) => name), ['f', 'g']);
  });

  it('leaves alone what differs in shape, and what would take too many parameters', () => {
    const long = (name: string, from: number): string =>
      `function ${name}() { ${Array.from({ length: 60 }, (_, i) => `a[${i}] = f32(${from + i * i})`).join(' ')} }`;
    assert.equal(shared(`${buffers} ${long('f', 0)} ${long('g', 1)}`).made.functions.length, 2);
    const text = `global a i32[4] function f(n: i32) { a[0] = add(n, 1) } function g(n: i32) { a[0] = sub(n, 1) }
      function h(n: i32) { local x i32[3] x[0] = n a[0] = x[0] } function j(n: i32) { local x_1 i32[4] x_1[0] = n a[0] = x_1[0] }`;
    assert.equal(shared(text).made.functions.length, 4);
  });

  it('tells zeros by their sign', () => {
    const { made } = shared('global a f32[4] function f() { a[0] = f32(0) } function g() { a[0] = f32(-0) }');
    assert.ok(Object.is(made.calls.get('g')!.args[0]!.value, -0));
    assert.equal(made.functions.length, 1);
  });
});
