// The state of one filter, as the code of a firing keeps it: scalars in buffers.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, KernelFunction, Program } from '../../kernel/ir.ts';
import { dropDead } from '../../kernel/passes/dead.ts';
import { forCount } from '../../kernel/passes/slice.ts';
import { mapBody } from '../../kernel/visit.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { Follower, Lost } from './follow.ts';
import { Scene } from './scene.ts';
import { either, given, known, type Value } from './value.ts';

/** A scalar that a filter keeps between firings. */
export interface StateElement {
  readonly buffer: Buffer;
  readonly index: number;
  /** The field, as written; or `iter()`. */
  readonly field: string;
  /** What `init` left there. */
  readonly initial: number;
}

/** The elements of a node, and what one of its firings makes of them. */
export class NodeState {
  readonly node: number;
  readonly elements: readonly StateElement[];
  /** Elements as they are before the first firing of the work function; undefined where that depends on the input. */
  readonly start: readonly (number | undefined)[];
  readonly #buffers: readonly Buffer[];
  readonly #program: Program;
  readonly #work: KernelFunction;
  /** Steps of all that was followed. */
  #steps = 0;

  /** @param lowered has functions for the node's single firings */
  constructor(lowered: LoweredProgram, node: number) {
    const { plan, program, declarations, system } = lowered;
    const graphNode = elementAt(plan.graph.nodes, node);
    if (graphNode.kind !== 'filter') throw new Error(`node ${node} has no state`);
    const own = declarations.filter(({ buffer, use }) => use === 'state' && buffer.name.startsWith(`s${node}_`))
      .map(({ buffer }) => buffer);
    const elements: StateElement[] = own.flatMap((buffer) => {
      const field = elementAt(graphNode.code.state, Number(/_(\d+)/.exec(buffer.name)?.[1])).name;
      return Array.from({ length: required(buffer.length) }, (_, index) =>
        ({ buffer, index, field, initial: buffer.initial?.[index] ?? 0 }));
    });
    if (elements.length > mostElements) throw new Lost(`it keeps more than ${mostElements} numbers`);
    const usesIteration = required(plan.analyses.get(graphNode.code)).usesIteration;
    if (usesIteration) elements.push({ buffer: system.it, index: node, field: 'iter()', initial: 0 });
    this.node = node;
    this.elements = elements;
    this.#program = program;
    this.#buffers = [...own, system.it];
    const functionOf = (name: string): KernelFunction => {
      const f = required(program.functions.find((each) => each.name === `${name}_${node}`));
      const single = forCount(program, f, system.ix);
      if ([...single.buffers, ...this.#buffers].length === 0) return single;
      return this.#reduced(single, system.rs);
    };
    this.#work = functionOf('fire');
    const initial = elements.map((element) => element.initial);
    this.start = graphNode.code.prework === undefined ? initial
      : this.#follow(functionOf('first'), initial.map(known)).map(({ choices }) => (choices?.length === 1 ? choices[0] : undefined));
  }

  /** The function without what makes output and checks. */
  #reduced(f: KernelFunction, random: Buffer): KernelFunction {
    const kept = new Set(this.#buffers);
    const body = mapBody(f.body, {
      expression: (e) => {
        if (e.kind === 'load' && e.buffer === random) throw new Lost('it draws random numbers');
        return e;
      },
      statement: (s) => {
        if (s.kind === 'guard') return [];
        if (s.kind === 'store') return kept.has(s.buffer) || s.buffer.role === 'local' ? s : [];
        if (s.kind === 'copy') return kept.has(s.to) || s.to.role === 'local' ? s : [];
        return s.kind !== 'fill' || kept.has(s.buffer) || s.buffer.role === 'local' ? s : [];
      },
    });
    return required(dropDead({ ...this.#program, functions: [{ ...f, body }] }).functions[0]);
  }

  /** Elements after a firing, from those before it. */
  next(before: readonly Value[]): readonly Value[] {
    return this.#follow(this.#work, before);
  }

  /** The same; undefined if too much was followed already. */
  tryNext(before: readonly Value[]): readonly Value[] | undefined {
    try {
      return this.next(before);
    } catch (error) {
      if (error instanceof Lost) return undefined;
      throw error;
    }
  }

  #follow(f: KernelFunction, before: readonly Value[]): readonly Value[] {
    const buffers = new Map<Buffer, Value[]>(this.#buffers.map((buffer) => [buffer, Array<Value>(required(buffer.length)).fill(known(0))]));
    this.elements.forEach(({ buffer, index }, i) => { required(buffers.get(buffer))[index] = elementAt(before, i); });
    for (const buffer of f.buffers) buffers.set(buffer, Array<Value>(required(buffer.length)).fill(given));
    const left = mostSteps - this.#steps;
    const follower = new Follower(Math.min(mostSteps / 8, left));
    const { normal, returned } = follower.body(f.body, new Scene(new Map(), buffers));
    this.#steps += follower.steps;
    return this.elements.map(({ buffer, index }, i) => {
      const ends = [normal, returned].flatMap((scene) =>
        (scene === undefined ? [] : [elementAt(required(scene.buffers.get(buffer)), index)]));
      const [a, b] = ends;
      return a === undefined ? elementAt(before, i) : b === undefined ? a : either(a, b, { ...given, from: -1n });
    });
  }

  /** What fields are called, for messages. */
  fieldsOf(elements: Iterable<number>): string {
    return [...new Set([...elements].map((i) => elementAt(this.elements, i).field))].map((name) => `'${name}'`).join(', ');
  }
}

const mostElements = 1024;
/** Steps of code that are followed for one node at most. */
const mostSteps = 4_000_000;
