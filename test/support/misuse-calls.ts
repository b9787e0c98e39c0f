// A valid call of every public function and method, for tests that turn them into invalid ones. `walk` finds all functions; one without a
// call here fails the misuse test.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as warploom from '../../lib/index.ts';
import { affine, hasHostCompiler, moduleText } from './modules.ts';
import { validParameters } from './valid-parameters.ts';

const { scratchpad, stencil, stream, swept, tridiagonal } = warploom;

/** A function with valid arguments, created for each call. */
export interface PublicCall {
  readonly self?: object | undefined;
  readonly args: unknown[];
}
export type Maker = () => Promise<PublicCall> | PublicCall;

const folder = mkdtempSync(join(tmpdir(), 'warploom-misuse-'));
export const device = await warploom.openDevice({ backend: 'cpu', threads: 1 });
/** For modules, which the cpu backend does not have; undefined if there is no shim or no compiler. */
const shim = hasHostCompiler && warploom.devices().some(({ backend, available }) => backend === 'simt' && available)
  ? await warploom.openDevice({ backend: 'simt' }) : undefined;

const real = (n: number, at: (i: number) => number = (i) => i + 1): Float64Array => Float64Array.from({ length: n }, (_, i) => at(i));
const bands = () => ({ lower: real(8, () => -1), diagonal: real(8, () => 4), upper: real(8, () => -1), n: 8 });
const picture = () => ({ width: 8, height: 8, data: Float32Array.from({ length: 64 }, (_, i) => ((i * 7) % 11) / 10) });
const mask = () => Uint8Array.from({ length: 64 }, (_, i) => Number(i % 8 > 3));
const displacement = () => ({ width: 8, height: 8, channels: 2, data: new Float32Array(128) });
const gas = () => ({ density: 1, velocity: 0, pressure: 1 });

const source = () => ({ name: 'p.str', text: 'float->float filter A() { work pop 1 push 2 { float x = pop(); push(x); push(2 * x); } }\n'
  + 'float->float filter B() { work pop 3 push 1 { push(pop() + pop() + pop()); } }\nfloat->float pipeline Main() { add A(); add B(); }' });
const made = await stream.elaborate([source()]);
const graph = () => structuredClone(made.graph);
const sdf = () => structuredClone(stream.toSdf(made.graph));
const steady = () => structuredClone(stream.steadyState(sdf()));
const many = sdf().actors.length;
const costs = () => structuredClone({ ...stream.cpuCosts(sdf(), Array(many).fill(2) as number[]), gpu: Array(many).fill(1) as number[] });
const task = () => ({ graph: sdf(), repetitions: steady().repetitions, costs: costs(), cores: 2, multiprocessors: 2 });
const problem = () => ({
  graph: sdf(), repetitions: steady().repetitions, tokens: sdf().channels.map(() => 6), delays: Array(many).fill(1) as number[], processors: 2,
});
const cores = () => structuredClone(stream.assignToCores(sdf(), steady(), costs(), { cores: 2, maxMultiplier: 2 }));
const runtimes = () => ({ registers: [32], threads: [2, 4], firings: 8, microseconds: [[Array(many).fill(3), Array(many).fill(2)]] });
const flags = () => Array(many).fill(false) as boolean[];
const hybrid = () => ({ graph: sdf(), threads: Array(many).fill(2) as number[], gpu: Array(many).fill(1) as number[], cpu: Array(many).fill(2) as number[],
  moving: { latency: 1, toGpu: 1, toCpu: 1, shuffle: 1, deshuffle: 1 }, cores: 2, multiprocessors: 2, link: 'duplex' as const, fixed: flags() });
const found = (await stream.check([{ name: 'p.str', text: 'float->float filter A() { work pop 1 push 1 { push(y); } }' }])).diagnostics;
const diagnostic = () => structuredClone({ ...found[0]! });
const filter = () => ({ name: 'Half', input: 'float', output: 'float', constants: { k: 0.5 }, code: 'work pop 1 push 1 { push(pop() * k); }',
  declarations: '' });
