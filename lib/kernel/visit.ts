// The only traversal of programs and the only map over them; used by passes, analyses, the verifier and printers.
import type { Body, Buffer, Expression, KernelFunction, Label, Local, Program, Statement } from './ir.ts';

/** The expression with new children; the same object if none has changed. */
export function mapChildren(e: Expression, f: (child: Expression) => Expression): Expression {
  switch (e.kind) {
    case 'constant': case 'get': return e;
    case 'load': {
      const index = f(e.index);
      return index === e.index ? e : { ...e, index };
    }
    case 'unary': case 'convert': case 'splat': case 'word': {
      const operand = f(e.operand);
      return operand === e.operand ? e : { ...e, operand };
    }
    case 'binary': case 'compare': case 'logic': {
      const left = f(e.left), right = f(e.right);
      return left === e.left && right === e.right ? e : { ...e, left, right };
    }
    case 'select': {
      const condition = f(e.condition), then = f(e.then), otherwise = f(e.otherwise);
      return condition === e.condition && then === e.then && otherwise === e.otherwise ? e : { ...e, condition, then, otherwise };
    }
    case 'math': {
      const args = mapList(e.args, f);
      return args === e.args ? e : { ...e, args };
    }
    case 'words': {
      const high = f(e.high), low = f(e.low);
      return high === e.high && low === e.low ? e : { ...e, high, low };
    }
    case 'lanes': {
      const parts = mapList(e.parts, f);
      return parts === e.parts ? e : { ...e, parts };
    }
    case 'extract': {
      const vector = f(e.vector);
      return vector === e.vector ? e : { ...e, vector };
    }
  }
}

function mapList<T>(list: readonly T[], f: (x: T) => T): readonly T[] {
  let made: T[] | undefined;
  for (let i = 0; i < list.length; ++i) {
    const x = list[i] as T, now = f(x);
    if (now !== x) made ??= list.slice(0, i);
    made?.push(now);
  }
  return made ?? list;
}

/** The statement with its own expressions replaced, but not those of nested statements. */
export function mapExpressions(s: Statement, f: (e: Expression) => Expression): Statement {
  switch (s.kind) {
    case 'set': {
      const value = f(s.value);
      return value === s.value ? s : { ...s, value };
    }
    case 'store': {
      const index = f(s.index), value = f(s.value);
      return index === s.index && value === s.value ? s : { ...s, index, value };
    }
    case 'copy': {
      const toIndex = f(s.toIndex), fromIndex = f(s.fromIndex), count = f(s.count);
      return toIndex === s.toIndex && fromIndex === s.fromIndex && count === s.count ? s : { ...s, toIndex, fromIndex, count };
    }
    case 'fill': {
      const index = f(s.index), count = f(s.count);
      return index === s.index && count === s.count ? s : { ...s, index, count };
    }
    case 'if': case 'while': {
      const condition = f(s.condition);
      return condition === s.condition ? s : { ...s, condition };
    }
    case 'for': {
      const from = f(s.from), to = f(s.to);
      return from === s.from && to === s.to ? s : { ...s, from, to };
    }
    case 'call': {
      const args = mapList(s.args, f);
      return args === s.args ? s : { ...s, args };
    }
    case 'return': {
      const values = mapList(s.values, f);
      return values === s.values ? s : { ...s, values };
    }
    case 'trap': {
      const site = f(s.site), value = f(s.value);
      return site === s.site && value === s.value ? s : { ...s, site, value };
    }
    case 'guard': {
      const condition = f(s.condition), site = f(s.site), value = f(s.value);
      return condition === s.condition && site === s.site && value === s.value ? s : { ...s, condition, site, value };
    }
    case 'block': case 'break': case 'continue': return s;
  }
}

/** The statement with its bodies replaced. */
export function mapBodies(s: Statement, f: (body: Body) => Body): Statement {
  if (s.kind === 'if') {
    const then = f(s.then), otherwise = f(s.otherwise);
    return then === s.then && otherwise === s.otherwise ? s : { ...s, then, otherwise };
  }
  if (s.kind !== 'for' && s.kind !== 'while' && s.kind !== 'block') return s;
  const body = f(s.body);
  return body === s.body ? s : { ...s, body };
}

/** Maps an expression and all its parts, inner parts first. */
export function mapExpression(e: Expression, f: (e: Expression) => Expression): Expression {
  const each = (part: Expression): Expression => f(mapChildren(part, each));
  return each(e);
}

export interface Mapper {
  /** Called for every expression, after its parts. */
  readonly expression?: (e: Expression) => Expression;
  /** Called for every statement, after those inside it; returns what replaces it. */
  readonly statement?: (s: Statement) => Statement | Body;
}

