// What the functions of a written program share: names of arrays and sites, and what was learnt while they were made.
import type { ConstantData } from '../ir.ts';
import type { Site } from '../lower/sites.ts';
import { newLessons, type Lessons } from './context.ts';
import type { Dialect } from './dialect.ts';
import { countsOf, kindsIn, kinds, placesOf, type Counts, type Kind } from '../plan/layout.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { Retry, type LocalArray } from './writer.ts';

/** What an array is for. */
export type ArrayRole = 'channel' | 'state' | 'table';

export interface ArrayDeclaration {
  readonly name: string;
  readonly kind: Kind;
  readonly role: ArrayRole;
  readonly length: number;
  /** What it holds at the start; zeros beyond. */
  readonly initial: ArrayLike<number> | undefined;
  /** Of a channel: its number, and scalars of the kind for each item. */
  readonly channel?: number;
  readonly stride?: number;
}

export interface FunctionText {
  readonly name: string;
  readonly lines: readonly string[];
  readonly locals: readonly LocalArray[];
}

/** A program written. Functions take the number of firings or iterations. */
export interface ProgramText {
  readonly plan: ProgramPlan;
  readonly dialect: Dialect;
  readonly arrays: readonly ArrayDeclaration[];
  readonly sites: readonly Site[];
  /** By node: fires it `n` times; and once by its prework. */
  readonly fire: readonly FunctionText[];
  readonly first: readonly (FunctionText | undefined)[];
  /** By group: so many of its iterations. */
  readonly groups: readonly FunctionText[];
  /** By channel: items that its arrays hold. */
  readonly capacities: readonly number[];
}

export interface WriteOptions {
  /** Items that channels must hold at least, by channel. */
  readonly capacities?: readonly number[];
  /** One FIFO array per channel; no groups. */
  readonly baseline?: boolean;
  /** Groups begin where `wl_ix` says instead of at the fronts of channels. */
  readonly placed?: boolean;
}

/** What arrays of the kinds hold for a constant; nothing for zeros, of which there may be many. */
function splitByKind({ type, numbers }: ConstantData): Partial<Record<Kind, ArrayLike<number>>> {
  let isZero = true;
  for (let i = 0; i < numbers.length && isZero; ++i) isZero = Object.is(numbers[i], 0);
  if (isZero) return {};
  const [only, ...others] = kindsIn(countsOf(type));
  if (others.length === 0) return only === undefined ? {} : { [only]: numbers };
  const split: Record<Kind, number[]> = { i: [], f: [], d: [] };
  placesOf(type).forEach(({ kind }, i) => split[kind].push(numbers[i] ?? 0));
  return split;
}

/** Makes names of arrays and sites, and collects them. */
export class ProgramWriter {
  readonly plan: ProgramPlan;
  readonly dialect: Dialect;
  readonly arrays: ArrayDeclaration[] = [];
  readonly sites: Site[] = [];
  readonly capacities: readonly number[];
  readonly isBaseline: boolean;
  readonly isPlaced: boolean;
  readonly #siteOf = new Map<string, number>();
  readonly #tables = new Map<ConstantData, Record<Kind, string>>();
  readonly #made = new Set<string>();

  constructor(plan: ProgramPlan, dialect: Dialect, options: WriteOptions) {
    this.plan = plan;
    this.dialect = dialect;
    this.isBaseline = options.baseline === true;
    this.isPlaced = options.placed === true;
    this.capacities = capacitiesOf(plan, options.capacities, this.isBaseline);
    plan.graph.channels.forEach(({ id, type }) => this.#declare(`c${id}`, countsOf(type), 'channel', undefined, id));
  }

  #declare(prefix: string, counts: Counts, role: ArrayRole, initial: ConstantData | undefined, channel?: number): Record<Kind, string> {
    const names = { i: '', f: '', d: '' };
    const split = initial === undefined ? undefined : splitByKind(initial);
    for (const kind of kinds) {
      if (counts[kind] === 0) continue;
      names[kind] = `${prefix}${kind}`;
      if (this.#made.has(names[kind])) continue;
      this.#made.add(names[kind]);
      const length = counts[kind] * (channel === undefined ? 1 : this.capacities[channel]!);
      this.arrays.push({
        name: names[kind], kind, role, length, initial: split?.[kind],
        ...(channel === undefined ? {} : { channel, stride: counts[kind] }),
      });
    }
    return names;
  }

  site(site: Site): number {
    const print = site.print === undefined ? '' : JSON.stringify([site.print.text, site.print.newline, site.print.type, site.print.isMark]);
    const key = `${site.kind} ${site.node} ${site.limit} ${site.span?.file}:${site.span?.start} ${print}`;
    let number = this.#siteOf.get(key);
    if (number === undefined) {
      this.#siteOf.set(key, number = this.sites.length);
      this.sites.push(site);
    }
    return number;
  }

  /** Arrays of a field: a table shared by all nodes with the same data, or state of one node. */
  field(node: number, at: number, data: ConstantData, isTable: boolean): Record<Kind, string> {
    const counts = countsOf(data.type);
    if (!isTable) return this.#declare(`s${node}_${at}`, counts, 'state', data);
    let names = this.#tables.get(data);
    if (names === undefined) this.#tables.set(data, names = this.#declare(`k${this.#tables.size}`, counts, 'table', data));
    return names;
  }

  channel(id: number): Record<Kind, string> {
    const counts = countsOf(this.plan.graph.channels[id]!.type);
    return this.#declare(`c${id}`, counts, 'channel', undefined, id);
  }

  /** Makes a function, again where something learnt on the way asks for it. */
  make(build: (lessons: Lessons, size: 'full' | 'small') => FunctionText): FunctionText {
    const lessons = newLessons();
    let size: 'full' | 'small' = 'full';
    for (;;) {
      try {
        return build(lessons, size);
      } catch (error) {
        if (!(error instanceof Retry)) throw error;
        if (error.reason === 'size') {
          if (size === 'small') throw new UnsupportedProgram('the code of a filter is too large to be compiled');
          size = 'small';
        }
        else if (error.reason === 'raises') lessons.raises = true;
        else if (error.reason === 'label') lessons.labelled.add(error.key as object);
        else if (typeof error.key === 'number') lessons.channels.add(error.key);
        else lessons.inMemory.add(error.key as never);
      }
    }
  }
}

/** Items for which channels have room: a block of steady states, the initialisation, the rest of a run. */
function capacitiesOf(plan: ProgramPlan, least: readonly number[] | undefined, isBaseline: boolean): number[] {
  const { steady, schedule, rates, storage, multiplicity } = plan;
  return plan.graph.channels.map(({ id, initial }) => {
    const states = isBaseline ? 1 : storage[id] === 'block' ? multiplicity : 0;
    const block = steady.residual[id]! + states * rates[id]!;
    // Half as much again, so that items need not be moved to the front at every firing.
    const slack = Math.ceil(schedule.buffers[id]! / 2) + rates[id]! + 8;
    return Math.max(block, schedule.buffers[id]! + slack, least?.[id] ?? 0, initial.length);
  });
}
