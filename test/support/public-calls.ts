// Every exported function that returns a promise, with a call whose inputs a test may modify or detach right after it.
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as library from '../../lib/index.ts';
import type { Device, DeviceArray, jobs as batches } from '../../lib/index.ts';

const { files, imaging, jobs, kernel: onArrays, scan, scratchpad, stream, swept, tridiagonal } = library;

/** The inputs of a call. */
export interface Given {
  /** `{}` for a call that does not specify a device. */
  readonly on: { readonly device?: Device };
  /** Numbers in [low, high): a Float64Array or, if the test says so, a device array. */
  array(length: number, low?: number, high?: number): Float64Array;
  bytes(...values: number[]): Uint8Array;
  list<T>(...values: T[]): T[];
}

/** One call. All its inputs come from `given`, and it has called the function by the time it returns. */
export interface PublicCase {
  /** True: it runs on a device; 'arrays': it also accepts device arrays. */
  readonly device?: boolean | 'arrays';
  prepare?(on: Given['on']): Promise<unknown>;
  call(given: Given, prepared: never): Promise<unknown>;
  /** The result as plain data; default: the result itself. */
  use?(result: never, prepared: never): Promise<unknown>;
}

const n = 7;
const batch = 3;
const many = n * batch;
const bands = (given: Given) => ({ lower: given.array(many, -1, 0), diagonal: given.array(many, 4, 5), upper: given.array(many, -1, 0), n, batch });
const picture = (given: Given) => ({ data: given.array(256), width: 16, height: 16 });
const source = 'float->float filter Scale { work pop 1 push 1 { push(2 * pop()); } }';
const scaling = async () => (await stream.elaborate(source)).graph;
type Scaling = Awaited<ReturnType<typeof scaling>>;
const compiled = '.version 8.0\n.target sm_90\n.visible .entry k()\n{\n\t.shared .b32 a[8];\n\t.shared .b32 b[8];\n\tst.shared.u32 [a], 1;\n'
  + '\tbar.sync 0;\n\tst.shared.u32 [b], 2;\n\tret;\n}\n';
const chain = (given: Given) => ({
  actors: given.list({ id: 0, name: 'a', stateful: false, moves: false }, { id: 1, name: 'b', stateful: false, moves: false }),
  channels: given.list({ id: 0, from: 0, to: 1, push: 2, pop: 1, peek: 1, tokens: 0, bytesPerItem: 4 }),
});

interface Marching { advance(steps: number): Promise<void>; read(): Promise<unknown>; dispose(): void }
const marched = async (simulation: Marching): Promise<unknown> => {
  await simulation.advance(3);
  const state = await simulation.read();
  simulation.dispose();
  return state;
};
const rod = (on: Given['on']) => swept.heat({ n: 16, dx: 1, dt: 0.1, diffusivity: 1, initial: new Float64Array(16).fill(1), ...on });

