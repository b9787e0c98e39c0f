// Programs with state on devices: fields of every kind that is found before a firing, at every place of a run, and what is left to the CPU.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { required } from '../../../lib/core/known.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { faulty, ints, one } from './faulty-programs.ts';
import { agrees, compileTogether, deviceBackends, firstState, heldBy, inputItems, settled } from './support.ts';

const small: FusedOptions = { threads: 32, sharedBytes: 3000 };

/** Programs that run on the device. */
const found: Readonly<Record<string, string>> = {
  'the number of the firing': one('', 'push(x + iter());'),
  'a counter': one('int i;', 'push(x * i); i += 7;'),
  'a counter that wraps': one('int i = 2147483600;', 'i = i + 13; push(x ^ i);'),
  'a counter downwards from the least number': one('int i = -2147483640;', 'i -= 5; push(x ^ i);'),
  'a counter modulo a number': one('int i;', 'i = (i + 1) % 7; push(x * i);'),
  'a step larger than the modulus': one('int i = 2;', 'push(x + i); i = (i + 12) % 5;'),
  'remainders of negative numbers': one('int i = -3;', 'push(x + i); i = (i - 4) % 6;'),
  'a counter that is set back': one('int i;', 'i++; if (i == 11) i = 0; push(x - i);'),
  'a counter with a beginning of its own': one('int i = 100;', 'push(x + i); i = i > 10 ? i - 9 : i + 4;'),
  'two counters, one of which waits for the other': one('int i; int j;', 'i++; if (i == 3) { i = 0; j = (j + 1) % 4; } push(x * 10 + j);'),
  'a long period': one('int i;', 'push(x + i); i = (i + 1) % 50021;'),
  'a counter used before and after it moves': one('int i;', 'int a = i; i = (i + 3) & 15; int b = i; i = (i + 2) & 15; push(x + a * 100 + b * 10 + i);'),
  'a boolean that turns': one('boolean up;', 'push(up ? x : -x); up = !up;'),
  'a table that repeats itself': one('int a = 1; int b = 1;', 'int c = (a + b) % 1000; a = b; b = c; push(x + c);'),
  'a float that repeats itself': one('float f = 0.5;', 'push(x + (int) (f * 4)); f = -f * 1;'),
  'a field that nothing changes': one('int[4] t = {3, 1, 4, 1}; int k; int z = 9;', 'push(x * t[k] + z); k = (k + 1) & 3; z = z;'),
  'a sum': one('int s;', 's += x; push(s);'),
  'a sum before and after': ints('pop 1 push 2 { push(s); s = s - 3 * pop(); push(s - 1); }', 'int s = 5;'),
  'a recurrence': one('int s = 1;', 's = s * 1103515245 + x; push(s >> 3);'),
  'a recurrence whose factor comes in': one('int s = 1;', 's = s * (x | 1) + 12345; push(s);'),
  'a recurrence of two': one('int a; int b = 1;', 'int c = a + b * x; a = b; b = c; push(c);'),
  'a recurrence of three': one('int a; int b; int c;', 'a += x; b += a; c = c * 3 - b; push(c ^ a);'),
  'a sum that is set back': one('int s;', 'if (x == 3) s = 0; else s += x; push(s);'),
  'a sum modulo a power of two': one('int s;', 's = (s + x) & 63; push(s);'),
  'a sum in a range around zero': one('int s = -4;', 's += x * 31; while (s > 127) s -= 256; while (s < -128) s += 256; push(s);'),
  'a sum in a range, set back': one('int s;', 'if (x == 7) s = 0; s -= 50 * x; boolean isInside; do { isInside = s >= -64 && s <= 63; if (s < -64) s += 128; '
    + 'else if (s > 63) s -= 128; } while (!isInside); push(s);'),
  'bits that are kept': one('int s = 5;', 's = s ^ (x << 3); push(s); if (x == 0) s = 0;'),
  'bits that are set and cleared': one('int s;', 's |= 1 << (x & 31); if (x > 6) s &= ~x; push(s);'),
  'the last value of a kind': one('int s = -1;', 'if (x > 5) s = x; push(s);'),
  'a float that is held': 'float->float filter F { float h = 0.25; work pop 1 push 1 { float x = pop(); if (x > 5) h = x / 3; push(h); } } float->float pipeline Main { add F; }',
  'a double that is held': 'double->double filter F { double h = 0.1; work pop 1 push 1 { double x = pop(); if (x > 5) h = x / 3; push(h); } } '
    + 'double->double pipeline Main { add F; }',
  'a mode': one('int mode;', 'if (mode == 0) { if (x == 1) mode = 1; } else if (mode == 1) { mode = x > 4 ? 2 : 1; } else if (x == 0) mode = 0; push(mode * 100 + x);'),
  'a counter that data sets back': one('int i;', 'if (x == 4) i = 0; else i = (i + 1) % 12; push(i);'),
  'a counter that stays at its end': one('int i;', 'if (x > 2) i = min(i + 1, 9); else i = max(i - 2, 0); push(i);'),
  'a table of modes': one('int[16] t = {1, 3, 0, 2, 2, 2, 1, 0, 3, 0, 3, 1, 0, 1, 2, 3}; int mode;', 'mode = t[mode * 4 + (x & 3)]; push(mode);'),
  'the item before': 'float->float filter F { float last = 1.5; work pop 1 push 1 { float x = pop(); push(x - last); last = x; } } float->float pipeline Main { add F; }',
  'a history that is shifted': 'float->float filter F { float[5] h; work pop 1 push 1 { for (int i = 4; i > 0; i--) h[i] = h[i - 1]; h[0] = pop(); float s = 0; '
    + 'for (int i = 0; i < 5; i++) s += h[i] * (i + 1); push(s); } } float->float pipeline Main { add F; }',
  'a ring with a mask': 'float->float filter F { float[16] r; int at; work pop 1 push 1 { r[at] = pop(); push(r[(at + 1) & 15] + 2 * r[(at + 7) & 15]); '
    + 'at = (at + 1) & 15; } } float->float pipeline Main { add F; }',
  'a ring of odd length': 'float->float filter F { float[7] r; int at; work pop 1 push 1 { float old = r[at]; float x = pop(); r[at] = pop1(x); '
    + 'push(old); at++; if (at == 7) at = 0; } float pop1(float x) { return (int) x; } } float->float pipeline Main { add F; }',
  'rings in two dimensions': one('int[3][4] r; int i; int j;', 'push(r[i][j]); r[i][j] = x; j++; if (j == 4) { j = 0; i = (i + 1) % 3; }'),
  'a ring longer than it is used': one('int[9] r = {1, 2, 3, 4, 5, 6, 7, 8, 9}; int i;', 'push(r[i] + r[8]); r[i] = x; i = (i + 1) % 5;'),
  'fields of structs': 'struct P { int a; float b; int c; } int->int filter F { P p; P q; work pop 1 push 2 { int x = pop(); p.a += x; p.b = x / 2.0; q = p; '
    + 'q.c = (q.c + 3) % 10; push(p.a + q.c); push(q.b > 2 ? 1 : 0); p.c++; } } int->int pipeline Main { add F; }',
  'a float computed from the last item': 'float->float filter F { float a; float b; work pop 1 push 1 { float x = pop(); push(b); b = a * 0.3 + x; a = x * 0.7; '
    + '} } float->float pipeline Main { add F; }',
  'a prework that sets fields': 'int->int filter F { int i; int s; int[3] h; prework pop 2 push 1 { i = 4; s = pop() * 5; h[1] = pop(); push(s); } '
    + 'work pop 1 push 1 { int x = pop(); s += x * i; push(s + h[0]); h[0] = h[1]; h[1] = h[2]; h[2] = x; i = (i + 1) % 6; } } int->int pipeline Main { add F; }',
  'windows before and behind': 'int->int filter A { work pop 1 push 1 peek 9 { push(peek(0) + peek(8)); pop(); } } '
    + 'int->int filter B { int s; int i; work pop 1 push 1 { int x = pop(); if (x == 3) s = i; s += x; i = (i + 1) % 9; push(s); } } '
    + 'int->int pipeline Main { add A; add B; add A; add B; add A; }',
  'branches': 'int->int filter A(int k) { int s; work pop 1 push 1 { s = s * k + pop(); push(s); } } int->int filter B { int i; '
    + 'work pop 2 push 2 peek 5 { push(peek(4) + i); push(peek(0)); i++; pop(); pop(); } } '
    + 'int->int splitjoin S { split roundrobin(1, 2, 3); add A(3); add B; add pipeline { add A(1); add B; add A(1); }; join roundrobin(1, 2, 3); } '
    + 'int->int pipeline Main { add S; add A(5); }',
  'several items a firing': ints('pop 3 push 2 { int a = pop(); int b = pop(); int c = pop(); s += a - b; if (c > 7) n = (n + 1) & 7; push(s * 8 + n); '
    + 'push(iter()); }', 'int s; int n;'),
  'a stage that looks up what another one finds': one('int[8] t = {7, 1, 5, 3, 2, 6, 4, 0}; int s; int u;', 's = (s + x) & 7; u += t[s] * x; push(u);'),
  'helpers that change fields': one('int[4] a; int n;', 'move(x); push(a[0] + n);').replace('int n;', 'int n; void move(int x) { for (int i = 0; i < 3; '
    + 'i++) a[i] = a[i + 1]; a[3] = x; n = (n + 5) % 13; }'),
};

