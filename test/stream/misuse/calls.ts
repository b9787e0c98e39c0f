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
const plan = stream.assignToCores(sdf, steady, costs, { cores: 2 });
const pipelineProblem = { graph: sdf, repetitions: steady.repetitions, tokens: steady.residual, delays: costs.cpu, processors: 2 };
const id = stream.filter({ name: 'Id', input: 'int', output: 'int', code: 'work pop 1 push 1 { push(pop()); }' });
const diagnostic = (await stream.check('int->int filter F { work { x; } }')).diagnostics[0]!;
const runtimes = { registers: [32], threads: [2, 4], firings: 8, microseconds: [[2, 4].map((time) => sdf.actors.map(() => time))] };
const hybrid = {
  graph: sdf, threads: sdf.actors.map(() => 2), gpu: sdf.actors.map(() => 1), cpu: sdf.actors.map(() => 2), fixed: sdf.actors.map(() => false),
  moving: { latency: 1, toGpu: 1, toCpu: 1, shuffle: 1, deshuffle: 1 }, cores: 2, multiprocessors: 2, link: 'duplex' as const,
};

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
  repetitions: [sdf, { maxFirings: 100 }], initFirings: [sdf, steady.repetitions, {}],
  pushSchedule: [sdf, steady], singleAppearanceSchedule: [sdf, steady], steadyState: [sdf, {}],
  validateSchedule: [sdf, { ...schedule, init: steady.init, repetitions: steady.repetitions, residual: steady.residual }],
  selectConfiguration: [sdf, runtimes, { perFilter: true }],
  cpuCosts: [sdf, costs.cpu], assignToCores: [sdf, steady, costs, { cores: 2 }],
  placesOf: [sdf, plan], partitionTasks: [task, {}],
  validatePipeline: [sdf, { places: [], interval: 1 }], partitionTasksByIlp: [task, { timeLimit: 1 }],
  validatePartition: [task, stream.partitionTasks(task)],
  schedulePipeline: [pipelineProblem, {}],
  pipelineByIlp: [pipelineProblem, { timeLimit: 1 }],
  planHybrid: [hybrid, { width: 2, shuffleItems: 4, cpuFirings: 2, minSteadyStates: 2, maxUnroll: 2, tolerance: 0.1, maxDeviceBytes: 1e9, partition: stream.partitionTasks }],
  validateHybrid: [hybrid, stream.planHybrid(hybrid, { width: 2, shuffleItems: 4 }), { launches: 3 }],
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
