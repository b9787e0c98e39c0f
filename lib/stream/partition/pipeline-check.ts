// An independent check of software pipelines, on processors of any kind: follows every item from the firing that produces it to
// those that read it, and shares nothing with the code that builds pipelines.
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { requireFields, requireList, requireRateGraph, requireSizes } from '../require.ts';
import type { SdfGraph } from '../sdf.ts';

/** Where one firing of an iteration runs: in launch `iteration + stage`, on `processor`, at position `order` of the launch. */
export interface FiringPlace {
  readonly stage: number;
  readonly processor: number;
  readonly order: number;
  /** Time since the launch began; checked when delays are given. */
  readonly start?: number;
}

/** A software pipeline as the check sees it. */
export interface CheckedPipeline {
  /** Firings of one iteration, by actor: the firing rates times any number of steady states. */
  readonly places: readonly (readonly FiringPlace[])[];
  /** Items on each channel before iteration 0. */
  readonly tokens: readonly number[];
  /** Items each channel's ring buffer holds; checked when given. */
  readonly buffers?: readonly number[];
  /** Time of one firing of each actor, and the initiation interval, in one unit; checked when given. */
  readonly delays?: readonly number[];
  readonly interval?: number;
}

const report = (problems: string[], message: string): void => {
  if (problems.length < 20) problems.push(message);
};

function checkPlaces(graph: SdfGraph, { places }: CheckedPipeline, problems: string[]): void {
  const taken = new Set<string>();
  places.forEach((firings, actor) => firings.forEach(({ stage, processor, order }, firing) => {
    const name = `${elementAt(graph.actors, actor).name}[${firing}]`;
    if (!Number.isSafeInteger(stage) || stage < 0) report(problems, `${name}: stage ${stage}`);
    const slot = `${processor}/${order}`;
    if (taken.has(slot)) report(problems, `${name}: place ${order} of processor ${processor} is taken twice`);
    taken.add(slot);
  }));
  for (const { id, from, to, push, pop } of graph.channels) {
    const [made, taking] = [elementAt(places, from).length * push, elementAt(places, to).length * pop];
    if (made !== taking) report(problems, `channel ${id}: ${made} items come and ${taking} go in one iteration`);
  }
}

/**
 * True if `a` in launch `launchA` is done before `b` in launch `launchB` starts: in an earlier launch, or earlier on the same processor.
 */
function isBefore(a: FiringPlace, launchA: number, b: FiringPlace, launchB: number): boolean {
  return launchA < launchB || (launchA === launchB && a.processor === b.processor && a.order < b.order);
}

function checkChannel(graph: SdfGraph, pipeline: CheckedPipeline, id: number, iterations: number, problems: string[]): void {
  const { from, to, push, pop, peek } = elementAt(graph.channels, id);
  const [made, taking] = [elementAt(pipeline.places, from), elementAt(pipeline.places, to)];
  const tokens = elementAt(pipeline.tokens, id);
  for (let at = 0; at < iterations * taking.length; ++at) {
    const consumer = elementAt(taking, at % taking.length);
    const launch = Math.floor(at / taking.length) + consumer.stage;
    const last = at * pop + peek - 1;
    const first = Math.max(0, Math.floor((at * pop - tokens) / push));
    for (let firing = first; firing <= Math.floor((last - tokens) / push); ++firing) {
      const producer = elementAt(made, firing % made.length);
      if (isBefore(producer, Math.floor(firing / made.length) + producer.stage, consumer, launch)) continue;
      const [early, late] = [elementAt(graph.actors, to).name, elementAt(graph.actors, from).name];
      report(problems, `channel ${id}: ${early}[${at}] runs before ${late}[${firing}] is done`);
    }
  }
}

function checkState(graph: SdfGraph, { places }: CheckedPipeline, problems: string[]): void {
  for (const { id, name, stateful } of graph.actors) {
    if (!stateful) continue;
    const firings = elementAt(places, id);
    firings.forEach((place, firing) => {
      const next = firings[firing + 1] ?? elementAt(firings, 0);
      const launch = next.stage + (firing + 1 === firings.length ? 1 : 0);
      if (isBefore(place, place.stage, next, launch)) return;
      report(problems, `${name} has state, but firing ${firing + 1} may run before firing ${firing} is done`);
    });
  }
}

/**
 * Writing item x + size overwrites item x, which must be in a launch after all that read x. Items are counted from the first that stands
 * on the channel in the beginning.
 */