const input = (count: number): Int32Array => Int32Array.from({ length: count }, (_, i) => (Math.imul(i + 17, 0x9e3779b1) >>> 24) % 11);

/** Numbers of which sums wrap; few of them where loops bring a sum into a range, because WebAssembly makes all turns. */
const extremes = (count: number, isRare: boolean): Int32Array => input(count).map((x, i) =>
  (isRare ? (i % 5000 === 77 ? (x - 5) * 2 ** 19 : x) : [2 ** 31 - 1, -(2 ** 31), -1, 2 ** 30, x, -x, x * 0x1357_9b][x % 7]!));

/** Programs that stay on the CPU, and why. */
const left: readonly (readonly [source: string, reason: RegExp])[] = [
  ['float->float filter Smooth { float y; int n; work pop 1 push 1 { y = 0.9 * y + pop(); n++; push(y + n); } } '
    + 'float->float pipeline Main { add Smooth; }', /Smooth \(line 1\) keeps 'y', which only a firing after the other can find/],
  [one('int s;', 's = s * s + x; push(s);'), /keeps 's'/],
  [one('int[8] t; int s;', 't[x & 7] += s; s = t[(s + x) & 7]; push(s);'), /keeps 's', 't'/],
  [one('int s;', 's += random(5); push(s + x);'), /draws random numbers(;|$)/],
  [one('', 'println(x); push(x);'), /prints$/],
  ['int->int filter A { work pop 2 push 2 { int x = pop(); push(x + pop()); push(x); } } int->int feedbackloop L { join roundrobin(1, 1); '
    + 'body A; loop Identity<int>; split roundrobin(1, 1); enqueue 1; } int->int pipeline Main { add L; }', /feedback loop/],
];

