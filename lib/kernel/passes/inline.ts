// Inlines calls.
import { get, set, type Body, type Buffer, type KernelFunction, type Label, type Local, type Program, type StatementOf } from '../ir.ts';
import { localsOf, mapBodies, mapBody, Names, walkBody } from '../visit.ts';
import { freshLabels, freshLocals, renameBody } from './clone.ts';
import { required } from '../../core/known.ts';

/** Replaces calls in a function by the bodies of the callees, with new names. */
class Inliner {
  readonly #functions: ReadonlyMap<string, KernelFunction>;
  readonly #names: Names;
  /** Local buffers of the inlined functions. */
  readonly buffers: Buffer[] = [];

  constructor(functions: ReadonlyMap<string, KernelFunction>, names: Names) {
    this.#functions = functions;
    this.#names = names;
  }

  body(body: Body): Body {
    return mapBody(body, { statement: (s) => (s.kind === 'call' && this.#functions.has(s.callee) ? this.#call(s) : s) });
  }

  #call({ callee, args, results }: StatementOf<'call'>): Body {
    const f = required(this.#functions.get(callee));
    const buffers = new Map(f.buffers.map((buffer) => [buffer, { ...buffer, name: this.#names.make(buffer.name) }]));
    this.buffers.push(...buffers.values());
    const locals = freshLocals(localsOf(f), this.#names);
    const body = renameBody(f.body, { locals, buffers, labels: freshLabels(f.body, this.#names) });
    const given = f.parameters.map((parameter, i) => set(localOf(locals, parameter), required(args[i])));
    const returned = results.map(({ type }): Local => ({ name: this.#names.make('returned'), type }));
    const taken = results.map((local, i) => set(local, get(required(returned[i]))));
    return [...given, ...this.#whole(body, returned), ...taken];
  }

  /** A body whose returns set locals and jump to its end. */
  #whole(body: Body, returned: readonly Local[]): Body {
    const last = body.at(-1);
    const early = last?.kind === 'return' ? body.slice(0, -1) : body;
    const end = last?.kind === 'return' ? given(last, returned) : [];
    if (!hasReturn(early)) return [...early, ...end];
    const label: Label = { name: this.#names.make('inlined') };
    const replace = (inner: Body): Body => inner.flatMap((s) =>
      (s.kind === 'return' ? [...given(s, returned), { kind: 'break', label } as const] : mapBodies(s, replace)));
    return [{ kind: 'block', label, body: [...replace(early), ...end] }];
  }
}

function localOf(locals: ReturnType<typeof freshLocals>, local: Local): Local {
  return (locals.get(local) as { readonly local: Local }).local;
}

function given({ values }: StatementOf<'return'>, returned: readonly Local[]): Body {
  return values.map((value, i) => set(required(returned[i]), value));
}

function hasReturn(body: Body): boolean {
  let found = false;
  walkBody(body, { statement: (s) => { found ||= s.kind === 'return'; } });
  return found;
}

/**
 * Inlines the functions that `isInlined` selects; the functions themselves remain (see dropUnreached). `into`: the functions whose calls
 * are replaced; default all.
 */
export function inlineCalls(
  program: Program, isInlined: (f: KernelFunction) => boolean = () => true, into: (f: KernelFunction) => boolean = () => true,
): Program {
  const inlined = new Map<string, KernelFunction>();
  const functions: KernelFunction[] = [];
  for (const f of program.functions) {
    // The names of previously inlined buffers are in use too.
    const inliner = new Inliner(inlined, Names.of({ ...program, functions: [...functions, ...program.functions] }, f));
    const body = into(f) ? inliner.body(f.body) : f.body;
    const made = body === f.body ? f : { ...f, body, buffers: [...f.buffers, ...inliner.buffers] };
    if (isInlined(f)) inlined.set(f.name, made);
    functions.push(made);
  }
  return { ...program, functions };
}
