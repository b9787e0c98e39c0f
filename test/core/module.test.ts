// Modules: device code compiled at run time, its arguments, its launches and their order.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { openDevice, type Device, type DeviceArray, type DeviceModule, type KernelArgument } from '../../lib/core/index.ts';
import { eachBackend, hasBackend, skipCases } from '../support/backends.ts';
import { affine, canCompile, hasHostCompiler, hungry, moduleText, ownCache } from '../support/modules.ts';

const everything = {
  parameters: 'double* out; int a; int64_t b; float c; double d; int e; const float* in; const int64_t* words;',
  body: `if (i == 0) {
      p.out[0] = p.a; p.out[1] = double(p.b); p.out[2] = p.c; p.out[3] = p.d; p.out[4] = p.e;
      p.out[5] = p.in[2]; p.out[6] = double(p.words[1]); p.out[7] = double(block.count()); p.out[8] = block.threads();
    }`,
};
/** Items of a block from last to first, by way of shared memory. */
const reversed = {
  parameters: 'int* data;',
  body: `int* const items = block.shared<int>();
    items[block.thread()] = p.data[i];
    block.sync();
    p.data[i] = items[block.threads() - 1 - block.thread()];`,
};
/** Each block adds what all blocks wrote before they met. */
const together = {
  parameters: 'int* parts; int* sums; unsigned int* counter;',
  body: `if (block.thread() == 0) p.parts[block.index()] = int(block.index()) + 1;
    block.sync_grid(p.counter);
    int sum = 0;
    for (int j = 0; j < block.count(); ++j) sum += p.parts[j];
    if (block.thread() == 0) p.sums[block.index()] = sum;`,
};
const nothing = { parameters: '', body: '(void)i; (void)p;', threads: 64 };
const source = moduleText({ everything, affine, reversed, together, nothing });
const names = ['everything', 'affine', 'reversed', 'together', 'nothing'];