const compiled = '.version 8.0\n.target sm_90\n.visible .entry k()\n{\n\t.shared .b32 a[8];\n\t.shared .b32 b[8];\n\tst.shared.u32 [a], 1;\n'
  + '\tbar.sync 0;\n\tst.shared.u32 [b], 2;\n\tret;\n}\n';
const report = () => scratchpad.optimize(compiled, { blockThreads: 64 }).then(({ report: found }) => structuredClone(found));
const plan = () => ({ blocks: [{ name: 'a', bytes: 64, alignment: 16, live: [{ begin: 0, end: 2 }] }, { name: 'b', bytes: 32, live: [{ begin: 1, end: 3 }] }], conflicts: [[0,
  1]] });
const policy = () => ({ schema: 1, backend: 'cpu', device: 'x', computeCapability: 0, date: '', rows: [{ type: 'float32', n: 64, batch: 2, seconds: { 2: 1e-3 }, best: 2 }] });

const job = () => ({ kind: 'denoise', name: 'a', input: { phantom: 'discs', size: 8 }, weight: 0.1, iterations: 2, sweep: { weight: [0.1] } });

let saved: string | undefined;
async function checkpoint(): Promise<string> {
  if (saved !== undefined) return saved;
  await using rod = await swept.heat({ n: 8, dx: 1, dt: 0.1, initial: 'ramp', device });
  await rod.save(saved = join(folder, 'run.checkpoint'));
  return saved;
}
async function policyFile(): Promise<string> {
  const path = join(folder, 'policy.json');
  await tridiagonal.writePolicy(path, policy() as never);
  return path;
}

const other = await device.array(real(8));
const moduleData = await (shim ?? device).array('float32', 8);

const args = (...list: unknown[]): Maker => () => ({ args: structuredClone(list) });

