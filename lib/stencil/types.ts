// What users give to `stencil.define` and `stencil.simulate`, and what they get.
import type { Device } from '../core/device.ts';
import type { CallOptions } from '../core/progress.ts';

/** One, two or three dimensions. */
export type Dimensions = 1 | 2 | 3;

/** Numbers of a state. */
export type RealArray = Float32Array | Float64Array;

/**
 * Reads a field or coefficient: `u()` at the cell itself, `u(-1, 0)` one cell back along the first axis. Offsets are whole numbers from -4
 * to 4, one for each axis, and constant. Beyond the boundary it reads what the boundary condition says; coefficients continue with the
 * value
 * of the nearest cell, or periodically.
 */
export type Reader = (...offsets: readonly number[]) => number;

/** The position of a cell's centre (of a boundary face for boundary values), and the time. */
export interface Place {
  readonly x: number;
  /** In two and three dimensions. */
  readonly y: number;
  /** In three dimensions. */
  readonly z: number;
  readonly t: number;
}

/** The third argument of a point function. */
export interface Tools extends Place {
  /** The spacing along each axis. */
  readonly dx: number;
  readonly dy: number;
  readonly dz: number;
  /**
   * The second-order Laplacian. With r = 1/dx² and one spacing for all axes it is (neighbours in the order of the axes, the lower one
   * first,
   * - 2 · dimensions · u) · r; otherwise the sum over the axes of ((lower + upper) - 2u) · r.
   */
  readonly laplacian: (field: Reader) => number;
}

/** The third argument of `step`. */
export interface StepTools<Field extends string> extends Tools {
  /** The length of the step. */
  readonly dt: number;
  /** The fields at the beginning of the step, at the cell itself. */
  readonly before: Readonly<Record<Field, () => number>>;
}

/** The first argument of a point function: fields and coefficients by name. */
export type Readers<Name extends string> = Readonly<Record<Name, Reader>>;

/** Numbers by name. */
export type Numbers<Name extends string> = Readonly<Record<Name, number>>;

/** The time derivative of every field at a cell. */
export type Rate<Field extends string, Parameter extends string, Coefficient extends string> =
  (fields: Readers<Field | Coefficient>, parameters: Numbers<Parameter>, tools: Tools) => Numbers<Field>;

/** Every field at a cell after a step, or after one stage of it. */
export type Step<Field extends string, Parameter extends string, Coefficient extends string> =
  (fields: Readers<Field | Coefficient>, parameters: Numbers<Parameter>, tools: StepTools<Field>) => Numbers<Field>;

/** Whether a state of one cell is admissible. */
export type Admissible<Field extends string, Parameter extends string> = (state: Numbers<Field>, parameters: Numbers<Parameter>) => boolean;

/**
 * The largest speed of waves in a cell (or a bound of it), one for all axes or one for each. Readers read the cell itself only: `u()`. The
 * sign does not matter.
 */
export type Speed<Field extends string, Parameter extends string, Coefficient extends string> =
  (cell: Readonly<Record<Field | Coefficient, () => number>>, parameters: Numbers<Parameter>, tools: Tools) =>
  number | { readonly x: number; readonly y?: number; readonly z?: number };

/** The largest diffusivity in a cell (length²/time). Readers read the cell itself only. */
export type Diffusivity<Field extends string, Parameter extends string, Coefficient extends string> =
  (cell: Readonly<Record<Field | Coefficient, () => number>>, parameters: Numbers<Parameter>, tools: Tools) => number;

/** Explicit methods for `rate`. */
export const methods = ['euler', 'midpoint', 'ssprk2', 'ssprk3', 'rk4'] as const;
/** Explicit methods for `rate`: orders 1, 2, 2, 3 and 4. */
export type Method = (typeof methods)[number];

/** A number at a boundary, constant or a function of the place on the boundary and the time. */
export type BoundaryValue<Parameter extends string = string> = number | string | ((place: Place, parameters: Numbers<Parameter>) => number);

/** The third argument of a boundary function. */
export interface BoundaryTools extends Place {
  /** How far the wanted cell is beyond the boundary: 1, 2, 3 or 4. */
  readonly k: number;
}

/**
 * The value of one field in cell `k` beyond a boundary, from the inner cells: `u(0)` is the nearest one in the same row, `u(1)` the next,
 * to `u(7)`.
 */
export type BoundaryFunction<Field extends string = string, Parameter extends string = string> =
  (inner: Readonly<Record<Field, (distance: number) => number>>, parameters: Numbers<Parameter>, tools: BoundaryTools) => number;

/**
 * The boundary condition of one field at one side. The boundary is the outer face of the last cells.
 * `periodic`; `mirror`: even about the face; `odd-mirror`: odd about it; `outflow`: the nearest cell's value continues; `dirichlet`: the
 * value at the face; `neumann`: the derivative outwards there; `robin`: `alpha` u + `beta` ∂u/∂n = `value`; or a function of inner cells.
 */
