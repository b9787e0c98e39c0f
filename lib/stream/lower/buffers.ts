// The buffers of a program, and the sites where it can fault or print.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer } from '../../kernel/ir.ts';
import { countsOf, kinds, kindsIn, placesOf, type Counts, type Kind } from '../plan/layout.ts';
import { streamArrayName, type External, type ProgramPlan } from '../plan/plan.ts';
import type { StreamGraph } from '../graph.ts';
import type { ConstantData } from '../ir.ts';
import type { Site } from './sites.ts';
import { scalarTypes, type Buffers } from './value.ts';

/** What a buffer of the program is for. */
export type BufferUse = 'channel' | 'state' | 'table';

/** A buffer of a channel, field or table, as the runtime needs to know it. */
export interface BufferDeclaration {
  readonly buffer: Buffer;
  readonly kind: Kind;
  readonly use: BufferUse;
  /** For a channel: its number, and how many scalars of this kind each item has. */
  readonly channel?: number;
  readonly stride?: number;
}

/** Words that the runtime reads and writes. */
export interface SystemBuffers {
  /** Indices of the next items to read and write, by channel and stream. */
  readonly ix: Buffer;
  /** By node: the number of its next firing, and the state of its random number generator. */
  readonly it: Buffer;
  readonly rs: Buffer;
  /** Remaining iterations of loops with unknown trip counts. */
  readonly steps: Buffer;
}

/** How buffers are made. */
export interface BufferOptions {
  /** The minimum number of items each channel must have room for, by channel. */
  readonly capacities?: readonly number[];
  /** One FIFO buffer per channel; no groups. */
  readonly baseline?: boolean;
}

type ByKind = Partial<Record<Kind, ArrayLike<number>>>;

/** Nodes made from one filter share its constants, which can have millions of numbers. */
const splits = new WeakMap<ConstantData, ByKind>();

/** The contents of the buffers of each kind for a constant; empty if all are zero, because large arrays of zeros are common. */
function splitByKind(data: ConstantData): ByKind {
  let found = splits.get(data);
  if (found === undefined) splits.set(data, found = split(data));
  return found;
}

function split({ type, numbers }: ConstantData): ByKind {
  let isZero = true;
  for (let i = 0; i < numbers.length && isZero; ++i) isZero = Object.is(numbers[i], 0);
  if (isZero) return {};
  const [only, ...others] = kindsIn(countsOf(type));
  if (others.length === 0) return only === undefined ? {} : { [only]: numbers };
  const lists: Record<Kind, number[]> = { i: [], f: [], d: [] };
  placesOf(type).forEach(({ kind }, i) => lists[kind].push(numbers[i] ?? 0));
  return lists;
}

/** The initial items of a channel as one array. */
function startOf({ type, initial }: StreamGraph['channels'][number]): ConstantData | undefined {
  if (initial.length === 0) return undefined;
  const numbers = initial.flatMap((item) => placesOf(type).map((_, i) => item.numbers[i] ?? 0));
  return { type: { kind: 'array', element: type, length: initial.length }, numbers };
}

/** Creates and collects the buffers and sites of a program. */
export class ProgramBuffers {
  readonly plan: ProgramPlan;
  readonly declarations: BufferDeclaration[] = [];
  readonly sites: Site[] = [];
  readonly capacities: readonly number[];
  readonly system: SystemBuffers;
  readonly streams: readonly Buffer[];
  readonly #siteOf = new Map<string, number>();
  readonly #tables = new Map<ConstantData, Buffers>();
  readonly #fields = new Map<string, Buffers>();
  readonly #channels: readonly Buffers[];

  constructor(plan: ProgramPlan, { capacities, baseline = false }: BufferOptions) {
    this.plan = plan;
    this.capacities = capacitiesOf(plan, capacities, baseline);
    this.#channels = plan.graph.channels.map((channel) =>
      this.#declare(`c${channel.id}`, countsOf(channel.type), 'channel', startOf(channel), channel.id));
    const word = (name: string, length: number, element: Buffer['element'] = 'i32'): Buffer => ({ name, element, role: 'global', length });
    const nodes = plan.graph.nodes.length;
    this.system = {
      ix: word('ix', 2 * (plan.graph.channels.length + plan.externals.length)), it: word('it', nodes), rs: word('rs', nodes),
      steps: word('steps', 1, 'f64'),
    };
    this.streams = plan.streamArrays.map(({ name, kind, role }): Buffer => ({
      name, element: scalarTypes[kind], role: 'external', length: undefined, isReadOnly: role === 'input' || role === 'reader',
    }));
  }

  #declare(prefix: string, counts: Counts, use: BufferUse, initial: ConstantData | undefined, channel?: number): Buffers {
    const made: Partial<Record<Kind, Buffer>> = {};
    const contents = initial === undefined ? undefined : splitByKind(initial);
    for (const kind of kinds) {
      if (counts[kind] === 0) continue;
      const data = contents?.[kind];
      const buffer: Buffer = {
        name: `${prefix}${kind}`, element: scalarTypes[kind], role: use === 'table' ? 'constant' : 'global',
        length: counts[kind] * (channel === undefined ? 1 : elementAt(this.capacities, channel)),
        ...(data === undefined ? {} : { initial: data }),
      };
      made[kind] = buffer;
      this.declarations.push({ buffer, kind, use, ...(channel === undefined ? {} : { channel, stride: counts[kind] }) });
    }
    return made;
  }

  /** Adds a table made by a pass. */
  adopt(buffer: Buffer): void {
    this.declarations.push({ buffer, kind: required(kinds.find((kind) => scalarTypes[kind] === buffer.element)), use: 'table' });
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

  /** Buffers of a field: a table shared by all nodes with the same data, or the state of one node. */
  field(node: number, at: number, data: ConstantData, isTable: boolean): Buffers {
    const counts = countsOf(data.type);
    if (isTable) {
      let table = this.#tables.get(data);
      if (table === undefined) this.#tables.set(data, table = this.#declare(`k${this.#tables.size}`, counts, 'table', data));
      return table;
    }
    const name = `s${node}_${at}`;
    let field = this.#fields.get(name);
    if (field === undefined) this.#fields.set(name, field = this.#declare(name, counts, 'state', data));
    return field;
  }

  channel(id: number): Buffers {
    return elementAt(this.#channels, id);
  }

  /** Buffers of an external stream. */
  external({ id, type }: External): Buffers {
    const find = (kind: Kind): Buffer => required(this.streams.find(({ name }) => name === streamArrayName(id, kind)));
    return Object.fromEntries(kindsIn(countsOf(type)).map((kind) => [kind, find(kind)]));
  }
}

/** How many items each channel has room for: enough for a block of steady states, the initialisation and the rest of a run. */
function capacitiesOf(plan: ProgramPlan, least: readonly number[] | undefined, isBaseline: boolean): number[] {
  const { steady, schedule, rates, storage, multiplicity } = plan;
  return plan.graph.channels.map(({ id, initial }) => {
    const states = isBaseline ? 1 : storage[id] === 'block' ? multiplicity : 0;
    const block = elementAt(steady.residual, id) + states * elementAt(rates, id);
    // Half as much again, so that items need not be moved to the front at every firing.
    const slack = Math.ceil(elementAt(schedule.buffers, id) / 2) + elementAt(rates, id) + 8;
    return Math.max(block, elementAt(schedule.buffers, id) + slack, least?.[id] ?? 0, initial.length);
  });
}
