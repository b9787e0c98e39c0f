// A small program per feature of the language, against plain TypeScript.
import assert from 'node:assert/strict';
import { decodeFile, interpretSync } from '../../../lib/stream/interpret/index.ts';
import { assertClose, program, randoms, run, signal } from './support.ts';

const f = Math.fround;
const int = { kind: 'scalar', name: 'int' } as const;
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const groups = (items: readonly number[], size: number): number[][] =>
  Array.from({ length: Math.floor(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
const feature = (name: string) => program(`features/${name}`);
const outputOf = (name: string, input: readonly number[]): readonly number[] => run(feature(name), input).output;
const samples = randoms(240).map((x) => (x % 201) - 100);

describe('feature programs on integers', () => {
  it('feedback loops: Fibonacci numbers', () => {
    const numbers = [0, 1];
    while (numbers.length < 40) numbers.push(numbers.at(-1)! + numbers.at(-2)!);
    assert.deepEqual(interpretSync(feature('feedback-loop'), { items: 38 }).output, numbers.slice(2));
  });

  it('prework: the first firing differs', () => {
    assert.deepEqual(outputOf('prework', samples), samples.map((x, i) => x - (samples[i - 1] ?? 0)));
  });

  it('peeking: medians', () => {
    const medians = samples.slice(4).map((_, i) => samples.slice(i, i + 5).sort((a, b) => a - b)[2]);
    assert.deepEqual(outputOf('peeking', samples), medians);
  });

  it("bits: Hamming's code corrects one error per word", () => {
    const data = randoms(4 * 64).map((x) => x & 1);
    assert.deepEqual(outputOf('bits', data), data);
  });

  it('helper functions: fractions in lowest terms', () => {
    const divisor = (a: number, b: number): number => (b === 0 ? Math.abs(a) : divisor(b, a % b));
    const expected = groups(samples, 2).flatMap(([a, b]) => {
      if (b === 0) return [0, 0];
      const d = divisor(a!, b!) * Math.sign(b!);
      return [a! / d, b! / d].map((x) => x + 0);
    });
    assert.deepEqual(outputOf('helper-functions', samples), expected);
  });

  it('dynamic rates: run lengths, without zeros', () => {
    const lengths = samples.map((x, i) => (i % 2 === 0 ? Math.abs(x) % 7 : x % 3));
    const expected = groups(lengths, 2).flatMap(([count, value]) => new Array<number>(value === 0 ? 0 : count!).fill(value!));
    assert.deepEqual(outputOf('dynamic-rates', lengths), expected);
  });

  it('recursion: the Walsh-Hadamard transform', () => {
    const sign = (i: number): number => (i === 0 ? 1 : (i & 1 ? -1 : 1) * sign(i >> 1));
    const expected = groups(samples, 16).flatMap((x) => range(16).map((k) => x.reduce((total, each, i) => total + sign(i & k) * each, 0)));
    assert.deepEqual(outputOf('recursion', samples), expected);
  });

  it('print: prime numbers', () => {
    const primes = range(90).filter((n) => n > 1 && range(n).every((d) => d < 2 || n % d !== 0)).slice(0, 15);
    const { printed } = interpretSync(feature('print'), { items: 15 });
    assert.deepEqual(printed.trimEnd().split('\n').slice(0, 15), primes.map((n) => `prime ${n}`));
  });

  it('weights: void ends and unequal shares', () => {
    const expected = groups(samples, 3).flatMap(([a, b], i) => [a, 2 * i, 2 * i + 1, b === 0 ? 0 : -b!]);
    assert.deepEqual(outputOf('weights', samples), expected);
  });

  it('arrays: eighth powers of matrices', () => {
    type Matrix = readonly (readonly number[])[];
    const product = (a: Matrix, b: Matrix): number[][] => a.map((row) => [0, 1].map((j) => (Math.imul(row[0]!, b[0]![j]!) + Math.imul(row[1]!, b[1]![j]!)) | 0));
    const expected = groups(samples, 4).flatMap((x) => {
      const m = [x.slice(0, 2), x.slice(2)];
      return range(7).reduce((power) => product(power, m), m).flat();
    });
    assert.deepEqual(outputOf('arrays', samples), expected);
  });

  it('files: the input again and again, hashed', () => {
    const words = Int32Array.from(randoms(20), (x, i) => Math.imul(x, 0x10001 * (i + 1)));
    const files = { 'numbers.bin': new Uint8Array(words.buffer) };
    const found = interpretSync(feature('files'), { files, items: 50 }).files['hashes.bin']!;
    const expected = range(50).map((i) => {
      let x = words[i % 20]!;
      x ^= x << 13;
      x ^= (x >> 17) & 0x7fff;
      x ^= x << 5;
      return Math.imul(x, 0x9e3779b1);
    });
    assert.deepEqual([...decodeFile(found, int, 'hashes.bin')], expected);
  });
});

describe('feature programs on floats', () => {
  it('structs: projectiles', () => {
    const speeds = signal(40).map((x) => f(10 * x));
    const expected = groups(speeds, 2).flatMap(([u, v]) => {
      let p = { x: 0, y: 0, v: v!, age: 0 };
      for (let i = 0; i < 20; ++i) {
        const q = { x: p.x + u! / 8, y: p.y + p.v / 8, v: p.v - 9.81 / 8, age: p.age + 1 };
        if (q.y >= 0) p = q;
      }
      return [p.x, p.y, p.age];
    });
    assertClose(outputOf('structs', speeds), expected);
  });

  it('complex numbers: mixing down', () => {
    const x = signal(80);
    const expected = groups(x, 2).flatMap(([a, b], i) => {
      const [re, im] = [[a!, b!], [b!, -a!], [-a!, -b!], [-b!, a!]][i % 4]!;
      return [Math.hypot(re!, im!), Math.atan2(im!, re!)];
    });
    assertClose(outputOf('complex-numbers', x), expected);
  });

  it('static sections: a table of sines', () => {
    const sine = (phase: number): number => Math.sin((2 * Math.PI * (phase % 256)) / 256);
    assertClose(interpretSync(feature('static-section'), { items: 600 }).output, range(600).map((n) => (sine(n) + sine(3 * n) + sine(7 * n)) / 3));
  });

  it("anonymous streams: a polynomial by Horner's rule", () => {
    const x = signal(50);
    assertClose(outputOf('anonymous-streams', x), x.map((t) => 1 - 0.5 * t + 0.25 * t * t + 2 * t ** 3));
  });

  it('iter: a chirp without state', () => {
    const graph = feature('iter');
    assertClose(interpretSync(graph, { items: 60 }).output, range(60).map((n) => Math.sin(f(f(0.001) * n * n))));
    assert.ok(graph.nodes.every((node) => node.kind !== 'filter' || !node.code.stateful));
  });
});

describe('messaging', () => {
  it('a limiter: the gain changes for the very item that is too loud', () => {
    const graph = feature('messaging');
    assert.deepEqual(graph.portals.map(({ receivers }) => receivers.map((id) => graph.nodes[id]!.name)), [['Amplifier']]);
    const x = signal(50).map((each) => f(5 * each));
    assert.deepEqual(run(graph, x).output, x.map((each) => f(each * (Math.abs(each) > 2 ? f(2 / Math.abs(each)) : 1))));
  });
});

describe('state and feedback', () => {
  it('IIR: the difference equation of a biquad, and its gain at 100 Hz, 1 kHz and 8 kHz', () => {
    const k = Math.tan((Math.PI * 1000) / 48000);
    const norm = 1 / (1 + Math.SQRT2 * k + k * k);
    const [a1, a2] = [2 * (k * k - 1) * norm, (1 - Math.SQRT2 * k + k * k) * norm];
    const x = signal(400);
    const y: number[] = [];
    for (const [n, each] of x.entries()) {
      y.push(k * k * norm * (each + 2 * (x[n - 1] ?? 0) + (x[n - 2] ?? 0)) - a1 * (y[n - 1] ?? 0) - a2 * (y[n - 2] ?? 0));
    }
    assertClose(run(program('iir'), x).output, y);
    for (const frequency of [100, 1000, 8000]) {
      const tone = range(4800).map((n) => f(Math.sin((2 * Math.PI * frequency * n) / 48000)));
      const steady = run(program('iir'), tone).output.slice(2400);
      const gain = Math.sqrt((2 * steady.reduce((total, each) => total + each * each, 0)) / steady.length);
      const analogue = Math.tan((Math.PI * frequency) / 48000) / k;
      assert.ok(Math.abs(gain - 1 / Math.sqrt(1 + analogue ** 4)) < 1e-4, `gain ${gain} at ${frequency} Hz`);
    }
  });

  it('echo: repeats weaker and duller', () => {
    const x = signal(8000);
    const y: number[] = [];
    for (const [n, each] of x.entries()) y.push(each + 0.3 * ((y[n - 2400] ?? 0) + (y[n - 2401] ?? 0)));
    assertClose(run(program('echo'), x).output, y);
    const impulse = run(program('echo'), [1, ...new Array<number>(7300).fill(0)]).output;
    for (const [n, expected] of [[0, 1], [2400, 0.3], [2401, 0.3], [4800, 0.09], [4801, 0.18], [4802, 0.09], [7200, 0.027], [7203, 0.027]] as const) {
      assert.ok(Math.abs(impulse[n]! - expected) < 1e-6, `${impulse[n]} at ${n}`);
    }
    assert.equal(impulse.filter((each) => each !== 0).length, 1 + 2 + 3 + 4);
  });
});
