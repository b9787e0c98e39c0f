// Kernels from functions: an ordinary function of numbers, applied to the elements of arrays on a GPU or on the CPU.
import { batchMap } from './batched.ts';
import { takenInputs } from './call/taken.ts';
import type { ArrayKinds, CompiledKernel, CompileOptions } from './call/compile.ts';
import type {
  AxisResult, KernelCallOptions, KernelInput, MapOptions, MapResult, NumbersOf, PointResult, ReduceOptions, ReduceResult, Reduction,
  SameNumber,
} from './call/types.ts';

export type {
  ArrayView, HostArray, KernelBackend, KernelCallOptions, KernelElement, KernelInput, KernelOutput, MapOptions, MapResult, NumbersOf,
  PointResult, ReduceOptions, ReduceResult, Reduction, SameNumber, AxisResult,
} from './call/types.ts';
export { fma } from '../core/fma.ts';
export type { ArrayKind, ArrayKinds, CompiledKernel, CompileOptions, KernelInfo } from './call/compile.ts';

/** The compiler and what runs its programs: loaded by the first call. */
let calls: typeof import('./call/calls.ts') | undefined;

/** Does `work` with what is loaded: at once, or else on copies of the inputs, which may change after the call. */
async function withCalls<T>(inputs: unknown, work: (loaded: typeof import('./call/calls.ts'), inputs: unknown) => Promise<T>): Promise<T> {
  if (calls !== undefined) return work(calls, inputs);
  const taken = takenInputs(inputs);
  calls = await import('./call/calls.ts');
  return work(calls, taken);
}

/**
 * Applies a function of numbers to the elements of arrays: one pass over memory, however much the function computes.
 *
 * The function is compiled from its text, so it sees only its parameters, `Math`, and what it declares itself (docs/kernel.md has the
 * accepted subset of JavaScript). It is computed in float64; in float32, with every operation rounded, if all arrays are float32. Numbers
 * do not count for that, and int32 elements become float64. Results have the same bits on all back ends.
 *
 * Arrays in JavaScript's memory are read at the call; those on a device stay there, and so does the result of device arrays.
 * @typeParam F type of the function
 * @param f a function, or its text, such as '(x, a) => a * x'. It returns a number, a truth value, or an array or object of these
 * @param inputs a number, array or view for each parameter; shapes are broadcast by NumPy's rules
 * @returns `out`, or a new array for each value that the function returns, in row-major order of the broadcast shape
 * @throws FunctionError with line, column and a hint for a function that cannot be compiled; ArgumentError for inputs and outputs that do
 * not fit it or each other; UnavailableError for a back end that is not there
 */
export function map<
  const I extends readonly KernelInput[], F extends (...args: NumbersOf<I>) => PointResult, const O extends MapOptions = object,
>(f: F, inputs: I & SameNumber<I, F>, options?: O): Promise<MapResult<F, I, O>>;
export function map(f: string, inputs: readonly KernelInput[], options?: MapOptions): Promise<unknown>;
export function map(f: unknown, inputs: readonly KernelInput[], options: MapOptions = {}): Promise<unknown> {
  return withCalls(inputs, ({ mapArrays }, taken) => mapArrays(f, taken, options));
}
batchMap(map);

/**
 * Applies a function to the elements of arrays, as {@link map} does, and combines its values into one number. The order is fixed: the same
 * bits on all back ends, for any number of threads. Sums are made in float64 within blocks of 4096 elements, then over blocks of 4096 such
 * sums, and so on. For each factor of 4096 in the number of elements, the relative error (of the sum of absolute values) grows by at most
 * 17 · 2⁻⁵³.
 * @typeParam F type of the function
 * @param reduction `sum`; `mean`; `norm1`, `norm2` and `normInf`: the sum of absolute values, the root of the sum of squares (which may
 * overflow), and the largest absolute value; `min` and `max`: as Math.min and Math.max, NaN if any value is NaN, and −0 is less than 0;
 * `argmin` and `argmax`: the index of the first such value in row-major order. Of empty arrays, sums and norms are 0, min is Infinity, max
 * −Infinity, argmin and argmax are −1, and mean is NaN. With `axis`, along these axes only: elements are then combined in passes of up to
 * eight, in pairs, so that the error of sums grows with the logarithm of their number
 * @returns a number for each value that the function returns, in the same arrangement; with `axis` an array in row-major order of the other
 * axes, on the device if an input is there
 * @throws the same errors as {@link map}
 */
export function reduce<
  const I extends readonly KernelInput[], F extends (...args: NumbersOf<I>) => PointResult, const H extends Reduction,
>(
  f: F, inputs: I & SameNumber<I, F>, reduction: H, options: ReduceOptions & { readonly axis: number | readonly number[] },
): Promise<AxisResult<ReturnType<F>, I, H>>;
export function reduce<const I extends readonly KernelInput[], F extends (...args: NumbersOf<I>) => PointResult>(
  f: F, inputs: I & SameNumber<I, F>, reduction: Reduction, options?: KernelCallOptions,
): Promise<ReduceResult<ReturnType<F>>>;
export function reduce(f: string, inputs: readonly KernelInput[], reduction: Reduction, options?: ReduceOptions): Promise<unknown>;
export function reduce(
  f: unknown, inputs: readonly KernelInput[], reduction: Reduction, options: ReduceOptions = {},
): Promise<unknown> {
  return withCalls(inputs, ({ reduceArrays }, taken) => reduceArrays(f, taken, reduction, options));
}

/**
 * Compiles a function for kinds of inputs ahead of its first call. Calls of `map` and `reduce` compile by themselves and keep what they
 * compile with the function; this is for programs that must not wait later, and for those who want to see what is made of a function.
 * @typeParam F type of the function
 * @param f a function or its text
 * @param kinds for each parameter `'number'`, `'float32'`, `'float64'` or `'int32'`
 * @throws FunctionError for a function that cannot be compiled; UnavailableError if there is no device or no compiler for it
 */
export function compile<const K extends ArrayKinds, F extends (...args: NumbersOf<K>) => PointResult>(
  f: F, kinds: K & SameNumber<K, F>, options?: CompileOptions,
): Promise<CompiledKernel<F>>;
export function compile(f: string, kinds: ArrayKinds, options?: CompileOptions): Promise<CompiledKernel>;
export function compile(f: unknown, kinds: ArrayKinds, options: CompileOptions = {}): Promise<CompiledKernel> {
  return withCalls(undefined, ({ compileKernel }) => compileKernel(f, kinds, options));
}

