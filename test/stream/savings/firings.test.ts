// Firings whose items nobody uses, products with zeros between samples, and sums that nobody reads are left out; what may fail, print, or
// carry something over is done as it was written.
import assert from 'node:assert/strict';
import { randomFloats } from '../../../examples/stream/programs.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { firingCodes, planProgram } from '../../../lib/stream/plan/plan.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { graphOf } from '../support.ts';
import { multiplications } from './counting.ts';

const declarations = `
float->float filter Fir(int taps) {
  float[taps] h;
  init { for (int i = 0; i < taps; i++) h[i] = i + 1; }
  work pop 1 push 1 peek taps { float s = 0; for (int i = 0; i < taps; i++) s += h[i] * peek(i); push(s); pop(); }
}
float->float filter Thin(int n, int keep) {
  work pop n push 1 { for (int i = 0; i < keep; i++) pop(); push(pop()); for (int i = keep + 1; i < n; i++) pop(); }
}
float->float filter Expand(int n, float x) { work pop 1 push n { push(pop()); for (int i = 1; i < n; i++) push(x); } }
float->float filter Delay(int n, float x) { prework push n { for (int i = 0; i < n; i++) push(x); } work pop 1 push 1 { push(pop()); } }
float->float filter Pass { work pop 1 push 1 { push(pop()); } }
float->void filter Sink { work pop 1 { pop(); } }`;

const input = randomFloats(600).map((x, i) => (i % 13 === 5 ? -0 : i % 101 === 60 ? Infinity : x));

/** Compares the runs of a program, and gives what is left of its filters: firings of a period that are made, and all of them. */
function left(main: string, more = '', given: Float32Array = input): Record<string, readonly [made: number, all: number]> {
  const graph = graphOf(`${declarations} ${more} float->float pipeline Main { ${main} }`);
  const expected = interpretSync(graph, { input: given });
  for (const options of [{}, { groupSize: 1, filterSize: 0 }, { groupSize: 1e5, filterSize: 1e5 }]) {
    const compiled = compileWasm(graph, options);
    const found = compiled.run(given);
    assert.deepEqual([[...found.output], found.printed], [[...expected.output], expected.printed], main);
    // Single firings behind the last steady state meet what steady states have left on the channels.
    for (const length of [given.length - 1, given.length - 2, given.length - 3]) {
      assert.deepEqual([...compiled.run(given.slice(0, length)).output], [...interpretSync(graph, { input: given.slice(0, length) }).output], main);
    }
  }
  const { graph: { nodes }, firings } = planProgram(graph);
  return Object.fromEntries([...firings].map(([id, { codes }]) =>
    [nodes[id]!.name, [codes.filter((code) => code !== undefined).length, codes.length] as const]));
}

/** Multiplications of a steady state: as written, and those that are left. */
function products(main: string, more = ''): readonly [number, number] {
  left(main, more);
  const graph = graphOf(`${declarations} ${more} float->float pipeline Main { ${main} }`);
  return [multiplications(planProgram(graph, { savings: false })), multiplications(planProgram(graph))];
}

const filter = (name: string, rates: string, work: string, fields = ''): string =>
  `float->float filter ${name} { ${fields} work ${rates} { ${work} } }`;