describe('modules', function () {
  this.timeout(120_000);
  const cache = ownCache();

  eachBackend((backend, opened) => {
    let device: Device;
    let module: DeviceModule;
    before(async function () {
      if (!await canCompile(backend, 13)) this.skip();
      device = await opened();
      module = await device.module({ source, kernels: names, cacheFolder: cache.folder() });
    });
    after(() => { module?.dispose(); });

    const small = { blocks: 1, threads: 32 };
    const scale = (data: KernelArgument, factor: number, term: number, n: number): readonly KernelArgument[] =>
      [data, { f32: factor }, { f32: term }, { i64: n }];
    const floats = (n: number): Promise<DeviceArray> => device.array(Float32Array.from({ length: n }, (_, i) => i));

    it('describe their kernels', () => {
      deepStrictEqual([...module.kernels.keys()], names);
      const kernel = module.kernels.get('affine')!;
      deepStrictEqual([kernel.name, kernel.maxThreads, kernel.parameterBytes, kernel.sharedBytes, kernel.localBytes], ['affine', 256, 24, 0, 0]);
      strictEqual(module.kernels.get('everything')!.parameterBytes, 64);
      strictEqual(module.kernels.get('nothing')!.maxThreads, 64);
      ok(backend === 'simt' ? kernel.registers === 0 : kernel.registers > 3 && kernel.registers < 64, `${kernel.registers} registers`);
    });

    it('tell how many blocks are resident', () => {
      const { residentBlocks } = module.kernels.get('affine')!;
      if (backend === 'simt') deepStrictEqual([residentBlocks(32), residentBlocks(256, 1000)], [2, 2]);
      else ok(residentBlocks(256) >= 4 && residentBlocks(256, 100_000) <= 2 && residentBlocks(32) >= residentBlocks(256));
      deepStrictEqual([residentBlocks(288), residentBlocks(32, 2 ** 30)], [0, 0]);
      throws(() => residentBlocks(-1), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'threads' });
      throws(() => residentBlocks(32, 0.5), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'sharedBytes' });
    });

    it('keep to a limit of registers, with equal results', async () => {
      const text = moduleText({ hungry, affine });
      const kernels = ['hungry', 'affine'];
      using plain = await device.module({ source: text, kernels, cacheFolder: cache.folder() });
      using narrow = await device.module({ source: text, kernels, maxRegisters: 40, cacheFolder: cache.folder() });
      const [wide, limited] = [plain, narrow].map((each) => each.kernels.get('hungry')!);
      deepStrictEqual([wide!.maxThreads, limited!.maxThreads, narrow.kernels.get('affine')!.maxThreads], [96, 96, 256]);
      if (backend === 'cuda') {
        ok(wide!.registers > 100 && limited!.registers <= 40, `${wide!.registers} and ${limited!.registers} registers`);
        ok(wide!.localBytes === 0 && limited!.localBytes > 0, `${wide!.localBytes} and ${limited!.localBytes} bytes`);
        ok(limited!.residentBlocks(96) > wide!.residentBlocks(96));
      }
      using from = await device.array(Float32Array.from({ length: 64 * 96 }, (_, i) => Math.sin(i)));
      const results: unknown[] = [];
      for (const each of [plain, narrow]) {
        using to = await device.array('float32', 64 * 96);
        await each.launch('hungry', { blocks: 1, threads: 96, arguments: [to, from] });
        results.push(await to.read());
        await rejects(each.launch('hungry', { blocks: 1, threads: 128, arguments: [to, from] }), { argument: 'threads' });
      }
      deepStrictEqual(results[1], results[0]);
    });

    it('get arguments of every kind, laid out as C does', async () => {
      using out = await device.array('float64', 9);
      using values = await device.array(Float32Array.of(1, 2, 0.1));
      using words = await device.array(BigInt64Array.of(5n, -6n));
      const { deviceSeconds } = await module.launch('everything', { blocks: 3, threads: 64, arguments: [
        out, { i32: -7 }, { i64: 2n ** 40n + 1n }, { f32: 0.1 }, { f64: 0.1 }, { i32: 2 ** 31 - 1 }, values, words] });
      ok(deviceSeconds > 0 && deviceSeconds < 10);
      const rounded = Math.fround(0.1);
      deepStrictEqual(await out.read(), Float64Array.of(-7, 2 ** 40 + 1, rounded, 0.1, 2 ** 31 - 1, rounded, -6, 3, 64));
      await module.launch('everything', { ...small, arguments: [
        out, { i32: -(2 ** 31) }, { i64: -(2 ** 53 - 1) }, { f32: NaN }, { f64: -Infinity }, { i32: 0 }, values, words] });
      deepStrictEqual((await out.read()).slice(0, 5), Float64Array.of(-(2 ** 31), -(2 ** 53 - 1), NaN, -Infinity, 0));
    });

    it('run in the order of the calls, with other calls between them', async () => {
      const n = 1000;
      using data = await floats(n);
      using copy = await device.array('float32', n);
      const shape = { blocks: 8, threads: 128 };
      const calls: Promise<unknown>[] = [];
      for (let k = 0; k < 50; ++k) calls.push(module.launch('affine', { ...shape, arguments: scale(data, k % 2 === 0 ? 2 : 0.5, 1, n) }));
      calls.push(copy.copyFrom(data));
      const list = Array.from({ length: 30 }, () => ({ kernel: 'affine', ...shape, arguments: scale(data, 1, -1, n) }));
      calls.push(module.launchAll(list, { times: 10 }));
      calls.push(data.write(Float32Array.of(-1), 3));
      calls.push(module.launch('affine', { ...shape, arguments: scale(data, 3, 0, n) }));
      await Promise.all(calls);
      const expected = Float32Array.from({ length: n }, (_, i) => i);
      for (let k = 0; k < 50; ++k) for (let i = 0; i < n; ++i) expected[i] = expected[i]! * (k % 2 === 0 ? 2 : 0.5) + 1;
      deepStrictEqual(await copy.read(), expected);
      for (let k = 0; k < 300; ++k) for (let i = 0; i < n; ++i) expected[i]! -= 1;
      expected[3] = -1;
      deepStrictEqual(await data.read(), expected.map((each) => each * 3));
    });

    it('are given what options and arguments are at the call', async () => {
      using data = await floats(4);
      const numbers = [{ f32: 2 }, { f32: 1 }, { i64: 4 }];
      const given = { ...small, arguments: [data, ...numbers] as KernelArgument[] };
      const list = [{ kernel: 'affine', ...given, arguments: [...given.arguments] }];
      const calls = [module.launch('affine', given), module.launchAll(list)];
      for (const each of numbers) Object.assign(each, { f32: 100 });
      given.arguments.length = 0;
      given.blocks = 0;
      list.length = 0;
      await Promise.all(calls);
      deepStrictEqual(await data.read(), Float32Array.of(3, 7, 11, 15));
    });

    it('have shared memory of the launch', async () => {
      const threads = 224, blocks = 5;
      using data = await device.array(Int32Array.from({ length: blocks * threads }, (_, i) => i));
      await module.launch('reversed', { blocks, threads, sharedBytes: 4 * threads, arguments: [data] });
      const expected = Int32Array.from({ length: blocks * threads }, (_, i) => Math.floor(i / threads) * threads + threads - 1 - i % threads);
      deepStrictEqual(await data.read(), expected);
      // More than a kernel has unasked.
      await module.launch('reversed', { blocks, threads, sharedBytes: 100_000, arguments: [data] });
      deepStrictEqual(await data.read(), expected.map((_, i) => i));
    });

    it('run all blocks at once where they are told to, as many as fit', async () => {
      const { multiprocessors } = device.description;
      const threads = 128, blocks = multiprocessors * module.kernels.get('together')!.residentBlocks(threads, 30_000);
      using parts = await device.array('int32', blocks + 1);
      using sums = await device.array('int32', blocks + 1);
      using counter = await device.array('int32', 1);
      const launch = (count: number) => module.launch('together',
        { blocks: count, threads, sharedBytes: 30_000, cooperative: true, arguments: [parts, sums, counter] });
      await launch(blocks);
      deepStrictEqual((await sums.read()).slice(0, blocks), new Int32Array(blocks).fill(blocks * (blocks + 1) / 2));
      await rejects(launch(blocks + 1), { code: 'ERR_WARPLOOM_INTERNAL' });
      await launch(1);
    });

    it('take empty lists, empty grids, empty parameters and empty arrays', async () => {
      deepStrictEqual(Object.keys(await module.launchAll([])), ['deviceSeconds']);
      await module.launchAll([], { times: 3 });
      using empty = await device.array('float32', 0);
      await module.launchAll([
        { kernel: 'nothing', ...small }, { kernel: 'nothing', ...small, arguments: [] },
        { kernel: 'affine', blocks: 0, threads: 32, arguments: scale(empty, 1, 1, 0) },
        { kernel: 'affine', blocks: 3, threads: 32, arguments: scale(empty, 1, 1, 0) }]);
    });

    it('reject wrong launches by name, before any of a list runs', async () => {
      using data = await floats(4);
      const given = scale(data, 1, 1, 4);
      const cases: [string, () => Promise<unknown>][] = [
        ['kernel', () => module.launch('afine', { ...small, arguments: given })],
        ['blocks', () => module.launch('affine', { threads: 32, arguments: given } as never)],
        ['blocks', () => module.launch('affine', { ...small, blocks: -1, arguments: given })],
        ['threads', () => module.launch('affine', { blocks: 1, threads: 33, arguments: given })],
        ['threads', () => module.launch('affine', { blocks: 1, threads: 288, arguments: given })],
        ['threads', () => module.launch('nothing', { blocks: 1, threads: 96 })],
        ['threads', () => module.launch('nothing', { blocks: 1, threads: 0 })],
        ['sharedBytes', () => module.launch('affine', { ...small, sharedBytes: 2 ** 24, arguments: given })],
        ['arguments', () => module.launch('affine', { ...small, arguments: given.slice(1) })],
        ['arguments', () => module.launch('affine', { ...small, arguments: [...given, { i32: 1 }] })],
        ['arguments', () => module.launch('affine', { ...small })],
        ['arguments', () => module.launch('affine', { ...small, arguments: 3 as never })],
        ['arguments[0]', () => module.launch('affine', { ...small, arguments: scale(new Float32Array(4) as never, 1, 1, 4) })],
        ['arguments[1]', () => module.launch('affine', { ...small, arguments: [data, 1 as never, { f32: 1 }, { i64: 4 }] })],
        ['arguments[1]', () => module.launch('affine', { ...small, arguments: [data, { u32: 1 } as never, { f32: 1 }, { i64: 4 }] })],
        ['arguments[1]', () => module.launch('affine', { ...small, arguments: [data, { f32: 1, i32: 1 } as never, { f32: 1 }, { i64: 4 }] })],
        ['arguments[1].f32', () => module.launch('affine', { ...small, arguments: [data, { f32: '1' as never }, { f32: 1 }, { i64: 4 }] })],
        ['arguments[3].i64', () => module.launch('affine', { ...small, arguments: scale(data, 1, 1, 0.5) })],
        ['arguments[3].i64', () => module.launch('affine', { ...small, arguments: [data, { f32: 1 }, { f32: 1 }, { i64: 2n ** 63n }] })],
        ['arguments[3].i32', () => module.launch('affine', { ...small, arguments: [data, { f32: 1 }, { f32: 1 }, { i32: 2 ** 31 }] })],
        ['sharedbytes', () => module.launch('affine', { ...small, sharedbytes: 4 } as never)],
        ['launches[1].threads', () => module.launchAll([{ kernel: 'affine', ...small, arguments: given }, { kernel: 'affine', blocks: 1, threads: 31, arguments: given }])],
        ['launches[1].kernel', () => module.launchAll([{ kernel: 'affine', ...small, arguments: given }, { kernel: 'no', ...small }])],
        ['launches[1].arguments[0]', () => module.launchAll([{ kernel: 'affine', ...small, arguments: given }, { kernel: 'affine', ...small, arguments: [{} as never] }])],
        ['launches', () => module.launchAll(3 as never)],
        ['times', () => module.launchAll([], { times: 0 })], ['times', () => module.launchAll([], { times: 1.5 })],
      ];
      for (const [argument, call] of cases) await rejects(call(), { name: 'ArgumentError', code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument }, argument);
      deepStrictEqual(await data.read(), Float32Array.of(0, 1, 2, 3));
    });

    it('reject arrays that were disposed and those of other devices, and keep the ones that they use', async () => {
      const gone = await floats(4);
      gone.dispose();
      await rejects(module.launch('affine', { ...small, arguments: scale(gone, 1, 1, 4) }), { code: 'ERR_WARPLOOM_DISPOSED', argument: 'arguments[0]' });
      {
        await using other = await openDevice({ backend });
        using foreign = await other.array('float32', 4);
        await rejects(module.launch('affine', { ...small, arguments: scale(foreign, 1, 1, 4) }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'arguments[0]' });
      }
      using kept = await floats(4);
      const data = await floats(4);
      const launched = module.launch('affine', { ...small, arguments: scale(data, 2, 1, 4) });
      const copied = kept.copyFrom(data);
      data.dispose();
      await Promise.all([launched, copied]);
      deepStrictEqual(await kept.read(), Float32Array.of(1, 3, 5, 7));
    });

    it('end with dispose and with their device, not before their launches', async () => {
      const own = await openDevice({ backend });
      const options = { source, kernels: ['affine'], cacheFolder: cache.folder() };
      const first = await own.module(options);
      const second = await own.module(options);
      const data = await own.array(Float32Array.of(1));
      const launched = first.launch('affine', { ...small, arguments: scale(data, 2, 1, 1) });
      first.dispose();
      first.dispose();
      ok(first.disposed);
      await launched;
      await rejects(first.launch('affine', { ...small, arguments: scale(data, 2, 1, 1) }), { code: 'ERR_WARPLOOM_DISPOSED' });
      await rejects(first.launchAll([]), { code: 'ERR_WARPLOOM_DISPOSED' });
      throws(() => first.kernels.get('affine')!.residentBlocks(32), { code: 'ERR_WARPLOOM_DISPOSED' });
      await second.launch('affine', { ...small, arguments: scale(data, 2, 1, 1) });
      deepStrictEqual(await data.read(), Float32Array.of(7));
      const last = second.launch('affine', { ...small, arguments: scale(data, 2, 1, 1) });
      const closing = own.close();
      await Promise.all([last, closing]);
      await rejects(second.launch('affine', { ...small, arguments: scale(data, 2, 1, 1) }), { code: 'ERR_WARPLOOM_DISPOSED' });
      await rejects(own.module(options), { code: 'ERR_WARPLOOM_DISPOSED' });
      second.dispose();
      for (const each of [await openDevice({ backend })]) {
        await using device = each;
        {
          await using scoped = await device.module(options);
          ok(!scoped.disposed);
        }
      }
    });

    it('are cancelled before they begin', async () => {
      using data = await floats(4);
      const reason = new Error('enough');
      await rejects(module.launch('affine', { ...small, arguments: scale(data, 5, 5, 4), signal: AbortSignal.abort(reason) }), reason);
      await rejects(module.launchAll([{ kernel: 'affine', ...small, arguments: scale(data, 5, 5, 4) }], { signal: AbortSignal.abort(reason) }), reason);
      deepStrictEqual(await data.read(), Float32Array.of(0, 1, 2, 3));
      const controller = new AbortController();
      const many = Array.from({ length: 20_000 }, () => ({ kernel: 'affine', blocks: 8, threads: 256, arguments: scale(data, 1, 1, 4) }));
      const launched = module.launchAll(many, { signal: controller.signal });
      setImmediate(() => { controller.abort(reason); });
      await rejects(launched, reason);
      await data.write(Float32Array.of(1, 1, 1, 1));
      await module.launch('affine', { ...small, arguments: scale(data, 2, 0, 4) });
      deepStrictEqual(await data.read(), Float32Array.of(2, 2, 2, 2));
    });
  }, { backends: ['simt', 'cuda'], cases: 13 });

  it('are refused by the cpu backend', async () => {
    await using device = await openDevice({ backend: 'cpu' });
    await rejects(device.module({ source, kernels: names }), { name: 'WarploomError', code: 'ERR_WARPLOOM_UNSUPPORTED' });
  });
});

