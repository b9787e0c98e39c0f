// A job that has been read and checked, with the items of its sweep.
import { inspection } from '../core/display.ts';
import type { InputDigest } from './hash.ts';
import type { Job } from './kinds/index.ts';

/** One combination of a job's sweep. */
export interface JobItem {
  /** Name of its folder in the job's results: 'all' without a sweep, otherwise 'field=value,…'. */
  readonly name: string;
  /** The values of the swept fields, in the order of the sweep; empty without a sweep. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The job with these values and all defaults. */
  readonly job: Job;
  /** What it reads, with a digest of the bytes. */
  readonly inputs: readonly InputDigest[];
  /** SHA-256 of the parameters and input files: a finished item with the same hash is skipped, an interrupted one continued. */
  readonly hash: string;
}

/** A job that {@link load} has read and checked: it can be run any number of times. */
export class LoadedJob {
  /** Names the folder of results. */
  readonly name: string;
  /** Where the job asks to run. */
  readonly device: NonNullable<Job['device']>;
  /** Every combination of the sweep: fields in the order in which they are written, the last one varying fastest. */
  readonly items: readonly JobItem[];
  /** The folder to which the job's paths are relative. */
  readonly folder: string;

  /** @internal */
  constructor({ name, device, items, folder }: Pick<LoadedJob, 'name' | 'device' | 'items' | 'folder'>) {
    this.name = name;
    this.device = device;
    this.items = items;
    this.folder = folder;
  }

  /** Its name and items, in consoles. */
  [inspection](): string {
    const names = this.items.slice(0, 3).map(({ name }) => name).join(', ');
    return `LoadedJob { ${this.name}, ${this.items.length} items: ${names}${this.items.length > 3 ? ', …' : ''} }`;
  }
}