/** Arguments of functions, by name. Functions of whole namespaces get as many options as possible. */
export const functions: Readonly<Record<string, Maker>> = {
  devices: args(), defaultDevice: args(),
  openDevice: args({ backend: 'cpu', index: 0, threads: 1, memoryLimit: 1e8, queueLimit: 8 }),
  'server.serve': args({ port: 0, host: '127.0.0.1', devices: [{ backend: 'cpu', threads: 1 }], jobs: false, maxWork: 1e6, bodyLimit: 2048, requestTimeout: 1000 }),
  openPool: args({ devices: [{ backend: 'cpu', threads: 1 }], maxBatch: 4, maxDelay: 0, queueLimit: 8, queueBytes: 1e6 }),
  scan: () => ({ args: [real(8), { operator: 'sum', exclusive: true, device }] }),
  'kernel.map': () => ({ args: [
    '(x, y, a) => [a * x + y, x > y]', [real(8), { data: real(9), shape: [2, 1], strides: [3, 1], offset: 1 }, 2], { device, type: 'float32', threads: 1 },
  ] }),
  'kernel.reduce': () => ({ args: ['(x, y) => x * y', [real(8), real(8)], 'sum', { device, threads: 1 }] }),
  'kernel.fma': args(2, 3, 0.5),
  'kernel.compile': () => ({ args: ['(x, y) => x * y', ['float64', 'number'], { device, type: 'int32' }] }),
  'stencil.define': () => ({ args: [heatText] }),
  'stencil.inspect': () => ({ args: [stencil.define(heatText)] }),
  'stencil.simulate': () => ({ args: [stencil.define(heatText), { shape: [8], dt: 0.1, initial: { u: real(8) }, steps: 2 }] }),
  'stream.collapseLinear': () => ({ args: [graph()] }),
  'tridiagonal.solve': () => ({ args: [{ ...bands(), rhs: real(16), batch: 2, periodic: false, transpose: 'none', check: true, device }] }),
  'tridiagonal.workspace': () => ({ args: [{ ...bands(), rhs: real(8), device }] }),
  'tridiagonal.plan': () => ({ args: [{ ...bands(), stable: true, device }] }),
  'tridiagonal.multiply': () => ({ args: [{ ...bands(), x: real(8), device }] }),
  'tridiagonal.condition': () => ({ args: [{ ...bands(), device }] }),
  'tridiagonal.vjp': () => ({ args: [{ ...bands(), solution: real(8), cotangent: real(8), device }] }),
  'tridiagonal.cubicSpline': () => ({ args: [real(6), real(6, (i) => i * i), { boundary: 'clamped', slopes: [0, 1], device }] }),
  'tridiagonal.tune': () => ({ args: [{ sizes: [64], types: ['float32'], depths: [2], unknowns: 64, repeats: 1, device }] }),
  'tridiagonal.formatPolicy': () => ({ args: [policy()] }),
  'tridiagonal.writePolicy': () => ({ args: [join(folder, 'written.json'), policy()] }),
  'tridiagonal.readPolicy': async () => ({ args: [await policyFile()] }),
  'tridiagonal.stateOf': args(1),
  'tridiagonal.wasResolvedByPivoting': args(1),
  'tridiagonal.model': args({ size: 512, depth: 8, type: 'float32', architecture: 'paper' }),
  'tridiagonal.modelCoefficients': args('sm_90', 'float32'),
  'tridiagonal.fitModel': args([2, 4, 8].map((depth) => ({ depth, registersPerThread: 10 + 5 * depth }))),
  'swept.heat': () => ({ args: [{ n: 8, dx: 1, diffusivity: 1, fourier: 0.3, initial: { kind: 'cosine', mode: 1 }, boundary: { left: 'reflective', right: { kind: 'dirichlet',
    value: 1 } }, device }] }),
  'swept.kuramotoSivashinsky': () => ({ args: [{ n: 16, dx: 0.5, dt: 0.001, initial: { kind: 'noise', seed: 1, amplitude: 0.1 }, boundary: 'periodic', batch: 2, device }] }),
  'swept.euler': () => ({ args: [{ n: 16, length: 1, cfl: 0.3, gamma: 1.4, limiter: 'mc', initial: { kind: 'riemann', left: gas(), right: { ...gas(), pressure: 0.5 } },
    device }] }),
  'swept.restore': async () => ({ args: [await checkpoint(), { device, variant: 'auto', parameters: { n: 8 }, tag: '' }] }),
  'swept.exactRiemann': args(gas(), { ...gas(), pressure: 0.1 }, 1.4),
  'swept.heatModeFactor': args(1, { n: 8, fourier: 0.1, periodic: false }),
  'swept.heatSeries': args(0.5, 0.1, { initial: 'ramp', length: 1, diffusivity: 1, amplitude: 100 }),
  'swept.kuramotoSivashinskyGrowth': args(1, { dx: 0.5, dt: 0.001 }),
  'swept.kuramotoSivashinskyLimit': args(0.5),
  'imaging.addNoise': () => ({ args: [picture(), { kind: 'gaussian', sigma: 0.1, seed: 1 }] }),
  'imaging.align': () => ({ args: [picture(), picture(), { iterations: 2, levels: 1, model: 'affine', device }] }),
  'imaging.composeDisplacements': () => ({ args: [displacement(), displacement(), { device }] }),
  'imaging.contourPolygons': () => ({ args: [{ ...picture(), data: Float32Array.from({ length: 64 }, (_, i) => Math.hypot(i % 8 - 4, (i >> 3) - 4) - 2) }, { level: 0 }] }),
  'imaging.contourRings': () => ({ args: [{ ...picture(), data: Float32Array.from({ length: 64 }, (_, i) => Math.hypot(i % 8 - 4, (i >> 3) - 4) - 2) }, { level: 0 }] }),
  'imaging.cosineTransform': () => ({ args: [picture(), { inverse: false, device }] }),
  'imaging.curvature': () => ({ args: [picture(), { device }] }),
  'imaging.denoise': () => ({ args: [picture(), { weight: 0.1, iterations: 4, method: 'primal-dual', device }] }),
  'imaging.dice': () => ({ args: [mask(), mask()] }),
  'imaging.diceEitherWay': () => ({ args: [mask(), mask()] }),
  'imaging.discs': args(16, { dimensions: 2, type: 'float32' }),
  'imaging.hausdorff': () => ({ args: [mask(), mask(), { width: 8, height: 8 }] }),
  'imaging.invertDisplacement': () => ({ args: [displacement(), { tolerance: 0.01, iterations: 4, device }] }),
  'imaging.jacobian': () => ({ args: [displacement(), { device }] }),
  'imaging.meanSquaredError': () => ({ args: [picture(), picture()] }),
  'imaging.ncc': () => ({ args: [picture(), picture()] }),
  'imaging.psnr': () => ({ args: [picture(), picture(), 1] }),
  'imaging.readImage': args(new Uint8Array(40), { format: 'raw', raw: { width: 5, height: 8, sampleType: 'uint8' } }),
  'imaging.register': () => ({ args: [picture(), picture(), { iterations: 2, levels: 1, measure: 'ssd', device }] }),
  'imaging.registrationPair': args(16, { dimensions: 2, amplitude: 1 }),
  'imaging.ringArea': args([[0, 0], [1, 0], [0, 1]]),
  'imaging.rofEnergy': () => ({ args: [picture(), picture(), 0.1] }),
  'imaging.segment': () => ({ args: [picture(), { iterations: 2, mu: 0.1, initial: { kind: 'ball', centre: [4, 4], radius: 2 }, device }] }),
  'imaging.sheppLogan': args(16, { dimensions: 2 }),
  'imaging.ssim': () => ({ args: [picture(), picture(), { range: 1 }] }),
  'imaging.targetRegistrationError': () => ({ args: [displacement(), displacement(), mask()] }),
  'imaging.warp': () => ({ args: [picture(), displacement(), { device }] }),
  'imaging.writeImage': () => ({ args: [join(folder, 'x.png'), picture(), { sampleType: 'uint8' }] }),
  'files.readImage': args(new Uint8Array(40), { format: 'raw', raw: { width: 5, height: 8, sampleType: 'uint8' } }),
  'files.writeImage': () => ({ args: [join(folder, 'y.png'), picture(), { sampleType: 'uint8' }] }),
  'files.parseNpy': () => ({ args: [warploom.files.formatNpy({ type: 'float64', shape: [2, 3], data: real(6) }), 'a.npy'] }),
  'files.formatNpy': () => ({ args: [{ type: 'float64', shape: [2, 3], data: real(6) }] }),
  'files.parseWav': () => ({ args: [warploom.files.formatWav([0, 0.5], 8000), 'a.wav'] }),
  'files.formatWav': args([0, 0.5], 8000, 1),
  'notebook.plot': args({ a: [1, 2], b: { x: [0, 1], y: [2, 3] } }, { title: 't', x: 'x', y: 'y', mark: 'point', log: false }),
  'notebook.show': () => ({ args: [picture(), { range: [0, 1] }] }),
  'notebook.table': args([{ a: 1, b: 'x' }]),
  'jobs.run': () => ({ args: [job(), { results: join(folder, 'jobs'), folder, backend: 'cpu', again: true }] }),
  'jobs.load': () => ({ args: [job(), { folder, backend: 'cpu' }] }),
  'jobs.items': () => ({ args: [job(), { results: join(folder, 'jobs'), folder, backend: 'cpu' }] }),
  'jobs.submit': () => ({ args: [job(), { results: join(folder, 'jobs'), folder, backend: 'cpu', wait: true }] }),
  'jobs.jsonSchema': args(),
  'jobs.schema': args(),
  'scratchpad.explain': async () => ({ args: [await report()] }),
  'scratchpad.interference': () => ({ args: [plan()] }),
  'scratchpad.plan': () => ({ args: [plan(), 'exact', {}] }),
  'scratchpad.occupancy': args({ threads: 128, registers: 32, sharedBytes: 1024 }, 'sm_90'),
  'scratchpad.optimize': args(compiled, { kernel: 'k', planner: 'exact', barriers: 'any', blockThreads: 64, arch: 'sm_90', compilerOptions: [] }),
  'stream.parse': () => ({ args: [source().text, { file: 'p.str' }] }),
  'stream.check': () => ({ args: [[source()], { main: 'Main' }] }),
  'stream.elaborate': () => ({ args: [[source()], { main: 'Main', parameters: {} }] }),
  'stream.fromSource': () => ({ args: [{ source: source().text, stream: 'A', input: 'float', output: 'float', args: [] }] }),
  'stream.filter': () => ({ args: [filter()] }),
  'stream.pipeline': () => ({ args: [stream.filter(filter() as never), stream.filter(filter() as never)] }),
  'stream.splitJoin': () => ({ args: [{ split: stream.roundRobin(1), join: stream.roundRobin(1), branches: [stream.filter(filter() as never)] }] }),
  'stream.feedbackLoop': () => ({ args: [{ join: stream.roundRobin(1, 1), body: stream.filter(filter() as never), loop: stream.filter(filter() as never),
    split: stream.roundRobin(1, 1), enqueue: [0] }] }),
  'stream.roundRobin': args(1, 2),
  'stream.interpret': () => ({ args: [graph(), { input: real(8), items: 2 }] }),
  'stream.run': () => ({ args: [graph(), { input: real(8), backend: 'interpret', items: 2 }] }),
  ...(shim === undefined ? {} : { 'stream.compileForDevice': () => ({ args: [graph(), {
    device: shim, fast: false, timeout: 60_000, mode: 'swp', coarsening: 2, layout: 'warp', threads: 64, launch: 'plain', scheduler: 'packing',
  }] }) }),
  'stream.open': () => ({ args: [graph(), { backend: 'wasm', chunk: 8, seed: 1 }] }),
  'stream.profile': () => ({ args: [graph(), { input: real(8), backend: 'wasm' }] }),
  'stream.estimateCosts': () => ({ args: [graph()] }),
  'stream.describeGraph': () => ({ args: [graph()] }),
  'stream.toSdf': () => ({ args: [graph(), { ends: true }] }),
  'stream.graphSvg': () => ({ args: [graph(), 'title'] }),
  'stream.formatDiagnostic': () => ({ args: [diagnostic(), { files: [source()] }] }),
  'stream.ganttSvg': () => ({ args: [sdf(), [{ processor: 0, start: 0, time: 1, actor: 0, stage: 0, what: 'x' }], 1, 10, 'title'] }),
  'stream.repetitions': () => ({ args: [sdf(), { maxFirings: 100 }] }),
  'stream.initFirings': () => ({ args: [sdf(), steady().repetitions, { maxFirings: 100 }] }),
  'stream.steadyState': () => ({ args: [sdf(), {}] }),
  'stream.pushSchedule': () => ({ args: [sdf(), steady()] }),
  'stream.singleAppearanceSchedule': () => ({ args: [sdf(), steady()] }),
  'stream.validateSchedule': () => ({ args: [sdf(), { init: steady().init, steps: stream.singleAppearanceSchedule(sdf(), steady()).steps }] }),
  'stream.cpuCosts': () => ({ args: [sdf(), Array(many).fill(1)] }),
  'stream.selectConfiguration': () => ({ args: [sdf(), runtimes(), { perFilter: true, itemsMultiple: 4, steadyStatesMultiple: 2 }] }),
  'stream.assignToCores': () => ({ args: [sdf(), steady(), costs(), { cores: 2, maxMultiplier: 2 }] }),
  'stream.placesOf': () => ({ args: [sdf(), cores()] }),
  'stream.partitionTasks': () => ({ args: [task(), { onlyClusters: false, movesPerActor: 2 }] }),
  'stream.partitionTasksByIlp': () => ({ args: [task(), { seconds: 1 }] }),
  'stream.validatePartition': () => ({ args: [task(), stream.partitionTasks(task())] }),
  'stream.validatePipeline': () => ({ args: [sdf(), { places: stream.placesOf(sdf(), cores()), tokens: problem().tokens }] }),
  'stream.schedulePipeline': () => ({ args: [problem(), { target: 0.1, maxUnroll: 2 }] }),
  'stream.pipelineByIlp': () => ({ args: [problem(), { seconds: 1, secondsPerInterval: 1 }] }),
  'stream.planHybrid': () => ({ args: [hybrid(), { width: 2, shuffleItems: 4, cpuFirings: 2, minSteadyStates: 2, maxUnroll: 2, tolerance: 0.1, maxDeviceBytes: 1e9,
    partition: (task: unknown) => stream.partitionTasks(task as never) }] }),
  'stream.validateHybrid': () => ({ args: [hybrid(), stream.planHybrid(hybrid(), { width: 2, shuffleItems: 4 }), { launches: 3 }] }),
};