export type Condition<Field extends string = string, Parameter extends string = string> =
  | 'periodic' | 'mirror' | 'odd-mirror' | 'outflow'
  | { readonly kind: 'periodic' | 'mirror' | 'odd-mirror' | 'outflow' }
  | { readonly kind: 'dirichlet' | 'neumann'; readonly value: BoundaryValue<Parameter> }
  | { readonly kind: 'robin'; readonly alpha: number; readonly beta: number; readonly value: BoundaryValue<Parameter> }
  | { readonly kind: 'function'; readonly value: BoundaryFunction<Field, Parameter> | string };

/** One condition for all fields, or one for each. */
export type FieldConditions<Field extends string = string, Parameter extends string = string> =
  | Condition<Field, Parameter> | { readonly fields: Readonly<Record<Field, Condition<Field, Parameter>>> };

/** One condition for both sides of an axis, or one for each. */
export type AxisConditions<Field extends string = string, Parameter extends string = string> =
  | FieldConditions<Field, Parameter>
  | { readonly low: FieldConditions<Field, Parameter>; readonly high: FieldConditions<Field, Parameter> };

/** One condition for all sides, or one for each axis. */
export type Boundary<Field extends string = string, Parameter extends string = string> =
  | AxisConditions<Field, Parameter>
  | { readonly x: AxisConditions<Field, Parameter>; readonly y?: AxisConditions<Field, Parameter>;
    readonly z?: AxisConditions<Field, Parameter> };

/** What an equation is made of. Functions may be given as text. */
export interface Definition<Field extends string, Parameter extends string, Coefficient extends string> {
  readonly dimensions: Dimensions;
  /** Names of the fields, 1 to 8. */
  readonly fields: readonly Field[];
  /** Names of the parameters, which are numbers; none by default. */
  readonly parameters?: readonly Parameter[];
  /** Names of read-only arrays over the cells; none by default. */
  readonly coefficients?: readonly Coefficient[];
  /** The time derivative of the fields (the method of lines). Give `rate` or `step`. */
  readonly rate?: Rate<Field, Parameter, Coefficient> | string;
  /** A whole step, as one function or as a list of stages: each reads the fields that the one before has made. */
  readonly step?: Step<Field, Parameter, Coefficient> | string | readonly (Step<Field, Parameter, Coefficient> | string)[];
  /** For `rate`; default `ssprk3`. */
  readonly method?: Method;
  /** Default boundary conditions of runs; `periodic` if there are none. */
  readonly boundary?: Boundary<Field, Parameter>;
  /** What every cell has to satisfy after every step, beside being finite. */
  readonly admissible?: Admissible<Field, Parameter> | string;
  /**
   * Functions that the others may call by name. Declare them under the same names beside the equation, so that the functions run in plain
   * JavaScript too.
   */
  readonly functions?: Readonly<Record<string, ((...args: never[]) => unknown) | string>>;
  /** For steps by a CFL number. */
  readonly speed?: Speed<Field, Parameter, Coefficient> | string;
  /** For steps by a diffusion number. */
  readonly diffusivity?: Diffusivity<Field, Parameter, Coefficient> | string;
}

/** An equation, made by `stencil.define`. */
export interface Equation<Field extends string = string, Parameter extends string = string, Coefficient extends string = string> {
  readonly dimensions: Dimensions;
  readonly fields: readonly Field[];
  readonly parameters: readonly Parameter[];
  readonly coefficients: readonly Coefficient[];
  /** Undefined for equations that are given as a `step`. */
  readonly method: Method | undefined;
  /** The definition as given, with defaults. */
  readonly definition: Definition<Field, Parameter, Coefficient>;
}

/** Values over the cells: an array with the last axis varying fastest, one number for all, or a function of the cells' centres. */
export type CellValues = RealArray | number | ((x: number, y: number, z: number) => number);

/**
 * Where a run is computed. `auto`: on the device if it can load modules, otherwise in WebAssembly, and from there on as C++ once it has
 * taken half a second, where there is a compiler.
 */
export const stencilBackends = ['auto', 'device', 'cpp', 'wasm', 'interpreter', 'javascript'] as const;
/** Where a run is computed. */
export type StencilBackend = (typeof stencilBackends)[number];
/** What a run is computed by. */
export type RunBackend = 'cuda' | 'simt' | 'cpp' | 'wasm' | 'interpreter' | 'javascript';

/** How the steps are executed on a device or as C++; all variants give the same bits. */
export const stencilVariants = ['auto', 'classic', 'graph', 'streaming', 'persistent', 'swept'] as const;
/** How the steps are executed. */
export type StencilVariant = (typeof stencilVariants)[number];

/**
 * Steps as long as the state allows, computed before each step from all cells of all members: they share the step. `cfl` is needed if the
 * equation has a `speed`, `diffusion` if it has a `diffusivity`.
 */
export interface AdaptiveStep {
  /** The CFL number: dt Σ speed / dx ≤ cfl in every cell, with a sum over the axes. */
  readonly cfl?: number;
  /** The diffusion number: dt · diffusivity Σ 1 / dx² ≤ diffusion in every cell. */
  readonly diffusion?: number;
  /** The longest step; default: no bound. */
  readonly most?: number;
}

