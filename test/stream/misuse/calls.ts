// Calls every exported function of the stream namespace with arguments that are wrong in one place each: prints a line before and behind
// each call, so that whoever reads them sees which never ended.
import * as stream from '../../../lib/stream/index.ts';

type Any = any;  

const source = `void->int filter S { int n; work push 1 { push(n++); } }
  int->int filter W(int k) { int[2] t = {1, 2}; work pop 1 push 1 peek 2 { t[0] += k; push(peek(1) + t[0]); pop(); } }
  int->int splitjoin B { split duplicate; add W(1); add Identity<int>; join roundrobin(1,
    1); } int->void filter P { work pop 2 { println(pop()); pop(); } } void->void pipeline M { add S; add B; add P; }`;
const { graph, program } = await stream.elaborate(source);
const open = (await stream.elaborate('float->float filter F { work pop 1 push 1 { push(pop() * 0.5); } } float->float pipeline Main { add F; }')).graph;
const sdf = stream.toSdf(graph);
const steady = stream.steadyState(sdf);
const schedule = stream.pushSchedule(sdf, steady);
const costs = stream.cpuCosts(sdf, stream.estimateCosts(graph));
const task: stream.TaskProblem = { graph: sdf, repetitions: steady.repetitions, costs: { ...costs, gpu: costs.cpu }, cores: 2, multiprocessors: 2 };
const onGpu = sdf.actors.map(() => false);
const plan = stream.assignToCores(sdf, steady, costs, { cores: 2 });
const pipelineProblem = { graph: sdf, repetitions: steady.repetitions, tokens: steady.residual, delays: costs.cpu, processors: 2 };
const id = stream.filter({ name: 'Id', input: 'int', output: 'int', code: 'work pop 1 push 1 { push(pop()); }' });
const diagnostic = (await stream.check('int->int filter F { work { x; } }')).diagnostics[0]!;
const end = { rate: 2, threads: 4, instances: 2 } as Any;
const gpu = { name: 'x', multiprocessors: 2, registers: 65536, registersPerThread: 255, registerUnit: 256, threads: 2048, threadsPerBlock: 1024,
  sharedBytes: 2e5, sharedBytesPerBlock: 1e5, memoryBytes: 1e9 };
const runtimes = { registers: [32], threads: [2, 4], firings: 8, microseconds: [[2, 4].map((time) => sdf.actors.map(() => time))] };
const hybrid = {
  graph: sdf, threads: sdf.actors.map(() => 2), gpu: sdf.actors.map(() => 1), cpu: sdf.actors.map(() => 2), fixed: sdf.actors.map(() => false),
  moving: { latency: 1, toGpu: 1, toCpu: 1, shuffle: 1, deshuffle: 1 }, cores: 2, multiprocessors: 2, link: 'duplex' as const,
};
const twos = sdf.actors.map(() => 2);
const jobs = [3, 2, 1];
const classes = [{ count: 2, time: 1 }, { count: 1, time: 2 }];
const staged = { graph: sdf, repetitions: steady.repetitions, tokens: steady.residual, onGpu };
const stages = tryOr(() => stream.assignStages(staged));
const instances = tryOr(() => stream.instancesOf(pipelineProblem));

