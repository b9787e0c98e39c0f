// Functions of groups whose state the caller provides: they take it as it is before an iteration and keep it to themselves. And functions
// that only find what a firing leaves in some elements.
import { elementAt, required } from '../../core/known.ts';
import {
  compare, i32, load, select, store, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Program, type
  ScalarType, type Statement,
} from '../../kernel/ir.ts';
import { dropDead } from '../../kernel/passes/dead.ts';
import { forCount } from '../../kernel/passes/slice.ts';
import { buffersIn, mapBody, walkBody } from '../../kernel/visit.ts';
import type { LoweredProgram } from '../lower/program.ts';
import type { StateElement } from '../state/elements.ts';
import { Follower } from '../state/follow.ts';
import { Scene } from '../state/scene.ts';
import { straighten } from '../state/straighten.ts';
import type { NodePlan } from '../state/stages.ts';
import { elementValue, given, oneOf, type Value } from '../state/value.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';

/** Elements that a function leaves for its caller, by phase. */
export type Wanted = readonly (readonly (number | undefined)[])[];

/** Finds elements after a firing. It takes the state before, and the phase if there are several; word `i` is left in `outs` of its type. */
export interface NextFunction {
  readonly f: KernelFunction;
  readonly outs: Partial<Readonly<Record<ScalarType, Buffer>>>;
  readonly phase: Buffer | undefined;
}

const mostStored = 64;

/** Makes functions whose state is provided. */
export class StateFunctions {
  readonly #lowered: LoweredProgram;
  readonly #plans: ReadonlyMap<number, NodePlan>;
  /** What functions take in place of the buffers of the state. */
  readonly #before = new Map<string, Buffer>();
  readonly #made: Buffer[] = [];

  constructor(lowered: LoweredProgram, plans: ReadonlyMap<number, NodePlan>) {
    const alone = new Set(lowered.plan.groups.filter(({ steps: [step] }) => (plans.get(step?.actor ?? -1)?.stages.length ?? 0) > 0)
      .map(({ id }) => `group_${id}`));
    const functions = lowered.program.functions.map((f) => (alone.has(f.name) ? straightened(lowered, f) : f));
    this.#lowered = { ...lowered, program: { ...lowered.program, functions } };
    this.#plans = plans;
  }

  /** Buffers beside those of the program. */
  get buffers(): readonly Buffer[] {
    return [...this.#before.values(), ...this.#made];
  }

  /** What functions take for elements of a buffer before an iteration; undefined if none takes it. */
  beforeOf(name: string): Buffer | undefined {
    return this.#before.get(name);
  }

  isState(buffer: Buffer): boolean {
    const { system, declarations } = this.#lowered;
    return buffer === system.it || declarations.some((each) => each.use === 'state' && each.buffer === buffer);
  }

  #takes(name: string, element: ScalarType, length: number): Buffer {
    let found = this.#before.get(name);
    if (found === undefined) {
      this.#before.set(name, found = { name: `${name}_before`, element, role: 'external', length, isReadOnly: true });
    }
    return found;
  }

  /** The functions of groups with state provided. */
  functions(): readonly KernelFunction[] {
    const { program } = this.#lowered;
    return program.functions.map((f) => {
      if (!f.name.startsWith('group_')) return f;
      const made = this.#private(f, []);
      return made === f ? f : required(dropDead({ ...program, functions: [made] }).functions[0]);
    });
  }

