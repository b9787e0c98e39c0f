// Contracts loops to single actors with state, as section 4.8 assumes: one firing does a steady state of the loop's actors.
import { callback } from '../../core/checks.ts';
import { elementAt, required } from '../../core/known.ts';
import { gcd, isLoop, steadyState, stronglyConnected, type SteadyState } from '../schedule/index.ts';
import type { SdfActor, SdfChannel, SdfGraph } from '../sdf.ts';
import { requireRateGraph, requireSteady } from '../require.ts';

/** A number of firings of an actor of the given graph. */
export interface Member {
  readonly actor: number;
  readonly firings: number;
}

/** A graph in which loops are single actors. */
export interface Contracted {
  /**
   * The graph begins after the initialisation of the given graph: its tokens are the items on the channels at that point, and no first
   * firing differs. Items inside a loop are the state of its actor.
   */
  readonly graph: SdfGraph;
  /** Firings of each actor in a steady state of the given graph. */
  readonly repetitions: readonly number[];
  /** By actor: the firings that one of its firings consists of. */
  readonly members: readonly (readonly Member[])[];
  /** By actor of the given graph: the actor that does its firings. */
  readonly actorOf: readonly number[];
  /** By channel: its id in the given graph. */
  readonly channels: readonly number[];
}

const gcdOf = (values: readonly number[]): number => Number(values.reduce((a, b) => gcd(a, BigInt(b)), 0n));

/** Actors that become one, and whether they are a contracted loop. */
interface Group { readonly actors: readonly number[]; readonly isContracted: boolean }

/** Groups in the order of their smallest member. */
function groupsOf(graph: SdfGraph, staysOpen: (members: readonly number[]) => boolean): Group[] {
  const groups = stronglyConnected(graph).components.flatMap((members): Group[] =>
    isLoop(graph, members) && !staysOpen(members) ? [{ actors: members, isContracted: true }]
      : members.map((actor) => ({ actors: [actor], isContracted: false })));
  return groups.sort((a, b) => elementAt(a.actors, 0) - elementAt(b.actors, 0));
}

/**
 * Contracts each loop to one actor with state, whose firing consists of the smallest numbers of firings that return the loop to its
 * initial state. `staysOpen` says which loops are left as they are. Throws the errors of {@link steadyState}.
 */
export function contractLoops(given: SdfGraph, staysOpen: (members: readonly number[]) => boolean = () => false,
  known?: SteadyState): Contracted {
  requireRateGraph(given);
  callback(staysOpen, 'staysOpen');
  if (known !== undefined) requireSteady(given, known);
  const steady = known ?? steadyState(given);
  const groups = groupsOf(given, staysOpen);
  const actorOf = given.actors.map(() => 0);
  groups.forEach((group, id) => { for (const actor of group.actors) actorOf[actor] = id; });
  const repetitions = groups.map((group) => gcdOf(group.actors.map((actor) => elementAt(steady.repetitions, actor))));
  const members = groups.map((group, id) =>
    group.actors.map((actor): Member => ({ actor, firings: elementAt(steady.repetitions, actor) / elementAt(repetitions, id) })));
  const actors = groups.map((group, id): SdfActor => {
    const first = elementAt(given.actors, elementAt(group.actors, 0)), others = group.actors.length - 1;
    if (!group.isContracted) return { ...first, id };
    return { id, name: others === 0 ? first.name : `${first.name} and ${others} more`, stateful: true, moves: false };
  });
  const firings = given.actors.map(({ id }) =>
    required(elementAt(members, elementAt(actorOf, id)).find(({ actor }) => actor === id)).firings);
  const isInside = (from: number, to: number): boolean =>
    actorOf[from] === actorOf[to] && elementAt(groups, elementAt(actorOf, from)).isContracted;
  const kept = given.channels.filter(({ from, to }) => !isInside(from, to));
  const channels = kept.map(({ id: of, from, to, push, pop, peek, bytesPerItem }, id): SdfChannel => {
    const [made, taken] = [elementAt(firings, from), elementAt(firings, to)];
    return {
      id, from: elementAt(actorOf, from), to: elementAt(actorOf, to), push: push * made, pop: pop * taken, peek: pop * taken + peek - pop,
      tokens: elementAt(steady.residual, of), bytesPerItem,
    };
  });
  return { graph: { actors, channels }, repetitions, members, actorOf, channels: kept.map(({ id }) => id) };
}