/** Maps a body; returns the same object if nothing has changed. */
export function mapBody(body: Body, mapper: Mapper): Body {
  const { expression, statement } = mapper;
  const part = expression === undefined ? undefined : function each(e: Expression): Expression {
    return expression(mapChildren(e, each));
  };
  const inside = (all: Body): Body => {
    let made: Statement[] | undefined;
    for (let i = 0; i < all.length; ++i) {
      const s = all[i] as Statement;
      const whole = mapBodies(part === undefined ? s : mapExpressions(s, part), inside);
      const result = statement === undefined ? whole : statement(whole);
      if (result !== s) made ??= all.slice(0, i);
      if (made === undefined) continue;
      if ('kind' in result) made.push(result);
      else for (const each of result) made.push(each);
    }
    return made ?? all;
  };
  return inside(body);
}

/** Calls `visit` for the direct parts of an expression. */
export function eachChild(e: Expression, visit: (child: Expression) => unknown): void {
  switch (e.kind) {
    case 'constant': case 'get': return;
    case 'load': visit(e.index); return;
    case 'unary': case 'convert': case 'splat': case 'word': visit(e.operand); return;
    case 'binary': case 'compare': case 'logic':
      visit(e.left);
      visit(e.right);
      return;
    case 'select':
      visit(e.condition);
      visit(e.then);
      visit(e.otherwise);
      return;
    case 'math': for (const arg of e.args) visit(arg); return;
    case 'words':
      visit(e.high);
      visit(e.low);
      return;
    case 'lanes': for (const part of e.parts) visit(part); return;
    case 'extract': visit(e.vector);
  }
}

/** Calls `visit` for an expression and all its parts, outer ones first. If it returns false, the parts are skipped. */
export function walkExpression(e: Expression, visit: (e: Expression) => unknown): void {
  const walk = (part: Expression): void => { if (visit(part) !== false) eachChild(part, walk); };
  walk(e);
}

/** Calls `visit` for the expressions of a statement itself. */
export function eachExpressionOf(s: Statement, visit: (e: Expression) => unknown): void {
  switch (s.kind) {
    case 'set': visit(s.value); return;
    case 'store':
      visit(s.index);
      visit(s.value);
      return;
    case 'copy':
      visit(s.toIndex);
      visit(s.fromIndex);
      visit(s.count);
      return;
    case 'fill':
      visit(s.index);
      visit(s.count);
      return;
    case 'if': case 'while': visit(s.condition); return;
    case 'for':
      visit(s.from);
      visit(s.to);
      return;
    case 'call': for (const arg of s.args) visit(arg); return;
    case 'return': for (const value of s.values) visit(value); return;
    case 'trap':
      visit(s.site);
      visit(s.value);
      return;
    case 'guard':
      visit(s.condition);
      visit(s.site);
      visit(s.value);
      return;
    case 'block': case 'break': case 'continue':
  }
}

/** The expressions of a statement itself. */
export function expressionsOf(s: Statement): readonly Expression[] {
  const found: Expression[] = [];
  eachExpressionOf(s, (e) => { found.push(e); });
  return found;
}

export function bodiesOf(s: Statement): readonly Body[] {
  if (s.kind === 'if') return [s.then, s.otherwise];
  return s.kind === 'for' || s.kind === 'while' || s.kind === 'block' ? [s.body] : [];
}

export interface Walker {
  readonly expression?: (e: Expression) => unknown;
  /** Called for every statement, outer ones first; returns false to skip the nested ones. */
  readonly statement?: (s: Statement) => unknown;
}

/** Visits all statements and expressions of a body in order. */
export function walkBody(body: Body, { statement, expression }: Walker): void {
  const walk = expression === undefined ? undefined : function each(e: Expression): void {
    if (expression(e) !== false) eachChild(e, each);
  };
  const inside = (all: Body): void => {
    for (const s of all) {
      if (statement?.(s) === false) continue;
      if (walk !== undefined) eachExpressionOf(s, walk);
      if (s.kind === 'if') {
        inside(s.then);
        inside(s.otherwise);
      } else if (s.kind === 'for' || s.kind === 'while' || s.kind === 'block') inside(s.body);
    }
  };
  inside(body);
}

/** Locals that a statement itself sets. */
export function localsSetBy(s: Statement): readonly Local[] {
  return s.kind === 'set' ? [s.local] : s.kind === 'for' ? [s.counter] : s.kind === 'call' ? s.results : [];
}

/** Locals that a body sets. */
export function assignedIn(body: Body): Set<Local> {
  const found = new Set<Local>();
  walkBody(body, { statement: (s) => { for (const local of localsSetBy(s)) found.add(local); } });
  return found;
}

