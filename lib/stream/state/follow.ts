// Follows one firing of a filter through its code: how each element of its state afterwards depends on the state before and on the input.
import type { Body, Buffer, Expression, ExpressionOf, Local, Statement, StatementOf } from '../../kernel/ir.ts';
import { assignedIn, eachChild, labelsLeft, loadedIn, walkBody, writesIn } from '../../kernel/visit.ts';
import { both, leavesOnly, nowhere, without, type Ends } from './ends.ts';
import { joined, type Scene } from './scene.ts';
import { combined, either, given, known, knownNumber, mostChoices, unclear, type Value } from './value.ts';
import { wrapping } from './wrap.ts';

/** The code cannot be followed: it is too long, or calls what is not known. */
export class Lost extends Error {}

/** Expressions and statements that are followed at most, in one firing. */
const mostSteps = 400_000;

/** A local that is set on some ways only: no program reads it there. */
const unset: Value = unclear({ ...given, from: -1n });

/** What a table holds, if those are few different integers. */
function choicesIn({ element, initial, length = 0 }: Buffer): Pick<Value, 'choices'> {
  if (element !== 'i32' || initial === undefined) return {};
  const found = new Set<number>(initial.length < length ? [0] : []);
  for (let i = 0; i < initial.length && found.size <= mostChoices; ++i) found.add(initial[i] ?? 0);
  return found.size > mostChoices ? {} : { choices: [...found].sort((a, b) => a - b) };
}

/** Follows code from a scene. */
export class Follower {
  /** Values of comparisons between a loop's number and a constant: see wrap.ts. */
  decide: ((e: Expression, parts: readonly Value[]) => Value | undefined) | undefined;
  /** Told of every check, with what it depends on, and of loops of unknown length, with all that they depend on. */
  seen: ((s: StatementOf<'guard' | 'for' | 'while'>, value: Value) => void) | undefined;
  /** Told of loads whose place is not known, with what that depends on. */
  loaded: ((e: ExpressionOf<'load'>, index: Value) => void) | undefined;
  #steps = 0;
  readonly #most: number;

  constructor(most = mostSteps) {
    this.#most = most;
  }

  /** Expressions and statements that were followed so far. */
  get steps(): number {
    return this.#steps;
  }

  body(body: Body, scene: Scene): Ends {
    let ends: Ends = { ...nowhere, normal: scene };
    for (const s of body) {
      if (ends.normal === undefined) break;
      const { control } = ends.normal;
      const own = this.#statement(s, ends.normal);
      // Where all ways have come together again, nothing decided that control came here.
      if (own.normal !== undefined && leavesOnly(own)) own.normal.control = control;
      ends = both({ ...ends, normal: undefined }, own, false);
    }
    return ends;
  }

  #tick(steps = 1): void {
    this.#steps += steps;
    if (this.#steps > this.#most) throw new Lost('its work is too long to be followed');
  }

  value(e: Expression, scene: Scene): Value {
    this.#tick();
    switch (e.kind) {
      case 'constant': return known(e.value);
      case 'get': return scene.locals.get(e.local) ?? unset;
      case 'load': {
        const index = this.value(e.index, scene);
        if (knownNumber(index) === undefined) this.loaded?.(e, index);
        return this.#load(e.buffer, index, e.offset, scene);
      }
      case 'select': {
        const condition = this.value(e.condition, scene);
        const is = knownNumber(condition);
        if (is !== undefined) return this.value(is === 0 ? e.otherwise : e.then, scene);
        return either(this.value(e.then, scene), this.value(e.otherwise, scene), condition);
      }
      case 'logic': {
        const left = this.value(e.left, scene), is = knownNumber(left);
        if (is !== undefined) return (is !== 0) === (e.op === 'and') ? this.value(e.right, scene) : left;
        return combined(e, [left, this.value(e.right, scene)]);
      }
      default: {
        const parts: Value[] = [];
        eachChild(e, (child) => parts.push(this.value(child, scene)));
        return this.decide?.(e, parts) ?? combined(e, parts);
      }
    }
  }

