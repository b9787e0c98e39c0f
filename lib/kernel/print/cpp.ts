// Programs as C++17. A trap calls `wl_trap(int site, double value)`, which does not return and which the caller defines.
import { valueOf, type Buffer, type KernelFunction, type Program, type StatementOf } from '../ir.ts';
import { walkBody } from '../visit.ts';
import type { CFamily, CUnit } from './c-family.ts';
import { bufferParameters, printCFamily } from './c-program.ts';

export interface CppOptions {
  /** Buffers of the program of which each thread has its own. Default: none. */
  readonly isOwn?: (buffer: Buffer) => boolean;
  /** Specifiers before a function: compiler attributes. */
  readonly attributes?: (f: KernelFunction) => string;
  /** The text before the program already declares its imports. Default: they are declared here, as functions of the file. */
  readonly knowsImports?: boolean;
  /** Prints one of several texts that are compiled separately. Threads cannot have their own buffers then. Default: the whole program. */
  readonly unit?: CUnit;
}

/** Larger buffers of a function do not go on the stack. */
const mostOnStack = 4096;

/**
 * A loop of unknown length around loops that only move elements. GCC would vectorise across its iterations and gather scattered elements:
 * transpositions then take three times as long.
 */
function movesRows(s: StatementOf<'for'>): boolean {
  if (valueOf(s.to) !== undefined || !s.body.some(({ kind }) => kind === 'for')) return false;
  let found = true;
  walkBody(s.body, { statement: (each) => {
    if (each.kind === 'store') found &&= each.value.kind === 'load' || each.value.kind === 'constant';
    else if (each.kind === 'call') found = false;
  } });
  return found;
}

function familyOf({ isOwn, attributes, knowsImports = false, unit }: CppOptions): CFamily {
  const aligned = 'alignas(64) ';
  // With hidden visibility, units address each other's buffers directly instead of through a table.
  const common = '__attribute__((visibility("hidden")))';
  const global = (buffer: Buffer): string =>
    (unit !== undefined ? `${common} ` : isOwn?.(buffer) === true ? 'static thread_local ' : 'static ');
  return {
    isSerial: movesRows,
    traps: 'call', qualifiers: unit === undefined ? 'static' : common, restrict: '__restrict', knowsImports,
    isParameter: ({ role }) => role === 'external',
    storage: (buffer) => (buffer.role === 'constant' ? `${aligned}WL_TABLE ` : aligned + global(buffer)),
    ownStorage: ({ length = 0 }) => `${aligned}${length > mostOnStack ? 'static thread_local ' : ''}`,
    ...(attributes === undefined ? {} : { attributes }), ...(unit === undefined ? {} : { unit, outer: `${aligned}extern ${common} ` }),
  };
}

/** Prints a verified program, to follow arithmetic.h and a declaration of `wl_trap`. External buffers are parameters. */
export function printCpp(program: Program, options: CppOptions = {}): string {
  return printCFamily(program, familyOf(options));
}

/** The buffers that printed functions take as pointers after their arguments and results, in order, by function name. */
export function cppParameters(program: Program): ReadonlyMap<string, readonly Buffer[]> {
  return bufferParameters(program, familyOf({}));
}