/** Locals that an expression reads. */
export function readsOf(e: Expression): Set<Local> {
  const found = new Set<Local>();
  walkExpression(e, (part) => { if (part.kind === 'get') found.add(part.local); });
  return found;
}

/** The buffers that a body writes, and whether it calls anything, which may write any non-local buffer. */
export function writesIn(body: Body): { readonly buffers: ReadonlySet<Buffer>; readonly calls: boolean } {
  const buffers = new Set<Buffer>();
  let calls = false;
  walkBody(body, {
    statement: (s) => {
      if (s.kind === 'store' || s.kind === 'fill') buffers.add(s.buffer);
      else if (s.kind === 'copy') buffers.add(s.to);
      else if (s.kind === 'call') calls = true;
    },
  });
  return { buffers, calls };
}

/** Buffers that a body loads from. */
export function loadedIn(body: Body): Set<Buffer> {
  const found = new Set<Buffer>();
  walkBody(body, {
    statement: (s) => { if (s.kind === 'copy') found.add(s.from); },
    expression: (e) => { if (e.kind === 'load') found.add(e.buffer); },
  });
  return found;
}

/** Buffers that a body loads from or writes. */
export function buffersIn(body: Body): Set<Buffer> {
  return new Set([...loadedIn(body), ...writesIn(body).buffers]);
}

/** All locals of a function, parameters first, in order of appearance. */
export function localsOf({ parameters, body }: KernelFunction): readonly Local[] {
  const found = new Set<Local>(parameters);
  walkBody(body, {
    statement: (s) => { for (const local of localsSetBy(s)) found.add(local); },
    expression: (e) => { if (e.kind === 'get') found.add(e.local); },
  });
  return [...found];
}

/** Labels that a body breaks out of or continues. */
export function labelsLeft(body: Body): ReadonlySet<Label> {
  const found = new Set<Label>();
  walkBody(body, { statement: (s) => { if (s.kind === 'break' || s.kind === 'continue') found.add(s.label); } });
  return found;
}

/** Whether control never reaches the end of a body. */
export function endsEarly(body: Body): boolean {
  return body.some(neverEnds);
}

/** Whether control never gets from a statement to the next one. */
export function neverEnds(s: Statement): boolean {
  return s.kind === 'break' || s.kind === 'continue' || s.kind === 'return' || s.kind === 'trap'
    || (s.kind === 'if' && endsEarly(s.then) && endsEarly(s.otherwise));
}

/** Creates names that no local, label or buffer of a function has yet. */
export class Names {
  readonly #find: () => Iterable<string>;
  #found: Set<string> | undefined;
  /** The last number tried behind a stem: those before it are taken. */
  readonly #last = new Map<string, number>();

  /** @param find returns the names in use; called when the first new name is requested */
  constructor(find: () => Iterable<string>) {
    this.#find = find;
  }

  get #taken(): Set<string> {
    return this.#found ??= new Set(this.#find());
  }

  static of(program: Program, f: KernelFunction): Names {
    return new Names(() => {
      const labels = new Set<Label>();
      walkBody(f.body, { statement: (s) => { if ('label' in s) labels.add(s.label); } });
      return [...localsOf(f), ...labels, ...f.buffers, ...program.buffers, ...program.functions.flatMap(({ buffers }) => buffers)]
        .map(({ name }) => name);
    });
  }

  /** A new name that resembles the given one. */
  make(like: string): string {
    let name = like;
    if (this.#taken.has(name)) {
      const stem = like.replace(/_\d+$/, '');
      let i = this.#last.get(stem) ?? 0;
      do name = `${stem}_${++i}`; while (this.#taken.has(name));
      this.#last.set(stem, i);
    }
    this.#taken.add(name);
    return name;
  }
}

/** The program with `f` applied to its functions. */
export function mapFunctions(program: Program, f: (f: KernelFunction, program: Program) => KernelFunction): Program {
  const functions = mapList(program.functions, (each) => f(each, program));
  return functions === program.functions ? program : { ...program, functions };
}

/** The program with `f` applied to the bodies of its functions. */
export function mapProgram(program: Program, f: (body: Body, of: KernelFunction) => Body): Program {
  return mapFunctions(program, (each) => {
    const body = f(each.body, each);
    return body === each.body ? each : { ...each, body };
  });
}

/** A pass over bodies that remembers what it has made of each: passes run again on what others have left as it was. */
export function remembering(pass: (body: Body) => Body): (body: Body) => Body {
  const known = new WeakMap<Body, Body>();
  return (body) => {
    let made = known.get(body);
    if (made === undefined) known.set(body, made = pass(body));
    return made;
  };
}
