// The software-pipelining ILP of section 3.5, equations (3.1) to (3.14), solved by HiGHS for a sequence of intervals.
import { abortSignal, choice, number, positive, rule, truth } from '../../core/checks.ts';
import { elementAt } from '../../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { snapshot } from '../../core/snapshot.ts';
import { LinearModel, type Term } from '../schedule/lp.ts';
import { Solver } from '../schedule/solver.ts';
import { instancesOf, intervalBounds, type Instances, type IntervalBounds, type PipelineProblem } from './instances.ts';
import { packPipeline, realise, type Pipeline } from './pipeline.ts';
import { requireFields } from '../require.ts';

/** Options of {@link pipelineByIlp}. */
export interface PipelineIlpOptions {
  /** Seconds for all intervals together; default 60. */
  readonly seconds?: number;
  /** Seconds for one interval; default 20, as in the paper. */
  readonly secondsPerInterval?: number;
  /** How much the interval grows after each failure, relative to the bound; default 0.005. */
  readonly step?: number;
  /** Smallest interval to try, relative to the bound; default 0. */
  readonly from?: number;
  /** Largest interval to try, relative to the bound; default 0.1. */
  readonly most?: number;
  /**
   * `relax`, as in the paper: from the smallest interval upwards until one is solved. `bisect`: first the largest, which is easy, then
   * towards the smallest while time remains, to within `step`. `improve`: the same below the interval of `packPipeline`, so that there is
   * always an answer, which is never worse. Default `relax`.
   */
  readonly strategy?: 'relax' | 'bisect' | 'improve';
  /** B_max of (3.14), in bytes of all channels. */
  readonly maxBufferBytes?: number;
  /** Minimise the buffers instead of accepting any schedule. */
  readonly minimisesBuffers?: boolean;
  readonly solver?: Solver;
  readonly signal?: AbortSignal;
}

const ilpOptions = optionsOf('stream.pipelineByIlp', {
  seconds: normally(number({ least: 0 }), 60), secondsPerInterval: normally(number({ least: 0 }), 20), step: normally(positive, 0.005),
  from: normally(number({ least: 0 }), 0), most: normally(number({ least: 0 }), 0.1),
  strategy: normally(choice(['relax', 'bisect', 'improve']), 'relax'), minimisesBuffers: normally(truth, false),
  maxBufferBytes: number({ least: 0 }),
  solver: rule('a Solver', (value) => value instanceof Solver), signal: abortSignal,
} satisfies ChecksOf<PipelineIlpOptions>);

/** The outcome of relaxing the interval. */
export interface PipelineIlpResult {
  /** Undefined if no interval within the limits was solved in time. */
  readonly pipeline: Pipeline | undefined;
  /** The interval T given to the solver, relative to the bound, minus 1: "relaxation from MII" in Table 3.3. */
  readonly relaxation: number;
  readonly bounds: IntervalBounds;
  /** Number of intervals tried. */
  readonly tried: number;
  /** True: the pipeline comes from the solver. False: it comes from `packPipeline`, and no attempt was better. */
  readonly isSolved: boolean;
  readonly seconds: number;
  readonly variables: number;
  readonly rows: number;
}

/** Variables of the model by instance. */
interface PipelineModel {
  readonly model: LinearModel;
  readonly assigned: readonly (readonly number[])[];
  readonly start: readonly number[];
  readonly stage: readonly number[];
}

/** (3.2) and (3.3). The first instances take the first processors, because processors are interchangeable. */
function addAssignment(model: LinearModel, sizes: readonly number[], processors: number): number[][] {
  const assigned = sizes.map((_, instance) =>
    Array.from({ length: processors }, (_unused, p) => model.variable('binary', p <= instance ? 1 : 0)));
  for (const row of assigned) model.constrain(row.map((variable): Term => [1, variable]), '=', 1);
  for (let p = 0; p < processors; ++p) {
    model.constrain(assigned.map((row, instance): Term => [elementAt(sizes, instance), elementAt(row, p)]), '<=', 1);
  }
  return assigned;
}

/**
 * (3.10) to (3.12) for one dependence, with times relative to T. One of the two rows of (3.11) suffices, because each instance has one
 * processor.
 */
