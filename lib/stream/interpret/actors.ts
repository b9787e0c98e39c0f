// The nodes of a graph as actors that fire.
import { required } from '../../core/known.ts';
import type { Span } from '../ast.ts';
import type { GraphNode } from '../graph.ts';
import type { FilterCode, IrRates } from '../ir.ts';
import { Compiler } from './compile.ts';
import { Fault } from './fault.ts';
import type { Fifo } from './fifo.ts';
import { Machine, type Budget, type Execute, type Tape } from './machine.ts';
import { copyValue, fromConstant, unflatten, type Value } from './values.ts';

/** The input ended in the middle of a firing with dynamic rates. */
export class EndOfInput extends Error {}

/** The queues at a node's ports; undefined for void ends. */
export interface Ports {
  readonly inputs: readonly (Fifo | undefined)[];
  readonly outputs: readonly (((item: Value) => void) | undefined)[];
  /** Requests `count` items on an input of a filter with dynamic rates; false if there will never be that many. */
  readonly demand: (port: number, count: number) => boolean;
}

/** A node that can fire. */
export interface Actor {
  firings: number;
  /** In the middle of a firing. */
  isBusy: boolean;
  /** How many items it has pushed in an unfinished firing. */
  readonly unfinished: number;
  /** How many items an input must hold for the next firing. */
  need(port: number): number;
  /** How many items of an input the current or last firing has popped or peeked at, or was certain to find. */
  reach(port: number): number;
  /** Whether the next firing or a later one can push to the output. */
  gives(port: number): boolean;
  fire(): void;
}

/** Splitters, joiners and identities: they move items according to weights. */
export class Mover implements Actor {
  firings = 0;
  isBusy = false;
  readonly unfinished = 0;
  readonly #node: GraphNode;
  readonly #ports: Ports;

  constructor(node: GraphNode, ports: Ports) {
    this.#node = node;
    this.#ports = ports;
  }

  need(port: number): number {
    const node = this.#node;
    if (node.kind === 'joiner') return required(node.weights[port]);
    return node.kind === 'splitter' ? node.weights.reduce((sum, weight) => sum + weight, 0) : 1;
  }

  reach(port: number): number {
    return this.need(port);
  }

  gives(port: number): boolean {
    return this.#node.kind !== 'splitter' || required(this.#node.weights[port]) > 0;
  }

  fire(): void {
    ++this.firings;
    const { inputs, outputs } = this.#ports;
    const node = this.#node;
    if (node.kind === 'duplicate') {
      const item = required(inputs[0]).pop();
      for (const put of outputs) put?.(copyValue(item));
    } else if (node.kind === 'splitter') {
      node.weights.forEach((weight, port) => {
        for (let i = 0; i < weight; ++i) required(outputs[port])(required(inputs[0]).pop());
      });
    } else if (node.kind === 'joiner') {
      node.weights.forEach((weight, port) => {
        for (let i = 0; i < weight; ++i) required(outputs[0])(required(inputs[port]).pop());
      });
    } else required(outputs[0])(required(inputs[0]).pop());
  }
}

/** A file reader: repeats the items of the file endlessly. */
export class Reader implements Actor {
  firings = 0;
  isBusy = false;
  readonly unfinished = 0;
  readonly #numbers: Float64Array;
  readonly #put: (item: Value) => void;
  readonly #type: Parameters<typeof unflatten>[0];
  readonly #from = { at: 0 };

  constructor(numbers: Float64Array, type: Parameters<typeof unflatten>[0], put: (item: Value) => void) {
    this.#numbers = numbers;
    this.#type = type;
    this.#put = put;
  }

  need(): number {
    return 0;
  }

  reach(): number {
    return 0;
  }

  gives(): boolean {
    return true;
  }

  fire(): void {
    ++this.firings;
    if (this.#from.at >= this.#numbers.length) this.#from.at = 0;
    this.#put(unflatten(this.#type, this.#numbers, this.#from));
  }
}

/** A file writer. */
export class Writer implements Actor {
  firings = 0;
  isBusy = false;
  readonly unfinished = 0;
  readonly #input: Fifo;
  readonly #put: (item: Value) => void;

  constructor(input: Fifo, put: (item: Value) => void) {
    this.#input = input;
    this.#put = put;
  }

  need(): number {
    return 1;
  }

  reach(): number {
    return 1;
  }

  gives(): boolean {
    return false;
  }