describe('firings whose items nobody uses', () => {
  it('are left out before decimators, through delays, splitters, joiners and other filters', () => {
    assert.deepEqual(left('add Fir(3); add Thin(5, 2);'), { Fir: [1, 5] });
    assert.deepEqual(left('add Fir(3); add Delay(2, 1); add Thin(5, 2);'), { Fir: [1, 5], Delay: [1, 5] });
    assert.deepEqual(left('add Fir(3); add Pass; add Identity<float>; add Delay(3, 0); add Delay(1, 2); add Thin(4, 0);'),
      { Fir: [1, 4], Pass: [1, 4], Delay: [1, 4], Delay_2: [1, 4] });
    assert.deepEqual(left('add Fir(3); add Fir(2); add Thin(8, 4);'), { Fir: [2, 8], Fir_2: [1, 8] });
    assert.deepEqual(left('add Fir(3); add Thin(2, 1); add Thin(3, 1);'), { Fir: [1, 6], Thin: [1, 3] });
    assert.deepEqual(left('add Fir(3); add splitjoin { split roundrobin(1, 3); add Pass; add pipeline { add Pass; add Thin(3, 2); }; join roundrobin(1, 1); };'),
      { Fir: [2, 4], Pass_2: [1, 3] });
    assert.deepEqual(left('add splitjoin { split duplicate; add Fir(3); add Fir(4); join roundrobin(1, 1); }; add Thin(2, 1);'), { Fir: [0, 1] });
    assert.deepEqual(left('add Fir(3); add splitjoin { split roundrobin(1, 2); add Pass; add Sink; join roundrobin(1, 0); };'), { Fir: [1, 3] });
  });

  it('are left out where no decimator is, but a filter that looks at some items only', () => {
    const every = filter('Every', 'pop 6 push 1', 'float s = 0; for (int i = 0; i < 6; i += 3) s += peek(i); push(s); for (int i = 0; i < 6; i++) pop();');
    assert.deepEqual(left('add Fir(3); add Every;', every), { Fir: [1, 3] });
    const known = filter('Known', 'pop 3 push 1', 'float s = 0; for (int i = 0; i < 3; i++) if (i != 1) s += peek(i); push(s); for (int i = 0; i < 3; i++) pop();');
    assert.deepEqual(left('add Fir(3); add Known;', known)['Fir'], [2, 3]);
    const unread = filter('Unread', 'pop 3 push 1', 'float a = pop(); float b = pop(); float c = pop(); b = b * 2; push(a + c);');
    assert.deepEqual(left('add Fir(3); add Unread;', unread), { Fir: [2, 3] });
  });

  it('are made where they keep state, count or print, where a fault is possible, or items may be used', () => {
    const thin = 'add Thin(4, 1);';
    for (const [name, text] of Object.entries({
      state: filter('F', 'pop 1 push 1', 'y = y * 0.5 + pop(); push(y);', 'float y;'),
      count: filter('F', 'pop 1 push 1', 'push(pop() + iter());'),
      print: filter('F', 'pop 1 push 1', 'float x = pop(); if (x > 0.99) println(x); push(x);'),
      index: filter('F', 'pop 1 push 1', 'push(t[(int) abs(pop() * 3)]);', 'float[400] t;').replace('pop() * 3', 'min(9, pop() * 3)'),
      division: filter('F', 'pop 1 push 1', 'int x = (int) (9 * min(1, pop())); push(7 / (x == 0 ? 1 : x));'),
      random: filter('F', 'pop 1 push 1', 'push(pop() + random(3));'),
      loop: filter('F', 'pop 1 push 1', 'float x = min(3, pop()); while (x > 1) x -= 0.5; push(x);'),
      endless: filter('F', 'pop 1 push 1', 'float x = pop(); if (x > 1e9) for (;;) { } push(x);').replace('x = pop()', 'x = min(1, pop())'),
      call: filter('F', 'pop 1 push 1', 'push(f(pop()));', 'float f(float x) { return x / 2; }'),
    })) {
      if (name === 'random') assert.deepEqual(planProgram(graphOf(`${declarations} ${text} float->float pipeline Main { add F; ${thin} }`)).firings.size, 0);
      else assert.deepEqual(left(`add F; ${thin}`, text), {}, name);
    }
    const unknown = filter('Unknown', 'pop 4 push 1', 'push(peek((int) abs(max(-3, min(3, 2 * peek(0)))))); for (int i = 0; i < 4; i++) pop();');
    assert.deepEqual(left('add Fir(3); add Unknown;', unknown), {});
  });

  it('still end in their faults', () => {
    const graph = graphOf(`${declarations} ${filter('F', 'pop 1 push 1', 'float x = pop(); t[(int) x] = x; push(x);', 'float[4] t;')}
      float->float pipeline Main { add F; add Thin(4, 0); }`);
    const faulty = [0, 9, 0, 0, 0, 0, 0, 0];
    assert.throws(() => compileWasm(graph).run(faulty), StreamRunError);
    assert.throws(() => interpretSync(graph, { input: faulty }), StreamRunError);
  });
});