  /** @param more what follows at the end, given the function's own buffers */
  #private(f: KernelFunction, more: readonly ((own: (buffer: string) => Buffer) => Statement)[]): KernelFunction {
    const { it } = this.#lowered.system;
    const buffers = [...buffersIn(f.body)].filter((buffer) => this.isState(buffer));
    if (buffers.length === 0) return f;
    const own = new Map(buffers.filter((buffer) => buffer !== it).map((buffer): [Buffer, Buffer] =>
      [buffer, { name: `${buffer.name}_own`, element: buffer.element, role: 'local', length: required(buffer.length) }]));
    const begin = [...own].flatMap(([buffer, mine]): Statement[] => {
      const length = required(buffer.length), from = this.#takes(buffer.name, buffer.element, length);
      if (length > mostStored) return [{ kind: 'copy', to: mine, toIndex: i32(0), from, fromIndex: i32(0), count: i32(length) }];
      return Array.from({ length }, (_, i) => store(mine, i32(i), load(from, i32(i))));
    });
    const body = mapBody(f.body, {
      expression: (e) => {
        if (e.kind !== 'load') return e;
        if (e.buffer === it) return load(this.#takes(`it${valueOf(e.index)}`, 'i32', 1), i32(0));
        const mine = own.get(e.buffer);
        return mine === undefined ? e : { ...e, buffer: mine };
      },
      statement: (s) => withBuffers(s, own, it),
    });
    const find = (name: string): Buffer => required([...own].find(([{ name: each }]) => each === name))[1];
    return { ...f, buffers: [...f.buffers, ...own.values()], body: [...begin, ...body, ...more.map((each) => each(find))] };
  }

  /**
   * A function of a node's firing that finds some elements.
   * @param group the function of its group, which is the node alone
   * @param provided elements that are right before the firing; of those in `choices`, only the values are known
   */
  next(
    name: string, node: number, group: string, wanted: Wanted, provided: ReadonlySet<number>,
    choices: ReadonlyMap<number, readonly number[]>,
  ): NextFunction {
    const { program, system } = this.#lowered;
    const { state } = required(this.#plans.get(node));
    const f = required(program.functions.find((each) => each.name === group));
    const outs: Partial<Record<ScalarType, Buffer>> = {};
    const phase = wanted.length === 1 ? undefined
      : this.#take({ name: `${name}_phase`, element: 'i32', role: 'external', length: 1, isReadOnly: true });
    const words = Math.max(...wanted.map((each) => each.length));
    const more = Array.from({ length: words }, (_, word) => (own: (buffer: string) => Buffer): Statement => {
      const elements = wanted.map(({ [word]: element }) => (element === undefined ? undefined : elementAt(state.elements, element)));
      const [some] = elements.filter((element) => element !== undefined);
      const { element } = required(some).buffer;
      const out = outs[element] ??= this.#take({ name: `${name}_${element}`, element, role: 'external', length: words });
      return store(out, i32(word), this.#picked(`${name}_${word}`, elements, phase, own));
    });
    const whole = this.#private({ ...f, name }, more);
    const taken = new Set<Buffer>(Object.values(outs));
    const body = mapBody(whole.body, { statement: (s) => (isOutput(s, taken) ? [] : s) });
    const reduced = forCount(program, { ...whole, body }, system.ix);
    const before = this.#valuesBefore(node, provided, choices);
    return { f: checked(reduced, before, name), outs, phase };
  }

  #take(buffer: Buffer): Buffer {
    this.#made.push(buffer);
    return buffer;
  }

  /** The element that a word holds: which one it is may depend on the phase. */
  #picked(
    name: string, elements: readonly (StateElement | undefined)[], phase: Buffer | undefined, own: (buffer: string) => Buffer,
  ): Expression {
    const names = [...new Set(elements.flatMap((element) => (element === undefined ? [] : [element.buffer.name])))];
    const table = (suffix: string, numbers: readonly number[]): Expression => {
      const [first = 0] = numbers;
      if (phase === undefined || numbers.every((x) => x === first)) return i32(first);
      const buffer = this.#take({ name: `${name}_${suffix}`, element: 'i32', role: 'constant', length: numbers.length, initial: numbers });
      return load(buffer, load(phase, i32(0)));
    };
    const index = table('at', elements.map((element) => element?.index ?? 0));
    const which = table('of', elements.map((element) => (element === undefined ? 0 : names.indexOf(element.buffer.name))));
    const loads = names.map((each) => load(own(each), index) as Expression);
    return loads.reduceRight((rest, each, i) => select(compare('eq', which, i32(i)), each, rest));
  }

