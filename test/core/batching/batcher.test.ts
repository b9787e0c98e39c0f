// device.batcher: results equal to the bit to those of single calls, whatever else shares their launch; errors, signals, deadlines,
// priorities and limits per call.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import {
  kernel, openDevice, scan, tridiagonal, type BatchTrace, type Device, type QueueTrace,
} from '../../../lib/index.ts';
import { eachBackend } from '../../support/backends.ts';

type Solve = tridiagonal.SolveOptions<Float64Array>;

let seed = 1;
/** Numbers in [low, high). */
function numbers(length: number, low = -1, high = 1): Float64Array {
  return Float64Array.from({ length }, () => {
    seed = (seed * 48271) % 2147483647;
    return low + (high - low) * (seed / 2147483647);
  });
}

const system = (n: number, batch = 1, sides = 1): Solve => ({
  lower: numbers(n * batch), diagonal: numbers(n * batch, 3, 5), upper: numbers(n * batch), rhs: numbers(n * batch * sides), n, batch, rhsCount: sides,
});

const plain = ({ solution, status, backwardError, row }: tridiagonal.SolveResult<Float64Array>): unknown => ({
  solution, words: status.words, rows: [...row], counts: status.counts(), rhsCount: status.rhsCount, backwardError,
});

/** Solves every problem with the batcher at once, and one by one; the results must be the same. */
async function agree(device: Device, problems: readonly Solve[], name: string): Promise<void> {
  await using batcher = device.batcher({ maxBatch: 7 });
  const solve = batcher.wrap(tridiagonal.solve);
  const given = problems.map((problem) => structuredClone(problem));
  const calls = given.map((problem) => solve(problem));
  for (const { rhs, diagonal } of given) for (const array of [rhs, diagonal]) if (ArrayBuffer.isView(array)) array.fill(9); // copied at the call
  const found = await Promise.all(calls);
  for (const [index, problem] of problems.entries()) {
    const single = await tridiagonal.solve({ ...problem, device });
    deepStrictEqual(plain(found[index]!), plain(single), `${name}, call ${index}`);
    const { deviceSeconds: _, threads: _threads, launches: _launches, ...info } = found[index]!.info;
    const { deviceSeconds: __, threads: __threads, launches: __launches, ...own } = single.info;
    deepStrictEqual(info, own, name);
  }
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

eachBackend((backend, open) => {
  describe('batcher', function () {
    this.timeout(120_000);
    const sizes = backend === 'cpu' ? [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 64, 100, 255, 256, 257, 511, 513, 1000, 2100]
      : [1, 2, 5, 8, 9, 33, 64, 100, 257, 513];

    it('solves systems of every size as single calls do, to the bit', async () => {
      const device = await open();
      for (const n of sizes) await agree(device, many(9, () => system(n)), `n ${n}`);
    });

    it('does so where the policy of a GPU would choose another method for the batch', async () => {
      const device = await open();
      await using batcher = device.batcher({ maxBatch: 100 });
      const solve = batcher.wrap(tridiagonal.solve);
      const problems = many(101, () => system(512));
      const found = await Promise.all(problems.map((problem) => solve(problem)));
      for (const index of [0, 1, 50, 99, 100]) {
        deepStrictEqual(plain(found[index]!), plain(await tridiagonal.solve({ ...problems[index]!, device })), `call ${index}`);
      }
    });

    it('does so with every option', async () => {
      const device = await open();
      const cases: readonly (readonly [string, (n: number) => Partial<Solve>])[] = [
        ['constants', () => ({ lower: -1, upper: -1 })], ['check', () => ({ check: true })], ['stable', () => ({ stable: true })],
        ['refine', () => ({ refine: true })], ['periodic', () => ({ periodic: true })], ['transpose', () => ({ transpose: 'transpose' })],
        ['zero pivots', (n) => ({ diagonal: new Float64Array(n), lower: 0 })],
        ['positive definite', () => ({ structure: 'positive-definite', upper: undefined as never })],
        ['a zero pivot, checked', (n) => ({ diagonal: Float64Array.from({ length: n }, (_, i) => i % 2), check: true })],
        ['infinity', (n) => ({ rhs: new Float64Array(n).fill(Infinity), check: true })],
        ['pcr', () => ({ algorithm: 'pcr' })],
      ];
      for (const [name, options] of cases) {
        for (const n of [1, 3, 40]) {
          const alike = many(5, () => ({ ...system(n), ...options(n) }));
          if (alike[0]!.upper === undefined) for (const each of alike) delete (each as { upper?: unknown }).upper;
          await agree(device, name.includes('pivot') ? [...alike, ...many(3, () => ({ ...system(n), ...(alike[0]!.check === true ? { check: true } : {}) }))] : alike,
            `${name}, n ${n}`);
        }
      }
    });

    it('does so for batches, several sides, single precision, complex numbers and mixtures of all', async () => {
      const device = await open();
      const shared = (): Solve => ({ ...system(12, 3), lower: numbers(12), diagonal: 4 });
      const complex = (): Solve => ({ ...system(12), lower: numbers(24), diagonal: numbers(24, 3, 5), upper: { re: 1, im: 2 } as never, rhs: numbers(24), complex: true });
      const single = (): Solve => Object.fromEntries(Object.entries(system(20)).map(([name, value]) =>
        [name, ArrayBuffer.isView(value) ? Float32Array.from(value as Float64Array) : value])) as never;
      const ragged = (): Solve => ({ lower: numbers(9), diagonal: numbers(9, 3, 5), upper: numbers(9), rhs: numbers(9), offsets: [0, 4, 9] });
      const makers = [() => system(10, 4), () => system(10, 2, 3), shared, complex, single, ragged, () => system(6)];
      await agree(device, many(35, (index) => makers[index % makers.length]!()), 'mixture');
    });

    it('multiplies, scans, and solves with plans as single calls do', async () => {
      const device = await open();
      await using batcher = device.batcher();
      const multiply = batcher.wrap(tridiagonal.multiply), prefix = batcher.wrap(scan);
      const products = many(5, () => { const { rhs: x, ...matrix } = system(9, 2); return { ...matrix, x, y: numbers(18), alpha: 2, beta: -1 }; });
      const expected = await Promise.all(products.map((each) => tridiagonal.multiply({ ...structuredClone(each), device })));
      const results = await Promise.all(products.map((each) => multiply(each)));
      results.forEach(({ y, info }, index) => {
        strictEqual(y, products[index]!.y);
        deepStrictEqual([y, info.batch], [expected[index]!.y, 2]);
      });
      const rows = many(6, () => numbers(30)), flags = () => Uint8Array.from({ length: 30 }, (_, i) => Number(i % 4 === 0));
      for (const options of [{}, { batch: 3, operator: 'max' as const }, { flags: flags(), exclusive: true }]) {
        const scanned = await Promise.all(rows.map((values) => prefix(values, options)));
        for (const [index, values] of rows.entries()) deepStrictEqual(scanned[index]!.result, (await scan(values, { ...options, device })).result);
      }
      for (const factorisation of ['regpack', 'pivoted', 'none'] as const) {
        for (const batch of [1, 3]) {
          const { lower, diagonal, upper } = system(11, batch);
          await using plan = await tridiagonal.plan({ lower, diagonal, upper, n: 11, batch, factorisation, device, check: batch === 3 });
          const solve = batcher.wrap(plan);
          const sides = many(6, () => numbers(11 * batch));
          sides[2]![12 % (11 * batch)] = NaN;
          const solved = await Promise.all(sides.map((rhs) => solve({ rhs })));
          for (const [index, rhs] of sides.entries()) {
            const one = await plan.solve({ rhs });
            deepStrictEqual([solved[index]!.solution, solved[index]!.status.words, solved[index]!.status.rows, solved[index]!.backwardError],
              [one.solution, one.status.words, one.status.rows, one.backwardError], `${factorisation} ${batch} ${index}`);
          }
        }
      }
    });

    it('maps and interpolates as single calls do', async () => {
      const device = await open();
      await using batcher = device.batcher();
      const map = batcher.wrap(kernel.map as (...args: unknown[]) => Promise<unknown>), spline = batcher.wrap(tridiagonal.cubicSpline);
      const launches: BatchTrace[] = [];
      const note = (message: unknown): void => { launches.push(message as BatchTrace); };
      const both = (x: number, y: number, a: number): number[] => [a * x + Math.sin(y), y];
      for (const n of [1, 2, 9, 33]) {
        const pairs = many(5, (i) => [numbers(n), i === 3 ? new Float32Array(n).fill(0.1) : numbers(n), i === 4 ? -0 : 0]);
        subscribe('tracing:warploom:batch:start', note);
        const calls = pairs.map((pair) => map(both, pair));
        const expected = await Promise.all(pairs.map((pair) => kernel.map(both, pair as [Float64Array, Float64Array, number], { device })));
        for (const [array] of pairs) (array as Float64Array).fill(7); // copied at the call
        deepStrictEqual(await Promise.all(calls), expected);
        unsubscribe('tracing:warploom:batch:start', note);
      }
      ok(launches.some(({ calls, operation }) => calls === 3 && operation === 'kernel.map'));
      await rejects(map('(x) => y', [numbers(3)]), { code: 'ERR_WARPLOOM_INVALID_PROGRAM' });
      await rejects(map('(x, y) => x', [numbers(3), numbers(4)]), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
      const x = Float64Array.of(0, 1, 2.5, 4);
      const series = many(6, (i) => ({ x: i === 5 ? x.map((at) => at + 1) : x, y: numbers(8) }));
      series[2]!.y[3] = NaN;
      for (const boundary of ['natural', 'clamped', 'periodic'] as const) {
        if (boundary === 'periodic') for (const { y } of series) { y[3] = y[0]!; y[7] = y[4]!; }
        const found = await Promise.allSettled(series.map((each) => spline(each.x, each.y, { boundary })));
        for (const [index, each] of series.entries()) {
          const [one] = await Promise.allSettled([tridiagonal.cubicSpline(each.x, each.y, { boundary, device })]);
          if (one!.status === 'fulfilled') deepStrictEqual((found[index] as PromiseFulfilledResult<unknown>).value, one!.value);
          else strictEqual((found[index] as PromiseRejectedResult).reason.message, one!.reason.message);
        }
      }
    });
  });
}, { cases: 5 });

describe('batcher: queue', function () {
  this.timeout(60_000);
  let device: Device;
  before(async () => { device = await openDevice({ backend: 'cpu', threads: 1 }); });
  after(() => device.close());

  it('refuses what it cannot batch, invalid options and invalid calls, naming them', async () => {
    await using batcher = device.batcher();
    throws(() => batcher.wrap(openDevice as never), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'target',
      message: /kernel\.map, scan, tridiagonal\.cubicSpline, tridiagonal\.multiply/ });
    throws(() => device.batcher({ maxBatch: 0 }), { argument: 'maxBatch' });
    throws(() => batcher.wrap(scan, { priority: NaN }), { argument: 'priority' });
    await rejects(batcher.wrap(tridiagonal.solve)({ ...system(4), rhs: numbers(3) }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'rhs' });
    await rejects(batcher.run(3 as never), { argument: 'work' });
  });

  it('fails only calls that fail on their own', async () => {
    await using batcher = device.batcher();
    const solve = batcher.wrap(tridiagonal.solve);
    const out = numbers(4);
    const good = [solve(system(4)), solve(system(4))];
    const bad = solve({ ...system(4), out });
    structuredClone(out, { transfer: [out.buffer as ArrayBuffer] });
    await rejects(bad);
    deepStrictEqual((await Promise.all(good)).map(({ status }) => status.allOk), [true, true]);
    const [one, nan] = await Promise.all([solve(system(4)), solve({ ...system(4), rhs: Float64Array.of(1, NaN, 1, 1) })]);
    deepStrictEqual([one.status.allOk, nan.status.at(0).state], [true, 'non-finite']);
  });

  it('bounds the queue by calls and by bytes', async () => {
    await using batcher = device.batcher({ queueLimit: 3, queueBytes: 1000 });
    const solve = batcher.wrap(tridiagonal.solve);
    const calls = many(4, () => solve(system(2)));
    await rejects(calls[3]!, { code: 'ERR_WARPLOOM_QUEUE_FULL', message: /3 calls wait/ });
    await Promise.all(calls.slice(0, 3));
    const large = [solve(system(100)), solve(system(100))]; // the first one may exceed the limit
    await rejects(large[1]!, { code: 'ERR_WARPLOOM_QUEUE_FULL', requestedBytes: 3200, queuedBytes: 3200, limitBytes: 1000 });
    strictEqual((await large[0]!).status.allOk, true);
  });

  it('aborts one call of a batch, misses a deadline, and leaves the others alone', async () => {
    await using batcher = device.batcher({ maxDelay: 100_000, maxBatch: 4 });
    const solve = batcher.wrap(tridiagonal.solve), hasty = batcher.wrap(tridiagonal.solve, { deadline: 1 });
    const abort = new AbortController();
    const first = solve(system(3)), aborted = solve({ ...system(3), signal: abort.signal }), late = hasty(system(3));
    abort.abort(new Error('changed my mind'));
    await rejects(aborted, { message: 'changed my mind' });
    await rejects(late, { code: 'ERR_WARPLOOM_DEADLINE' });
    await rejects(solve({ ...system(3), signal: AbortSignal.abort(new Error('before')) }), { message: 'before' });
    strictEqual(batcher.load.waiting, 1);
    const rest = many(3, () => solve(system(3))); // fills the batch
    for (const { status } of await Promise.all([first, ...rest])) ok(status.allOk);
    deepStrictEqual(batcher.load, { waiting: 0, waitingBytes: 0, running: 0 });
  });

  it('starts calls of higher priority first, and closes when all have ended', async () => {
    const batcher = device.batcher();
    const order: string[] = [];
    const note = (name: string) => async (): Promise<void> => { order.push(name); };
    const calls = [batcher.run(note('low'), { priority: -1 }), batcher.run(note('a')), batcher.run(note('b')), batcher.run(note('high'), { priority: 2 })];
    const closed = batcher.close();
    await rejects(batcher.run(note('never')), { code: 'ERR_WARPLOOM_DISPOSED' });
    await closed;
    deepStrictEqual(order, ['high', 'a', 'b', 'low']);
    await Promise.all(calls);
    strictEqual(batcher.closed, true);
  });

  it('publishes its queue and its launches', async () => {
    await using batcher = device.batcher();
    const queued: QueueTrace[] = [], launches: BatchTrace[] = [];
    const note = (message: unknown): void => void queued.push(message as QueueTrace);
    const ends = { asyncEnd: (message: BatchTrace) => void launches.push(message) } as never;
    subscribe('warploom:queue', note);
    tracingChannel('warploom:batch').subscribe(ends);
    const solve = batcher.wrap(tridiagonal.solve);
    await Promise.all(many(3, () => solve(system(5, 2))));
    unsubscribe('warploom:queue', note);
    tracingChannel('warploom:batch').unsubscribe(ends);
    deepStrictEqual(queued.map(({ event, queueLength, queueBytes }) => [event, queueLength, queueBytes]), [
      ['queued', 1, 320], ['queued', 2, 640], ['queued', 3, 960], ['started', 0, 640], ['started', 0, 320], ['started', 0, 0],
    ]);
    const { waitSeconds, seconds, result: _, ...launch } = launches[0]! as BatchTrace & { result: unknown };
    deepStrictEqual(launch, { operation: 'tridiagonal.solve', backend: 'cpu', device: device.name, calls: 3, items: 6, bytes: 960, queueLength: 0 });
    ok(waitSeconds >= 0 && seconds! >= 0);
  });

  it('joins no more than 4 MiB, and runs large calls alone', async () => {
    await using batcher = device.batcher();
    const sizes: number[] = [];
    const ends = { asyncEnd: ({ calls }: BatchTrace) => void sizes.push(calls) } as never;
    tracingChannel('warploom:batch').subscribe(ends);
    const sum = batcher.wrap(scan);
    const [small, large] = [new Float64Array(32_000).fill(1), new Float64Array(32_768).fill(1)]; // 17 of them are more than 4 MiB
    const results = await Promise.all([...many(17, () => sum(small)), sum(large), sum(large)]);
    await batcher.close(); // after the last message
    tracingChannel('warploom:batch').unsubscribe(ends);
    deepStrictEqual(sizes, [16, 1, 1, 1]);
    for (const { result } of results) strictEqual(result.at(-1), result.length);
  });
});
