// kernel.map: against the function itself in JavaScript, in all back ends, for shapes, views, types, outputs and misuse.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ArgumentError, DeviceArray, FunctionError, kernel, type Device } from '../../lib/index.ts';
import { eachBackend } from '../support/backends.ts';
import { canCompile } from '../support/modules.ts';

interface View { readonly shape: readonly number[]; readonly strides?: readonly number[]; readonly offset?: number }
type Kind = typeof Float64Array | typeof Float32Array | typeof Int32Array;
const sizes = [0, 1, 2, 3, 31, 32, 33, 1023, 4096, 4099];
const random = (length: number, seed = 1): Float64Array =>
  Float64Array.from({ length }, (_, i) => Math.fround(((Math.imul(i + seed, 0x9e3779b1) >>> 8) % 2000 - 1000) / 64));

/** What JavaScript gives, element by element. */
function expected(f: (...args: number[]) => number, length: number, ...arrays: readonly (ArrayLike<number> | number)[]): number[] {
  return Array.from({ length }, (_, i) => f(...arrays.map((array) => (typeof array === 'number' ? array : array[i]!))));
}

/** Numbers of a result, wherever it is. */
async function numbersOf(result: unknown): Promise<number[]> {
  const array = result instanceof DeviceArray ? await result.read() : result;
  if (result instanceof DeviceArray) result.dispose();
  return Array.from(array as Float64Array);
}

