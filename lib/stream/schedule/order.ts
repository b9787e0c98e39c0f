// Graphs as lists of successors: components and orders. Nodes are numbered from 0.
import { addAt, elementAt, lastOf, required } from '../../core/known.ts';

/** The state of one node in Tarjan's walk. */
interface Visit { readonly node: number; next: number }

class ComponentSearch {
  readonly component: number[];
  readonly components: number[][] = [];
  private readonly index: number[];
  private readonly low: number[];
  private readonly stack: number[] = [];
  private readonly successors: readonly (readonly number[])[];
  private counter = 0;

  constructor(successors: readonly (readonly number[])[]) {
    this.successors = successors;
    this.component = successors.map(() => -1);
    this.index = successors.map(() => -1);
    this.low = successors.map(() => 0);
    for (let node = 0; node < successors.length; ++node) if (this.index[node] === -1) this.walk(node);
  }

  private enter(node: number): Visit {
    this.index[node] = this.low[node] = this.counter++;
    this.stack.push(node);
    return { node, next: 0 };
  }

  private walk(root: number): void {
    const path = [this.enter(root)];
    while (path.length > 0) {
      const visit = lastOf(path);
      const target = elementAt(this.successors, visit.node)[visit.next++];
      if (target === undefined) {
        path.pop();
        this.leave(visit.node, path.at(-1)?.node);
      } else if (this.index[target] === -1) path.push(this.enter(target));
      else if (this.component[target] === -1) {
        this.low[visit.node] = Math.min(elementAt(this.low, visit.node), elementAt(this.index, target));
      }
    }
  }

  private leave(node: number, parent: number | undefined): void {
    if (parent !== undefined) this.low[parent] = Math.min(elementAt(this.low, parent), elementAt(this.low, node));
    if (this.low[node] !== this.index[node]) return;
    const members: number[] = [];
    let member: number;
    do {
      member = required(this.stack.pop());
      this.component[member] = this.components.length;
      members.push(member);
    } while (member !== node);
    this.components.push(members.sort((a, b) => a - b));
  }
}

/** Strongly connected components. `components` is in reverse topological order (consumers first), as Tarjan's algorithm yields it. */
export interface Components {
  /** Component of each actor. */
  readonly component: readonly number[];
  /** Members of each component, ascending. */
  readonly components: readonly (readonly number[])[];
}

/** Components of a graph. Linear time, no recursion. */
export function componentsOf(successors: readonly (readonly number[])[]): Components {
  const { component, components } = new ComponentSearch(successors);
  return { component, components };
}

/** Nodes in an order in which every edge goes forward; of several candidates, the smallest comes first. Undefined if there is a cycle. */
export function forwardOrder(successors: readonly (readonly number[])[]): number[] | undefined {
  const waiting = successors.map(() => 0);
  for (const targets of successors) for (const target of targets) addAt(waiting, target, 1);
  const ready = [...successors.keys()].filter((node) => waiting[node] === 0);
  const order: number[] = [];
  while (ready.length > 0) {
    const node = required(ready.shift());
    order.push(node);
    for (const target of elementAt(successors, node)) if (addAt(waiting, target, -1) === 0) insertSorted(ready, target);
  }
  return order.length === successors.length ? order : undefined;
}

function insertSorted(values: number[], value: number): void {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (elementAt(values, middle) < value) low = middle + 1;
    else high = middle;
  }
  values.splice(low, 0, value);
}
