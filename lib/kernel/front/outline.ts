// Calls of the user's functions as calls of functions of the representation, instead of copies of their code: equal code becomes one
// function.
import { call, get, type Expression, type KernelFunction, type Label, type Local, type Statement } from '../ir.ts';
import { renameBody } from '../passes/clone.ts';
import { functionText } from '../text.ts';
import { assignedIn, walkBody } from '../visit.ts';
import type { Called, Lowering } from './lowering.ts';
import { computed, record, tuple, type Staged } from './values.ts';

/** The numbers and truth values of a value that depend on data; undefined if it has functions. */
function leavesOf(value: Staged): Expression[] | undefined {
  switch (value.kind) {
    case 'known': return [];
    case 'computed': return [value.e];
    case 'cell': return [get(value.local)];
    case 'tuple': case 'record': {
      const leaves = (value.kind === 'tuple' ? value.items : [...value.fields.values()]).map(leavesOf);
      return leaves.every((each) => each !== undefined) ? leaves.flat() : undefined;
    }
    default: return undefined;
  }
}

/** A value of the same shape, with other numbers. */
function withLeaves(value: Staged, leaves: Iterator<Staged, unknown>): Staged {
  switch (value.kind) {
    case 'computed': case 'cell': return leaves.next().value as Staged;
    case 'tuple': return tuple(value.items.map((item) => withLeaves(item, leaves)));
    case 'record': return record([...value.fields].map(([name, field]) => [name, withLeaves(field, leaves)] as const));
    default: return value;
  }
}

/** Makes functions of calls that become at least so many statements. Their names begin with a prefix. */
export class Outliner {
  /** Callees precede their callers. */
  readonly functions: KernelFunction[] = [];
  readonly #prefix: string;
  readonly #least: number;
  readonly #names = new Map<string, string>();

  constructor(prefix: string, least: number) {
    this.#prefix = prefix;
    this.#least = least;
  }

  /** Takes the calls of a function while it is compiled. */
  watch(to: Lowering): void {
    to.onCall = (called) => this.#take(called, to);
  }

  #take({ body, value, at, isOwn }: Called, to: Lowering): Staged | undefined {
    const values = leavesOf(value);
    const own = assignedIn(body);
    // Calls that assign variables of their callers stay where they are.
    if (values === undefined || values.length === 0 || to.assignsElements || ![...own].every(isOwn)) return undefined;
    const whole: Statement[] = [...body, { kind: 'return', values }];
    const outer = new Set<Local>(), labels = new Set<Label>();
    let statements = 0;
    walkBody(whole, {
      expression: (e) => { if (e.kind === 'get' && !own.has(e.local)) outer.add(e.local); },
      statement: (s) => {
        statements += 1;
        if ('label' in s) labels.add(s.label);
      },
    });
    if (statements < this.#least) return undefined;
    // Names by order of appearance, so that equal code has equal text.
    const locals = new Map([...outer, ...own].map((local, i) => [local, get({ name: `l${i}`, type: local.type })] as const));
    const renaming = { locals, labels: new Map([...labels].map((label, i) => [label, { name: `n${i}` }])) };
    const parameters = [...outer].map((local) => locals.get(local)?.local ?? local);
    const f = { parameters, results: values.map(({ type }) => type), buffers: [], body: renameBody(whole, renaming) };
    const text = functionText({ ...f, name: '' });
    let name = this.#names.get(text);
    if (name === undefined) {
      this.#names.set(text, name = `${this.#prefix}${this.functions.length}`);
      this.functions.push({ ...f, name });
    }
    const results = values.map(({ type }) => to.newLocal(type, 'part'));
    to.emit(call(name, [...outer].map(get), results), at);
    return withLeaves(value, results.map((local): Staged => computed(get(local))).values());
  }
}
