// What the public functions load when they are first called.
import { compileKernel as compile } from './compile.ts';
import { mapArrays as map } from './map.ts';
import { sourceOf } from './point.ts';
import { reduceArrays as reduce } from './reduce.ts';

/** Expressions may be nested more deeply than the compiler's own calls can be. */
function named(f: unknown): (error: unknown) => never {
  return (error) => {
    throw error instanceof RangeError && /call stack/i.test(error.message) ? sourceOf(f).tooDeep(error) : error;
  };
}

export const mapArrays: typeof map = (f, ...rest) => map(f, ...rest).catch(named(f));
export const reduceArrays: typeof reduce = (f, ...rest) => reduce(f, ...rest).catch(named(f));
export const compileKernel: typeof compile = (f, ...rest) => compile(f, ...rest).catch(named(f));