describe('products with zeros between samples', () => {
  it('are left out behind expanders, delays, splitters and joiners', () => {
    assert.deepEqual(products('add Expand(8, 0); add Delay(31, 0); add Fir(32);'), [256, 32]);
    assert.deepEqual(products('add Delay(3, 5); add Expand(4, 0); add Pass; add Fir(8);'), [32, 8]);
    assert.deepEqual(products(`add splitjoin { split duplicate; add Pass; add Zero; add Zero; join roundrobin; }; add Fir(9);`,
      filter('Zero', 'pop 1 push 1', 'push(0); pop();')), [27, 9]);
    assert.deepEqual(products('add Expand(3, 0); add Expand(2, 0); add Fir(12);'), [72, 12]);
    assert.deepEqual(products('add Expand(8, -0.0); add Fir(32);'), [256, 32]);
    // Zeros with gaps: turns that are left are no more than a range with a common step.
    assert.deepEqual(products('add splitjoin { split roundrobin(2, 1); add Pass; add Zero; join roundrobin(2, 1); }; add Fir(6);',
      filter('Zero', 'pop 1 push 1', 'push(0); pop();'))[0], 18);
  });

  it('stay where zeros are not certain, or their products would not be zeros', () => {
    assert.deepEqual(products('add Delay(3, 5); add Expand(4, 0.5); add Fir(8);'), [32, 32]);
    // The delay's items fall between the zeros for a while.
    const delayed = products('add Expand(4, 0); add Delay(2, 7); add Fir(8);');
    assert.ok(delayed[1] > 8 && delayed[1] <= 32, String(delayed));
    const wild = (value: string): string => filter('Wild', 'pop 1 push 1 peek 8',
      'float s = 0; for (int i = 0; i < 8; i++) s += h[i] * peek(i); push(s); pop();', `float[8] h; init { for (int i = 0; i < 8; i++) h[i] = ${value}; }`);
    assert.deepEqual(products('add Expand(4, 0); add Wild;', wild('i + 1')), [32, 8]);
    assert.deepEqual(products('add Expand(4, 0); add Wild;', wild('1 / 0.0')), [32, 32]);
    assert.deepEqual(products('add Expand(4, 0); add Wild;', wild('0 / 0.0')), [32, 32]);
    assert.deepEqual(products('add Expand(4, 0); add Wild;', wild('i == 3 ? 1 / 0.0 : i + 1'))[0], 32);
    assert.ok(products('add Expand(4, 0); add Wild;', wild('i == 3 ? 1 / 0.0 : i + 1'))[1] > 8);
  });

  it('keep the sign of zeros', () => {
    // −0 + (+0) is +0: a sum that may be −0 changes by a zero.
    const negative = filter('Negative', 'pop 1 push 1 peek 8', 'float s = peek(0) * 2; for (int i = 1; i < 8; i++) s += peek(i) * 0.5; push(1 / s); pop();');
    const signed = Float32Array.from({ length: 200 }, (_, i) => (i % 3 === 0 ? -0 : i % 3 === 1 ? 0 : -0));
    for (const zero of ['0', '-0.0']) {
      assert.deepEqual(left(`add Expand(4, ${zero}); add Negative;`, negative, signed) !== undefined, true);
      assert.deepEqual(left(`add Expand(3, ${zero}); add Fir(6); add Over;`, filter('Over', 'pop 1 push 1', 'push(1 / pop());'), signed) !== undefined, true);
    }
    // What begins with −0 and gets +0 must not be left out.
    const begins = filter('Begins', 'pop 1 push 1 peek 4', 'float s = -0.0; for (int i = 0; i < 4; i++) s += peek(i); push(1 / s); pop();');
    left('add Expand(2, 0); add Begins;', begins, signed);
    left('add Expand(4, -0.0); add Begins;', begins, signed);
  });
});

