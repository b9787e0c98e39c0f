// The passes in a suitable order: each is a function from program to program and can be used alone.
import type { KernelFunction, Program } from '../ir.ts';
import { dropDead, dropUnreached } from './dead.ts';
import { inlineCalls } from './inline.ts';
import { useRanges } from './ranges.ts';
import { dropNeedlessFills, replaceArrays } from './scalars.ts';
import { simplify } from './simplify.ts';
import { unrollAndJam, unrollShort } from './unroll.ts';
import { vectoriseLanes } from './vectorise-lanes.ts';
import { vectoriseLoops } from './vectorise-loops.ts';

export type Pass = (program: Program) => Program;

export interface OptimiseOptions {
  /** Functions that are called from outside; unreachable ones are removed. Default: all are kept. */
  readonly roots?: ReadonlySet<string>;
  /** Functions to inline. Default: all. */
  readonly inline?: (f: KernelFunction) => boolean;
  /** The maximum size in nodes of an unrolled loop; default 256. */
  readonly unroll?: number;
  /** The maximum number of elements of an array that is kept in locals; default 64. */
  readonly arrays?: number;
  /** Whether to vectorise, for targets whose compilers do not: WebAssembly. Default true. */
  readonly vectors?: boolean;
  /** Called with the name and result of every pass, in order to verify, print or time it. */
  readonly onPass?: (name: string, program: Program) => void;
}

export type NamedPass = readonly [name: string, pass: Pass];

/** The passes in order, by name. */
export function passesFor({ roots, inline, unroll = 256, arrays = 64, vectors = true }: OptimiseOptions = {}): readonly NamedPass[] {
  const clean = [['simplify', simplify], ['dropDead', dropDead]] as const;
  const reach: readonly NamedPass[] = roots === undefined ? [] : [['dropUnreached', (program) => dropUnreached(program, roots)]];
  const lanes: readonly NamedPass[] = [
    ['simplify', simplify], ['useRanges', useRanges], ['vectoriseLoops', vectoriseLoops], ['vectoriseLanes', vectoriseLanes],
  ];
  return [
    // Before as well: what is not called needs no copies of others.
    ...reach, ['inlineCalls', (program) => inlineCalls(program, inline)], ...reach,
    ['simplify', simplify], ['useRanges', useRanges], ...clean,
    // Jam outer loops first, while the loops are still nested.
    ...(vectors ? [['unrollAndJam', (program: Program) => unrollAndJam(program, 4)] as const, ...lanes] : []),
    ['unrollShort', (program) => unrollShort(program, unroll)], ...clean,
    ['replaceArrays', (program) => replaceArrays(program, arrays)], ['dropNeedlessFills', dropNeedlessFills], ...clean,
    ...(vectors ? lanes : []),
    ['useRanges', useRanges], ...clean, ...reach,
  ];
}

/** Runs the passes. */
export function optimise(program: Program, options: OptimiseOptions = {}): Program {
  return passesFor(options).reduce((now, [name, pass]) => {
    const made = pass(now);
    options.onPass?.(name, made);
    return made;
  }, program);
}