function tryOr<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** Good arguments of every function. */
const calls: Readonly<Record<string, readonly Any[]>> = {
  filter: [{ name: 'F', input: 'int', output: 'int', code: 'work pop 1 push 1 { push(pop() + k); }', constants: { k: 2, t: [1, 2] } }],
  fromSource: [{ source, stream: 'W', input: 'int', output: 'int', args: [1] }], pipeline: [id, id], roundRobin: [1, 2],
  splitJoin: [{ split: stream.duplicate, branches: [id, id], join: stream.roundRobin(1) }],
  feedbackLoop: [{ join: stream.roundRobin(1, 1), body: id, loop: id, split: stream.duplicate, enqueue: [1] }],
  parse: [source, { file: 'a.str', syntaxLimits: { nesting: 10 } }], check: [source, { main: 'M', parameters: {} }],
  elaborate: [source, { main: 'M', parameters: {}, limits: { nodes: 100 }, files: {} }],
  formatDiagnostic: [diagnostic, program], describeGraph: [graph, { code: true }], toSdf: [graph, { ends: true }],
  interpret: [graph, { items: 2, files: {}, limits: { steps: 1e5 }, seed: 1 }],
  run: [graph, { items: 2, backend: 'interpret', seed: 1, limits: { steps: 1e5 }, threads: 1, costs: graph.nodes.map(() => 1), timeout: 1e4, files: {} }],
  collapseLinear: [graph], estimateCosts: [graph], profile: [graph, { backend: 'wasm' }],
  compileForDevice: [open, { fast: false, timeout: 1e4, mode: 'swp', coarsening: 2, layout: 'warp', threads: 64, launch: 'plain', scheduler: 'packing' }],
  open: [open, { backend: 'wasm', algebraic: true, chunk: 8, seed: 1, files: {}, limits: { steps: 1e5 } }],
  graphSvg: [graph, 'title'], ganttSvg: [sdf, [{ processor: 0, start: 0, time: 1, actor: 0, stage: 0, what: 'x' }], 2, 10, 'title'],
  gcd: [4n, 6n], repetitions: [sdf, { maxFirings: 100 }], initFirings: [sdf, steady.repetitions, {}],
  accessAt: [end, 8, 3], accessPosition: [end, 8, { instance: 0, thread: 1, item: 1 }], deshuffle: [new Float32Array(16), new Float32Array(16), 4],
  firingOf: [end, 8, 0, 1], layoutItems: [end, 8], positionOf: [3, 16, 8], shuffle: [new Float32Array(16), new Float32Array(16), 4],
  streamIndexOf: [3, 16, 8], threadOf: [end, 8, 3], actorsWithPrework: [sdf], firstRates: [sdf.channels[0]], itemsPopped: [sdf.channels[0], 2],
  itemsPushed: [sdf.channels[0], 2], pushSchedule: [sdf, steady], singleAppearanceSchedule: [sdf, steady], steadyState: [sdf, {}],
  adjacency: [sdf], checkGraph: [sdf], describeChannel: [sdf, sdf.channels[0]], isLoop: [sdf, [0, 1]], stronglyConnected: [sdf], topologicalOrder: [sdf],
  validateSchedule: [sdf, { ...schedule, init: steady.init, repetitions: steady.repetitions, residual: steady.residual }],
  threaded: [sdf, twos, { itemsMultiple: 4, steadyStatesMultiple: 2 }], selectConfiguration: [sdf, runtimes, { perFilter: true }],
  checkRuntimes: [runtimes, sdf.actors.length], residentBlocks: [gpu, { threads: 128, registers: 32, sharedBytes: 64 }], registerLimits: [gpu, [128, 256]],
  checkCosts: [sdf, costs], cpuCosts: [sdf, costs.cpu], orderedActors: [sdf, steady.residual, steady.repetitions], assignToCores: [sdf, steady, costs, { cores: 2 }],
  placesOf: [sdf, plan], partitionTasks: [task, {}], partitionInstances: [classes, 2], partitionInstancesByIlp: [classes, 2, { timeLimit: 1 }],
  validateInstances: [classes, 2, stream.partitionInstances(classes, 2)], packingBound: [jobs, 2], packJobs: [jobs, 2, 1e-3],
  validatePipeline: [sdf, { places: [], interval: 1 }], partitionTasksByIlp: [task, { timeLimit: 1 }], fixedActors: [task], partitionLoads: [task, onGpu],
  recomputeLoads: [task, onGpu], validatePartition: [task, { onGpu, ...stream.partitionLoads(task, onGpu) }], cycleRatio: [2, [{ from: 0, to: 1, time: 1, distance: 1 }]],
  instancesOf: [pipelineProblem], intervalBounds: [pipelineProblem], unroll: [pipelineProblem, 2], unrollFactor: [pipelineProblem],
  coarsen: [pipelineProblem, {}, 2], packPipeline: [pipelineProblem], realise: [pipelineProblem, instances, [0, 0], 1], schedulePipeline: [pipelineProblem, {}],
  pipelineByIlp: [pipelineProblem, { timeLimit: 1 }], assignStages: [staged, { maxDeviceBytes: 1e6 }], validateStages: [staged, stages],
  planHybrid: [hybrid, { width: 2, shuffleItems: 4, cpuFirings: 2, minSteadyStates: 2, maxUnroll: 2, tolerance: 0.1, maxDeviceBytes: 1e9, partition: stream.partitionTasks }],
  validateHybrid: [hybrid, stream.planHybrid(hybrid, { width: 2, shuffleItems: 4 }), { launches: 3 }],
  contractLoops: [sdf, () => true], unrollTask: [task, 2], taskUnrollFactor: [task],
};

