// Loads before stores: a compiler that cannot tell whether a store changes what is loaded behind it leaves them in their order, and every
// load then waits for the one before. Producers of programs know that buffers never overlap, so stores may come later.
import { get, set, store, valueOf, type Body, type Buffer, type Expression, type Local, type Program, type Statement } from '../ir.ts';
import { mapBodies, mapFunctions, Names, walkBody, walkExpression } from '../visit.ts';

/** Functions in which up to `most` stores to the buffers wait until the code behind them has loaded what it needs. */
export function delayStores(program: Program, buffers: ReadonlySet<Buffer>, most = 16): Program {
  return mapFunctions(program, (f) => {
    const late = new Set(buffers);
    walkBody(f.body, {
      expression: (e) => { if (e.kind === 'load') late.delete(e.buffer); },
      statement: (s) => { if (s.kind === 'copy') late.delete(s.from); },
    });
    return late.size === 0 ? f : { ...f, body: new Delay(late, most, Names.of(program, f)).body(f.body) };
  });
}

class Delay {
  readonly #late: ReadonlySet<Buffer>;
  readonly #most: number;
  readonly #names: Names;

  constructor(late: ReadonlySet<Buffer>, most: number, names: Names) {
    this.#late = late;
    this.#most = most;
    this.#names = names;
  }

  body(body: Body): Body {
    const made: Statement[] = [];
    let waiting: Statement[] = [];
    const flush = (): void => {
      made.push(...waiting);
      waiting = [];
    };
    const lastSet = new Map<Local, number>();
    body.forEach((s, at) => { if (s.kind === 'set') lastSet.set(s.local, at); });
    body.forEach((s, at) => {
      if (s.kind === 'set') made.push(s);
      else if (s.kind === 'store' && this.#late.has(s.buffer)) {
        const kept = (e: Expression): Expression => this.#kept(e, made, (local) => (lastSet.get(local) ?? -1) > at);
        waiting.push(store(s.buffer, kept(s.index), kept(s.value), s.offset));
        if (waiting.length >= this.#most) flush();
      } else {
        flush();
        made.push(mapBodies(s, (inner) => this.body(inner)));
      }
    });
    flush();
    return made;
  }

  /** A value as it is now. */
  #kept(e: Expression, before: Statement[], isSetLater: (local: Local) => boolean): Expression {
    if (valueOf(e) !== undefined) return e;
    let isLasting = true as boolean;
    walkExpression(e, (part) => {
      // Loads must come before.
      isLasting &&= part.kind === 'get' ? !isSetLater(part.local) : part.kind !== 'load';
    });
    if (isLasting) return e;
    const local: Local = { name: this.#names.make('kept'), type: e.type };
    before.push(set(local, e));
    return get(local);
  }
}
