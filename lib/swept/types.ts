// Options and results of the domain `swept`.
import type { BackendName } from '../core/binding.ts';
import type { Device } from '../core/device.ts';
import { choices } from '../core/operations.gen.ts';

/** Equations of the domain, as checkpoints and errors name them. */
export const equations = choices['swept.advance'].equation;
/** Names of the equations. */
export type EquationName = (typeof equations)[number];

/**
 * How the steps are executed; every variant produces the same bits. `auto` picks the fastest one on the device; `cpu-…` belong
 * to the cpu backend, the others to cuda and simt.
 */
export const variants = choices['swept.advance'].variant;
/** How the steps are executed. */
export type Variant = (typeof variants)[number];

/** Limiters of the reconstruction in `euler`. */
export const limiters = choices['swept.advance'].limiter;
/** Limiter of the reconstruction in `euler`. */
export type Limiter = (typeof limiters)[number];

/** Kinds of boundaries; docs/swept.md says which equation supports which. */
export const boundaries = choices['swept.advance'].left;
/** Kind of a boundary. */
export type BoundaryName = (typeof boundaries)[number];

/** Numbers of a state. */
export type RealArray = Float32Array | Float64Array;

/** Density, velocity and pressure of a gas. */
export interface GasState {
  readonly density: number;
  readonly velocity: number;
  readonly pressure: number;
}

/** A boundary at one end: its kind, with the fixed value if it is a dirichlet boundary that sets one. */
export type End<Value> = BoundaryName | {
  readonly kind: 'dirichlet';
  /** Written into the end point of the initial state and kept there. Default: the value in the initial state. */
  readonly value?: Value;
};

/** One boundary for both ends, or one for each. */
export type BoundaryOption<Value> = End<Value> | { readonly left: End<Value>; readonly right: End<Value> };

/** A violated stability limit, for `onUnstable`. */
export interface StabilityWarning {
  /** The option that is too large: dt, fourier or cfl. */
  readonly argument: 'dt' | 'fourier' | 'cfl';
  readonly dt: number;
  /** Largest stable time step. */
  readonly limit: number;
  readonly message: string;
}

/** Options of all equations. */
export interface CommonOptions<Initial, Value> {
  /** Points of a problem: at least 3 (heat) or 5. */
  readonly n?: number;
  /** Distance between points. Give `dx` or `length`. */
  readonly dx?: number;
  /** Length of the domain; docs/swept.md says which points it spans. */
  readonly length?: number;
  /** Time step. */
  readonly dt?: number;
  /** Default: that of a typed `initial`, else float64. */
  readonly precision?: 'float32' | 'float64';
  /** State at time 0: values of all problems one after another, a named initial condition, or a list with one condition per problem. */
  readonly initial?: Initial | readonly Initial[];
  readonly boundary?: BoundaryOption<Value>;
  /** Independent problems of one size, advanced together. Default 1. */
  readonly batch?: number;
  /**
   * The set-up of Magee and Niemeyer (2018): its spacing, time step, initial state, boundaries and limiter, unless an option says
   * otherwise.
   */
  readonly paper?: boolean;
  /** `refuse` (default): an unstable time step is an error before any work; `warn`: a process warning; or a function that is called. */
  readonly onUnstable?: 'refuse' | 'warn' | ((warning: StabilityWarning) => void);
  readonly variant?: Variant;
  /** With `tiled`: points per lane. Default 0: chosen by the policy. */
  readonly points?: number;
  /** Time steps per pass over memory. Default 0: chosen by the policy. */
  readonly depth?: number;
  /** Threads of a block. Default 0: chosen by the policy. */
  readonly threads?: number;
  /** Default: the thread's default device. */
  readonly device?: Device;
}

/** Initial conditions of {@link heat}. */
export type HeatInitial = RealArray | 'parabola' | 'ramp'
  | {
    /** a x (1 - x/L) as in the paper's code, or a (1 - x/L). */
    readonly kind: 'parabola' | 'ramp';
    /** a; default 100. */
    readonly amplitude?: number;
  }
  | {
    readonly kind: 'cosine';
    /** Half waves in the domain; whole waves when periodic. */
    readonly mode: number;
    /** Default 1. */
    readonly amplitude?: number;
  };

/** Options of {@link heat}. */
export interface HeatOptions extends CommonOptions<HeatInitial, number> {
  /** Diffusivity, length²/time; default 1. */
  readonly diffusivity?: number;
  /** Fourier number diffusivity·dt/dx², instead of `dt`. Stable up to 1/2. */
  readonly fourier?: number;
}