  #load(buffer: Buffer, index: Value, offset: number, scene: Scene): Value {
    const elements = scene.buffers.get(buffer);
    const at = knownNumber(index);
    if (elements === undefined) {
      const initial = buffer.role === 'constant' ? buffer.initial ?? [] : undefined;
      if (at !== undefined && initial !== undefined) return known(initial[at + offset] ?? 0);
      return initial === undefined ? unclear(given, index) : { ...unclear(index), ...choicesIn(buffer) };
    }
    if (at !== undefined) return elements[at + offset] ?? known(0);
    return unclear(index, ...elements);
  }

  #store({ buffer, index, offset }: StatementOf<'store'>, value: Value, scene: Scene): void {
    const elements = scene.buffers.get(buffer);
    if (elements === undefined) return;
    const place = this.value(index, scene), at = knownNumber(place);
    if (at !== undefined) {
      if (at + offset < elements.length) scene.set(buffer, at + offset, value);
    } else scene.buffers.set(buffer, elements.map((old) => either(old, value, place.from === 0n ? given : place)));
  }

  #statement(s: Statement, scene: Scene): Ends {
    this.#tick();
    switch (s.kind) {
      case 'set': scene.locals.set(s.local, this.value(s.value, scene)); break;
      case 'store': this.#store(s, this.value(s.value, scene), scene); break;
      case 'copy': case 'fill': this.#move(s, scene); break;
      case 'if': return this.#branch(s, scene);
      case 'for': return this.#for(s, scene);
      case 'while': return this.#while(s, scene);
      case 'block': {
        const ends = this.body(s.body, scene);
        return {
          ...ends, normal: joined(ends.normal, ends.breaks.get(s.label)), breaks: without(ends.breaks, s.label),
        };
      }
      case 'break': return { ...nowhere, breaks: new Map([[s.label, scene]]) };
      case 'continue': return { ...nowhere, continues: new Map([[s.label, scene]]) };
      case 'return': return { ...nowhere, returned: scene };
      case 'trap': return nowhere;
      case 'guard':
        this.seen?.(s, unclear(this.value(s.condition, scene), scene.control));
        break;
      case 'call':
        if (s.callee !== 'room') throw new Lost(s.callee === 'print' || s.callee === 'put' ? 'it prints' : `it calls ${s.callee}`);
        break;
    }
    return { ...nowhere, normal: scene };
  }

  #branch(s: StatementOf<'if'>, scene: Scene): Ends {
    const condition = this.value(s.condition, scene), is = knownNumber(condition);
    if (is !== undefined) return this.body(is === 0 ? s.otherwise : s.then, scene);
    const other = scene.copy();
    this.#tick(scene.locals.size >> 4);
    scene.control = unclear(scene.control, condition);
    other.control = scene.control;
    return both(this.body(s.then, scene), this.body(s.otherwise, other), true);
  }

  #move(s: StatementOf<'copy' | 'fill'>, scene: Scene): void {
    const count = knownNumber(this.value(s.count, scene));
    const to = s.kind === 'copy' ? s.to : s.buffer;
    const elements = scene.buffers.get(to);
    if (elements === undefined) return;
    const begin = this.value(s.kind === 'copy' ? s.toIndex : s.index, scene), first = knownNumber(begin);
    const source = s.kind === 'copy' ? this.value(s.fromIndex, scene) : known(0), from = knownNumber(source);
    if (count === undefined || first === undefined) {
      scene.buffers.set(to, elements.map((old) => unclear(given, old, begin, source, ...elements)));
      return;
    }
    const made = [...elements];
    for (let i = 0; i < count; ++i) {
      this.#tick();
      made[first + i] = s.kind === 'fill' ? known(0)
        : this.#load(s.from, from === undefined ? source : known(from + i), 0, scene);
    }
    scene.buffers.set(to, made);
  }

  #for(s: StatementOf<'for'>, scene: Scene): Ends {
    const [begin, end] = [this.value(s.from, scene), this.value(s.to, scene)];
    const [from, to] = [knownNumber(begin), knownNumber(end)];
    if (from === undefined || to === undefined) return this.#unknownLoop(s, scene, unclear(begin, end));
    let ends: Ends = { ...nowhere, normal: scene };
    for (let i = from; i < to && ends.normal !== undefined; i += s.step) {
      ends.normal.locals.set(s.counter, known(i));
      ends = this.#turn(s, both({ ...ends, normal: undefined }, this.body(s.body, ends.normal), false));
    }
    return this.#exit(s, ends);
  }

  /** What is left of the ends of a turn before the next one. */
  #turn({ label }: StatementOf<'for' | 'while'>, ends: Ends): Ends {
    return { ...ends, normal: joined(ends.normal, ends.continues.get(label)), continues: without(ends.continues, label) };
  }

  #exit({ label }: StatementOf<'for' | 'while'>, ends: Ends): Ends {
    return { ...ends, normal: joined(ends.normal, ends.breaks.get(label)), breaks: without(ends.breaks, label) };
  }

  #while(s: StatementOf<'while'>, scene: Scene): Ends {
    if (wrapping(s, scene, (most) => new Follower(most))) return { ...nowhere, normal: scene };
    let ends: Ends = { ...nowhere, normal: scene };
    // As long as it is known whether there is another turn.
    while (ends.normal !== undefined) {
      const condition = this.value(s.condition, ends.normal), is = knownNumber(condition);
      if (is === 0) return this.#exit(s, ends);
      if (is === undefined) return both({ ...ends, normal: undefined }, this.#unknownLoop(s, ends.normal, condition), false);
      const before = ends.normal.copy();
      const next = this.#turn(s, this.body(s.body, ends.normal));
      // Whether it ends here is not known.
      if (next.normal !== undefined && next.breaks.has(s.label)) return this.#unknownLoop(s, before, unclear(next.normal.control));
      ends = both({ ...ends, normal: undefined }, next, false);
    }
    return this.#exit(s, ends);
  }

  /** A loop of unknown length: what it assigns may depend on all that it reads. */
  #unknownLoop(s: StatementOf<'for' | 'while'>, scene: Scene, condition: Value): Ends {
    let isPlain = [...labelsLeft(s.body)].every((label) => label === s.label);
    walkBody(s.body, { statement: (each) => { isPlain &&= each.kind !== 'return' && each.kind !== 'call'; } });
    if (!isPlain) throw new Lost('a loop of unknown length is left in the middle of a firing');
    const parts: Value[] = [condition, scene.control];
    const assigned = assignedIn(s.body), { buffers } = writesIn(s.body);
    const read = new Set<Local>();
    walkBody(s.body, { expression: (e) => { if (e.kind === 'get') read.add(e.local); } });
    for (const local of [...assigned, ...read]) {
      const value = scene.locals.get(local);
      if (value !== undefined) parts.push(value);
    }
    for (const buffer of [...buffers, ...loadedIn(s.body)]) {
      const elements = scene.buffers.get(buffer);
      if (elements !== undefined) parts.push(...elements);
      else if (buffer.role !== 'constant') parts.push(given);
    }
    const all = unclear(...parts);
    this.seen?.(s, all);
    for (const local of assigned) scene.locals.set(local, all);
    for (const buffer of buffers) {
      const elements = scene.buffers.get(buffer);
      if (elements !== undefined) scene.buffers.set(buffer, elements.map(() => all));
    }
    return { ...nowhere, normal: scene };
  }
}