const heatText = { dimensions: 1, fields: ['u'], rate: '({ u }, {}, { laplacian }) => ({ u: laplacian(u) })', method: 'euler' } as const;

/** An object of each public class that has methods, and arguments for its methods; methods without arguments are omitted. */
export const objects: Readonly<Record<string, { make: () => Promise<object> | object; calls: Readonly<Record<string, () => unknown[]>> }>> = {
  Device: { make: () => device, calls: {
    array: () => ['float64', 8], pinned: () => ['float64', 8], memory: () => [], trim: () => [],
    batcher: () => [{ maxBatch: 4, maxDelay: 0, queueLimit: 8, queueBytes: 1e6 }],
    run: () => ['tridiagonal.solve', validParameters('tridiagonal.solve'), {}], workspace: () => ['tridiagonal.solve', validParameters('tridiagonal.solve')],
  } },
  Batcher: { make: () => device.batcher(), calls: {
    wrap: () => [tridiagonal.solve, { priority: 1, deadline: 1e6 }], run: () => [async () => 1, { priority: 1, deadline: 1e6 }],
  } },
  DevicePool: { make: () => warploom.openPool({ devices: [{ backend: 'cpu', threads: 1 }] }), calls: {
    wrap: () => [tridiagonal.solve, { priority: 1, deadline: 1e6 }], run: () => [async () => 1, { priority: 1, deadline: 1e6 }],
  } },
  DeviceArray: { make: () => device.array(real(8)), calls: { read: () => [new Float64Array(8), 0, {}], write: () => [real(8), 0, {}], copyFrom: () => [other, {}],
    dispose: () => [] } },
  ...(shim === undefined ? {} : { DeviceModule: { make: () => shim.module(moduleOptions()), calls: {
    launch: () => ['affine', launch()], launchAll: () => [[{ kernel: 'affine', ...launch() }], {}], dispose: () => [],
  } }, }),
  'tridiagonal.CubicSpline': { make: () => tridiagonal.cubicSpline(real(6), real(6, (i) => i * i), { device }), calls: { evaluate: () => [[1.5, 2]], toJSON: () => [] } },
  'tridiagonal.HeatAdi': { make: () => tridiagonal.HeatAdi.create({ width: 4, height: 3, initial: real(12), diffusivity: 1, dt: 0.1, device }), calls: { advance: () => [1,
    { onProgress: () => undefined }], read: () => [] } },
  'tridiagonal.Plan': { make: () => tridiagonal.plan({ ...bands(), device }), calls: { solve: () => [{ rhs: real(8) }], dispose: () => [] } },
  'tridiagonal.SystemStatuses': { make: async () => (await tridiagonal.solve({ ...bands(), rhs: real(8), device })).status, calls: { at: () => [0], counts: () => [],
    failures: () => [], throwIfFailed: () => [], toJSON: () => [] } },
  'swept.HeatSimulation': { make: () => swept.heat({ n: 8, dx: 1, dt: 0.1, initial: 'ramp', device }), calls: simulationCalls() },
  'swept.WaveSimulation': { make: () => swept.kuramotoSivashinsky({ n: 8, dx: 0.5, dt: 1e-4, initial: { kind: 'noise' }, device }), calls: simulationCalls() },
  'swept.GasSimulation': { make: () => swept.euler({ n: 8, cfl: 0.1, initial: 'sod', device }), calls: { ...simulationCalls(), cfl: () => [{}] } },
  'stencil.Run': { make: () => stencil.simulate(stencil.define(heatText), { shape: [8], dt: 0.1, initial: { u: real(8) }, steps: 4 }), calls: {
    advance: () => [1], advanceTo: () => [0.1], finish: () => [], snapshots: () => [{ every: 1 }], state: () => [],
    save: () => [join(folder, 'stencil.checkpoint')], dispose: () => [],
  } },
  'swept.Figures': { make: async () => (await swept.heat({ n: 8, dx: 1, dt: 0.1, initial: 'ramp', device })).figures(), calls: { at: () => [0], norms: () => [0, 1],
    firstBadProblem: () => [] } },
  'swept.RiemannSolution': { make: () => swept.exactRiemann(gas(), { ...gas(), pressure: 0.1 }, 1.4), calls: { at: () => [0.1] } },
};

