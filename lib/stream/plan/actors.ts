// The actors that schedules of a device see: filters, splitters and joiners, feedback loops contracted to one actor each, the open ends.
import { elementAt } from '../../core/known.ts';
import type { SdfActor, SdfChannel, SdfGraph } from '../sdf.ts';
import { withOpenEnds } from './open-ends.ts';
import { isOrdered, type Group, type ProgramPlan } from './plan.ts';

/** A channel inside a feedback loop: part of the state of its actor. */
export interface InnerChannel {
  /** Number of the channel. */
  readonly id: number;
  readonly actor: number;
  /** Items that pass in a firing of the actor, and those that stay between firings. */
  readonly items: number;
  readonly tokens: number;
}

/** A program as a graph of actors. */
export interface ProgramActors {
  /** Rates of the actors; the last two are the open ends. It begins where the initialisation ends. */
  readonly graph: SdfGraph;
  /** By channel of the graph: its number, or that of the stream. */
  readonly channels: readonly number[];
  /** By actor, without the open ends: the nodes that it fires. */
  readonly groups: readonly Group[];
  /** By actor, without the open ends: whether its firings must follow each other. */
  readonly isOrdered: readonly boolean[];
  readonly inner: readonly InnerChannel[];
}

/** The actors of a plan with a group for each node or loop. Without loops, actors and channels are numbered as nodes and channels are. */
export function actorsOf(plan: ProgramPlan): ProgramActors {
  const whole = withOpenEnds(plan);
  const least = ({ steps }: Group): number => Math.min(...steps.map(({ actor }) => actor));
  const groups = [...plan.groups].sort((a, b) => least(a) - least(b));
  const nodes = plan.graph.nodes.length;
  const actorOf = whole.actors.map((_, id) => (id < nodes ? groups.indexOf(elementAt(plan.groupOf, id)) : groups.length + id - nodes));
  /** Firings of a node in one of its actor. */
  const firingsOf = (node: number): number =>
    (node < nodes ? elementAt(plan.steady.repetitions, node) / elementAt(plan.groupOf, node).iterations : 1);
  const inOrder = groups.map(({ isLoop, steps }) => isLoop || steps.some(({ actor }) => isOrdered(plan, actor)));
  const actors = [...groups.map((group, id): SdfActor => {
    const first = elementAt(whole.actors, least(group)), others = new Set(group.steps.map(({ actor }) => actor)).size - 1;
    return { ...first, id, name: others === 0 ? first.name : `${first.name} and ${others} more`, stateful: elementAt(inOrder, id) };
  }), ...whole.actors.slice(nodes).map((end, i) => ({ ...end, id: groups.length + i }))];
  const isInner = ({ from, to }: SdfChannel): boolean => actorOf[from] === actorOf[to];
  const kept = whole.channels.filter((channel) => !isInner(channel));
  return {
    graph: { actors, channels: kept.map(({ from, to, push, pop, peek, tokens, bytesPerItem }, id) => {
      const [made, taken] = [push * firingsOf(from), pop * firingsOf(to)];
      return {
        id, from: elementAt(actorOf, from), to: elementAt(actorOf, to), push: made, pop: taken, peek: taken + peek - pop, tokens,
        bytesPerItem,
      };
    }) },
    channels: kept.map(({ id }) => id), groups, isOrdered: inOrder,
    inner: whole.channels.filter(isInner).map(({ id, from, push, tokens }) =>
      ({ id, actor: elementAt(actorOf, from), items: push * firingsOf(from), tokens })),
  };
}
