// Whole steady states, as compiled programs fire them: the interpreter fires printing nodes equally often. On demand alone, it would omit
// what compiled programs produce ahead.
import { elementAt } from '../../core/known.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import type { SteadyState } from '../schedule/steady.ts';
import type { Engine } from './engine.ts';
import { prints, steadyOf } from './print-order.ts';

export class WholeStates {
  readonly #engine: Engine;
  readonly #steady: SteadyState;
  readonly #printers: readonly number[];

  private constructor(engine: Engine, steady: SteadyState) {
    this.#engine = engine;
    this.#steady = steady;
    this.#printers = engine.graph.nodes.filter(prints).map(({ id }) => id);
  }

  /** Undefined if nothing is printed, or if there are no steady states. */
  static of(engine: Engine): WholeStates | undefined {
    const { graph } = engine;
    const steady = graph.portals.length > 0 || !graph.nodes.some(prints) ? undefined : steadyOf(graph);
    return steady === undefined ? undefined : new WholeStates(engine, steady);
  }

  /** Fires nodes until `states` steady states are over; false if some cannot fire. */
  *#fire(nodes: readonly number[], states: number): Generator<void, boolean> {
    const { initFirings, repetitions } = this.#steady;
    let isAlive = true;
    for (const node of nodes) {
      while (elementAt(this.#engine.actors, node).firings < elementAt(initFirings, node) + states * elementAt(repetitions, node)) {
        const hasFired = this.#engine.fire(node);
        yield;
        if (hasFired) continue;
        isAlive = false;
        break;
      }
    }
    return isAlive;
  }

  /** Runs the maximum number of whole steady states that output no more than `items` items, on the open output or to files. */
  *forItems(items: number, sinks: readonly number[]): Generator<void, void> {
    const { graph } = this.#engine;
    const { initFirings, repetitions } = this.#steady;
    const counted = graph.output === undefined ? graph.nodes.filter(({ kind }) => kind === 'writer')
      : [elementAt(graph.nodes, graph.output.node)];
    let atFirst = 0, each = 0;
    for (const node of counted) {
      const rate = (isFirst: boolean): number => ratesOf(node, 0, isFirst)[graph.output === undefined ? 'pop' : 'push'];
      const before = elementAt(initFirings, node.id);
      atFirst += before === 0 ? 0 : rate(true) + (before - 1) * rate(false);
      each += elementAt(repetitions, node.id) * rate(false);
    }
    const states = each === 0 ? 0 : Math.floor((items - atFirst) / each);
    for (let state = 0; state <= states; ++state) if (!(yield* this.#fire([...sinks, ...this.#printers], state))) return;
  }

  /** Produces what compiled programs produce ahead once the counted nodes have fired `iterations` steady states. */
  *ahead(iterations: number, counted: readonly number[]): Generator<void, void> {
    const { initFirings, repetitions } = this.#steady;
    const states = Math.min(...counted.map((node) => iterations - Math.ceil(elementAt(initFirings, node) / elementAt(repetitions, node))));
    if (states >= 0) yield* this.#fire(this.#printers, states);
  }
}
