// Which nodes run together: neighbours in stream order, as long as their code stays small or, where values are to stay in registers, by
// dependence.
import { elementAt, required } from '../../core/known.ts';
import { statementSize } from '../interpret/walk.ts';
import type { GraphNode } from '../graph.ts';
import type { FilterCode } from '../ir.ts';
import { estimateCosts } from '../profile/estimate.ts';
import type { Schedule } from '../schedule/steady.ts';
import type { SdfGraph } from '../sdf.ts';
import { isJammed } from './jam.ts';
import { phasesOf } from './phases.ts';
import type { Group, PlanOptions, ProgramPlan } from './types.ts';

type FilterNode = Extract<GraphNode, { kind: 'filter' }>;
type Parts = Pick<ProgramPlan, 'graph' | 'sdf' | 'steady' | 'schedule' | 'analyses' | 'firings'>;

/** Work that cannot be sliced is joined up to this fraction of a core's share: small enough for load balancing. */
const partsOfCore = 3;

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** The code of a filter's steady-state firings, for one period of them; undefined: a dead firing. */
export function firingCodes({ firings }: Pick<ProgramPlan, 'firings'>, node: FilterNode): readonly (FilterCode | undefined)[] {
  return firings.get(node.id)?.codes ?? [node.code];
}

/** The same without dead firings. */
export function codesOf(firings: ProgramPlan['firings'], node: FilterNode): FilterCode[] {
  return firingCodes({ firings }, node).filter((code) => code !== undefined);
}

/** Mean code size of one firing, taking into account which loops will be unrolled. */
export function firingSize(plan: Pick<ProgramPlan, 'analyses' | 'firings'>, node: GraphNode, filterSize: number): number {
  switch (node.kind) {
    case 'filter': {
      const codes = firingCodes(plan, node);
      const sizes = codes.map((code) => {
        const unrolled = code === undefined ? 0 : required(plan.analyses.get(code)).unrolled(code.work.body);
        return code === undefined || unrolled <= filterSize ? unrolled : statementSize(code.work.body) + 256;
      });
      return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    }
    case 'splitter': case 'joiner': return node.weights.reduce((sum, weight) => sum + weight, 0);
    default: return 1;
  }
}

/** All actors of feedback loops. */
export function loopsOf({ channels }: SdfGraph, { components }: Schedule): ReadonlySet<number> {
  const own = channels.flatMap(({ from, to }) => (from === to ? [from] : []));
  return new Set([...own, ...components.flatMap((members) => (members.length > 1 ? members : []))]);
}

/** Whether an actor's firings must run in order. */
export function isOrdered({ sdf, graph, analyses }: Pick<ProgramPlan, 'sdf' | 'graph' | 'analyses'>, actor: number): boolean {
  const node = elementAt(graph.nodes, actor);
  return elementAt(sdf.actors, actor).stateful || (node.kind === 'filter' && required(analyses.get(node.code)).usesIteration);
}

/** Whether an actor should be on a different core than those before it, or cannot be sliced together with them. */
function apartness(
  parts: Parts, inputs: Schedule['inputs'], { forCores: cores, handled }: Required<PlanOptions>,
): (before: readonly number[], actor: number) => boolean {
  if (cores === 1) return () => false;
  const { sdf, steady: { repetitions, residual } } = parts;
  const work = estimateCosts(parts.graph).map((cost, actor) => cost * elementAt(repetitions, actor));
  const sum = (actors: readonly number[]) => actors.reduce((total, actor) => total + elementAt(work, actor), 0);
  const most = sum(sdf.actors.map(({ id }) => id)) / (partsOfCore * cores);
  return (before, actor) => {
    const members = [...before, actor];
    if (members.some((id) => isOrdered(parts, id) && !handled.has(id))) return sum(members) > most;
    return elementAt(inputs, actor).some(({ id, from }) => elementAt(residual, id) > 0 && before.includes(from));
  };
}

/** Groups of a schedule's nodes, in stream order. */
export function makeGroups(parts: Parts, schedule: Schedule, options: Required<PlanOptions>): Group[] {
  return new Grouping(parts, schedule, options).make();
}

interface Open { readonly nodes: number[]; readonly divisor: number; readonly sizes: number[] }

class Grouping {
  readonly #parts: Parts;
  readonly #schedule: Schedule;
  readonly #options: Required<PlanOptions>;
  readonly #isApart: (before: readonly number[], actor: number) => boolean;
  readonly #groups: Group[] = [];
  #open: Open | undefined;
  /** Nodes that are cut into groups by dependence, once all are known. */
  #chain: number[] = [];

  constructor(parts: Parts, schedule: Schedule, options: Required<PlanOptions>) {
    this.#parts = parts;
    this.#schedule = schedule;
    this.#options = options;
    this.#isApart = apartness(parts, schedule.inputs, options);
  }

