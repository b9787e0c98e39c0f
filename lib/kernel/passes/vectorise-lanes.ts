// Superword-level parallelism: in straight-line code, four (doubles: two) copies of a statement on different values become one statement on
// vector lanes. Jammed and unrolled loops produce such code. Each lane is rounded as it would be on its own, so the results are
// bit-identical.
import {
  extract, get, lanes, lanesOf, set, splat, vectorOf, type Body, type Expression, type ExpressionOf, type Local, type Program,
  type ScalarType, type Statement, type StatementOf, type Type,
} from '../ir.ts';
import { expressionsOf, mapBodies, mapBody, mapFunctions, Names, readsOf, walkExpression } from '../visit.ts';
import { isSame } from './fold.ts';
import { distance, linearOf } from './linear.ts';
import { exposedIn, mentionsIn } from './unroll.ts';
import { hasLanes, onLanes } from './vectorise-loops.ts';
import { required } from '../../core/known.ts';

type Plain = StatementOf<'set' | 'store'>;
/** Statements that may occur between them. */
type InRun = Plain | StatementOf<'fill' | 'copy'>;
type Load = ExpressionOf<'load'>;

/** A vector whose lanes are locals. */
interface Pack {
  readonly vector: Local;
  readonly locals: readonly Local[];
}

/** Packs a run of sets and stores into lanes. */
class Packer {
  readonly #names: Names;
  readonly #run: readonly InRun[];
  #found: ReadonlySet<Local> | undefined;
  readonly #packOf = new Map<Local, Pack>();
  /** Packs whose locals have a value before the run. */
  readonly carried = new Set<Pack>();
  readonly #body: Statement[] = [];
  /** Locals that are read as scalars. */
  readonly #alone = new Set<Local>();
  /** Operations saved, minus those that move values into and out of lanes. */
  gain = 0;

  constructor(names: Names, run: readonly InRun[]) {
    this.#names = names;
    this.#run = run;
  }