const cyclic: Any = [];
cyclic.push(cyclic);
const looped: Any = {};
looped.self = looped;
const wrong: readonly Any[] = [
  undefined, null, true, 5, -1, 0, 1.5, NaN, Infinity, -Infinity, 1n, 'x', '', Symbol('s'), [], [null], [NaN], [1, 2, 3], ['x'], {}, { length: 3 }, looped, cyclic,
  () => 1, new Date(0), new Float32Array(2), new Map(), Object.create(null), 2 ** 53, new Proxy([], {}),
];

/** Paths to all parts of a value, to a depth. */
function* pathsOf(value: Any, depth: number, path: readonly string[] = []): Generator<readonly string[]> {
  yield path;
  if (depth === 0 || typeof value !== 'object' || value === null || value.constructor?.name === 'StreamNode' || ArrayBuffer.isView(value)) return;
  const keys = Object.keys(value);
  for (const key of Array.isArray(value) ? keys.slice(0, 2) : keys) yield* pathsOf(value[key], depth - 1, [...path, key]);
}

function replaced(value: Any, [key, ...rest]: readonly string[], by: Any): Any {
  if (key === undefined) return by;
  const copy: Any = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = replaced(value[key], rest, by);
  return copy;
}

const show = (x: Any): string => {
  try {
    return typeof x === 'symbol' || typeof x === 'bigint' ? String(x) : x === looped || x === cyclic ? 'cyclic' : (JSON.stringify(x) ?? String(x)).slice(0, 60);
  } catch {
    return typeof x;
  }
};

const [first = '0', step = '1', depth = '5', most = 'Infinity', only] = process.argv.slice(2);
const missing = Object.entries(stream).filter(([name, f]) => typeof f === 'function' && !/^class|^[A-Z]/.test(name) && !Object.hasOwn(calls, name));
process.stdout.write(`uncovered ${missing.map(([name]) => name).join(' ') || '-'}\n`);
let n = 0;
let ran = 0;
for (const [name, good] of Object.entries(calls)) {
  const f = (stream as Any)[name];
  if (typeof f !== 'function' || (only !== undefined && only !== name)) continue;
  for (const path of pathsOf(good, Number(depth))) {
    for (const value of path.length === 0 ? [[]] : wrong) {
      if (n++ % Number(step) !== Number(first)) continue;
      if (ran >= Number(most)) break;
      ++ran;
      const words = `${name}(${path.join('.')} = ${show(value)})`.replaceAll('\n', ' ');
      process.stdout.write(`begin ${words}\n`);
      let outcome = 'ok';
      try {
        await f(...replaced(good, path, value));
      } catch (error) {
        const { code, argument, expected, received } = error as Any ?? {};
        const isSaid = code !== 'ERR_WARPLOOM_INVALID_ARGUMENT' || [argument, expected, received].every((part) => typeof part === 'string' && part !== '');
        outcome = typeof code === 'string' && code.startsWith('ERR_WARPLOOM_') && code !== 'ERR_WARPLOOM_INTERNAL' && isSaid ? code
          : `untyped ${String((error as Any)?.stack ?? error).split('\n').slice(0, 3).join(' ')}`;
      }
      process.stdout.write(`end ${outcome}\n`);
    }
  }
}
void open;
process.stdout.write(`done ${ran}\n`, () => process.exit(0)); // not before all lines are through