describe('kernel.map on the CPU', () => {
  it('computes what the function does, for all sizes and both back ends', async () => {
    const f = (x: number, y: number, a: number): number => (x > y ? a * x - Math.floor(y) : x % (y * y + 0.5)) + Math.max(x, y, -3);
    for (const n of sizes) {
      const [x, y] = [random(n), random(n, 99)];
      for (const backend of ['wasm', 'interpreter'] as const) {
        if (backend === 'interpreter' && n > 1100) continue;
        const made = await kernel.map(f, [x, y, 2.5], { backend });
        assert.ok(made instanceof Float64Array);
        assert.deepEqual(Array.from(made), expected(f as never, n, x, y, 2.5), `${backend} ${n}`);
      }
    }
  });

  it('returns arrays in the arrangement of the values, with types by the promotion rules', async () => {
    const x = Float64Array.of(1, 2.5, -3), i = Int32Array.of(7, -8, 9), s = Float32Array.of(0.1, 0.2, 0.3);
    const made = await kernel.map((a, b) => ({ sum: a + b, rest: [a > b, a * 2] as const }), [x, i]);
    assert.deepEqual(made, { sum: Float64Array.of(8, -5.5, 6), rest: [Int32Array.of(0, 1, 0), Float64Array.of(2, 5, -6)] });
    assert.deepEqual(await kernel.map((a, b) => a * b, [s, 3]), Float32Array.from(s, (each) => Math.fround(each * 3)));
    assert.deepEqual(await kernel.map((a) => a / 2, [i]), Float64Array.of(3.5, -4, 4.5));
    assert.deepEqual(await kernel.map((a, b) => a * b, [s, i]), Float64Array.from(s, (each, k) => each * i[k]!));
    assert.deepEqual(await kernel.map((a) => a * 1e10, [x], { type: 'int32' }), Int32Array.of(2147483647, 2147483647, -2147483648));
    assert.deepEqual(await kernel.map((a) => a / 3, [x], { type: 'float32' }), Float32Array.from(x, (each) => each / 3));
    assert.deepEqual(await kernel.map((a) => (a > 0 ? -a / 2 : 0 / 0), [x], { type: 'int32' }), Int32Array.of(0, -1, 0));
    assert.deepEqual(await kernel.map((a, b) => a + b, [1, 2]), Float64Array.of(3));
    assert.deepEqual(await kernel.map(() => 1, [] as never).catch((error: unknown) => (error as Error).constructor), FunctionError);
  });

  it('rounds every operation to float32 if all arrays are float32', async () => {
    const x = Float32Array.from(random(500), (each) => each / 3);
    const made = await kernel.map((a) => a * a + a / 7, [x]);
    const { fround } = Math;
    assert.deepEqual(Array.from(made), Array.from(x, (a) => fround(fround(a * a) + fround(a / 7))));
  });

  it('broadcasts numbers and axes, and reads slices without copies', async () => {
    const rows = { data: Float64Array.of(1, 2, 3), shape: [3, 1] }, columns = Float64Array.of(10, 20);
    assert.deepEqual(await kernel.map((a, b) => a + b, [rows, columns]), Float64Array.of(11, 21, 12, 22, 13, 23));
    const data = random(60);
    const cube = { data, shape: [2, 3, 4], strides: [1, -2, 7], offset: 10 };
    const made = await kernel.map((a, b) => a - b, [cube, { data, shape: [1, 3, 1], offset: 50 }]);
    const want: number[] = [];
    for (let i = 0; i < 2; ++i) for (let j = 0; j < 3; ++j) for (let k = 0; k < 4; ++k) want.push(data[10 + i - 2 * j + 7 * k]! - data[50 + j]!);
    assert.deepEqual(Array.from(made), want);
    assert.deepEqual(await kernel.map((a, b) => a + b, [{ data: columns, shape: [0, 2], strides: [0, 1] }, columns]), new Float64Array());
    // NumPy's order of dimensions with one element, and with none of their own.
    assert.deepEqual(await kernel.map((a, b) => a * b, [{ data: columns, shape: [2, 1, 1] }, rows]), Float64Array.of(10, 20, 30, 20, 40, 60));
  });

  it('writes into given arrays and views, also into an input itself', async () => {
    const x = random(5000), before = x.slice();
    assert.equal(await kernel.map((a) => a + 1, [x], { out: x }), x);
    assert.deepEqual(x, before.map((each) => each + 1));
    const to = new Float32Array(40).fill(9);
    const view = { data: to, shape: [2, 3], strides: [20, 2], offset: 1 };
    assert.equal(await kernel.map((a, b) => a * b, [{ data: Float64Array.of(2, 3), shape: [2, 1] }, Float64Array.of(1, 10, 100)], { out: view }), view);
    const want = new Float32Array(40).fill(9);
    [2, 20, 200].forEach((value, k) => { want[1 + 2 * k] = value; want[21 + 2 * k] = value * 1.5; });
    assert.deepEqual(to, want);
    const outs = { a: new Int32Array(3), b: new Float64Array(3) };
    assert.equal(await kernel.map((v) => ({ a: v > 1, b: v }), [Float64Array.of(1, 2, 3)], { out: outs }), outs);
    assert.deepEqual(outs, { a: Int32Array.of(0, 1, 1), b: Float64Array.of(1, 2, 3) });
  });

  it('has read its inputs when it returns, also with given arrays', async () => {
    const x = Float64Array.of(1, 2, 3), out = new Float64Array(3);
    for (const options of [{}, { out }, { out: { data: out, shape: [3], strides: [-1], offset: 2 } }]) {
      const made = kernel.map((a) => 2 * a, [x], options);
      x.fill(0);
      await made;
      x.set([1, 2, 3]);
    }
    assert.deepEqual(Array.from(out), [6, 4, 2]);
  });

  it('calls other functions that are given by name', async () => {
    const square = (a: number): number => a * a;
    const minmod = (a: number, b: number): number => {
      const pair = [a, b];
      if (a * b <= 0) return 0;
      pair[0] = Math.abs(a) < Math.abs(b) ? a : b;
      return pair[0];
    };
    const limited = (a: number, b: number): number => minmod(square(a) - b, a + square(b));
    const x = random(300), y = random(300, 4);
    const functions = { square, minmod };
    assert.deepEqual(Array.from(await kernel.map(limited, [x, y], { functions })), expected(limited as never, 300, x, y));
    assert.equal(await kernel.reduce((a) => square(a), [x], 'sum', { functions }), await kernel.reduce((a) => a * a, [x], 'sum'));
    assert.deepEqual(await kernel.map('(a) => g(a) + 1', [Float64Array.of(2)], { functions: { g: '(a) => h(a) * 2', h: '(b) => b * 10' } }), Float64Array.of(41));
    assert.deepEqual(await kernel.map('(a) => g(a) + 1', [Float64Array.of(2)], { functions: { g: '(a) => -a' } }), Float64Array.of(-1));
    for (const [given, what] of [
      [{ g: '(a) => {\n  return q;\n}' }, /^functions.g, line 2, column 10: q is not known/], [{ g: '(a) => g(a)' }, /nested more than 64/],
      [{ g: '(a, b) => a' }, /^f, line 1, column 8: g takes 2 arguments, not 1/], [{ g: Math.sin }, /^functions.g: the function has no text/],
      [{}, /g is not known here/],
    ] as const) {
      await assert.rejects(kernel.map('(a) => g(a)', [x], { functions: given as never }),
        (error: unknown) => error instanceof FunctionError && what.test(error.message), String(what));
    }
    await assert.rejects(kernel.map('(a) => a', [x], { functions: { 'a b': '(a) => a' } }), { argument: 'functions' });
    await assert.rejects(kernel.map('(a) => a', [x], { functions: [] as never }), { argument: 'functions' });
    const compiled = await kernel.compile((a: number) => square(a), ['float64'], { functions });
    assert.deepEqual(await compiled.map([Float64Array.of(3)]), Float64Array.of(9));
  });

  it('runs long calls on threads: the same bits, while the event loop turns', async function () {
    this.timeout(60_000);
    // Takes a second on one thread.
    const f = '(x, s) => { let y = x; for (let i = 0; i < 40; ++i) y = Math.sqrt(Math.abs(y * s + i)); return [y, y > x]; }';
    const x = random(600_001);
    let turns = 0;
    const timer = setInterval(() => { ++turns; }, 5);
    const [one, two] = await Promise.all([1, 3].map((threads) => kernel.map(f, [x, 1.5], { threads }))) as [Float64Array, Int32Array][];
    clearInterval(timer);
    assert.ok(turns > 1, `${turns} turns of the event loop`);
    assert.deepEqual(one, two);
    for (const at of [0, 4095, 4096, 300_000, 599_999, 600_000]) {
      let y = x[at]!;
      for (let i = 0; i < 40; ++i) y = Math.sqrt(Math.abs(y * 1.5 + i));
      assert.equal(one![0][at], y);
      assert.equal(one![1][at], Number(y > x[at]!));
    }
    const out = { data: new Float64Array(2 * x.length).fill(5), shape: [x.length], strides: [2] };
    const strided = await kernel.map('(x, s) => { let y = x; for (let i = 0; i < 40; ++i) y = Math.sqrt(Math.abs(y * s + i)); return y; }', [x, 1.5], { out }) as typeof out;
    assert.ok(one![0].every((value, i) => strided.data[2 * i] === value && strided.data[2 * i + 1] === 5));
    const controller = new AbortController();
    const aborted = kernel.map(f, [x, 2], { signal: controller.signal });
    setImmediate(() => { controller.abort(new Error('enough')); });
    await assert.rejects(aborted, /enough/);
    await assert.rejects(kernel.map(f, [x, 2], { signal: controller.signal }), /enough/);
    assert.deepEqual(await kernel.map(f, [x, 1.5]), one, 'the threads go on');
  });

  it('lets the process end while threads are idle', () => {
    const script = `import { kernel } from ${JSON.stringify(new URL('../../lib/index.ts', import.meta.url).href)};
      const f = (x) => { let y = x; for (let i = 0; i < 100; ++i) y = Math.sqrt(Math.abs(y + i)); return y; };
      const y = await kernel.map(f, [new Float64Array(400000).fill(2)], { threads: 2 });
      console.log(y[399999] === f(2));`;
    const done = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script],
      { cwd: fileURLToPath(new URL('../..', import.meta.url)), encoding: 'utf8', timeout: 100_000 });
    assert.deepEqual([done.status, done.stdout, done.stderr], [0, 'true\n', '']);
  }).timeout(120_000);

  it('refuses what is wrong with a typed error that names it', async () => {
    const x = new Float64Array(6), outside = 3;
    const cases: readonly (readonly [call: () => Promise<unknown>, argument: string, what: RegExp])[] = [
      [() => kernel.map('(x, y) => x', [x]), 'inputs', /2 of them, one for each parameter/],
      [() => kernel.map('(x) => x', x as never), 'inputs', /a list with an input/], [() => kernel.map('(x) => x', null as never), 'inputs', /received null/],
      [() => kernel.map('(x) => x', [new Uint8Array(3)] as never), 'inputs[0]', /a number, a Float32Array/],
      [() => kernel.map('(x, y) => x', [x, 'abc'] as never), 'inputs[1]', /received 'abc'/],
      [() => kernel.map('(x, y) => x', [x, new Float64Array(5)]), 'inputs[1]', /a shape that goes with 6, received 5/],
      [() => kernel.map('(x) => x', [{ data: x, shape: [7] }]), 'inputs[0]', /elements 0 to 6/],
      [() => kernel.map('(x) => x', [{ data: x, shape: [3], strides: [-1] }]), 'inputs[0]', /elements -2 to 0/],
      [() => kernel.map('(x) => x', [{ data: x, strides: [1] }]), 'inputs[0].shape', /a shape beside the strides/],
      [() => kernel.map('(x) => x', [{ data: x, shape: [2], strides: [1, 1] }]), 'inputs[0].strides', /1 of them/],
      [() => kernel.map('(x) => x', [{ data: x, shape: [1.5] }]), 'inputs[0].shape[0]', /whole number/],
      [() => kernel.map('(x) => x', [{ data: x, offset: 7 }]), 'inputs[0].offset', /from 0 to 6/],
      [() => kernel.map('(x) => x', [{ data: x, shap: [1] } as never]), 'inputs[0].shap', /a view has/],
      [() => kernel.map('(x) => x', [{ data: x, shape: Array(9).fill(1) as number[] }]), 'inputs[0].shape', /at most 8/],
      [() => kernel.map('(x) => x', [x], { out: new Float64Array(5) }), 'out', /6 elements, received 5/],
      [() => kernel.map('(x) => x', [x], { out: { data: new Float64Array(6), shape: [2, 3] } }), 'out', /the shape 6/],
      [() => kernel.map('(x) => x', [x], { out: { data: x, shape: [6], strides: [0] } }), 'out', /a place of its own/],
      [() => kernel.map('(x) => x', [x.subarray(1)], { out: x.subarray(0, 5) }), 'out', /inputs\[0\] itself/],
      [() => kernel.map('(x) => [x, x]', [x], { out: [x, x] }), 'out[1]', /memory of its own/],
      [() => kernel.map('(x) => [x, x]', [x], { out: x }), 'out', /a list of 2 arrays/],
      [() => kernel.map('(x) => ({ a: x })', [x], { out: { b: x } as never }), 'out', /an object with a/],
      [() => kernel.map('(x) => x', [x], { backend: 'gpu' as never }), 'backend', /one of/], [() => kernel.map('(x) => x', [x], { typ: 1 } as never), 'typ', /no such option/],
      [() => kernel.map('(x) => x', [x], { threads: 0 }), 'threads', /from 1/], [() => kernel.map('(x) => x', [x], { device: {} as never }), 'device', /a Device/],
    ];
    for (const [call, argument, what] of cases) {
      await assert.rejects(call, (error: unknown) => {
        assert.ok(error instanceof ArgumentError, String(error));
        assert.equal(error.argument, argument, error.message);
        assert.match(error.message, what);
        return true;
      });
    }
    for (const [f, what] of [
      [() => outside, /without parameters/], [(a: number) => a * outside, /outside is not known here/], ['(x) => []', /returns nothing/],
      ['(x) => ({})', /returns nothing/], ['(x) => x.constructor', /no such member/], [Math.sin, /has no text/], [(() => 1).bind(null), /has no text/],
      [async (a: number) => a, /async/], [class {}, /./], [{ toString: () => '(x) => x' }, /a function or its text/], [12, /a function or its text/],
    ] as const) {
      await assert.rejects(() => kernel.map(f as never, [x] as never), (error: unknown) => {
        assert.ok(error instanceof FunctionError, String(error));
        assert.equal(error.code, 'ERR_WARPLOOM_INVALID_PROGRAM');
        assert.match(error.message, what);
        return true;
      });
    }
  });

  it('refuses what is nested too deeply, too long or endless, and soon', async function () {
    this.timeout(120_000);
    const x = [Float64Array.of(1, 2)];
    for (const [text, what] of [
      [`(x) => x${' + x'.repeat(50_000)}`, /nested too deeply/], [`(x) => ${'Math.abs('.repeat(3000)}x${')'.repeat(3000)}`, /nested too deeply/],
      [`(x) => { ${'if (x > 0) {'.repeat(3000)} return 1; ${'}'.repeat(3000)} return 2; }`, /nested too deeply/],
      [`(x) => [${'x,'.repeat(110_000)}x]`, /more than 100000 statements/],
      ['(x) => { for (let i = 0; i < 1e5; i++) for (let k = 0; k < 1e5; k++) x += k; return x; }', /more than 100000000 trips in all/],
      [`(x) => { const f0 = () => 1; ${Array.from({ length: 60 }, (_, i) => `const f${i + 1} = () => f${i}() + f${i}();`).join(' ')} return x + f60(); }`,
        /takes too long/],
      [`(x) => { const a0 = [x, x]; ${Array.from({ length: 60 }, (_, i) => `const a${i + 1} = [a${i}, a${i}];`).join(' ')} return a60; }`,
        /an array of more than 100000 numbers/], ['(x) => { for (let i = 0; i < 1e9; ++i) {} return x; }', /more than 1000000 trips/],
      [`(x) => { const f0 = (a) => a + x; ${Array.from({ length: 40 }, (_, i) => `const f${i + 1} = (a) => f${i}(a) + f${i}(a + 1);`).join(' ')} return f40(x); }`,
        /more than 100000 statements/],
    ] as const) await assert.rejects(kernel.map(text, x), (error: unknown) => error instanceof FunctionError && what.test(error.message), String(what));
    assert.deepEqual(await kernel.map(`(x) => { let s = x; ${'s = s * 0.5 + x; '.repeat(2000)} return s; }`, x), Float64Array.of(2, 4));
  });

  it('compiles ahead, and tells what it made', async () => {
    const f = (x: number, a: number): number => x * a;
    const first = await kernel.compile(f, ['float32', 'number'], { backend: 'wasm' });
    assert.deepEqual([first.info.backend, first.info.precision, first.info.results, first.info.cached], ['wasm', 'float32', 'float32', false]);
    assert.match(first.info.source, /run\(/);
    assert.equal((await kernel.compile(f, ['float32', 'number'])).info.cached, true);
    assert.deepEqual(await first.map([Float32Array.of(2), 4]), Float32Array.of(8));
    assert.equal(await first.reduce([Float32Array.of(2, 3), 4], 'sum'), 20);
    await assert.rejects(first.map([Float64Array.of(2), 4]), { argument: 'inputs', message: /float32, number/ });
    await assert.rejects(kernel.compile(f, ['float16', 'number'] as never), { argument: 'kinds[0]' });
    await assert.rejects(kernel.compile(f, ['float32'] as never), { argument: 'inputs' });
  });
});

