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
  /** Functions that are called from outside; what they do not reach is dropped. Default: all stay. */
  readonly roots?: ReadonlySet<string>;
  /** Functions whose calls are replaced by their bodies. Default: all. */
  readonly inline?: (f: KernelFunction) => boolean;
  /** Nodes that a loop may take when it is unrolled; default 256. */
  readonly unroll?: number;
  /** Elements up to which arrays are kept in locals; default 64. */
  readonly arrays?: number;
  /** Makes vectors, for targets whose compiler does not: WebAssembly. Default true. */
  readonly vectors?: boolean;
  /** Called with the name and result of every pass: to verify, print or time. */
  readonly onPass?: (name: string, program: Program) => void;
}

export type NamedPass = readonly [name: string, pass: Pass];

/** The list of passes, by name. */
export function passesFor({ roots, inline, unroll = 256, arrays = 64, vectors = true }: OptimiseOptions = {}): readonly NamedPass[] {
  const clean = [['simplify', simplify], ['dropDead', dropDead]] as const;
  const reach: readonly NamedPass[] = roots === undefined ? [] : [['dropUnreached', (program) => dropUnreached(program, roots)]];
  const lanes: readonly NamedPass[] = [
    ['simplify', simplify], ['useRanges', useRanges], ['vectoriseLoops', vectoriseLoops], ['vectoriseLanes', vectoriseLanes],
  ];
  return [
    ['inlineCalls', (program) => inlineCalls(program, inline)], ...reach, ['simplify', simplify], ['useRanges', useRanges], ...clean,
    // Loops around loops first, while they are there.
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