  get #exposed(): ReadonlySet<Local> {
    return this.#found ??= exposedIn(this.#run);
  }

  /** The run on lanes; undefined if a value is needed both in lanes and as a scalar. */
  body(): Body | undefined {
    const run = this.#run;
    for (let at = 0; at < run.length;) {
      const width = widthOf(required(run[at]));
      const group = run.slice(at, at + width);
      const made = group.length === width && width > 1 && group.every(isPlain) ? this.#group(group) : undefined;
      if (made !== undefined) {
        this.#body.push(made);
        at += width;
      } else {
        if (this.#isMixed(required(run[at]))) return undefined;
        this.#body.push(required(run[at++]));
      }
    }
    // The next iteration would read the scalars, which are out of date.
    for (const { locals } of this.carried) if (locals.some((local) => this.#alone.has(local))) return undefined;
    return this.#body;
  }

  get packs(): ReadonlySet<Pack> {
    return new Set(this.#packOf.values());
  }

  /** Whether a scalar statement uses values that are in lanes. */
  #isMixed(s: InRun): boolean {
    if (s.kind === 'set' && this.#packOf.has(s.local)) return true;
    return expressionsOf(s).some((e) => this.#readsPacked(e));
  }

  #readsPacked(e: Expression): boolean {
    let found = false as boolean;
    if (this.#packOf.size > 0) walkExpression(e, (part) => { if (part.kind === 'get') found ||= this.#packOf.has(part.local); });
    if (!found) walkExpression(e, (part) => { if (part.kind === 'get') this.#alone.add(part.local); });
    return found;
  }

  /** Merges statements into one if they are copies of each other. */
  #group(group: readonly Plain[]): Statement | undefined {
    return required(group[0]).kind === 'set' ? this.#sets(group) : this.#stores(group);
  }

  #sets(group: readonly Plain[]): Statement | undefined {
    const sets = group.filter((s) => s.kind === 'set');
    const [{ value: pattern }] = sets as [StatementOf<'set'>];
    if (sets.some(({ value }) => value.kind !== pattern.kind || value.type !== pattern.type)) return undefined;
    const locals = sets.map(({ local }) => local);
    const [first] = locals as [Local];
    const isAlike = locals.every(({ type, range }) => type === first.type && range === undefined);
    if (sets.length < group.length || new Set(locals).size < locals.length || !isAlike) return undefined;
    const old = this.#packOf.get(first);
    if (locals.some((local) => this.#packOf.get(local) !== old) || (old !== undefined && !isEqual(old.locals, locals))) return undefined;
    // No copy may depend on another.
    if (sets.some(({ value, local }) => [...readsOf(value)].some((read) => read !== local && locals.includes(read)))) return undefined;
    const pack = old ?? { vector: { name: this.#names.make(first.name), type: vectorOf[first.type as ScalarType] }, locals };
    const isCarried = old === undefined && locals.some((local) => this.#exposed.has(local));
    // Accumulators are in lanes before the first iteration.
    if (isCarried) for (const local of locals) this.#packOf.set(local, pack);
    const gain = this.gain;
    const value = this.#value(sets.map((s) => s.value));
    if (value === undefined) {
      this.gain = gain;
      if (isCarried) for (const local of locals) this.#packOf.delete(local);
      return undefined;
    }
    if (isCarried) this.carried.add(pack);
    for (const local of locals) this.#packOf.set(local, pack);
    return set(pack.vector, value);
  }

  #stores(group: readonly Plain[]): Statement | undefined {
    const stores = group.filter((s) => s.kind === 'store');
    const [first] = stores as [StatementOf<'store'>];
    if (stores.length < group.length || !areNear(stores)) return undefined;
    const isFree = stores.every(({ index, value }) => {
      let found = !this.#readsPacked(index);
      walkExpression(value, (part) => { if (part.kind === 'load') found &&= part.buffer !== first.buffer; });
      return found;
    });
    const gain = this.gain;
    const value = isFree ? this.#value(stores.map((s) => s.value)) : undefined;
    if (value === undefined) this.gain = gain;
    else this.gain += stores.length - 1;
    return value === undefined ? undefined : { ...first, value };
  }

  /** Values as lanes; undefined if that does not pay off. */
  #value(parts: readonly Expression[]): Expression | undefined {
    const [first] = parts as [Expression];
    if (parts.some(({ kind, type }) => type !== first.type || kind !== first.kind)) return undefined;
    if (parts.every((part) => isSame(first, part)) && !this.#readsPacked(first)) return splat(first);
    switch (first.kind) {
      case 'constant': return lanes(...parts);
      case 'get': {
        const pack = this.#packOf.get(first.local);
        const isWhole = pack !== undefined && isEqual(pack.locals, parts.map((part) => (part as ExpressionOf<'get'>).local));
        return isWhole ? get(pack.vector) : undefined;
      }
      case 'load': return this.#load(parts as readonly Load[]);
      case 'extract': {
        // Extracted lanes, in order.
        const { vector } = first;
        const isWhole = vector.type === vectorOf[first.type as ScalarType]
          && parts.every((part, lane) => (part as typeof first).lane === lane && isSame((part as typeof first).vector, vector));
        return isWhole && !this.#readsPacked(vector) ? vector : undefined;
      }
      case 'unary': case 'convert': case 'binary': return this.#operation(first, parts);
      default: return undefined;
    }
  }

  #operation(first: ExpressionOf<'unary' | 'convert' | 'binary'>, parts: readonly Expression[]): Expression | undefined {
    if (!hasLanes(first)) return undefined;
    this.gain += parts.length - 1;
    if (first.kind !== 'binary') {
      if (first.kind === 'unary' && parts.some((part) => (part as typeof first).op !== first.op)) return undefined;
      const operand = this.#value(parts.map((part) => (part as typeof first).operand));
      return operand === undefined ? undefined : onLanes(first, operand);
    }
    const all = parts as readonly (typeof first)[];
    if (all.some(({ op }) => op !== first.op)) return undefined;
    const left = this.#value(all.map((part) => part.left));
    const isShift = first.op === 'shl' || first.op === 'shr' || first.op === 'shr_u';
    const isCommon = isShift && all.every(({ right }) => isSame(right, first.right)) && !this.#readsPacked(first.right);
    const right = !isShift ? this.#value(all.map((part) => part.right)) : isCommon ? first.right : undefined;
    return left === undefined || right === undefined ? undefined : onLanes(first, left, right);
  }

  #load(parts: readonly Load[]): Expression | undefined {
    const [first] = parts as [Load];
    if (parts.some(({ buffer, index }) => buffer !== first.buffer || this.#readsPacked(index))) return undefined;
    if (areNear(parts)) {
      this.gain += parts.length - 1;
      return { ...first, type: vectorOf[first.type as ScalarType] };
    }
    // Computed as scalars, each inserted into its lane.
    this.gain -= parts.length;
    return lanes(...parts);
  }
}

/** Whether these are adjacent elements. */
function areNear(parts: readonly Pick<Load, 'buffer' | 'index' | 'offset'>[]): boolean {
  const [first] = parts as [Load];
  const start = linearOf(first.index);
  return parts.every(({ buffer, index, offset }, lane) => {
    const far = buffer === first.buffer ? distance(start, linearOf(index)) : undefined;
    return far !== undefined && far + offset - first.offset === lane;
  });
}

function isEqual(a: readonly Local[], b: readonly Local[]): boolean {
  return a.length === b.length && a.every((local, i) => local === b[i]);
}

/** How many copies of a statement form a vector. */
function widthOf(s: InRun): number {
  if (!isPlain(s)) return 1;
  const type: Type = s.kind === 'set' ? s.local.type : s.value.type;
  return type === 'i32' || type === 'f32' || type === 'f64' ? lanesOf[vectorOf[type]] : 1;
}

function isPlain(s: Statement): s is Plain {
  return s.kind === 'set' || s.kind === 'store';
}

function isInRun(s: Statement): s is InRun {
  return isPlain(s) || s.kind === 'fill' || s.kind === 'copy';
}

/** The result of packing a run: statements before it (or before the loop around it), the run itself, statements after it. */
interface Packed {
  readonly before: Body;
  readonly body: Body;
  readonly after: Body;
}

class FunctionPacker {
  readonly #names: Names;
  readonly #body: Body;
  #found: ReadonlyMap<Local, number> | undefined;

  constructor(names: Names, body: Body) {
    this.#names = names;
    this.#body = body;
  }

  get #mentions(): ReadonlyMap<Local, number> {
    return this.#found ??= mentionsIn(this.#body);
  }

  /** @param isLoop the run is the whole body of a loop */
  #packed(run: readonly InRun[], isLoop: boolean): Packed | undefined {
    const packer = new Packer(this.#names, run);
    const body = packer.body();
    if (body === undefined) return undefined;
    const own = mentionsIn(run);
    const isOutside = (local: Local): boolean => own.get(local) !== this.#mentions.get(local);
    // What is read only after the loop would have to be in lanes even if the loop does not run.
    const outside = [...packer.packs].filter(({ locals }) => locals.some(isOutside));
    if (isLoop && outside.some((pack) => !packer.carried.has(pack))) return undefined;
    const moved = [...outside, ...packer.carried].reduce((sum, { locals }) => sum + locals.length, 0);
    if (packer.gain - (isLoop ? 0 : moved) <= 0) return undefined;
    return {
      before: [...packer.carried].map(({ vector, locals }) => set(vector, lanes(...locals.map(get)))), body,
      after: outside.flatMap(({ vector, locals }) => locals.map((local, lane) => set(local, extract(get(vector), lane)))),
    };
  }

  body(body: Body): Body {
    return this.#runs(mapBody(body, { statement: (s) => {
      if ((s.kind === 'for' || s.kind === 'while') && s.body.every(isPlain)) return this.#loop(s);
      return mapBodies(s, (inner) => this.#runs(inner));
    } }));
  }

  #loop(s: StatementOf<'for' | 'while'>): Statement | Body {
    const packed = this.#packed(s.body as readonly Plain[], true);
    const needed = s.kind === 'while' ? readsOf(s.condition) : new Set([s.counter]);
    const isUsed = packed?.after.some((each) => each.kind === 'set' && needed.has(each.local)) === true;
    return packed === undefined || isUsed ? s : [...packed.before, { ...s, body: packed.body }, ...packed.after];
  }

  /** Consecutive sets and stores, possibly with fills and copies between them. */
  #runs(body: Body): Body {
    const made: Body[] = [];
    let done = 0;
    for (let at = 0; at < body.length;) {
      let end = at;
      while (end < body.length && isInRun(required(body[end]))) ++end;
      const run = body.slice(at, end) as readonly InRun[];
      const packed = hasGroup(run) ? this.#packed(run, false) : undefined;
      if (packed !== undefined) {
        made.push(body.slice(done, at), packed.before, packed.body, packed.after);
        done = end;
      }
      at = end + 1;
    }
    return made.length === 0 ? body : [...made, body.slice(done)].flat();
  }
}

/** Whether enough statements to form a vector are alike. */
function hasGroup(run: readonly InRun[]): boolean {
  let alike = 0;
  for (const [i, s] of run.entries()) {
    const before = run[i - 1];
    if (before === undefined || !isPlain(s) || !isPlain(before)) alike = 1;
    else alike = before.kind === s.kind && before.value.kind === s.value.kind && before.value.type === s.value.type ? alike + 1 : 1;
    if (alike > 1 && alike === widthOf(s)) return true;
  }
  return false;
}

/** Merges groups of similar statements into statements on lanes, inside and outside of loops. */
export function vectoriseLanes(program: Program): Program {
  return mapFunctions(program, (f) => {
    const body = new FunctionPacker(Names.of(program, f), f.body).body(f.body);
    return body === f.body ? f : { ...f, body };
  });
}