  /** What is known of the buffers of the state before a firing. */
  #valuesBefore(
    node: number, provided: ReadonlySet<number>, choices: ReadonlyMap<number, readonly number[]>,
  ): ReadonlyMap<Buffer, Value[]> {
    const { state } = required(this.#plans.get(node));
    const found = new Map<Buffer, Value[]>();
    state.elements.forEach(({ buffer, index }, element) => {
      const isCount = buffer === this.#lowered.system.it || buffer.name === 'it';
      const name = isCount ? `it${node}` : buffer.name;
      const taken = this.#before.get(name);
      if (taken === undefined) return;
      const own = choices.get(element);
      const values = found.get(taken) ?? [];
      values[isCount ? 0 : index] = own !== undefined ? oneOf(own) : provided.has(element) ? given : elementValue(element);
      found.set(taken, values);
    });
    return found;
  }
}

/** The function of a group with its loops written out, if that lets some of them be replaced by arithmetic. */
function straightened({ program, system }: LoweredProgram, f: KernelFunction): KernelFunction {
  const single = forCount(program, f, system.ix);
  const made = straighten(single);
  return made === single ? f : { ...required(dropDead({ ...program, functions: [made] }).functions[0]), parameters: f.parameters };
}

function withBuffers(s: Statement, own: ReadonlyMap<Buffer, Buffer>, it: Buffer): Statement | Body {
  switch (s.kind) {
    case 'store': return s.buffer === it ? [] : own.has(s.buffer) ? { ...s, buffer: required(own.get(s.buffer)) } : s;
    case 'copy': return own.has(s.to) || own.has(s.from) ? { ...s, to: own.get(s.to) ?? s.to, from: own.get(s.from) ?? s.from } : s;
    case 'fill': return own.has(s.buffer) ? { ...s, buffer: required(own.get(s.buffer)) } : s;
    default: return s;
  }
}

/** Whether a statement writes something that a firing leaves to others. */
function isOutput(s: Statement, kept: ReadonlySet<Buffer>): boolean {
  const to = s.kind === 'store' || s.kind === 'fill' ? s.buffer : s.kind === 'copy' ? s.to : undefined;
  return to !== undefined && to.role !== 'local' && to.name !== 'steps' && !kept.has(to);
}

/**
 * The function without checks that fail for states that never occur: those that depend on elements which are not right. What remains of it
 * needs none of these.
 */
function checked(f: KernelFunction, before: ReadonlyMap<Buffer, Value[]>, name: string): KernelFunction {
  const wrong = new Set<Statement>();
  const refuse = (): never => { throw new UnsupportedProgram(`${name} looks something up at a place that depends on its state`); };
  const follow = (body: Body, told: (follower: Follower) => void): void => {
    const buffers = new Map<Buffer, Value[]>(before);
    for (const buffer of f.buffers) buffers.set(buffer, Array<Value>(required(buffer.length)).fill(given));
    const follower = new Follower();
    told(follower);
    follower.body(body, new Scene(new Map(), buffers));
  };
  const guardsIn = (body: Body): Statement[] => {
    const found: Statement[] = [];
    walkBody(body, { statement: (s) => { if (s.kind === 'guard') found.push(s); } });
    return found;
  };
  follow(f.body, (follower) => {
    follower.seen = (s, value) => {
      if (value.from === 0n) return;
      for (const each of s.kind === 'guard' ? [s] : guardsIn(s.body)) wrong.add(each);
    };
  });
  if (wrong.size === 0) return f;
  const body = mapBody(f.body, { statement: (s) => (wrong.has(s) ? [] : s) });
  const made = required(dropDead({ buffers: [], imports: [], functions: [{ ...f, body }] } satisfies Program).functions[0]);
  follow(made.body, (follower) => {
    follower.loaded = (_, index) => { if (index.from !== 0n) refuse(); };
    follower.seen = (s, value) => { if (s.kind !== 'guard' && value.from !== 0n && readsOpenly(s.body)) refuse(); };
  });
  return made;
}

/** Whether code loads from places that are not constant. */
function readsOpenly(body: Body): boolean {
  let found = false;
  walkBody(body, { expression: (e) => { found ||= e.kind === 'load' && valueOf(e.index) === undefined; } });
  return found;
}