const moduleOptions = () => ({ source: moduleText({ affine }), kernels: ['affine'], maxRegisters: 32, fast: false, headers: { 'a.h': '' }, timeout: 60_000,
  cacheFolder: folder });
const launch = () => ({ blocks: 1, threads: 32, sharedBytes: 0, cooperative: false, arguments: [moduleData, { f32: 1 }, { f32: 0 }, { i64: 8 }] });

/** Static methods that create objects or compute, and methods of objects that are not as the others of their class. */
export const statics: Readonly<Record<string, Maker>> = {
  ...(shim === undefined ? {} : { 'Device#module': () => ({ self: shim, args: [moduleOptions()] }) }),
  'tridiagonal.HeatAdi.create': () => ({ self: tridiagonal.HeatAdi, args: [{ width: 4, height: 3, initial: real(12), diffusivity: 1, dt: 0.1, dx: 1, dy: 1,
    boundary: 'neumann', device }] }),
  'tridiagonal.HeatAdi.modeFactor': () => ({ self: tridiagonal.HeatAdi, args: [1, 1, { width: 4, height: 3, diffusivity: 1, dt: 0.1 }] }),
};

function simulationCalls(): Record<string, () => unknown[]> {
  return {
    advance: () => [1, { onProgress: () => undefined }], advanceTo: () => [0.001, {}], snapshots: () => [{ every: 1, until: 2 }], read: () => [{}], figures: () => [{}],
    norms: () => [{ problem: 0, component: 0 }], totals: () => [0], save: () => [join(folder, 'saved.checkpoint'), { tag: 'x' }], dispose: () => [],
  };
}

