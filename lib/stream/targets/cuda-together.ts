// Several firings of a small filter made together, so that a thread waits once for the loads of all: those that it makes in neighbouring
// instances, whose items stand at a fixed distance.
import { exact, get, i32, load, store, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Program } from
  '../../kernel/ir.ts';
import { freshLocals, renameBody } from '../../kernel/passes/clone.ts';
import { delayStores } from '../../kernel/passes/late-stores.ts';
import { simplify } from '../../kernel/passes/simplify.ts';
import { isStraight } from '../../kernel/passes/slice.ts';
import { localsSetBy, mapBody, Names, walkBody } from '../../kernel/visit.ts';
import { required } from '../../core/known.ts';

/** A function for several instances at once. */
export interface Together {
  /** Takes what the function of one takes, then the steps. */
  readonly f: KernelFunction;
  readonly instances: number;
  /** By parameter: the buffer whose elements of the next instance it tells the distance to. */
  readonly steps: ReadonlyMap<Local, Buffer>;
}

/** Loads that a thread should have under way, and most instances that are made together. */
const enoughLoads = 16, mostInstances = 4;

/**
 * The function of as many instances as gain by it; undefined for code that is not small and straight. `buffers`: those of its ends, all of
 * whose items stand at fixed distances.
 */
export function together(program: Program, f: KernelFunction, buffers: ReadonlySet<Buffer>): Together | undefined {
  if (!isStraight(f) || f.buffers.length > 0) return undefined;
  let loads = 0;
  const written = new Set<Buffer>();
  walkBody(f.body, {
    expression: (e) => { if (e.kind === 'load' && buffers.has(e.buffer)) ++loads; },
    statement: (s) => { if (s.kind === 'store') written.add(s.buffer); },
  });
  const instances = Math.min(mostInstances, 2 ** Math.floor(Math.log2(enoughLoads / Math.max(1, loads))));
  if (loads === 0 || instances < 2 || [...written].some((buffer) => !buffers.has(buffer))) return undefined;
  const names = Names.of(program, f);
  const steps = new Map<Buffer, Local>();
  const stepOf = (buffer: Buffer): Expression => {
    let found = steps.get(buffer);
    if (found === undefined) steps.set(buffer, found = { name: names.make('step'), type: 'i32' });
    return get(found);
  };
  const copies = Array.from({ length: instances }, (_, i) => (i === 0 ? f.body : moved(f.body, names, buffers, (buffer, index) =>
    exact('add', index, exact('mul', i32(i), stepOf(buffer))))));
  const made: KernelFunction = {
    ...f, name: `${f.name}_by_${instances}`, parameters: [...f.parameters, ...steps.values()], body: copies.flat(),
  };
  const { functions } = delayStores(simplify({ ...program, functions: [made] }), written, 2 * enoughLoads);
  return { f: required(functions[0]), instances, steps: new Map([...steps].map(([buffer, local]) => [local, buffer])) };
}

/** A copy with locals of its own, whose elements of the buffers are elsewhere. */
function moved(
  body: Body, names: Names, buffers: ReadonlySet<Buffer>, place: (buffer: Buffer, index: Expression) => Expression,
): Body {
  const locals = new Set<Local>(body.flatMap((s) => localsSetBy(s)));
  return mapBody(renameBody(body, { locals: freshLocals(locals, names) }), {
    expression: (e) => (e.kind === 'load' && buffers.has(e.buffer) ? load(e.buffer, place(e.buffer, e.index), e.offset) : e),
    statement: (s) => (s.kind === 'store' && buffers.has(s.buffer) ? store(s.buffer, place(s.buffer, s.index), s.value, s.offset) : s),
  });
}