eachBackend((backend, opened) => {
  describe('kernel.map on devices', function () {
    this.timeout(60_000);
    let device: Device;
    before(async function () {
      if (backend !== 'cpu' && !await canCompile(backend, 5)) this.skip();
      device = await opened();
    });

    it('gives the bits of the CPU for all sizes and misaligned parts', async () => {
      const f = '(x, y, a) => [a * x * y + Math.sin(x), Math.round(y) > x, Math.pow(Math.abs(x), y) % 3]';
      for (const kind of [Float64Array, Float32Array, Int32Array] as readonly Kind[]) {
        const [x, y] = [kind.from(random(4102)), kind.from(random(4102, 50))];
        using there = await device.array(x);
        using other = await device.array(y);
        for (const n of sizes) {
          for (const offset of [0, 1, 3]) {
            const [part, second] = [{ offset, shape: [n] }, { offset: 2, shape: [n] }];
            const made = await kernel.map(f, [{ data: there, ...part }, { data: other, ...second }, 1.5]) as DeviceArray[];
            const want = await kernel.map(f, [{ data: x, ...part }, { data: y, ...second }, 1.5]) as Float64Array[];
            assert.ok(made.every((array) => array instanceof DeviceArray && array.device === device));
            for (const [i, array] of made.entries()) assert.deepEqual(await numbersOf(array), Array.from(want[i]!), `${kind.name} ${n} ${offset} ${i}`);
          }
        }
      }
    });

    it('broadcasts and steps through views, mixes arrays of both memories, writes into either', async () => {
      const x = random(600), y = random(600, 7);
      using there = await device.array(x);
      const matrix = { shape: [11, 13], strides: [2, 40], offset: 3 }, column = { shape: [11, 1], offset: 9 };
      const want = await kernel.map((a, b) => a * b - a, [{ data: x, ...matrix }, { data: y, ...column }]);
      assert.deepEqual(await numbersOf(await kernel.map((a, b) => a * b - a, [{ data: there, ...matrix }, { data: y, ...column }])), Array.from(want));
      const out = new Float64Array(143);
      assert.equal(await kernel.map((a, b) => a * b - a, [{ data: there, ...matrix }, { data: y, ...column }], { out }), out);
      assert.deepEqual(out, want);
      assert.deepEqual(await kernel.map((a, b) => a * b - a, [{ data: x, ...matrix }, { data: y, ...column }], { device }), want);
      using to = await device.array('float32', 500);
      const view = { data: to, shape: [11, 13], strides: [1, 22], offset: 4 };
      assert.equal(await kernel.map((a, b) => a * b - a, [{ data: x, ...matrix }, { data: y, ...column }], { out: view }), view);
      const found = await to.read();
      for (let i = 0; i < 11; ++i) for (let j = 0; j < 13; ++j) assert.equal(found[4 + i + 22 * j], Math.fround(want[13 * i + j]!));
      assert.equal(found[5 + 22 * 12 + 10] ?? 0, 0);
      assert.equal(await kernel.map((a) => 2 * a, [there], { out: there }), there);
      assert.deepEqual(await there.read(), x.map((each) => 2 * each));
    });

    it('moves groups of elements along rows, wherever they begin', async () => {
      const f = '(x, y, z, a) => [x * a + y * z, x > y]';
      const whole = random(700), single = Float32Array.from(random(700, 3)), ints = Int32Array.from(random(700, 5));
      const [there, floats, wholes] = await Promise.all([device.array(whole), device.array(single), device.array(ints)]);
      const views: readonly (readonly [View, View, View])[] = [
        [{ shape: [9, 16] }, { shape: [16] }, { shape: [9, 1] }], [{ shape: [9, 16], offset: 1 }, { shape: [16], offset: 4 }, { shape: [9, 1] }],
        [{ shape: [9, 16], strides: [17, 1] }, { shape: [9, 1] }, { shape: [16], strides: [2] }],
        [{ shape: [16], offset: 2 }, { shape: [3, 3, 16], strides: [0, 20, 1] }, { shape: [3, 1, 1] }],
        [{ shape: [9, 14], offset: 2 }, { shape: [1, 14] }, { shape: [9, 14], strides: [16, 1] }], [{ shape: [16, 9], strides: [1, 16] }, { shape: [9] }, { shape: [16, 1] }],
      ];
      for (const [x, y, z] of views) {
        const want = await kernel.map(f, [{ data: whole, ...x }, { data: single, ...y }, { data: ints, ...z }, 1.5]) as Float64Array[];
        const made = await kernel.map(f, [{ data: there, ...x }, { data: floats, ...y }, { data: wholes, ...z }, 1.5]) as DeviceArray[];
        for (const [i, array] of made.entries()) assert.deepEqual(await numbersOf(array), Array.from(want[i]!), JSON.stringify([x, y, z]));
        const [sum, other] = await Promise.all([[whole, single, ints], [there, floats, wholes]].map((data) =>
          kernel.reduce((a, b, c) => a * b - c, [{ data: data[0]!, ...x }, { data: data[1]!, ...y }, { data: data[2]!, ...z }], 'sum')));
        assert.equal(sum, other);
      }
      for (const array of [there, floats, wholes]) array.dispose();
    });

    it('refuses arrays of other devices and back ends that do not fit', async () => {
      using there = await device.array(random(8));
      const wrong = backend === 'cpu' ? 'simt' : 'wasm';
      await assert.rejects(kernel.map((a) => a, [there], { backend: wrong }), { argument: 'backend' });
      using bytes = await device.array('uint8', 4);
      await assert.rejects(kernel.map((a) => a, [bytes]), { argument: 'inputs[0]', message: /a DeviceArray of uint8/ });
      const gone = await device.array(random(8));
      gone.dispose();
      await assert.rejects(kernel.map((a) => a * 3 + 1, [gone]), { code: 'ERR_WARPLOOM_DISPOSED' });
      await assert.rejects(kernel.map((a) => a + 4, [there], { signal: AbortSignal.abort(new Error('no')) }), /no/);
    });

    it('compiles ahead for the device', async () => {
      const f = (x: number, y: number): number => x - 2 * y;
      const { info, map } = await kernel.compile(f, ['float64', 'float64'], { device });
      assert.equal(info.backend, backend === 'cpu' ? 'wasm' : backend);
      if (backend !== 'cpu') assert.match(info.source, /WARPLOOM_KERNEL/);
      assert.equal((await kernel.compile(f, ['float64', 'float64'], { device })).info.cached, true);
      assert.deepEqual(await map([Float64Array.of(5), Float64Array.of(1)]), Float64Array.of(3));
    });
  });
}, { cases: 5 });