/** Not called: internal to the library (marked as such), or called by the language. */
export const notCalled: readonly string[] = [
  'swept.HeatSimulation.start', 'swept.WaveSimulation.start', 'swept.GasSimulation.start',
  'Device#close', 'Batcher#close', 'Batcher#submit', 'Batcher#enqueue', 'Batcher#hurry', 'DevicePool#close', 'DevicePool#hurry', 'DevicePool#callOwned', 'DevicePool#runFor',
  'server.RunningServer#close',
  'swept.Figures#row', 'jobs.work', ...(shim === undefined ? [
    'Device#module', 'DeviceModule#launch', 'DeviceModule#launchAll', 'DeviceModule#dispose', 'stream.compileForDevice',
  ] : []),
];

/** Names of every public function, and of every method as CLASS#METHOD or CLASS.STATIC. */
export function walk(module: object = warploom, prefix = ''): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [key, value] of Object.entries(module) as [string, unknown][]) {
    const name = prefix + key;
    if (typeof value !== 'function') {
      if (typeof value === 'object' && value !== null && Object.values(value).some((part) => typeof part === 'function')) {
        for (const [inner, part] of walk(value, `${name}.`)) found.set(inner, part);
      }
      continue;
    }
    if (!/^class\b/.test(Function.prototype.toString.call(value))) {
      found.set(name, value);
      continue;
    }
    if (value.prototype instanceof Error || value === warploom.swept.Simulation || value === warploom.stream.Solver) continue;
    const internal = [warploom.Device, warploom.DeviceArray, warploom.DeviceModule].includes(value as never); // their static methods are internal to the library
    for (const method of internal ? [] : Object.getOwnPropertyNames(value)) {
      if (typeof (value as unknown as Record<string, unknown>)[method] === 'function') found.set(`${name}.${method}`, (value as unknown as Record<string, unknown>)[method]);
    }
    for (let proto = value.prototype as object; proto !== Object.prototype; proto = Object.getPrototypeOf(proto) as object) {
      for (const method of Object.getOwnPropertyNames(proto)) {
        const part = Object.getOwnPropertyDescriptor(proto, method)!.value as unknown;
        if (method !== 'constructor' && typeof part === 'function' && !['decode', 'row', 'remedy'].includes(method)) found.set(`${name}#${method}`, part);
      }
    }
  }
  return found;
}