/** The contents of a file created by `write`. */
async function written(name: string, write: (path: string) => Promise<unknown>): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'warploom-call-'));
  try {
    const path = join(folder, name);
    await write(path);
    return await readFile(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Plan = InstanceType<typeof tridiagonal.Plan>;
type Rod = InstanceType<typeof swept.HeatSimulation>;
const factored = (on: Given['on']): Promise<Plan> =>
  tridiagonal.plan({ lower: -1, diagonal: new Float64Array(many).fill(4), upper: -1, n, batch, ...on });

const core: Record<string, readonly PublicCase[]> = {
  'Device#array': [{ device: true, prepare: library.defaultDevice, call: ({ array, on }, prepared: Device) => (on.device ?? prepared).array(array(5)) }],
  'DeviceArray#write': [{
    device: true, prepare: async ({ device }) => (device ?? await library.defaultDevice()).array('float64', 4),
    call: ({ array }, to: DeviceArray) => to.write(array(4)), use: (_: undefined, to: DeviceArray) => to.read(),
  }],
  'scan': [
    { device: 'arrays', call: ({ array, on }) => scan(array(many), { batch, ...on }) },
    { device: true, call: ({ array, bytes, on }) => scan(array(6), { flags: bytes(0, 1, 0, 0, 1, 0), ...on }) },
  ],
  'kernel.map': [
    { device: 'arrays', call: ({ array, list, on }) => onArrays.map('(x, y, a) => [a * x + y, x > y]', list<library.kernel.KernelInput>(array(many), array(many), 3), on) },
    { device: 'arrays', call: ({ array, list, on }) => onArrays.map('(x) => 2 * x', list({ data: array(many), shape: list(3, 2), offset: 1 }), on) },
  ],
  'kernel.reduce': (['sum', 'argmin'] as const).map((how) => (
    { device: 'arrays', call: ({ array, list, on }: Given) => onArrays.reduce('(x, y) => x * y', list(array(many), array(many)), how, on) })),
};

const linear: Record<string, readonly PublicCase[]> = {
  'tridiagonal.solve': [
    { device: 'arrays', call: (given) => tridiagonal.solve({ ...bands(given), rhs: given.array(many), ...given.on }) },
    {
      device: true, call: ({ array, list, on }) => tridiagonal.solve({
        lower: array(many, -1, 0), diagonal: array(many, 4, 5), upper: array(many, -1, 0), rhs: array(many), offsets: list(0, 3, 3, many), check: true, ...on,
      }),
    },
    {
      device: true, call: ({ array, on }) =>
        tridiagonal.solve({ lower: -1, diagonal: 4, upper: -1, n, batch, rhs: { re: array(many), im: array(many) }, ...on }),
    },
  ],
  'tridiagonal.plan': [{
    device: 'arrays', call: (given) => tridiagonal.plan({ ...bands(given), ...given.on }),
    use: async (plan: Plan) => {
      const { solution } = await plan.solve({ rhs: new Float64Array(many).fill(1) });
      await plan.dispose();
      return solution;
    },
  }],
  'tridiagonal.Plan#solve': [{
    device: 'arrays', prepare: factored, call: ({ array }, plan: Plan) => plan.solve({ rhs: array(many) }),
    use: async ({ solution }: { solution: unknown }) => solution,
  }],
  'tridiagonal.multiply': [{ device: 'arrays', call: (given) => tridiagonal.multiply({ ...bands(given), x: given.array(many), ...given.on }) }],
  'tridiagonal.condition': [{
    device: 'arrays', call: (given) => tridiagonal.condition({ ...bands(given), rhs: given.array(many), solution: given.array(many), ...given.on }),
  }],
  'tridiagonal.workspace': [{ device: true, call: (given) => tridiagonal.workspace({ ...bands(given), rhs: given.array(many), ...given.on }) }],
  'tridiagonal.vjp': [{
    device: true, call: (given) => tridiagonal.vjp({ ...bands(given), solution: given.array(many), cotangent: given.array(many), ...given.on }),
  }],
  'tridiagonal.cubicSpline': [{
    device: true, call: ({ array, list, on }) => {
      const x = array(6);
      for (let k = 0; k < 6; k += 1) x[k] = x[k]! + k;
      return tridiagonal.cubicSpline(x, array(12), { boundary: 'clamped', slopes: list(0.5, -0.5) as [number, number], ...on });
    },
    use: (spline: InstanceType<typeof tridiagonal.CubicSpline>) => Promise.resolve([spline.x, spline.y, spline.curvature]),
  }],
  'tridiagonal.HeatAdi.create': [{
    device: true, call: ({ array, on }) => tridiagonal.HeatAdi.create({ width: n, height: batch, initial: array(many), diffusivity: 1, dt: 0.1, ...on }),
    use: async (plate: Awaited<ReturnType<typeof tridiagonal.HeatAdi.create>>) => {
      await plate.advance(2);
      const state = await plate.read();
      plate[Symbol.dispose]();
      return state;
    },
  }],
  'tridiagonal.tune': [{
    device: true, call: async ({ list, on }) => {
      const { rows } = await tridiagonal.tune({ sizes: list(64), types: list('float64'), depths: list(2, 4) as never, unknowns: 128, repeats: 1, ...on });
      return rows.map(({ type, seconds }) => [type, Object.keys(seconds)]);
    },
  }],
  'tridiagonal.writePolicy': [{
    call: ({ list }) => {
      const rows = list({ type: 'float32' as const, n: 64, batch: 2, seconds: { 2: 1 }, best: 2 });
      return written('policy.json', (path) =>
        tridiagonal.writePolicy(path, { schema: 1, backend: 'cpu', device: 'x', computeCapability: 0, date: '', rows }));
    },
  }],
};

const fields: Record<string, readonly PublicCase[]> = {
  'swept.heat': [{
    device: true, use: marched, call: ({ array, on }) => swept.heat({ n: 16, dx: 1, dt: 0.1, diffusivity: 1, initial: array(16), ...on }),
  }],
  'swept.kuramotoSivashinsky': [{
    device: true, use: marched, call: ({ array, on }) => swept.kuramotoSivashinsky({ n: 16, dx: 1, dt: 0.001, initial: array(16), ...on }),
  }],
  'swept.euler': [{
    device: true, use: marched, call: ({ array, on }) => swept.euler({
      n: 16, dt: 1e-3, initial: { density: array(16, 1, 2), velocity: array(16, 0, 0.1), pressure: array(16, 1, 2) }, ...on,
    }),
  }],
  'swept.Simulation#snapshots': [{
    device: true, prepare: rod,
    call: ({ list }, simulation: Rod) => {
      const snapshots = simulation.snapshots({ steps: list(2, 4, 6) });
      return Promise.resolve({ snapshots });
    },
    use: async ({ snapshots }: { snapshots: AsyncIterable<{ step: number }> }, simulation: Rod) => {
      const steps: number[] = [];
      for await (const { step } of snapshots) steps.push(step);
      simulation.dispose();
      return steps;
    },
  }],
  'imaging.cosineTransform': [{ device: 'arrays', call: (given) => imaging.cosineTransform(picture(given), given.on) }],
  'imaging.curvature': [{ device: 'arrays', call: (given) => imaging.curvature(picture(given), given.on) }],
  'imaging.jacobian': [{
    device: 'arrays', call: ({ array, on }) => imaging.jacobian({ data: array(512), width: 16, height: 16, channels: 2 }, on),
  }],
  'imaging.warp': [
    { device: 'arrays', call: (given) => imaging.warp(picture(given), given.array(512, -1, 1), given.on) },
    { device: 'arrays', call: (given) => imaging.warp(picture(given), given.array(512, -1, 1), { interpolation: 'nearest', ...given.on }) },
  ],
  'imaging.align': [{
    device: 'arrays', call: ({ array, on }) => {
      const image = () => ({ data: array(1600), width: 40, height: 40 });
      return imaging.align(image(), image(), { levels: 1, iterations: 3, ...on });
    },
  }],
  'imaging.composeDisplacements': [{
    device: 'arrays', call: ({ array, on }) => {
      const field = () => ({ data: array(512), width: 16, height: 16, channels: 2 });
      return imaging.composeDisplacements(field(), field(), on);
    },
  }],
  'imaging.invertDisplacement': [{
    device: 'arrays', call: ({ array, on }) => imaging.invertDisplacement({ data: array(512), width: 16, height: 16, channels: 2 }, { iterations: 3, ...on }),
  }],
  'imaging.denoise': [
    { device: 'arrays', call: (given) => imaging.denoise(picture(given), { weight: 0.1, iterations: 30, ...given.on }) },
    { device: true, call: (given) => imaging.denoise(picture(given), { sigma: 'estimate', iterations: 30, ...given.on }) },
  ],
  'imaging.segment': [
    { device: 'arrays', call: (given) => imaging.segment(picture(given), { iterations: 8, weights: given.list(0.5), ...given.on }) },
    {
      device: 'arrays', call: (given) => imaging.segment(picture(given), {
        iterations: 24, energyEvery: 2, initial: given.array(256, -1, 1), weights: given.list(0.5), onProgress: () => undefined, ...given.on,
      }),
    },
  ],
  'imaging.register': [
    {
      device: 'arrays', call: ({ array, list, on }) => {
        const image = () => ({ data: array(1600), width: 40, height: 40 });
        return imaging.register(image(), image(), { levels: 2, iterations: list(4, 3), weights: list(2), align: 'translation', ...on });
      },
    },
    {
      device: true, call: (given) => imaging.register(picture(given), picture(given), {
        iterations: 3, initial: given.array(512, -1, 1), landmarks: { reference: given.array(4, 0, 15), template: given.list(1, 2, 3, 4) }, ...given.on,
      }),
    },
  ],
  'imaging.ssim': [{ call: (given) => imaging.ssim(picture(given), picture(given)) }],
  'imaging.ncc': [{ call: (given) => imaging.ncc(picture(given), picture(given)) }],
  'imaging.rofEnergy': [{ call: (given) => imaging.rofEnergy(picture(given), picture(given), 0.1) }],
  'imaging.hausdorff': [{
    call: ({ bytes }) => imaging.hausdorff(bytes(0, 1, 1, 0, 0, 0, 0, 0, 0), bytes(0, 0, 0, 0, 0, 0, 0, 1, 1), { width: 3, height: 3 }),
  }],
  'imaging.targetRegistrationError': [{
    call: ({ array, bytes }) => {
      const field = () => ({ data: array(18), width: 3, height: 3, channels: 2 });
      return imaging.targetRegistrationError(field(), field(), bytes(0, 1, 1, 0, 1, 0, 0, 0, 1));
    },
  }],
  'imaging.readImage': [{
    call: ({ bytes }) => imaging.readImage(bytes(1, 2, 3, 4, 5, 6), { format: 'raw', raw: { sampleType: 'uint8', width: 3, height: 2 } }),
  }],
  'imaging.writeImage': ['png', 'tif', 'nii', 'nii.gz', 'npy', 'raw'].map((ending) => ({
    call: (given: Given) =>
      written(`image.${ending}`, (path) => imaging.writeImage(path, picture(given), { spacing: given.list(1, 2, 3) as never })),
  })),
};

const sweepOfWeights = (list: Given['list']): batches.JobDescription => ({
  kind: 'denoise', name: 'a', input: { phantom: 'discs', size: 16 }, range: list(0, 2) as never, iterations: 5, sweep: { weight: list(0.1, 0.2) },
});

const work: Record<string, readonly PublicCase[]> = {
  'files.readImage': [{
    call: ({ bytes }) => files.readImage(bytes(1, 2, 3, 4, 5, 6), { format: 'raw', raw: { sampleType: 'uint8', width: 3, height: 2 } }),
  }],
  'files.writeImage': [{ call: (given) => written('image.png', (path) => files.writeImage(path, picture(given), { spacing: given.list(1, 2, 3) as never })) }],
  'jobs.load': [{
    call: ({ list }) => jobs.load(sweepOfWeights(list), { backend: 'cpu' }),
    use: ({ items }: batches.LoadedJob) => Promise.resolve(items.map(({ name, hash, values }) => ({ name, hash, values }))),
  }],
  'jobs.items': [{
    call: ({ list }) => jobs.items(sweepOfWeights(list), { results: 'nowhere' }),
    use: (items: batches.ItemState[]) => Promise.resolve(items.map(({ hash, state, values }) => ({ hash, state, values }))),
  }],
  'jobs.submit': [{
    call: ({ list }) => {
      const results = mkdtempSync(join(tmpdir(), 'warploom-call-'));
      return jobs.submit(sweepOfWeights(list), { results, backend: 'cpu' }).finally(() => rmSync(results, { recursive: true, force: true }));
    },
    use: (items: batches.ItemResult[]) => Promise.resolve(items.map(({ hash, item, accuracy }) => ({ hash, item, accuracy }))),
  }],
  'jobs.run': [{
    call: ({ list }) => {
      const results = mkdtempSync(join(tmpdir(), 'warploom-call-'));
      return jobs.run(sweepOfWeights(list), { results, backend: 'cpu' }).finally(() => rmSync(results, { recursive: true, force: true }));
    },
    use: (items: Awaited<ReturnType<typeof jobs.run>>) => Promise.resolve(items.map(({ hash, item, accuracy }) => ({ hash, item, accuracy }))),
  }],
};

const programs: Record<string, readonly PublicCase[]> = {
  'scratchpad.optimize': [{ call: () => scratchpad.optimize(compiled, { blockThreads: 64, reorder: true }) }],
  'stream.parse': [{ call: async ({ list }) => (await stream.parse(list({ name: 'a.str', text: source }))).diagnostics }],
  'stream.check': [{ call: async ({ list }) => (await stream.check(list({ name: 'a.str', text: source }))).diagnostics }],
  'stream.elaborate': [{
    call: ({ array }) => {
      const text = 'void->float filter Give(float[3] h) { work push 1 { push(h[0] + h[1] + h[2]); } }';
      return stream.elaborate(text, { main: 'Give', parameters: { h: array(3) } });
    },
    use: async ({ graph }: { graph: Scaling }) => (await stream.run(graph, { items: 2, backend: 'interpret' })).output,
  }],
  'stream.run': (['auto', 'wasm', 'interpret'] as const).map((backend) => ({
    prepare: scaling, call: async ({ array }: Given, graph: Scaling) => (await stream.run(graph, { backend, input: array(64) })).output,
  })),
  'stream.interpret': [{ prepare: scaling, call: async ({ array }, graph: Scaling) => (await stream.interpret(graph, { input: array(64) })).output }],
  'stream.profile': [{
    prepare: scaling, call: async ({ array }, graph: Scaling) => (await stream.profile(graph, { input: array(64), seconds: 1e-4, force: true })).key,
  }],
  'stream.partitionTasksByIlp': [{
    call: async (given) => (await stream.partitionTasksByIlp({
      graph: chain(given), repetitions: given.list(1, 2), cores: 2, multiprocessors: 2,
      costs: {
        cpu: given.list(5, 7), gpu: given.list(1, 2), toCpu: given.list(0.1), toGpu: given.list(0.1), shuffle: given.list(0.1), deshuffle: given.list(0.1),
      },
    })).onGpu,
  }],
  'stream.pipelineByIlp': [{
    call: async (given) => (await stream.pipelineByIlp({
      graph: chain(given), repetitions: given.list(1, 2), tokens: given.list(0), delays: given.list(3, 2), processors: 2,
    })).isSolved,
  }],
};

/** By name of the export; several calls if a function can be called in several ways. */
export const publicCases: Readonly<Record<string, readonly PublicCase[]>> = { ...core, ...linear, ...fields, ...work, ...programs };

/** Functions that return promises but accept no arrays except outputs, or are covered by another function in the table; with the reason. */
export const withoutInputs: Readonly<Record<string, string>> = {
  'Device#run': 'generated from the registry',
  'openPool': 'numbers', 'Batcher#wrap': 'of functions, in test/core/batching', 'DevicePool#wrap': 'the same', 'Batcher#run': 'a function',
  'DevicePool#run': 'the same', 'Batcher#close': 'no input', 'DevicePool#close': 'no input', 'Batcher#submit': 'internal', 'Batcher#hurry': 'internal',
  'DevicePool#hurry': 'internal', 'DevicePool#callOwned': 'internal', 'DevicePool#runFor': 'internal', 'server.serve': 'no arrays', 'server.RunningServer#close': 'no input',
  'Device#pinned': 'no input', 'Device#trim': 'no input', 'Device#close': 'no input', 'DeviceArray#read': 'an output',
  'DeviceArray#copyFrom': 'device arrays, in the order of the calls', 'defaultDevice': 'no input', 'openDevice': 'numbers',
  'stencil.inspect': 'texts', 'stream.collapseLinear': 'a graph', 'stencil.Run#advance': 'numbers', 'stencil.Run#advanceTo': 'numbers', 'stencil.Run#finish': 'no input',
  'stencil.Run#state': 'no input', 'stencil.Run#save': 'a path', 'stencil.simulate': 'its arrays: in test/stencil/control.test.ts',
  'kernel.compile': 'names of kinds', 'Device.opened': 'internal', 'Device.module': 'internal', 'DeviceArray.allocate': 'internal', 'DeviceModule.load': 'internal',
  'Device#module': 'text, in test/core/module-compile.test.ts', 'DeviceModule#launch': 'no arrays but those of a device, in test/core/module.test.ts',
  'DeviceModule#launchAll': 'the same',
  'tridiagonal.HeatAdi#advance': 'numbers', 'tridiagonal.HeatAdi#read': 'no input', 'tridiagonal.Plan#dispose': 'no input',
  'tridiagonal.readPolicy': 'a path',
  'swept.GasSimulation.start': 'internal', 'swept.HeatSimulation.start': 'internal', 'swept.WaveSimulation.start': 'internal',
  'swept.GasSimulation#totals': 'numbers', 'swept.GasSimulation#cfl': 'no input', 'swept.HeatSimulation#totals': 'numbers',
  'swept.WaveSimulation#totals': 'numbers', 'swept.Simulation#norms': 'numbers', 'swept.restore': 'a path and numbers',
  'swept.Simulation#advance': 'numbers', 'swept.Simulation#advanceTo': 'numbers', 'swept.Simulation#read': 'no input',
  'swept.Simulation#remedy': 'internal', 'swept.GasSimulation#remedy': 'internal', 'swept.Simulation#figures': 'no input', 'swept.Simulation#save': 'a path',
  'stream.Solver#solve': 'a model, which it writes as text before it waits', 'stream.Solver#ask': 'internal',
  'stream.graphSvg': 'a graph, which nobody changes', 'stream.compileForDevice': 'the same',
  'stream.open': 'a graph, which nobody changes, and files, which test/stream/session covers',
  'jobs.jsonSchema': 'no input', 'jobs.schema': 'no input', 'jobs.work': 'a server, which test/jobs/queue covers',
};
