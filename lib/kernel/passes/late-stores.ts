// Loads before stores: a compiler that cannot tell whether a store changes what is loaded behind it leaves them in their order, and every
// load then waits for the one before. Producers of programs know that buffers never overlap, so stores may come later.
import { get, set, store, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Program, type StatementOf } from
  '../ir.ts';
import { localsSetBy, mapBodies, mapFunctions, Names, walkBody, walkExpression } from '../visit.ts';

/** Functions in which up to `most` stores to the buffers wait until the code behind them has loaded what it needs. */
export function delayStores(program: Program, buffers: ReadonlySet<Buffer>, most = 16): Program {
  return mapFunctions(program, (f) => {
    const late = new Set(buffers);
    walkBody(f.body, {
      expression: (e) => { if (e.kind === 'load') late.delete(e.buffer); },
      statement: (s) => { if (s.kind === 'copy') late.delete(s.from); },
    });
    return late.size === 0 ? f : { ...f, body: new Delay(f, late, most, Names.of(program, f)).body(f.body) };
  });
}

class Delay {
  readonly #late: ReadonlySet<Buffer>;
  readonly #most: number;
  readonly #names: Names;
  /** Locals that are set at several places: what they hold now may be gone later. */
  readonly #changing = new Set<Local>();

  constructor({ body }: KernelFunction, late: ReadonlySet<Buffer>, most: number, names: Names) {
    this.#late = late;
    this.#most = most;
    this.#names = names;
    const seen = new Set<Local>();
    walkBody(body, { statement: (s) => {
      for (const local of localsSetBy(s)) {
        if (seen.has(local)) this.#changing.add(local);
        seen.add(local);
      }
    } });
  }

  body(body: Body): Body {
    const made: Body[number][] = [];
    let waiting: StatementOf<'store'>[] = [];
    const flush = (): void => {
      made.push(...waiting);
      waiting = [];
    };
    for (const s of body) {
      if (s.kind === 'set') made.push(s);
      else if (s.kind === 'store' && this.#late.has(s.buffer)) {
        waiting.push(store(s.buffer, this.#kept(s.index, made), this.#kept(s.value, made), s.offset) as StatementOf<'store'>);
        if (waiting.length >= this.#most) flush();
      } else {
        flush();
        made.push(mapBodies(s, (inner) => this.body(inner)));
      }
    }
    flush();
    return made;
  }

  /** A value as it is now. */
  #kept(e: Expression, before: Body[number][]): Expression {
    if (valueOf(e) !== undefined) return e;
    let isLasting = true;
    walkExpression(e, (part) => {
      if (part.kind === 'get') isLasting &&= !this.#changing.has(part.local);
      // Loads must come before.
      else if (part.kind === 'load') isLasting = false;
    });
    if (isLasting) return e;
    const local: Local = { name: this.#names.make('kept'), type: e.type };
    before.push(set(local, e));
    return get(local);
  }
}
