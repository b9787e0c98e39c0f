// Describes a kind of job: its fields, the files it reads, and what one item of it receives and returns.
import type { z } from 'zod';
import type { Device } from '../core/device.ts';
import type { FrameState } from './frame.ts';
import type { Group } from './group.ts';

/** Maps a path in a job file to one in the file system. */
export type Resolve = (path: string) => string;

/** A file or folder that a job reads, and the field that names it. */
export interface InputFile {
  readonly field: string;
  readonly path: string;
  /** True for files that a program uses if they exist but does not need. */
  readonly optional?: boolean;
}

/** What the runner passes to an item. */
export interface ItemContext {
  readonly device: Device;
  /** Resolves an input path of the job file (relative to it, or `package:name/path`). */
  readonly input: Resolve;
  /** Folder of this item's results; exists. */
  readonly folder: string;
  /** The hash of the item's parameters and of the bytes of its inputs: it identifies its checkpoints. */
  readonly hash: string;
  readonly signal: AbortSignal;
  /** `figures`: what is known of the state, by name, for example its energy. */
  readonly onProgress: (done: number, total: number, figures?: Readonly<Record<string, number>>) => void;
  /** Shows the state to whoever follows the item; the function is called only if somebody does. */
  readonly show: (state: () => FrameState) => void;
  /** Notifies the user at once; the result includes the note too. */
  readonly warn: (note: string) => void;
  /** The items that run together with this one. */
  readonly group?: Group | undefined;
}

/** How items of a kind run together. */
export interface Togetherness<J> {
  /** Items with the same key can; undefined: this one cannot. */
  readonly key: (job: J) => string | undefined;
  /** How many numbers the state of such an item has; undefined: they cannot run together after all. */
  readonly numbers: (job: J, resolve: Resolve) => Promise<number | undefined>;
}

/** Where a computation runs, and its callbacks. */
export type Running = Pick<ItemContext, 'device' | 'signal' | 'onProgress'>;

/** The results of an item; stored as its result.json. */
export interface ItemReport {
  /** One line for the table: what was run. */
  readonly summary: string;
  /** Measured figures by name; the name includes the unit: `…Seconds`, `…Error`, `…PerSecond`. */
  readonly figures: Record<string, number>;
  /** The figure that measures the item's accuracy, and what it means. */
  readonly accuracy: { readonly value: number; readonly meaning: string };
  /** The values that the colours of its pictures have to span, by picture and field; the items of a sweep then share one range. */
  readonly colours?: ColourRanges;
  /** Files written, relative to the item's folder. */
  readonly files: readonly string[];
  /** True when some system could not be solved; the job then exits with code 1. */
  readonly failed?: boolean;
  /** Notes for the user. */
  readonly notes?: readonly string[];
}

/** The values of the darkest and the brightest colour. */
export type ColourRange = readonly [number, number];

/** Ranges of colours by picture, and by field. */
export type ColourRanges = Readonly<Record<string, Readonly<Record<string, ColourRange>>>>;

/** Runs one item of one kind of job. */
export type ItemFunction<J> = (job: J, context: ItemContext) => Promise<ItemReport>;

/** A kind of job. The registry of kinds is kinds/index.ts. */
export interface JobKind<Name extends string = string, Schema extends z.ZodType = z.ZodType> {
  /** The job file's field `kind`. */
  readonly kind: Name;
  /** All fields of its job files. */
  readonly schema: Schema;
  /** The values that name files or folders to read, by field; a value that is not a string (a number, a phantom) names none. */
  readonly inputs: (job: z.infer<Schema>) => Readonly<Record<string, unknown>>;
  /** Whether the job names a file whose code is run. */
  readonly runsCode?: (job: z.infer<Schema>) => boolean;
  /** Files to which its inputs refer in turn. */
  readonly moreInputs?: (job: z.infer<Schema>, resolve: Resolve) => Promise<readonly InputFile[]>;
  /** Runs one item. */
  readonly run: ItemFunction<z.infer<Schema>>;
  /** How items run together, with {@link ItemContext.group}; by default, each runs by itself. */
  readonly together?: Togetherness<z.infer<Schema>>;
  /** Totals of a simulation's state over its domain, such as mass and energy, for whoever follows it. */
  readonly totals?: (job: z.infer<Schema>, state: FrameState) => Readonly<Record<string, number>>;
  /** Draws the pictures of a finished item again, from its results, with colours of these ranges. */
  readonly recolour?: (
    job: z.infer<Schema>, context: Pick<ItemContext, 'input' | 'folder'>, colours: ColourRanges,
  ) => Promise<void>;
}