describe('modules on the shim', function () {
  this.timeout(120_000);
  const cache = ownCache();
  if (!hasBackend('simt') || !hasHostCompiler) {
    skipCases('modules on the shim: no such backend or no compiler here', 3);
    return;
  }

  it('show defects of their text, and go on', async () => {
    const text = moduleText({
      divergent: { parameters: 'int* out;', body: 'if (block.thread() < 32) block.sync();\n    else block.sync();\n    p.out[0] = 1; (void)i;' },
      missing: { parameters: 'int* out;', body: 'if (block.thread() != 3) p.out[0] = device::shuffle(block, 1, 0); (void)i;' },
      overrun: { parameters: 'int* out;', body: 'block.shared<int>()[block.threads()] = 1; (void)i; (void)p;' },
      outside: { parameters: 'int* out;', body: 'if (i < 8) p.out[4 + i] = 1;' },
      good: { parameters: 'int* out;', body: 'p.out[i & 3] = 7;' },
    });
    await using device = await openDevice({ backend: 'simt' });
    const module = await device.module({ source: text, kernels: ['divergent', 'missing', 'overrun', 'outside', 'good'], cacheFolder: cache.folder() });
    using out = await device.array('int32', 4);
    const launch = (kernel: string) => module.launch(kernel, { blocks: 1, threads: 64, sharedBytes: 256, arguments: [out] });
    await rejects(launch('divergent'), /threads of the block met at different barriers.*module\.cu:9;/s);
    await rejects(launch('missing'), /deadlock: .*module\.cu:/s);
    await rejects(launch('overrun'), /wrote past its 256 bytes of shared memory/);
    await launch('good');
    deepStrictEqual(await out.read(), Int32Array.of(7, 7, 7, 7));
    await rejects(launch('outside'), /wrote outside an allocation of 16 bytes/);
  });

  it('show by the order of threads what no barrier orders', async () => {
    const racing = { parameters: 'int* out;', body: 'p.out[0] = int(i);' };
    const lastOf = async (order: string): Promise<number> => {
      process.env['WARPLOOM_SIMT_ORDER'] = order;
      try {
        await using device = await openDevice({ backend: 'simt' });
        const module = await device.module({ source: moduleText({ racing }), kernels: ['racing'], cacheFolder: cache.folder() });
        using out = await device.array('int32', 1);
        await module.launch('racing', { blocks: 2, threads: 64, arguments: [out] });
        return Number((await out.read())[0]);
      } finally {
        delete process.env['WARPLOOM_SIMT_ORDER'];
      }
    };
    deepStrictEqual([await lastOf('forward'), await lastOf('reverse')], [127, 0]);
    ok(await lastOf('random:3') < 128);
  });

  it('run on a device with memory of its own as well', async () => {
    process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
    process.env['WARPLOOM_SIMT_DELAY'] = '5';
    try {
      await using device = await openDevice({ backend: 'simt' });
      const module = await device.module({ source, kernels: names, cacheFolder: cache.folder() });
      using data = await device.array(Float32Array.of(1, 2, 3));
      const given = [data, { f32: 2 }, { f32: 1 }, { i64: 3 }] as const;
      const launches = Array.from({ length: 40 }, (_, k) => module.launch('affine', { blocks: 1, threads: 32, arguments: k < 3 ? given : [data, { f32: 1 }, ...given.slice(2)] }));
      for (const { deviceSeconds } of await Promise.all(launches)) ok(deviceSeconds > 0);
      deepStrictEqual(await data.read(), Float32Array.of(15 + 37, 23 + 37, 31 + 37));
    } finally {
      delete process.env['WARPLOOM_SIMT_DISCRETE'];
      delete process.env['WARPLOOM_SIMT_DELAY'];
    }
  });
});
