// Arguments and results of kernel.map and kernel.reduce.
import type { Device, DeviceArray } from '../../core/device.ts';

/** Element types of arrays that functions can be applied to. */
export type KernelElement = 'float32' | 'float64' | 'int32';

/** Arrays in JavaScript's memory. */
export type HostArray = Float32Array | Float64Array | Int32Array;

/** A part of an array, as an array of any number of dimensions up to 8: a slice, without a copy. */
export interface ArrayView<A extends HostArray | DeviceArray = HostArray | DeviceArray> {
  readonly data: A;
  /** Elements in each dimension, the outermost first. Default: one dimension, all elements from `offset` on. */
  readonly shape?: readonly number[];
  /** Elements of `data` from one element of the view to the next, in each dimension; may be 0 or negative. Default: row-major, no gaps. */
  readonly strides?: readonly number[];
  /** The first element in `data`; default 0. */
  readonly offset?: number;
}

/**
 * An argument of the function: a number, which is the same for all elements; or an array. Shapes are broadcast by NumPy's rules: aligned
 * at their last dimension, and repeated where they have 1 element or no dimension.
 */
export type KernelInput = number | HostArray | DeviceArray | ArrayView;

/** What a function may return: a number, a truth value (0 or 1 in an Int32Array), or an array or object of these. */
export type PointResult = number | boolean | readonly PointResult[] | { readonly [name: string]: PointResult };

/** Where a function runs: on a GPU, on the SIMT shim, as WebAssembly, or in the interpreter (slow, for tests). */
export type KernelBackend = 'cuda' | 'simt' | 'wasm' | 'interpreter';

/** Options of {@link map} and {@link reduce}. */
export interface KernelCallOptions {
  /** Functions, or their texts, that the function and these functions may call by name: `{ functions: { limiter } }`. */
  readonly functions?: Readonly<Record<string, string | ((...args: number[]) => PointResult)>>;
  /** The device to run on. Default: that of the device arrays among the inputs and outputs; without any, the CPU. */
  readonly device?: Device;
  /** Where to run. Default: on the device of `device` or of the device arrays, otherwise `wasm`. */
  readonly backend?: KernelBackend;
  /** Worker threads for long calls on the CPU; default: one for each core. Results do not depend on it. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
}

/** Where results go: an array or view, or, if the function returns several values, an array or object of them in the same arrangement. */
export type KernelOutput = HostArray | DeviceArray | ArrayView | readonly KernelOutput[] | { readonly [name: string]: KernelOutput };

/** Options of {@link map}. */
export interface MapOptions extends KernelCallOptions {
  /**
   * Arrays for the results. They need room for exactly the elements of the result (a view: its shape), and may be an input itself but not
   * otherwise overlap one. Values are converted to their element types; to int32 by truncation, values out of range give the nearest
   * integer and NaN gives 0. The contents are undefined if the call fails.
   */
  readonly out?: KernelOutput;
  /** Element type of results that are numbers. Default: the precision in which the function is computed. */
  readonly type?: KernelElement;
}

/** Options of {@link reduce}. */
export interface ReduceOptions extends KernelCallOptions {
  /**
   * The axis to reduce along, or a list of them; negative numbers count from the last. Default: all, into one number. `argmin` and `argmax`
   * take one axis, and give indices along it.
   */
  readonly axis?: number | readonly number[];
}

/** Names of the reductions. */
export const reductions = ['sum', 'mean', 'min', 'max', 'norm1', 'norm2', 'normInf', 'argmin', 'argmax'] as const;

/** See {@link reduce}. */
export type Reduction = (typeof reductions)[number];

/** A number for each input. */
export type NumbersOf<I extends readonly unknown[]> = { readonly [K in keyof I]: number };

declare const mismatch: unique symbol;
/** A type that no value has: its name says what is wrong. */
interface Mismatch<Message extends string> {
  readonly [mismatch]: Message;
}

/**
 * Makes a number of inputs that differs from that of the function's parameters an error of the compiler.
 * @typeParam F type of the function
 */
export type SameNumber<I extends readonly unknown[], F extends (...args: never[]) => unknown> =
  Parameters<F>['length'] extends I['length'] ? unknown : Mismatch<'the function needs one input for each of its parameters'>;

type ArrayIn<I> = I extends ArrayView<infer A> ? A : I extends number ? never : I;

interface ElementArrays {
  readonly float32: Float32Array<ArrayBuffer>;
  readonly float64: Float64Array<ArrayBuffer>;
  readonly int32: Int32Array<ArrayBuffer>;
}

type NumbersArray<A, O> =
  O extends { readonly type: infer T extends KernelElement } ? ElementArrays[T]
    : [A] extends [never] ? ElementArrays['float64'] : [A] extends [Float32Array] ? ElementArrays['float32'] : ElementArrays['float64'];

type ResultArrays<R, A, O> =
  Extract<A, DeviceArray> extends never ? HostArrays<R, A, O> : OnDevice<R>;

type HostArrays<R, A, O> = R extends boolean ? ElementArrays['int32'] : R extends number ? NumbersArray<A, O>
  : { readonly [K in keyof R]: HostArrays<R[K], A, O> };

type OnDevice<R> = R extends boolean | number ? DeviceArray : { readonly [K in keyof R]: OnDevice<R[K]> };

/**
 * The results of {@link map}: `out` if it is given, otherwise an array for each value that the function returns.
 * @typeParam F type of the function
 */
export type MapResult<F extends (...args: never[]) => unknown, I extends readonly unknown[], O> =
  O extends { readonly out: infer Out extends KernelOutput } ? Out : ResultArrays<ReturnType<F>, ArrayIn<I[number]>, O>;

type AxisArrays<R, A, H> = R extends boolean | number ? Extract<A, DeviceArray> extends never
  ? H extends 'argmin' | 'argmax' ? ElementArrays['int32'] : ElementArrays['float64'] : DeviceArray
  : { readonly [K in keyof R]: AxisArrays<R[K], A, H> };

/** The results of {@link reduce} along axes: an array for each value that the function returns. */
export type AxisResult<R, I extends readonly unknown[], H> = AxisArrays<R, ArrayIn<I[number]>, H>;

/** The results of {@link reduce}: a number for each value that the function returns. */
export type ReduceResult<R> = R extends boolean | number ? number : { readonly [K in keyof R]: ReduceResult<R[K]> };
