// An independent check of schedules: counts items firing by firing, and shares no code with what builds schedules.
import { addAt, elementAt } from '../../core/known.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { requireFields, requireRateGraph, requireSizes, requireSteps } from '../require.ts';

/** One problem of a schedule. */
export interface ScheduleProblem {
  readonly kind: 'actor' | 'count' | 'underflow' | 'prework' | 'drift' | 'rates' | 'buffer';
  readonly message: string;
}

/** The input of {@link validateSchedule}: plain lists of firings. */
export interface CheckedSchedule {
  readonly init: readonly { readonly actor: number; readonly count: number }[];
  readonly steps: readonly { readonly actor: number; readonly count: number }[];
  /** Claimed buffer sizes of the channels; checked if given. */
  readonly buffers?: readonly number[];
}

class Replay {
  readonly problems: ScheduleProblem[] = [];
  readonly items: number[];
  readonly fired: number[];
  private readonly graph: SdfGraph;
  private readonly buffers: readonly number[] | undefined;
  private readonly into: readonly (readonly SdfChannel[])[];
  private readonly outOf: readonly (readonly SdfChannel[])[];

  constructor(graph: SdfGraph, buffers: readonly number[] | undefined) {
    this.graph = graph;
    this.into = graph.actors.map(({ id }) => graph.channels.filter(({ to }) => to === id));
    this.outOf = graph.actors.map(({ id }) => graph.channels.filter(({ from }) => from === id));
    this.buffers = buffers;
    this.items = graph.channels.map((channel) => channel.tokens);
    this.fired = graph.actors.map(() => 0);
  }

  report(kind: ScheduleProblem['kind'], message: string): void {
    if (this.problems.length < 20) this.problems.push({ kind, message });
  }

  run(steps: CheckedSchedule['steps'], part: string): void {
    steps.forEach(({ actor, count }, at) => {
      const where = `${part}, step ${at}`;
      if (this.graph.actors[actor] === undefined) this.report('actor', `${where}: there is no actor ${actor}`);
      else if (!Number.isSafeInteger(count) || count < 1) this.report('count', `${where}: ${count} firings`);
      else for (let firing = 0; firing < count && this.problems.length < 20; ++firing) this.fire(actor, where);
    });
  }

  private fire(actor: number, where: string): void {
    const isFirst = this.fired[actor] === 0;
    addAt(this.fired, actor, 1);
    const { name } = elementAt(this.graph.actors, actor);
    for (const channel of elementAt(this.into, actor)) {
      const pop = isFirst && channel.firstPop !== undefined ? channel.firstPop : channel.pop;
      let peek = channel.peek;
      if (isFirst && channel.firstPop !== undefined) peek = pop;
      if (isFirst && channel.firstPeek !== undefined) peek = channel.firstPeek;
      const held = elementAt(this.items, channel.id);
      if (held < peek) this.report('underflow', `${where}: ${name} needs ${peek} items on channel ${channel.id}, which holds ${held}`);
      this.items[channel.id] = held - pop;
    }
    for (const channel of elementAt(this.outOf, actor)) {
      const held = elementAt(this.items, channel.id) + (isFirst && channel.firstPush !== undefined ? channel.firstPush : channel.push);
      this.items[channel.id] = held;
      const size = this.buffers?.[channel.id];
      if (this.buffers && !(size !== undefined && held <= size)) {
        this.report('buffer', `${where}: channel ${channel.id} holds ${held} items, its buffer ${size}`);
      }
    }
  }
}

/** Checks that actors joined by channels have fired the same multiple of their rates. */
function checkRates(graph: SdfGraph, replay: Replay, fired: readonly number[]): void {
  fired.forEach((count, actor) => {
    if (count === 0) replay.report('rates', `${elementAt(graph.actors, actor).name} does not fire in the steady state`);
  });
  for (const { id, from, to, push, pop } of graph.channels) {
    const [come, go] = [elementAt(fired, from) * push, elementAt(fired, to) * pop];
    if (come !== go) {
      replay.report('rates', `channel ${id}: ${come} items come and ${go} go in one steady state`);
    }
  }
}

/**
 * Simulates the initialisation once and the steady state twice, firing by firing. Returns the problems; empty if the schedule is
 * admissible, runs every prework before the steady state, leaves the channels as it found them (so that it can repeat forever) and stays
 * within `buffers`.
 */
export function validateSchedule(graph: SdfGraph, schedule: CheckedSchedule): ScheduleProblem[] {
  requireRateGraph(graph);
  requireFields('schedule', schedule, 'a schedule with init and steps', ['init', 'steps']);
  requireSteps('schedule.init', schedule.init, Infinity);
  requireSteps('schedule.steps', schedule.steps, Infinity);
  if (schedule.buffers !== undefined) requireSizes('schedule.buffers', schedule.buffers);
  const replay = new Replay(graph, schedule.buffers);
  replay.run(schedule.init, 'initialisation');
  for (const { from, to, firstPush, firstPop, firstPeek, id } of graph.channels) {
    const late = (firstPush !== undefined && replay.fired[from] === 0) ||
      ((firstPop !== undefined || firstPeek !== undefined) && replay.fired[to] === 0);
    if (late) replay.report('prework', `channel ${id}: prework does not run in the initialisation`);
  }
  const start = [...replay.items];
  const before = [...replay.fired];
  replay.run(schedule.steps, 'steady state');
  checkRates(graph, replay, replay.fired.map((count, actor) => count - elementAt(before, actor)));
  start.forEach((held, id) => {
    const after = replay.items[id];
    if (after !== held) replay.report('drift', `channel ${id} holds ${held} items before and ${after} after a steady state`);
  });
  replay.run(schedule.steps, 'second steady state');
  return replay.problems;
}