describe('partial results that nobody reads', () => {
  it('are not worked out', () => {
    const lags = (from: number): string => filter('Lags', 'pop 2 push 1 peek 20', `float best = 0; for (int lag = 0; lag < 20; lag++) {
      float s = 0; for (int i = lag; i < 20; i++) s += peek(i) * peek(i - lag); if (lag >= ${from}) best = s > best ? s : best; } push(best); pop(); pop();`);
    assert.deepEqual(products('add Lags;', lags(0)), [210, 210]);
    assert.deepEqual(products('add Lags;', lags(5)), [210, 120]);
    const part = filter('Part', 'pop 8 push 1', `float[8] y; for (int i = 0; i < 8; i++) y[i] = peek(i) * 3; push(y[2] + y[6]); for (int i = 0; i < 8; i++) pop();`);
    assert.deepEqual(products('add Part;', part), [8, 2]);
    const last = filter('Last', 'pop 8 push 1', `float y = 0; for (int i = 0; i < 8; i++) y = peek(i) * 3; push(y); for (int i = 0; i < 8; i++) pop();`);
    assert.deepEqual(products('add Last;', last), [8, 1]);
    const down = filter('Down', 'pop 8 push 1', `float[8] y; for (int i = 7; i >= 0; i--) y[i] = peek(i) * 3; push(y[1] + y[4]); for (int i = 0; i < 8; i++) pop();`);
    assert.deepEqual(products('add Down;', down), [8, 2]);
    const never = filter('Never', 'pop 1 push 1', `float[8] y; for (int i = 0; i < 8; i++) y[i] = peek(0) * i; push(pop());`);
    assert.deepEqual(products('add Never;', never), [8, 0]);
  });

  it('are worked out where something follows from them', () => {
    const field = filter('Field', 'pop 1 push 1', 'for (int i = 0; i < 8; i++) y[i] = y[i] * 0.5 + peek(0); push(y[3]); pop();', 'float[8] y;');
    assert.deepEqual(products('add Field;', field), [8, 8]);
    const chain = filter('Chain', 'pop 1 push 1', 'float[8] y; y[0] = peek(0); for (int i = 1; i < 8; i++) y[i] = y[i - 1] * 3; push(y[7]); pop();');
    assert.deepEqual(products('add Chain;', chain), [7, 7]);
    const index = filter('Index', 'pop 1 push 1', `float[8] y; int k = 0; for (int i = 0; i < 8; i++) { y[i] = peek(0) * i; k = k + 1; }
      push(y[k - 1]); pop();`);
    assert.deepEqual(products('add Index;', index), [8, 8]);
    const data = filter('Data', 'pop 1 push 1', 'float[8] y; for (int i = 0; i < 8; i++) y[i] = peek(0) * i; push(y[(int) abs(min(7, peek(0) * 7))]); pop();');
    assert.deepEqual(products('add Data;', data), [9, 9]);
    const jump = filter('Jump', 'pop 1 push 1', 'float s = 0; for (int i = 0; i < 8; i++) { if (i * peek(0) > 3) break; s = i * 2.5; } push(s + pop());');
    assert.ok(products('add Jump;', jump)[1] > 8);
    const counted = filter('Counted', 'pop 1 push 1', 'float s = 0; int i; for (i = 0; i < 8; i++) s = peek(0) * i; push(s + i); pop();');
    assert.deepEqual(products('add Counted;', counted), [8, 8]);
  });

  it('with the items that heads of loops pop', () => {
    const ints = 'int->int filter Expand(int n) { work pop 1 push n { push(pop()); for (int i = 1; i < n; i++) push(0); } }';
    for (const loop of [
      'for (int i = pop(); i < 4; i++) { int x = i * 5; } pop(); pop();', 'for (int i = pop(); i < 4; i++) if (i == 2) s += 7; pop(); pop();',
      'for (int i = 0; i < 3; i += 1 + pop()) if (i == 2) s += 7;', 'for (int i = 0; i < 2 + pop(); i++) if (i == 1) s += 7;',
    ]) {
      const graph = graphOf(`${ints} int->int filter Sum { work pop 4 push 1 { int s = pop(); ${loop} push(s); } }
        int->int pipeline Main { add Expand(4); add Sum; }`);
      const given = Array.from({ length: 50 }, (_, i) => i - 20);
      assert.deepEqual([...compileWasm(graph).run(given).output], interpretSync(graph, { input: given }).output, loop);
    }
  });

  it('with the same codes for nodes of the same code', () => {
    const text = `${declarations} ${filter('Half', 'pop 4 push 1', 'float[4] y; for (int i = 0; i < 4; i++) y[i] = peek(i) * 2; push(y[1]); for (int i = 0; i < 4; i++) pop();')}`;
    const plan = planProgram(graphOf(`${text} float->float splitjoin Main { split roundrobin; add Half; add Half; join roundrobin; }`));
    const codes = plan.graph.nodes.flatMap((node) => (node.kind === 'filter' ? firingCodes(plan, node) : []));
    assert.equal(codes.length, 2);
    assert.equal(codes[0], codes[1]);
  });
});