/** Initial conditions of {@link kuramotoSivashinsky}. */
export type WaveInitial = RealArray | 'paper'
  | {
    /** 2 cos(19 π x/128); periodic for lengths of a multiple of 256. */
    readonly kind: 'paper';
  }
  | {
    readonly kind: 'mode';
    /** Whole waves in a periodic domain, else half waves. */
    readonly waves: number;
    /** Default 1e-6. */
    readonly amplitude?: number;
  }
  | {
    /** Random values of mean 0, the same for the same seed. */
    readonly kind: 'noise';
    /** Default 1. */
    readonly seed?: number;
    /** Largest value; default 0.1. */
    readonly amplitude?: number;
  };

/** Options of {@link kuramotoSivashinsky}. */
export type KuramotoSivashinskyOptions = CommonOptions<WaveInitial, never>;

/** Initial conditions of {@link euler}; the typed array holds density, momentum and total energy, one after the other. */
export type GasInitial = RealArray | 'sod' | 'wave'
  | { readonly density: RealArray; readonly velocity: RealArray; readonly pressure: RealArray }
  | { readonly kind: 'sod' }
  | {
    /** Smooth waves of density, velocity and pressure everywhere. */
    readonly kind: 'wave';
    /** Default 0.2. */
    readonly amplitude?: number;
    /** Waves in the domain; default 1. */
    readonly waves?: number;
  }
  | {
    readonly kind: 'riemann';
    readonly left: GasState;
    readonly right: GasState;
    /** Where the states meet, as a share of the length; default 0.5. */
    readonly diaphragm?: number;
  };

/** Options of {@link euler}. */
export interface EulerOptions extends CommonOptions<GasInitial, GasState> {
  /** Ratio of specific heats; default 1.4. */
  readonly gamma?: number;
  /**
   * CFL number dt·(|u|+c)/dx, instead of `dt`, with the largest |u|+c of the initial state and of the states that its
   * jumps open into.
   */
  readonly cfl?: number;
  /** Default `van-leer`. `paper` is the pressure-ratio limiter of the paper. */
  readonly limiter?: Limiter;
}

/** The state of `euler`, each array with all problems one after the other. */
export interface GasFields {
  readonly density: RealArray;
  readonly velocity: RealArray;
  readonly pressure: RealArray;
  /** Total energy per volume. */
  readonly energy: RealArray;
  /** What is stored and conserved: density, momentum and total energy of each problem, one after the other. */
  readonly conserved: RealArray;
}

/** Everything a state's future depends on; what a checkpoint holds beside the state. */
export interface Setup {
  readonly equation: EquationName;
  readonly type: 'float32' | 'float64';
  readonly n: number;
  readonly batch: number;
  readonly dx: number;
  readonly dt: number;
  readonly left: BoundaryName;
  readonly right: BoundaryName;
  readonly diffusivity: number;
  readonly gamma: number;
  readonly limiter: Limiter;
}

/** Where and how a simulation runs; changes nothing in its results. */
export interface Placement {
  readonly device: Device;
  readonly variant: Variant;
  readonly points: number;
  readonly depth: number;
  readonly threads: number;
}

/** What ran so far. */
export interface SimulationInfo {
  readonly backend: BackendName;
  /** The variant that ran last; the one asked for before the first step. */
  readonly variant: Variant;
  /** Points per lane, steps per pass and threads of a block that ran last. */
  readonly points: number;
  readonly depth: number;
  readonly threads: number;
  /** Time steps of this object. */
  readonly steps: number;
  /** Seconds of the steps proper on the device. */
  readonly deviceSeconds: number;
  /** Points × problems × steps per second of those; NaN before the first step. */
  readonly pointUpdatesPerSecond: number;
}

/** One snapshot. */
export interface Snapshot<State> {
  readonly step: number;
  readonly time: number;
  readonly state: State;
}

/** Norms of one component of one problem, with the weight dx. */
export interface Norms {
  /** dx Σ|u|. */
  readonly l1: number;
  /** √(dx Σu²). */
  readonly l2: number;
  /** Largest |u|. */
  readonly maximum: number;
  /** √(mean of u²). */
  readonly rms: number;
  readonly least: number;
  readonly most: number;
}

/** Conserved integrals of one problem. */
export interface Totals {
  /** dx Σu; with half weights at both ends for heat with ends that are not periodic. */
  readonly total: number;
}

/** Conserved integrals of a gas: dx times the sum over all cells, held end cells too. */
export interface GasTotals {
  readonly mass: number;
  readonly momentum: number;
  readonly energy: number;
}