function checkBuffer(graph: SdfGraph, pipeline: CheckedPipeline, id: number, iterations: number, problems: string[]): void {
  const { from, to, push, pop, peek } = elementAt(graph.channels, id);
  const size = pipeline.buffers?.[id] ?? NaN;
  const [made, taking] = [elementAt(pipeline.places, from), elementAt(pipeline.places, to)];
  const tokens = elementAt(pipeline.tokens, id);
  const least = Math.max(tokens, push);
  if (!(size >= least)) return report(problems, `channel ${id}: ${least} items at once, its buffer holds ${size}`);
  const laps = iterations + Math.ceil(size / (made.length * push));
  for (let firing = 0; firing < laps * made.length; ++firing) {
    const written = Math.floor(firing / made.length) + elementAt(made, firing % made.length).stage;
    const low = tokens + firing * push - size, high = low + push - 1;
    for (let at = Math.max(0, Math.floor((low - peek) / pop) + 1); at <= Math.floor(high / pop); ++at) {
      if (high < at * pop || low >= at * pop + peek || high < 0) continue;
      const read = Math.floor(at / taking.length) + elementAt(taking, at % taking.length).stage;
      if (read < written) continue;
      const [reader, writer] = [elementAt(graph.actors, to).name, elementAt(graph.actors, from).name];
      return report(problems,
        `channel ${id}: its buffer holds ${size} items, so that ${writer}[${firing}] of launch ${written} overwrites what ` +
        `${reader}[${at}] reads in launch ${read}`);
    }
  }
}

/** Checks that the firings on one processor do not overlap and end within the interval: (3.3) and (3.4). */
function checkTimes(graph: SdfGraph, { places, delays, interval = Infinity }: CheckedPipeline, problems: string[]): void {
  const programs = new Map<number, { order: number; start: number; delay: number; name: string }[]>();
  places.forEach((firings, actor) => firings.forEach(({ processor, order, start = NaN }, firing) => {
    const entry = { order, start, delay: elementAt(required(delays), actor), name: `${elementAt(graph.actors, actor).name}[${firing}]` };
    programs.set(processor, [...programs.get(processor) ?? [], entry]);
  }));
  for (const program of programs.values()) {
    let end = 0;
    for (const { start, delay, name } of program.sort((a, b) => a.order - b.order)) {
      if (!(start >= end - 1e-9 * Math.abs(end))) report(problems, `${name} starts at ${start}, before ${end}`);
      end = start + delay;
      if (!(end <= interval * (1 + 1e-9))) report(problems, `${name} ends at ${end}, after the interval ${interval}`);
    }
  }
}

/**
 * Returns the problems of a pipeline; empty if items, state and buffers are right. A launch is a barrier: its work sees what earlier
 * launches produced and what the same processor produced earlier in the same launch, and nothing else.
 */
export function validatePipeline(graph: SdfGraph, pipeline: CheckedPipeline): string[] {
  requireRateGraph(graph);
  requireFields('pipeline', pipeline, 'a pipeline with places and tokens', ['places']);
  requireSizes('pipeline.tokens', pipeline.tokens, graph.channels.length);
  const actors = graph.actors.length;
  if (pipeline.places.length !== actors) throw refusal('pipeline.places', `${actors} lists of places`, `${pipeline.places.length}`);
  for (const [i, places] of pipeline.places.entries()) {
    requireList(`pipeline.places[${i}]`, places, 'a place for each firing');
    for (const [at, place] of places.entries()) {
      const name = `pipeline.places[${i}][${at}]`;
      requireFields(name, place, 'a place with stage, processor and order');
      for (const field of ['stage', 'processor', 'order'] as const) {
        if (typeof (place[field] as unknown) !== 'number') throw refusal(`${name}.${field}`, 'a number', describeValue(place[field]));
      }
    }
  }
  if (pipeline.buffers !== undefined) requireSizes('pipeline.buffers', pipeline.buffers);
  if (pipeline.delays !== undefined) requireSizes('pipeline.delays', pipeline.delays, actors);
  if (pipeline.interval !== undefined) requireSizes('pipeline.interval', [pipeline.interval]);
  const problems: string[] = [];
  checkPlaces(graph, pipeline, problems);
  if (problems.length > 0) return problems;
  for (const { id, push, pop, peek, from } of graph.channels) {
    if (push === 0 || pop === 0) continue;
    // Windows and initial items reach this many iterations back; one iteration more shows the steady pattern.
    const perIteration = elementAt(pipeline.places, from).length * push;
    const iterations = 2 + Math.ceil((elementAt(pipeline.tokens, id) + peek) / perIteration);
    checkChannel(graph, pipeline, id, iterations, problems);
    if (pipeline.buffers) checkBuffer(graph, pipeline, id, iterations, problems);
  }
  checkState(graph, pipeline, problems);
  if (pipeline.delays) checkTimes(graph, pipeline, problems);
  return problems;
}
