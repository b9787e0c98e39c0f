// Constant propagation: locals are replaced by known values, and branches and loops with a known outcome are removed.
import { valueOf, type Body, type Expression, type Label, type Local, type Program, type Statement, type StatementOf } from '../ir.ts';
import { assignedIn, endsEarly, mapChildren, mapExpressions, mapProgram, neverEnds, remembering } from '../visit.ts';
import { isLeft } from './clone.ts';
import { fold } from './fold.ts';
import { required } from '../../core/known.ts';

/** Known values of locals: a constant or another local. */
type Known = Map<Local, Expression>;

class Simplifier {
  #known: Known = new Map();
  /** Locals that have been copied to others. */
  readonly #copied = new Set<Local>();
  /** What is known at the exits of a label's block seen so far. */
  readonly #left = new Map<Label, Known[]>();

  body(body: Body): Body {
    const made: Statement[] = [];
    for (const s of body) {
      const now = this.#statement(s);
      let isEnd = false;
      for (const each of now) {
        made.push(each);
        isEnd ||= neverEnds(each);
      }
      if (isEnd) break;
    }
    return made.length === body.length && made.every((s, i) => s === body[i]) ? body : made;
  }

  #forgetOne(local: Local): void {
    this.#known.delete(local);
    if (this.#copied.has(local)) this.#forget([local]);
  }

  /** Forgets the values of locals, and of their copies. */
  #forget(locals: Iterable<Local>): void {
    const gone = new Set(locals);
    let isCopied = false;
    for (const local of gone) {
      this.#known.delete(local);
      isCopied ||= this.#copied.has(local);
    }
    if (!isCopied) return;
    for (const [local, value] of this.#known) if (value.kind === 'get' && gone.has(value.local)) this.#known.delete(local);
  }

  #expression = (e: Expression): Expression =>
    (e.kind === 'get' ? this.#known.get(e.local) ?? e : fold(mapChildren(e, this.#expression)));

  #statement(given: Statement): Body {
    if (given.kind === 'while') return this.#while(given);
    const s = mapExpressions(given, this.#expression);
    switch (s.kind) {
      case 'set': {
        if (s.value.kind === 'get' && s.value.local === s.local) return [];
        this.#forgetOne(s.local);
        // A local with a range carries more information than the local it copies.
        const isCopy = s.value.kind === 'constant' || (s.value.kind === 'get' && s.local.range === undefined);
        if (isCopy) this.#known.set(s.local, s.value);
        if (isCopy && s.value.kind === 'get') this.#copied.add(s.value.local);
        return [s];
      }
      case 'call':
        this.#forget(s.results);
        return [s];
      case 'if': return this.#if(s);
      case 'for': return this.#for(s);
      case 'block': return this.#block(s);
      case 'break': {
        const seen = this.#left.get(s.label);
        if (seen !== undefined) seen.push(new Map(this.#known));
        return [s];
      }
      case 'guard': {
        const known = valueOf(s.condition);
        return known === undefined ? [s] : known !== 0 ? [] : [{ kind: 'trap', site: s.site, value: s.value }];
      }
      default: return [s];
    }
  }

  #if(s: StatementOf<'if'>): Body {
    const known = valueOf(s.condition);
    if (known !== undefined) return this.body(known !== 0 ? s.then : s.otherwise);
    const before = new Map(this.#known);
    const then = this.body(s.then);
    const afterThen = this.#known;
    this.#known = before;
    const otherwise = this.body(s.otherwise);
    this.#known = endsEarly(then) ? this.#known : endsEarly(otherwise) ? afterThen : common(afterThen, this.#known);
    if (then.length === 0 && otherwise.length === 0) return [];
    const isNot = fold({ kind: 'unary', type: 'bool', op: 'not', operand: s.condition });
    if (then.length === 0) return [{ ...s, condition: isNot, then: otherwise, otherwise: [] }];
    return [then === s.then && otherwise === s.otherwise ? s : { ...s, then, otherwise }];
  }

  /** A body that may run several times; what it changes is unknown both at its start and after it. */
  #repeated(body: Body, more: readonly Local[]): Body {
    const changed = [...assignedIn(body), ...more];
    this.#forget(changed);
    const before = new Map(this.#known);
    const made = this.body(body);
    this.#known = before;
    return made;
  }

  #while(s: StatementOf<'while'>): Body {
    this.#forget(assignedIn(s.body));
    const condition = this.#expression(s.condition);
    if (valueOf(condition) === 0) return [];
    const body = this.#repeated(s.body, []);
    return [condition === s.condition && body === s.body ? s : { ...s, condition, body }];
  }

  #for(s: StatementOf<'for'>): Body {
    const [from, to] = [valueOf(s.from), valueOf(s.to)];
    if (from !== undefined && to !== undefined && from >= to) return [];
    const body = this.#repeated(s.body, [s.counter]);
    const isOnce = from !== undefined && to !== undefined && from + s.step >= to && !isLeft(body, s.label);
    if (isOnce) return this.body([{ kind: 'set', local: s.counter, value: s.from }, ...s.body]);
    return [body === s.body ? s : { ...s, body }];
  }

  #block(s: StatementOf<'block'>): Body {
    const seen: Known[] = [];
    this.#left.set(s.label, seen);
    const body = this.body(s.body);
    const ends = endsEarly(body) ? seen : [this.#known, ...seen];
    if (ends.length > 0) this.#known = ends.reduce(common);
    if (!isLeft(body, s.label)) return body;
    // A break at the end of the block is redundant.
    const last = required(body.at(-1));
    if (last.kind === 'break' && last.label === s.label) {
      const rest = body.slice(0, -1);
      return isLeft(rest, s.label) ? [{ ...s, body: rest }] : rest;
    }
    return [body === s.body ? s : { ...s, body }];
  }
}

function common(a: Known, b: Known): Known {
  const isEqual = (x: Expression, y: Expression | undefined): boolean =>
    y !== undefined && x.type === y.type && (x.kind === 'get' ? y.kind === 'get' && x.local === y.local
      : Object.is(valueOf(x), valueOf(y)));
  return new Map([...a].filter(([local, value]) => isEqual(value, b.get(local))));
}

const simplified = remembering((body) => new Simplifier().body(body));

/** Replaces locals by known values, folds expressions, and drops branches that are not taken. */
export function simplify(program: Program): Program {
  return mapProgram(program, simplified);
}
