// Programs as device functions of CUDA C++. They never trap: a function that can fail takes a `wl_fault&` as its last parameter,
// and records the fault and returns false if it fails; all others return nothing. Memory that outlives a call is the caller's:
// globals are parameters too.
import type { Buffer, Expression, KernelFunction, Local, Program } from '../ir.ts';
import { localsSetBy, walkBody, walkExpression } from '../visit.ts';
import type { CFamily } from './c-family.ts';
import { bufferParameters, canTrap, printCFamily } from './c-program.ts';

export const cudaFamily: CFamily = {
  traps: 'result', qualifiers: 'WARPLOOM_DEVICE', restrict: '__restrict__',
  isParameter: ({ role }) => role === 'external' || role === 'global', storage: () => 'WL_TABLE ', ownStorage: () => '',
};

/**
 * Prints a verified program, to stand behind arithmetic.h. Tables that all threads of a warp read in step go to constant memory; `same`:
 * parameters in which all threads of a warp get the same value. `qualifiersOf`: for functions that need others than WARPLOOM_DEVICE.
 */
export function printCuda(
  program: Program, same: ReadonlySet<Local> = new Set(), qualifiersOf?: (f: KernelFunction) => string,
): string {
  const uniform = uniformTables(program, same);
  const storage = (buffer: Buffer): string => (uniform.has(buffer) ? 'WL_UNIFORM_TABLE ' : 'WL_TABLE ');
  return printCFamily(program, { ...cudaFamily, storage, ...(qualifiersOf === undefined ? {} : { qualifiersOf }) });
}

/** Bytes of constant memory that tables may take: there are 65,536, for all that a module holds. */
const mostUniform = 49_152;

/** Tables whose places depend on counters alone, wherever they are read: the threads of a warp read one place at a time. */
function uniformTables({ buffers, functions }: Program, given: ReadonlySet<Local>): ReadonlySet<Buffer> {
  const found = new Set(buffers.filter(({ role }) => role === 'constant'));
  for (const f of functions) {
    const same = uniformLocals(f, given);
    walkBody(f.body, {
      expression: (e) => { if (e.kind === 'load' && !isUniform(e.index, same)) found.delete(e.buffer); },
      statement: (s) => { if (s.kind === 'copy' && !isUniform(s.fromIndex, same)) found.delete(s.from); },
    });
  }
  let bytes = 0;
  return new Set([...found].sort((a, b) => bytesOf(a) - bytesOf(b)).filter((buffer) => (bytes += bytesOf(buffer)) <= mostUniform));
}

function bytesOf({ element, length }: Buffer): number {
  return (element === 'f64' ? 8 : 4) * (length ?? 0);
}

/** Locals that hold the same in all threads: counters of loops whose begin does, and what is set once, from such alone. */
function uniformLocals({ body }: KernelFunction, given: ReadonlySet<Local>): ReadonlySet<Local> {
  const times = new Map<Local, number>();
  const count = (local: Local): void => { times.set(local, (times.get(local) ?? 0) + 1); };
  walkBody(body, { statement: (s) => {
    if (s.kind === 'for') count(s.counter);
    for (const local of s.kind === 'for' ? [] : localsSetBy(s)) count(local);
  } });
  const same = new Set<Local>(given);
  walkBody(body, { statement: (s) => {
    if (s.kind === 'for' && times.get(s.counter) === 1 && isUniform(s.from, same)) same.add(s.counter);
    if (s.kind === 'set' && times.get(s.local) === 1 && isUniform(s.value, same)) same.add(s.local);
  } });
  return same;
}

function isUniform(e: Expression, same: ReadonlySet<Local>): boolean {
  let found = true as boolean;
  walkExpression(e, (part) => {
    if (part.kind === 'get') found &&= same.has(part.local);
    else if (part.kind === 'load') found &&= part.buffer.role === 'constant';
  });
  return found;
}

/** The buffers that printed functions take as pointers after their arguments and results, in order, by function name. */
export function cudaParameters(program: Program): ReadonlyMap<string, readonly Buffer[]> {
  return bufferParameters(program, cudaFamily);
}

/** Whether a printed function can fail, returning false after recording a fault. */
export function cudaCanFail(program: Program, name: string): boolean {
  return canTrap(program, cudaFamily, name);
}