  make(): Group[] {
    const { component, components } = this.#schedule;
    const { sdf, steady, schedule } = this.#parts;
    const done = new Set<number>();
    const ownLoops = new Set(sdf.channels.flatMap(({ from, to }) => (from === to ? [from] : [])));
    for (const actor of steady.order) {
      const members = elementAt(components, elementAt(component, actor));
      if ((members.length > 1 || ownLoops.has(actor)) && !this.#options.open.has(actor)) {
        if (done.has(elementAt(component, actor))) continue;
        done.add(elementAt(component, actor));
        const inside = new Set(members);
        this.#alone({ steps: schedule.steps.filter((step) => inside.has(step.actor)), iterations: 1, isLoop: true });
        continue;
      }
      const firings = elementAt(steady.repetitions, actor);
      if (this.#options.handled.get(actor) === 'alone') this.#alone({ steps: [{ actor, count: 1 }], iterations: firings });
      else if (this.#options.live > 0 && (!this.#isJammed(actor) || this.#isUnrolled(actor))) this.#chain.push(actor);
      else if (this.#isJammed(actor)) {
        const periods = this.#periodsOf(actor);
        this.#alone({ steps: [{ actor, count: firings / periods }], iterations: periods, isJammed: true });
      } else this.#add(actor);
    }
    this.#close();
    return this.#groups;
  }

  #isJammed(actor: number): boolean {
    const { graph, firings, analyses } = this.#parts;
    const node = elementAt(graph.nodes, actor);
    return node.kind === 'filter' && codesOf(firings, node).some((code) => isJammed(code, required(analyses.get(code))));
  }

  /** Whether the loops of a filter's firings become straight code. */
  #isUnrolled(actor: number): boolean {
    const { graph, firings, analyses } = this.#parts;
    const node = elementAt(graph.nodes, actor);
    return node.kind === 'filter' && codesOf(firings, node).every((code) =>
      required(analyses.get(code)).unrolled(code.work.body) <= this.#options.filterSize);
  }

  /** Firings between which a node's code repeats are one. */
  #periodsOf(actor: number): number {
    return elementAt(this.#parts.steady.repetitions, actor) / (this.#parts.firings.get(actor)?.codes.length ?? 1);
  }

  #sizeOf(actor: number): number {
    return firingSize(this.#parts, elementAt(this.#parts.graph.nodes, actor), this.#options.filterSize);
  }

  #alone(group: Omit<Group, 'id' | 'isLoop' | 'isJammed'> & Partial<Group>): void {
    this.#close();
    this.#groups.push({ id: this.#groups.length, isLoop: false, isJammed: false, ...group });
  }

  #close(): void {
    const chain = this.#chain;
    this.#chain = [];
    if (chain.length > 0) this.#cut(chain);
    this.#end();
  }

  #cut(chain: readonly number[]): void {
    const { graph, steady: { repetitions } } = this.#parts;
    const found = phasesOf(chain, {
      graph, repetitions, periods: (node) => this.#periodsOf(node), codes: (node) => firingCodes(this.#parts, node),
      sumsUp: (node) => this.#isJammed(node), views: this.#options.views,
      size: (node) => this.#sizeOf(node), live: this.#options.live, most: this.#options.groupSize, isApart: this.#isApart,
    });
    for (const members of found ?? []) {
      this.#end();
      for (const actor of members) this.#put(actor);
    }
    if (found === undefined) for (const actor of chain) this.#add(actor);
  }

  #end(): void {
    if (this.#open === undefined) return;
    const { nodes, divisor } = this.#open;
    const steps = nodes.map((actor) => ({ actor, count: elementAt(this.#parts.steady.repetitions, actor) / divisor }));
    const [first] = nodes;
    const isJammed = nodes.length === 1 && first !== undefined && this.#isJammed(first);
    this.#groups.push({ id: this.#groups.length, steps, iterations: divisor, isLoop: false, isJammed });
    this.#open = undefined;
  }

  /** Puts a node into the last group as long as that stays small, or else into one of its own. */
  #add(actor: number): void {
    if (this.#open !== undefined && this.#isApart(this.#open.nodes, actor)) this.#end();
    const { repetitions } = this.#parts.steady;
    const { nodes, divisor, sizes } = this.#with(actor);
    const total = nodes.reduce((sum, node, i) => sum + (elementAt(sizes, i) + 2) * (elementAt(repetitions, node) / divisor), 0);
    if (nodes.length > 1 && total > this.#options.groupSize) this.#end();
    this.#put(actor);
  }

  #put(actor: number): void {
    this.#open = this.#with(actor);
  }

  #with(actor: number): Open {
    const { nodes, divisor, sizes } = this.#open ?? { nodes: [], divisor: 0, sizes: [] };
    return { nodes: [...nodes, actor], divisor: gcd(divisor, this.#periodsOf(actor)), sizes: [...sizes, this.#sizeOf(actor)] };
  }
}
