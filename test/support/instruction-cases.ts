// A script that calls every operation of the CPU backend with types and options, for tests of whether two builds give the same bits.
import { preamble } from './child.ts';

/** Prints one line per case: its name and a digest of everything the call wrote. */
const cases = `
import { createHash } from 'node:crypto';
const device = await open({ threads: 2 });
const reals = { float32: Float32Array, float64: Float64Array, complex64: Float32Array, complex128: Float64Array };
let state = 12345;
const next = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 2 ** 31 - 1; };
const random = (type, count) => reals[type].from({ length: count * (type.startsWith('complex') ? 2 : 1) }, next);
const report = (name, ...arrays) => {
  const hash = createHash('sha1');
  for (const given of arrays) {
    const a = given.map((x) => (x === x ? x : NaN)); // processors differ in the bits of NaN
    hash.update(new Uint8Array(a.buffer, a.byteOffset, a.byteLength));
  }
  console.log(name + '\\t' + hash.digest('hex'));
};
const { n, batch, optionStep, rowsOf, points, measured: counts } = sizes;
const viewed = (data, adjacent = false, systems = batch) => ({ data, extents: [systems, n], strides: adjacent ? [1, batch] : [n, 1] });
const bandsOf = (type) => Object.fromEntries(['lower', 'diagonal', 'upper', 'rhs'].map((name) => [name, random(type, n * batch)]));
const algorithms = ['auto', 'cr-regpack', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'pivoting'];
for (const type of Object.keys(reals)) {
  const bands = bandsOf(type);
  const fields = (adjacent) => Object.fromEntries(Object.entries(bands).map(([name, data]) => [name, viewed(data, adjacent)]));
  const fresh = () => new reals[type](bands.rhs.length);
  for (const adjacent of [false, true]) {
    for (const algorithm of algorithms) {
      for (let option = 0; option < 8; option += optionStep) {
        const solution = fresh(), status = new Int32Array(batch), row = new Int32Array(batch);
        await device.run('tridiagonal.solve', { type, n, batch, ...fields(adjacent), solution: viewed(solution, adjacent), status, row,
          algorithm, periodic: (option & 1) !== 0, check: (option & 2) !== 0, refine: (option & 4) !== 0, tolerance: 1e-6 });
        report('solve ' + [type, adjacent ? 'adjacent' : 'contiguous', algorithm, option].join(' '), solution, status, row);
      }
    }
  }
  const together = fresh(), apart = fresh();
  await device.run('tridiagonal.solve', { type, n, batch, ...fields(false), solution: viewed(together), algorithm: 'thomas' });
  for (let s = 0; s < batch; s += 17) {
    const offset = s * n;
    const one = Object.fromEntries(Object.entries(bands).map(([name, data]) => [name, { ...viewed(data, false, 1), offset }]));
    await device.run('tridiagonal.solve', { type, n, batch: 1, ...one, solution: { ...viewed(apart, false, 1), offset }, algorithm: 'thomas' });
  }
  const parts = type.startsWith('complex') ? 2 : 1;
  const same = apart.every((value, i) => Math.floor(i / parts / n) % 17 !== 0 || Object.is(value, together[i]));
  console.log('one system at a time ' + type + '\\t' + (same ? 'same bits' : 'other bits'));
  for (const { rows, systems } of [{ rows: rowsOf[0], systems: 3 }, { rows: rowsOf[1], systems: 1 }]) {
    const band = () => { const data = random(type, rows * systems); return { data, extents: [systems, rows] }; };
    const solution = band();
    await device.run('tridiagonal.solve', { type, n: rows, batch: systems, lower: band(), diagonal: band(), upper: band(), rhs: band(), solution,
      algorithm: 'partition' });
    report('partition ' + type + ' ' + rows, solution.data);
  }
  const { rhs, ...matrix } = fields(false);
  for (const periodic of [false, true]) {
    for (const factorisation of ['regpack', 'pivoted', 'cholesky']) {
      const given = { type, n, batch, periodic, factorisation };
      const definite = { ...matrix, structure: 'positive-definite' };
      delete definite.upper;
      const factors = new Uint8Array(16 * 40 * n * batch), status = new Int32Array(batch), row = new Int32Array(batch), solution = fresh();
      await device.run('tridiagonal.factor', { ...given, ...(factorisation === 'cholesky' ? definite : matrix), factors, status, row });
      await device.run('tridiagonal.solve_factored', { ...given, factors, rhs, solution: viewed(solution), status: status.slice() });
      report(['factor', type, factorisation, periodic].join(' '), solution, status, row);
    }
    const y = fresh();
    await device.run('tridiagonal.multiply', { type, n, batch, ...matrix, periodic, x: rhs, y: viewed(y), alpha: 0.75, beta: 0 });
    report('multiply ' + type + ' ' + periodic, y);
  }
}
for (const type of ['float32', 'float64']) {
  for (const equation of ['heat', 'kuramoto-sivashinsky', 'euler']) {
    for (const limiter of equation === 'euler' ? ['minmod', 'van-leer', 'mc', 'paper'] : ['minmod']) {
      for (const variant of ['cpu-classic', 'cpu-tiled']) {
        const euler = equation === 'euler', ks = equation === 'kuramoto-sivashinsky';
        const from = random(type, points * (euler ? 3 : 1)), to = from.slice();
        if (euler) for (let i = 0; i < from.length; i += 1) from[i] = i < points ? 1 + from[i] / 5 : i < 2 * points ? from[i] / 5 : 2.5 + from[i] / 3;
        const array = (data) => ({ data });
        await device.run('swept.advance', { type, equation, variant, n: points, batch: 1, steps: 40, left: 'periodic', right: 'periodic',
          dx: ks ? 0.5 : 1, dt: ks ? 0.004 : euler ? 0.05 : 0.23, limiter, state: array(from), next: array(to) });
        report(['advance', type, equation, limiter, variant].join(' '), to);
      }
    }
  }
  for (const points of counts) {
    const measured = await device.run('swept.measure', { type, n: points, rows: 2,
      state: { data: random(type, 2 * points) } });
    const figures = [...measured.report.rows].flatMap((row) => Object.values(row));
    if (figures.length !== 12) throw new Error('not six figures of two rows');
    report('measure ' + type + ' ' + points, Float64Array.from(figures));
  }
}
await device.close();
`;

const whole = { n: 91, batch: 205, optionStep: 1, rowsOf: [5000, 70001], points: 1237, measured: [1, 9, 255, 300, 8191, 20000] };
const small = { n: 37, batch: 19, optionStep: 7, rowsOf: [700, 4001], points: 237, measured: [1, 9, 255, 1191] };

/** The script. `emulated`: a part of the cases, in sizes for emulated processors. */
export const instructionCases = (emulated = false): string => `${preamble()}\nconst sizes = ${JSON.stringify(emulated ? small : whole)};\n${cases}`;