describe('programs with state on devices', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    let made: (CompiledGpu | undefined)[], wide: (CompiledGpu | undefined)[];
    const entries = Object.entries(found).map(([name, source]) => ({ name, graph: graphOf(source), options: small }));
    before(async () => {
      device = await opened();
      made = await compileTogether(device, entries);
      // So large that a block makes several rounds.
      wide = await compileTogether(device, entries.map(({ graph }) => ({ graph, options: { threads: 64, sharedBytes: 100_000 } })));
    });

    entries.forEach(({ name, graph }, i) => it(name, async () => {
      const compiled = made[i];
      assert.ok(compiled !== undefined, 'it is not for devices');
      const { program: { states } } = compiled;
      const from = firstState(compiled);
      for (const more of [1, states - 1, states, 3 * states + 1, 70 * states + 2]) {
        const length = inputItems(compiled, from + more);
        for (const rest of [0, 1]) await agrees(compiled, graph, input(length + rest));
      }
      await agrees(compiled, graph, extremes(inputItems(compiled, from + 20 * states + 1), found[name]!.includes('while')));
      const few = input(Math.min(inputItems(compiled, from + 5), 1500));
      assert.deepEqual([...(await compiled.run(few, {})).output], interpretSync(graph, { input: few }).output);
      await agrees(compiled, graph, input(0), {}, false);
      const large = required(wide[i]);
      await agrees(large, graph, input(inputItems(large, firstState(large) + 37 * large.program.states + 3)));
    }));
    after(() => {
      made[0]?.dispose();
      wide[0]?.dispose();
    });

    for (const [name, source] of Object.entries(faulty)) {
      it(`goes wrong as on the CPU: ${name}`, async () => {
        const graph = graphOf(source);
        const length = 30_000;
        let faults = 0;
        for (const at of [0, 1000, 20_011, length - 1]) {
          const given = Int32Array.from({ length }, (_, i) => (i < at ? i & 1 : i - at < 4 ? 4 + (i & 1) : -1));
          const errorOf = (how: object): Promise<Error | undefined> => run(graph, { input: given, ...how }).then(() => undefined, (error: unknown) => error as Error);
          const [expected, error] = [await errorOf({ backend: 'wasm' }), await errorOf({ device })];
          assert.equal(error?.message, expected?.message);
          assert.equal(error?.name, expected?.name);
          if (error !== undefined) ++faults;
        }
        assert.ok(faults >= 2, `${faults} faults`);
      });
    }

    it('a run that is stopped in the middle leaves nothing, and the next one is right', async () => {
      const graph = graphOf(found['windows before and behind']!);
      using program = await compileForDevice(graph, { device });
      const given = input(500_000);
      const held = await heldBy(device);
      for (const wait of [0, 5, 25]) {
        const stop = new AbortController();
        const running = program.run(given, { signal: stop.signal }).then(() => 'done', (error: unknown) => String(error));
        if (wait === 0) stop.abort(new Error('enough'));
        else setTimeout(() => { stop.abort(new Error('enough')); }, wait);
        // A fast device may be done by then.
        const outcome = await running;
        assert.ok(outcome === 'Error: enough' || (wait > 0 && outcome === 'done'), outcome);
        assert.equal(await settled(device, held), held);
      }
      assert.deepEqual((await program.run(given)).output, (await run(graph, { input: given, backend: 'wasm' })).output);
      assert.equal(await settled(device, held), held);
    });

    it('makes no turns to bring a sum into a range', () => {
      for (const name of ['a sum in a range around zero', 'a sum in a range, set back']) {
        const { source } = fusedProgram(graphOf(found[name]!));
        assert.doesNotMatch(source, /for \(;;\)|while \(/);
      }
    });

    it('counts beyond 2^32 firings', async () => {
      const graph = graphOf(one('int i; int j = 3;', 'push(x + i * 1000 + j); i = (i + 5) % 7; j += 3;'));
      const [compiled] = await compileTogether(device, [{ graph, options: small }]);
      const first = 2 ** 33 + 12_345, states = 100;
      using given = await device.array(new Int32Array(states));
      using output = await device.array(new Int32Array(states));
      using carry = await device.array(new Int32Array(1));
      using carried = await device.array(new Int32Array(1));
      await required(compiled).launch({ input: [given], output: [output], firstInput: 0, firstOutput: 0, states, state: { carry, carried, first } });
      const expected = Array.from({ length: states }, (_, k) =>
        (Number(BigInt(first + k) * 5n % 7n) * 1000 + Number(BigInt.asIntN(32, 3n + 3n * BigInt(first + k)))) | 0);
      assert.deepEqual([...await output.read()], expected);
      required(compiled).dispose();
    });

    it('leaves to the CPU what only firings in order can find, and says why', async () => {
      for (const [source, reason] of left) {
        const graph = graphOf(source);
        const given = input(200);
        const onDevice = await run(graph, { input: given, device });
        assert.match(required(onDevice.note), reason);
        assert.deepEqual(onDevice.output, (await run(graph, { input: given })).output);
        if (/prints/.test(reason.source)) {
          await assert.rejects(compileForDevice(graph, { device }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
          continue;
        }
        // What is compiled ahead, for data that may be on the device, runs in order there.
        using compiled = await compileForDevice(graph, { device });
        assert.equal(required(compiled.schedule).mode, 'swp');
        const { backend: by, output } = await compiled.run(given);
        assert.deepEqual([by, output], [backend, onDevice.output]);
      }
    });

    it('runs by the public functions, on arrays of the device, twice at once, and after a stop', async () => {
      const graph = graphOf(found['windows before and behind']!);
      const given = input(30_011);
      const expected = (await run(graph, { input: given, backend: 'wasm' })).output;
      const byName = await run(graph, { input: given, device });
      assert.deepEqual([byName.backend, byName.note, byName.output], [backend, undefined, expected]);
      using program = await compileForDevice(graph, { device });
      using resident = await device.array(given);
      const stop = new AbortController();
      const stopped = program.run(resident, { signal: stop.signal });
      stop.abort(new Error('enough'));
      await assert.rejects(stopped, /enough/);
      const runs = await Promise.all([program.run(resident), program.run(given), program.run(resident, { items: 20_000 }), program.run(given, { iterations: 12_345 })]);
      const [whole, host, part, some] = runs;
      assert.deepEqual([await whole.output.read(), whole.items], [expected, expected.length]);
      assert.deepEqual(host.output, expected);
      assert.deepEqual(await part.output.read(), (await run(graph, { input: given, backend: 'wasm', items: 20_000 })).output);
      assert.deepEqual(some.output, (await run(graph, { input: given, backend: 'wasm', iterations: 12_345 })).output);
      for (const { output } of [whole, part]) output.dispose();
    });
  }, { backends: deviceBackends, cases: Object.keys(found).length + Object.keys(faulty).length + 5 });
});
