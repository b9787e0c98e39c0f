// Functions without branches: positions that are moved on become constants behind the first ones, and values are computed not long before
// they are stored. So few of them are alive at a time, and neighbouring accesses still stand together.
import {
  exact, get, i32, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Program, type Statement,
} from '../ir.ts';
import {
  assignedIn, eachExpressionOf, loadedIn, localsSetBy, mapBody, mapFunctions, Names, walkBody, walkExpression, writesIn,
} from '../visit.ts';
import { linearOf } from './linear.ts';

/** Stores that follow the computation of their values together. */
const together = 32;

/** Simplifies positions and moves computations to where they are needed. Functions with branches stay as they are. */
export function forwardLocals(program: Program): Program {
  return mapFunctions(program, (f) => {
    if (!f.body.every(({ kind }) => kind === 'set' || kind === 'store') || f.results.length > 0) return f;
    const body = new Forwarding(f, Names.of(program, f)).body();
    return { ...f, body: ordered(body) };
  });
}

class Forwarding {
  readonly #f: KernelFunction;
  readonly #names: Names;
  readonly #sets = new Map<Local, number>();
  readonly #written: ReadonlySet<Buffer>;
  /** By local: what it holds by now. */
  readonly #known = new Map<Local, Expression>();

  constructor(f: KernelFunction, names: Names) {
    this.#f = f;
    this.#names = names;
    this.#written = writesIn(f.body).buffers;
    walkBody(f.body, { statement: (s) => {
      for (const local of localsSetBy(s)) this.#sets.set(local, (this.#sets.get(local) ?? 0) + 1);
    } });
  }

  body(): Body {
    return this.#f.body.flatMap((s) => {
      const replaced = mapBody([s], { expression: (e) => (e.kind === 'get' ? this.#known.get(e.local) ?? e : e) });
      const [made] = replaced;
      if (made?.kind !== 'set') return replaced;
      const position = this.#position(made.local, made.value);
      if (position !== undefined) {
        this.#known.set(made.local, position);
        return [];
      }
      if (this.#sets.get(made.local) === 1 && !this.#f.parameters.includes(made.local)) return replaced;
      // Every value has a local of its own.
      const local: Local = { name: this.#names.make(made.local.name), type: made.local.type };
      this.#known.set(made.local, get(local));
      return [{ ...made, local }];
    });
  }

  /** A parameter, or an element at a known place that the function does not write, plus a constant. */
  #position({ type }: Local, value: Expression): Expression | undefined {
    if (type !== 'i32') return undefined;
    const { terms: [term, other], constant } = linearOf(value);
    if (term === undefined || other !== undefined || term.factor !== 1) return undefined;
    const { of } = term;
    const isFixed = of.kind === 'get' ? this.#f.parameters.includes(of.local) && !this.#sets.has(of.local)
      : of.kind === 'load' && of.buffer.role !== 'constant' && valueOf(of.index) !== undefined && !this.#written.has(of.buffer);
    return !isFixed ? undefined : constant === 0 ? of : exact('add', of, i32(constant));
  }
}

/** The same statements, those that set locals not long before the first store that needs them. */
function ordered(body: Body): Body {
  const written = writesIn(body).buffers;
  if ([...loadedIn(body)].some((buffer) => written.has(buffer))) return body;
  const setters = new Map<Local, Statement>();
  for (const s of body) for (const local of localsSetBy(s)) setters.set(local, s);
  if (assignedIn(body).size !== body.filter(({ kind }) => kind === 'set').length) return body;
  const done = new Set<Statement>();
  const made: Statement[] = [];
  const need = (s: Statement): void => {
    eachExpressionOf(s, (e) => {
      walkExpression(e, (part) => {
        const setter = part.kind === 'get' ? setters.get(part.local) : undefined;
        if (setter === undefined || done.has(setter)) return;
        done.add(setter);
        need(setter);
        made.push(setter);
      });
    });
  };
  const stores = body.filter(({ kind }) => kind === 'store');
  for (let at = 0; at < stores.length; at += together) {
    const own = stores.slice(at, at + together);
    own.forEach(need);
    made.push(...own);
  }
  return made;
}