function addDependence(model: LinearModel, assigned: readonly (readonly number[])[], stage: readonly number[], start: readonly number[],
  { from, to, distance }: { from: number; to: number; distance: number }, size: number): void {
  if (from === to) return;
  const differs = model.variable('continuous', 1);
  elementAt(assigned, to).forEach((variable, p) =>
    model.constrain([[1, differs], [-1, variable], [1, elementAt(elementAt(assigned, from), p)]], '>=', 0));
  const ends: Term[] = [[1, elementAt(stage, to)], [1, elementAt(start, to)], [-1, elementAt(stage, from)]];
  model.constrain([...ends, [-1, elementAt(start, from)]], '>=', size - distance);
  model.constrain([...ends, [-1, differs]], '>=', -distance);
}

/** (3.13) and (3.14). */
function addBuffers(model: LinearModel, { graph, repetitions, tokens }: PipelineProblem, instances: Instances, stage: readonly number[],
  options: PipelineIlpOptions): void {
  const { minimisesBuffers, maxBufferBytes } = options;
  if (!minimisesBuffers && maxBufferBytes === undefined) return;
  // Slots of whole iterations; bytes relative to the limit or to one iteration of all channels, which keeps the numbers near 1.
  const bytes = graph.channels.map(({ from, push, bytesPerItem }) => push * elementAt(repetitions, from) * bytesPerItem);
  const scale = maxBufferBytes || Math.max(1, ...bytes);
  const slots = graph.channels.map(({ id }) => {
    const items = elementAt(bytes, id) / Math.max(1, elementAt(graph.channels, id).bytesPerItem);
    return model.variable('continuous', Infinity, items > 0 ? Math.max(1, Math.ceil(elementAt(tokens, id) / items)) : 1);
  });
  for (const { from, to, reach, channel } of instances.dependences) {
    if (channel === undefined) continue;
    const least: Term[] = from === to ? [] : [[-1, elementAt(stage, to)], [1, elementAt(stage, from)]];
    model.constrain([[1, elementAt(slots, channel)], ...least], '>=', reach + 1); // (3.13)
  }
  const all = slots.map((variable, id): Term => [elementAt(bytes, id) / scale, variable]).filter(([size]) => size > 0);
  if (maxBufferBytes !== undefined && all.length > 0) model.constrain(all, '<=', maxBufferBytes / scale);
  if (minimisesBuffers) model.minimise(all);
}

/** The model for the interval T. */
export function pipelineModel(problem: PipelineProblem, instances: Instances, interval: number,
  options: PipelineIlpOptions = {}): PipelineModel {
  const model = new LinearModel();
  const sizes = instances.actor.map((actor) => elementAt(problem.delays, actor) / interval);
  const assigned = addAssignment(model, sizes, problem.processors);
  const farthest = instances.dependences.reduce((largest, { distance }) => Math.max(largest, distance), 0);
  const most = 2 * problem.graph.actors.length + 2 + farthest;
  const stage = sizes.map(() => model.variable('integer', most)); // f
  const start = sizes.map((size) => model.variable('continuous', Math.max(0, 1 - size))); // o, (3.4)
  for (const dependence of instances.dependences) {
    addDependence(model, assigned, stage, start, dependence, elementAt(sizes, dependence.from));
  }
  addBuffers(model, problem, instances, stage, options);
  return { model, assigned, start, stage };
}

const totalBytes = ({ graph, repetitions }: PipelineProblem, { slots }: Pipeline): number => graph.channels.reduce(
  (sum, { id, from, push, bytesPerItem }) => sum + elementAt(slots, id) * push * elementAt(repetitions, from) * bytesPerItem, 0);

/**
 * Builds the pipeline of a solution. Processors are the solver's; order and stages are the solver's or ours, whichever respect all
 * dependences with the smaller buffers. Starts, loads and buffers are recomputed.
 */
function readSolution(problem: PipelineProblem, instances: Instances, { assigned, start, stage }: PipelineModel,
  values: readonly number[]): Pipeline | undefined {
  const processor = assigned.map((row) => row.findIndex((variable) => elementAt(values, variable) > 0.5));
  if (processor.includes(-1)) return undefined;
  const streamOrder = new Map<number, number>();
  const plain = realise(problem, instances, processor);
  plain?.places.flat().forEach((place, instance) => streamOrder.set(instance, place.order));
  const begins = start.map((variable) => elementAt(values, variable));
  const order = begins.map((_, instance) => instance).sort((a, b) =>
    elementAt(begins, a) - elementAt(begins, b) || (streamOrder.get(a) ?? a) - (streamOrder.get(b) ?? b));
  const rank = start.map(() => 0);
  order.forEach((instance, at) => { rank[instance] = at; });
  const stages = stage.map((variable) => Math.round(elementAt(values, variable)));
  const candidates = [realise(problem, instances, processor, rank, stages), realise(problem, instances, processor, rank), plain];
  return candidates.filter((made) => made !== undefined).sort((a, b) => totalBytes(problem, a) - totalBytes(problem, b))[0];
}