  fire(): void {
    ++this.firings;
    this.#put(this.#input.pop());
  }
}

/** The compiled code of a filter, used by all nodes that share it. */
export interface CompiledFilter {
  readonly code: FilterCode;
  readonly work: Execute;
  readonly prework: Execute | undefined;
  readonly handlers: ReadonlyMap<string, (machine: Machine, args: readonly Value[]) => void>;
}

/** Compiles code; the fields are numbered in the order of `code.state`. */
export function compileFilter(code: FilterCode, budget: Budget): CompiledFilter {
  const machine = new Machine(budget);
  for (const field of code.state) machine.fieldSlot(field);
  const compiler = new Compiler(machine);
  for (const each of code.functions) compiler.functions.set(each.name, each);
  for (const each of code.handlers) compiler.functions.set(each.name, each);
  const handlers = new Map(code.handlers.map(({ name }) => {
    const callable = compiler.callable(name);
    return [name, (m: Machine, args: readonly Value[]) => {
      const outer = m.frame;
      m.frame = new Array<Value>(callable.frameSize).fill(0);
      callable.slots.forEach((slot, i) => { m.frame[slot] = required(args[i]); });
      callable.body(m);
      m.frame = outer;
    }] as const;
  }));
  return {
    code, work: compiler.body(code.work.body), prework: code.prework === undefined ? undefined : compiler.body(code.prework.body), handlers,
  };
}

/** What a filter needs from its environment besides its ports. */
export interface FilterHost {
  readonly budget: Budget;
  readonly seed: number;
  readonly print: (text: string) => void;
  readonly send: Machine['send'];
}

export class FilterActor implements Actor, Tape {
  firings = 0;
  isBusy = false;
  readonly machine: Machine;
  readonly #compiled: CompiledFilter;
  readonly #ports: Ports;
  #rates: IrRates;
  #popped = 0;
  #pushed = 0;
  #reach = 0;

  constructor(compiled: CompiledFilter, ports: Ports, host: FilterHost) {
    const { code } = compiled;
    this.#compiled = compiled;
    this.#ports = ports;
    this.#rates = (code.prework ?? code.work).rates;
    this.machine = new Machine(host.budget);
    for (const field of code.state) this.machine.fields[this.machine.fieldSlot(field)] = fromConstant(field.initial);
    this.machine.tape = this;
    this.machine.random = host.seed;
    this.machine.print = host.print;
    this.machine.send = host.send;
  }

  /** Executes a message handler between firings. */
  handle(handler: string, args: readonly Value[]): void {
    this.#compiled.handlers.get(handler)?.(this.machine, args);
  }

  need(): number {
    const { dynamic, peek, pop } = this.#rates;
    return dynamic?.pop !== undefined ? dynamic.pop[0] : dynamic?.peek !== undefined ? Math.max(pop, dynamic.peek[0]) : peek;
  }

  get unfinished(): number {
    return this.isBusy ? this.#pushed : 0;
  }

  reach(): number {
    return this.#reach;
  }

  gives(): boolean {
    const { code } = this.#compiled;
    const most = (rates: IrRates) => rates.dynamic?.push?.[1] ?? rates.push;
    return most(this.#rates) > 0 || most(code.work.rates) > 0;
  }

  fire(): void {
    const { code, work, prework } = this.#compiled;
    const isFirst = this.firings === 0 && prework !== undefined;
    this.#popped = this.#pushed = 0;
    this.#reach = this.need();
    this.isBusy = true;
    this.machine.iteration = this.firings;
    (isFirst ? prework : work)(this.machine);
    this.isBusy = false;
    ++this.firings;
    this.#check(isFirst ? 'prework' : 'work');
    this.#rates = code.work.rates;
  }

  #check(what: string): void {
    const { pop, push, dynamic } = this.#rates;
    const verify = (verb: 'pop' | 'push', done: number, [low, high]: readonly [number, number]): void => {
      if (done >= low && done <= high) return;
      throw new Fault('S5004', `${what} made ${done} calls of ${verb}, but ${verb} ${low === high ? low : `[${low}, ${high}]`} is declared`,
        this.#compiled.code.span);
    };
    verify('pop', this.#popped, dynamic?.pop ?? [pop, pop]);
    verify('push', this.#pushed, dynamic?.push ?? [push, push]);
  }

  pop(span: Span | undefined): Value {
    const most = this.#rates.dynamic?.pop?.[1] ?? this.#rates.pop;
    if (this.#popped >= most) throw new Fault('S5004', `more than ${most} items are popped, but pop ${most} is declared`, span);
    this.#require(1);
    ++this.#popped;
    return required(this.#ports.inputs[0]).pop();
  }

  peek(index: number, span: Span | undefined): Value {
    const { dynamic, peek } = this.#rates;
    const most = dynamic?.peek?.[1] ?? (dynamic?.pop === undefined ? peek : Math.max(peek, dynamic.pop[1]));
    if (index < 0 || this.#popped + index >= most) {
      throw new Fault(
        'S5005', `peek(${index}) after ${this.#popped} pops looks at item ${this.#popped + index}, but peek ${most} is declared`, span);
    }
    this.#require(index + 1);
    return required(this.#ports.inputs[0]).peek(index);
  }

  /** Static rates are satisfied before the firing; dynamic ones as they come up. */
  #require(count: number): void {
    const input = required(this.#ports.inputs[0]);
    if (this.#popped + count > this.#reach) this.#reach = this.#popped + count;
    if (input.length < count && !this.#ports.demand(0, count)) throw new EndOfInput();
  }

  push(value: Value, span: Span | undefined): void {
    const most = this.#rates.dynamic?.push?.[1] ?? this.#rates.push;
    if (this.#pushed >= most) throw new Fault('S5004', `more than ${most} items are pushed, but push ${most} is declared`, span);
    ++this.#pushed;
    required(this.#ports.outputs[0])(value);
  }
}