/** Options of `stencil.simulate`. */
export interface SimulateOptions<Field extends string, Parameter extends string, Coefficient extends string> {
  /** Cells along each axis. The last axis varies fastest in memory. */
  readonly shape: readonly number[];
  /** Distance between cells, one for all axes or one for each; default 1. */
  readonly spacing?: number | readonly number[];
  /** The lower corner of the domain; cell centres are half a cell from it. Default 0. */
  readonly origin?: number | readonly number[];
  /** The time step, or numbers that every step keeps to. */
  readonly dt: number | AdaptiveStep;
  /** The state at time 0. Arrays of ensembles hold the cells of all members one after another, or of one for all. */
  readonly initial: Readonly<Record<Field, CellValues>>;
  readonly boundary?: Boundary<Field, Parameter>;
  /** A number for each parameter. A list makes an ensemble: member i has number i of every list, and all lists are of one length. */
  readonly parameters?: Readonly<Record<Parameter, number | readonly number[]>>;
  /** The same for all members. */
  readonly coefficients?: Readonly<Record<Coefficient, CellValues>>;
  /** Default float64. */
  readonly precision?: 'float32' | 'float64';
  /** The step at which snapshots and `finish` end. Give at most one of `steps` and `until`. */
  readonly steps?: number;
  /** The time at which `finish` ends. */
  readonly until?: number;
  /** Default: the thread's default device. */
  readonly device?: Device;
  /** Default `auto`. */
  readonly backend?: StencilBackend;
  readonly variant?: StencilVariant;
  /** Steps per pass over memory (`streaming`), or between two exchanges (`persistent`); default: chosen by a model. */
  readonly depth?: number;
  /** Cells per lane along the last axis, for `streaming` and `persistent`; default: chosen by a model. */
  readonly points?: number;
  /** For `streaming`: measures several shapes on the device and takes the fastest. Each takes seconds to compile, once. Default false. */
  readonly tune?: boolean;
  /** Threads of the backends cpp and wasm; default: as many as the machine has, if the grid is large enough. */
  readonly threads?: number;
  /** A checkpoint to continue from, if the file exists: `initial` is not used then. */
  readonly resume?: string;
  readonly signal?: AbortSignal;
}

/** The options whose names depend on the equation: absent where it has none. */
type Named<Field extends string, Parameter extends string, Coefficient extends string> =
  ([Parameter] extends [never] ? unknown : { readonly parameters: Readonly<Record<Parameter, number | readonly number[]>> })
  & ([Coefficient] extends [never] ? unknown : { readonly coefficients: Readonly<Record<Coefficient, CellValues>> })
  & { readonly initial: Readonly<Record<Field, CellValues>> };

/** Options of `stencil.simulate` for an equation with these names. */
export type RunOptions<Field extends string, Parameter extends string, Coefficient extends string> =
  SimulateOptions<Field, Parameter, Coefficient> & Named<Field, Parameter, Coefficient>;

/** A state by field. */
export type State<Field extends string> = Readonly<Record<Field, RealArray>>;

/** One snapshot. */
export interface StencilSnapshot<Field extends string> {
  readonly step: number;
  readonly time: number;
  readonly state: State<Field>;
}

/** A shape of passes over memory: a row of the tuner's table. */
export interface ShapeInfo {
  /** Steps per pass. */
  readonly depth: number;
  /** Columns per lane. */
  readonly points: number;
  /** Rows of a tile, in three dimensions; otherwise 1. */
  readonly rows: number;
  /** Warps that a multiprocessor holds at least: the limit of registers. */
  readonly warps: number;
  /** Picoseconds per cell and step: predicted by the model (for an H200), and measured on the device by `tune`. */
  readonly predicted: number;
  readonly measured: number | undefined;
}

/** What a run has done so far, and how. */
export interface RunInfo {
  /** `cuda`, `simt`, `cpp`, `wasm`, `interpreter` or `javascript`. */
  readonly backend: RunBackend;
  readonly variant: Exclude<StencilVariant, 'auto'>;
  /** Why it is this variant, and what the tuner found. */
  readonly reason: string;
  /** Largest offset that the equation reads, along each axis. */
  readonly reach: readonly number[];
  /** Stages per step. */
  readonly stages: number;
  readonly members: number;
  /** Threads of the backends cpp and wasm, and threads per block of a device. */
  readonly threads: number;
  /** Steps per pass over memory. */
  readonly depth: number;
  /** Shapes that were considered for `streaming`, the best first. */
  readonly shapes: readonly ShapeInfo[];
  /** Steps of this object. */
  readonly steps: number;
  /** Seconds that those took. */
  readonly seconds: number;
  /** Cells × members × steps per second; NaN before the first step. */
  readonly cellUpdatesPerSecond: number;
}

/** Options of the calls of a run. */
export type RunCallOptions = CallOptions;