/** Tries an interval and returns the one reached; both relative to the bound, minus 1. Undefined: not solved, or no time left. */
type Attempt = (relaxation: number) => Promise<number | undefined>;

/** Tries intervals from the smallest upwards until one is solved. */
async function relaxUpwards(from: number, most: number, step: number, attempt: Attempt): Promise<void> {
  for (let relaxation = from; relaxation <= most + 1e-9; relaxation += step) if (await attempt(relaxation) !== undefined) return;
}

/** Bisects between the smallest interval and a solved one (undefined: none) as long as attempts succeed in time. */
async function bisectDownwards(from: number, solved: number | undefined, step: number, attempt: Attempt): Promise<void> {
  let high = solved, low = from;
  for (let next = from; high !== undefined && high - low >= step; next = (low + high) / 2) {
    const reached: number | undefined = await attempt(next);
    if (reached === undefined) low = next + step / 2;
    else high = Math.min(high, reached);
  }
}

/**
 * Searches for a pipeline at the lower bound, then at intervals relaxed step by step (section 3.8.2.3), or by bisection. For small problems
 * only: one binary variable per instance and processor. The result is built from the assignment by our own code. Throws ArgumentError for
 * invalid problems, UnavailableError without HiGHS, and the signal's reason when aborted.
 */
export async function pipelineByIlp(given: PipelineProblem, wanted: PipelineIlpOptions = {}): Promise<PipelineIlpResult> {
  requireFields('problem', given, 'a problem with graph and costs');
  const problem = snapshot(given);
  const options = ilpOptions.read(wanted);
  const { seconds, secondsPerInterval, step, from, most, strategy, signal, maxBufferBytes = Infinity } = options;
  const begin = performance.now();
  const spent = (): number => (performance.now() - begin) / 1000;
  const instances = instancesOf(problem);
  const bounds = intervalBounds(problem, instances);
  const solver = options.solver ?? new Solver();
  const nothing = undefined as Pipeline | undefined;
  const result = { pipeline: nothing, relaxation: from, bounds, tried: 0, isSolved: false, variables: 0, rows: 0 };
  const attempt = async (relaxation: number): Promise<number | undefined> => {
    const limit = Math.min(secondsPerInterval, seconds - spent());
    if (limit <= 0) return undefined;
    const interval = bounds.bound * (1 + relaxation);
    const model = pipelineModel(problem, instances, interval, options);
    result.tried += 1;
    [result.variables, result.rows] = [model.model.variableCount, model.model.rowCount];
    const { values } = await solver.solve(model.model, { seconds: limit, gap: options.minimisesBuffers ? 1e-6 : 1, signal });
    const pipeline = values.length > 0 ? readSolution(problem, instances, model, values) : undefined;
    if (!pipeline || pipeline.interval > interval * (1 + 1e-5) || totalBytes(problem, pipeline) > maxBufferBytes) return undefined;
    const isBetter = !result.pipeline || pipeline.interval < result.pipeline.interval;
    if (isBetter) [result.pipeline, result.relaxation, result.isSolved] = [pipeline, relaxation, true];
    return pipeline.interval / bounds.bound - 1;
  };
  try {
    const packed = packPipeline(problem, instances);
    const gap = bounds.bound > 0 ? packed.interval / bounds.bound - 1 : 0;
    const startsPacked = totalBytes(problem, packed) <= maxBufferBytes && (strategy === 'improve' || bounds.bound === 0);
    if (startsPacked) [result.pipeline, result.relaxation] = [packed, gap];
    if (bounds.bound === 0) return { ...result, seconds: spent() };
    if (strategy === 'relax') await relaxUpwards(from, most, step, attempt);
    else await bisectDownwards(from, startsPacked ? gap : await attempt(most), step, attempt);
    return { ...result, seconds: spent() };
  } finally {
    if (!options.solver) await solver[Symbol.asyncDispose]();
  }
}
