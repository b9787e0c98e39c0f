// Fires the nodes of a graph on demand: a node fires when it can and its items are needed. The output does not depend on the order.
import { elementAt, lastOf, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import type { FilterCode, IrType } from '../ir.ts';
import { compileFilter, EndOfInput, FilterActor, Mover, Reader, Writer, type Actor, type CompiledFilter, type Ports } from './actors.ts';
import { deadlockText, type Wanted } from '../schedule/steady.ts';
import { runError } from './error.ts';
import { Fault } from './fault.ts';
import { Fifo, type Meter } from './fifo.ts';
import { decodeFile, encodeFile } from './files.ts';
import { OpenInput, type OpenOptions } from './input.ts';
import { limitHint, type RunLimits } from './limits.ts';
import { spend, watchedBudget, type Budget } from './machine.ts';
import { Mail } from './messages.ts';
import { mostPrinted, Printout } from './print-order.ts';
import { flatten, fromConstant, typeBytes, type Value } from './values.ts';

export interface EngineOptions {
  readonly input: ArrayLike<number>;
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly limits: RunLimits;
  readonly seed: number;
  /** Receives each item that is pushed to a channel. */
  readonly tap?: (channel: number, item: Value) => void;
  /** Called every few milliseconds, also in the middle of firings; may throw. */
  readonly watch?: () => void;
  /** The input may go on. */
  readonly open?: OpenOptions | undefined;
}

/** What came out since it was last taken. */
export interface Taken {
  /** Scalars of items on the open output, and of items written to files by path. */
  readonly output: number[];
  readonly written: ReadonlyMap<string, number[]>;
  readonly printed: string;
}

/** A run of a graph. */
export class Engine {
  readonly graph: StreamGraph;
  readonly actors: readonly Actor[];
  /** Scalars of the items on the open output. */
  readonly output: number[] = [];
  /** Items on the open output; without one, items written to files; without those, printed lines. */
  items = 0;
  /** The open input. */
  readonly input: OpenInput | undefined;
  /** Set when {@link fire} returns false because the input is too short so far. */
  waits = false;
  readonly #printout: Printout;
  readonly #channels: readonly Fifo[];
  readonly #written = new Map<string, { type: IrType; numbers: number[] }>();
  readonly #meter: Meter;
  readonly #budget: Budget;
  readonly #options: EngineOptions;
  #firings: number;
  #prints = 0;
  readonly #countsLines: boolean;
  readonly #mail: Mail;
  /** Nodes that will never fire again, so that no message from them need be awaited. */
  readonly #over = new Set<number>();
  /** Nodes in the middle of a firing for which the input has ended. */
  readonly #stuck = new Set<number>();
  /** By node: how many items it waits for in the middle of a firing. */
  readonly #asked = new Map<number, number>();

  constructor(graph: StreamGraph, options: EngineOptions) {
    this.graph = graph;
    this.#options = options;
    this.#meter = { bytes: options.limits.bytes };
    const { steps, bytes, nesting } = options.limits;
    this.#budget = watchedBudget({ steps, bytes, depth: nesting }, options.watch);
    this.#firings = options.limits.firings;
    this.#countsLines = countsLines(graph);
    this.#printout = new Printout(graph);
    this.#channels = graph.channels.map(({ type, initial }) => {
      const fifo = new Fifo(this.#meter, 8 + typeBytes(type));
      for (const item of initial) fifo.push(fromConstant(item));
      return fifo;
    });
    this.input = graph.input === undefined ? undefined : new OpenInput(graph.input.type, options.input, options.open);
    for (const path of graph.missing ?? []) {
      const hint = 'give it to the elaboration under `files`';
      throw runError(graph, new Fault('S5011', `there is no file '${path}'`, undefined, { hint }), '', 0);
    }
    this.#mail = this.#guard(-1, () => new Mail(graph, {
      firings: (id) => elementAt(this.actors, id).firings, need: (id, port) => elementAt(this.actors, id).need(port),
      reach: (id, port) => elementAt(this.actors, id).reach(port), popped: (channel) => elementAt(this.#channels, channel).popped,
      standing: (channel) => elementAt(this.#channels, channel).length, wants: (id, upstream) => this.#wants(id, upstream),
    }));
    const compiled = new Map<FilterCode, CompiledFilter>();
    this.actors = graph.nodes.map((node) => this.#actor(node.id, compiled));
  }

  /** Has the limits of firings, steps and printed values begin anew. */
  renew(): void {
    this.#firings = this.#options.limits.firings;
    this.#prints = 0;
    this.#budget.renew?.();
  }

  /** Takes what came out. `isOver`: nothing more will. */
  take(isOver: boolean): Taken {
    const written = new Map([...this.#written].map(([path, { numbers }]) => [path, numbers.splice(0)]));
    return { output: this.output.splice(0), written, printed: this.#printout.take(isOver) };
  }

  #actor(id: number, compiled: Map<FilterCode, CompiledFilter>): Actor {
    const node = elementAt(this.graph.nodes, id);
    const ports = this.#ports(id);
    switch (node.kind) {
      case 'filter': {
        let code = compiled.get(node.code);
        if (code === undefined) compiled.set(node.code, code = compileFilter(node.code, this.#budget));
        return new FilterActor(code, ports, {
          budget: this.#budget, seed: (this.#options.seed + id) | 0, print: (text) => this.#print(id, text),
          send: (message, args) => this.#mail.send(id, elementAt(this.actors, id).firings + 1, message, args),
        });
      }
      case 'reader': {
        const { path } = node.file;
        const bytes = Object.hasOwn(this.#options.files, path) ? this.#options.files[path] : undefined;
        if (bytes === undefined) throw runError(this.graph, new Fault(
          'S5011', `there is no file '${path}'`, undefined, { hint: 'give it under `files`' }), node.name, 0);
        const type = this.#typeOf(id, 'output');
        return this.#guard(id, () => new Reader(decodeFile(bytes, type, path), type, required(ports.outputs[0])));
      }
      case 'writer': {
        const file = { type: this.#typeOf(id, 'input'), numbers: [] as number[] };
        this.#written.set(node.file.path, file);
        const { output } = this.graph;
        return new Writer(required(ports.inputs[0]), (item) => {
          this.#keep(item, file.numbers);
          if (output === undefined) ++this.items;
        });
      }
      default: return new Mover(node, ports);
    }
  }

  #typeOf(id: number, side: 'input' | 'output'): IrType {
    const node = elementAt(this.graph.nodes, id);
    const channel = (side === 'input' ? node.inputs : node.outputs)[0];
    return channel === undefined ? required(this.graph[side]).type : elementAt(this.graph.channels, channel).type;
  }

  /** Appends the scalars of an output item. */
  #keep(item: Value, numbers: number[]): void {
    flatten(item, numbers);
    if (8 * numbers.length > this.#options.limits.bytes) {
      throw new Fault('S5006', 'the items that have been output take more memory than the limit allows', undefined,
        { hint: limitHint('bytes'), fatal: true });
    }
  }

  get printed(): string {
    return this.#printout.toString();
  }

  #print(node: number, text: string): void {
    if (++this.#prints > mostPrinted) throw new Fault('S5009', `the program prints more than ${mostPrinted} values`, undefined);
    this.#printout.add(node, elementAt(this.actors, node).firings, text);
  }

  #ports(id: number): Ports {
    const node = elementAt(this.graph.nodes, id);
    const { input, output } = this.graph;
    const { tap } = this.#options;
    const inputs = node.inputs.map((channel, port) => (channel === undefined
      ? (input?.node === id && port === 0 ? this.input?.fifo : undefined) : this.#channels[channel]));
    const outputs = node.outputs.map((channel, port) => {
      if (channel !== undefined) return (item: Value) => {
        tap?.(channel, item);
        elementAt(this.#channels, channel).push(item);
      };
      if (output?.node !== id || port !== 0) return undefined;
      return (item: Value) => {
        this.#keep(item, this.output);
        ++this.items;
      };
    });
    return { inputs, outputs, demand: (port, count) => this.#demand(id, port, count) };
  }

  /** Fires upstream nodes until a port has `count` items. */
  #demand(id: number, port: number, count: number): boolean {
    const channel = elementAt(this.graph.nodes, id).inputs[port];
    if (channel === undefined) return this.input?.has(count) === true;
    const fifo = elementAt(this.#channels, channel);
    const { from, fromPort } = elementAt(this.graph.channels, channel);
    this.#asked.set(id, count);
    const isThere = (): boolean => fifo.length >= count;
    while (!isThere()) if (!elementAt(this.actors, from).gives(fromPort) || !this.fire(from, isThere)) return false;
    this.#asked.delete(id);
    return true;
  }

  /** Whether a node cannot continue with its current or next firing unless `upstream` fires. */
  #wants(node: number, upstream: number): boolean {
    const seen = new Set([node]);
    for (const id of seen) {
      if (id === upstream) return true;
      const actor = elementAt(this.actors, id);
      elementAt(this.graph.nodes, id).inputs.forEach((channel, port) => {
        if (channel === undefined) return;
        const needed = actor.isBusy ? this.#asked.get(id) ?? 0 : actor.need(port);
        const { from } = elementAt(this.graph.channels, channel);
        if (elementAt(this.#channels, channel).length - elementAt(this.actors, from).unfinished < needed) seen.add(from);
      });
    }
    return false;
  }

  /** The first input of a node that holds too few items for its next firing. */
  #missing(id: number): number | undefined {
    const node = elementAt(this.graph.nodes, id);
    const actor = elementAt(this.actors, id);
    for (let port = 0; port < node.inputs.length; ++port) {
      const channel = node.inputs[port];
      if (channel !== undefined) {
        if (elementAt(this.#channels, channel).length < actor.need(port)) return port;
      } else if (this.graph.input?.node === id && port === 0 && this.input?.has(actor.need(port)) === false) return port;
    }
    return undefined;
  }

  /**
   * Fires a node once, after everything it depends on. False if it can never fire again: the input is used up, or nodes wait for each
   * other; and if it waits for input that may still come. `isEnough`: an alternative condition that suffices if senders of messages, which
   * fire first, bring it about.
   */
  fire(target: number, isEnough = (): boolean => false): boolean {
    const stack = [target];
    const waiting = new Set(stack);
    /** Positions in the stack of nodes that fire first only because they may send a message. */
    const guards: number[] = [];
    /** A node that cannot fire now never will. A node that only waited for its messages continues without them. */
    const giveUp = (): boolean => {
      const from = guards.pop();
      if (from === undefined) return false;
      this.#over.add(elementAt(stack, from));
      for (const id of stack.splice(from)) waiting.delete(id);
      return true;
    };
    while (stack.length > 0) {
      const id = lastOf(stack);
      if (elementAt(this.actors, id).isBusy) {
        if (!this.#stuck.has(id)) throw this.#entangled(stack, guards.at(-1));
        if (giveUp()) continue;
        return false;
      }
      const port = this.#missing(id);
      if (port === undefined) {
        const sender = this.#mail.isUsed ? this.#mail.awaited(id, (each) => this.#over.has(each)) : undefined;
        if (sender !== undefined) {
          if (waiting.has(sender)) this.#guard(id, () => { throw this.#mail.impossible(sender, id); });
          guards.push(stack.length);
          stack.push(sender);
          waiting.add(sender);
          continue;
        }
        if (!this.#fireOne(id)) {
          if (giveUp()) continue;
          return false;
        }
        waiting.delete(id);
        stack.pop();
        if (guards.at(-1) !== stack.length) continue;
        guards.pop();
        if (!this.#mail.isTraced) continue;
        // In the middle of its firing, the sender may have fired other nodes on this stack.
        if (isEnough()) return true;
        for (const each of stack.splice(1)) waiting.delete(each);
        guards.length = 0;
        continue;
      }
      const from = this.#source(id, port);
      if (from === undefined && (this.waits = this.#mayCome(id, port))) return false;
      if (from === undefined || waiting.has(from)) {
        if (from !== undefined && guards.length === 0) throw this.#deadlock(stack.slice(stack.indexOf(from)));
        const place = from === undefined ? Infinity : stack.indexOf(from);
        const guard = guards.find((each) => each > place);
        if (guard !== undefined) this.#impossible(id, stack, guard);
        if (giveUp()) continue;
        return false;
      }
      stack.push(from);
      waiting.add(from);
    }
    return true;
  }

  #impossible(id: number, stack: readonly number[], guard: number): void {
    this.#guard(id, () => { throw this.#mail.impossible(elementAt(stack, guard), elementAt(stack, guard - 1)); });
  }

  /**
   * The error for a node that must fire while it is in the middle of a firing; `guard`: the position of the last node that may send a
   * message.
   */
  #entangled(stack: readonly number[], guard: number | undefined): Error {
    if (guard === undefined) return this.#deadlock([lastOf(stack), ...stack.slice(0, -1)]);
    const [receiver, sender] = [elementAt(stack, guard - 1), elementAt(stack, guard)];
    const { name } = elementAt(this.graph.nodes, receiver);
    return runError(this.graph, this.#mail.impossible(sender, receiver), name, elementAt(this.actors, receiver).firings);
  }

  /** The error for nodes that wait for each other in a cycle. */
  #deadlock(cycle: readonly number[]): Error {
    const nodes = cycle.map((id) => elementAt(this.graph.nodes, id));
    const wanted = nodes.map(({ id, name, inputs }, i): Wanted => {
      const port = this.#missing(id) ?? 0;
      const channel = inputs[port];
      return {
        name, of: elementAt(nodes, (i + 1) % nodes.length).name,
        needed: Math.max(1, elementAt(this.actors, id).need(port)),
        held: channel === undefined ? 0 : elementAt(this.#channels, channel).length,
      };
    });
    const filter = nodes.find((node) => node.kind === 'filter');
    const fault = new Fault('S5015', deadlockText(wanted), filter?.kind === 'filter' ? filter.code.span : undefined);
    return runError(this.graph, fault, '', 0);
  }

  /** Whether what an input lacks may still come from outside. */
  #mayCome(id: number, port: number): boolean {
    return this.input?.isOpen === true && elementAt(this.graph.nodes, id).inputs[port] === undefined;
  }

  /** The node that can produce what an input lacks. */
  #source(id: number, port: number): number | undefined {
    const channel = elementAt(this.graph.nodes, id).inputs[port];
    if (channel === undefined) return undefined;
    const { from, fromPort } = elementAt(this.graph.channels, channel);
    return elementAt(this.actors, from).gives(fromPort) ? from : undefined;
  }

  #fireOne(id: number): boolean {
    const actor = elementAt(this.actors, id);
    if (--this.#firings < 0) throw runError(this.graph, new Fault('S5007', 'the run takes more firings than the limit allows', undefined,
      { hint: limitHint('firings') }),
      '', 0);
    try {
      this.#guard(id, () => {
        spend(this.#budget, 8, undefined);
        if (this.#mail.isUsed && actor instanceof FilterActor) {
          for (const { handler, args } of this.#mail.arriving(id, actor.firings + 1)) actor.handle(handler, args);
        }
        if (this.#mail.isTraced) this.#mail.begins(id);
        actor.fire();
        if (this.#mail.isTraced) this.#mail.ended(id);
        this.#printout.fired(id, actor.firings);
        if (this.#countsLines) this.items = this.#printout.lines;
      });
      return true;
    } catch (error) {
      // The filter remains in the middle of its firing: it waits for items that never come.
      if (error instanceof EndOfInput) {
        this.#stuck.add(id);
        return false;
      }
      throw error;
    }
  }

  /** Turns faults into errors that name the node. */
  #guard<T>(id: number, make: () => T): T {
    try {
      return make();
    } catch (error) {
      const name = this.graph.nodes[id]?.name ?? '';
      if (error instanceof Fault) throw runError(this.graph, error, name, this.actors?.[id]?.firings ?? 0);
      if (error instanceof RangeError) throw runError(this.graph, new Fault('S5008', 'calls are nested more deeply than the stack allows',
        undefined,
        { hint: 'write a loop, or give the process a larger stack: node --stack-size=…' }), name,
        this.actors[id]?.firings ?? 0);
      throw error;
    }
  }

  /** Files that were written. */
  files(): Record<string, Uint8Array> {
    return Object.fromEntries([...this.#written].map(([path, { type, numbers }]) => [path, encodeFile(numbers, type)]));
  }
}

/** Whether printed lines are the only output of a program. */
export function countsLines(graph: StreamGraph): boolean {
  return graph.output === undefined && graph.nodes.every(({ kind }) => kind !== 'writer');
}
