// A planned program in the kernel representation: one function for each node, one for each group of nodes, and the buffers they share.
import {
  call, exact, get, i32, type Buffer, type Import, type KernelFunction, type Local, type Program,
} from '../../kernel/ir.ts';
import { countsOf, kinds, placesOf, type Counts, type Kind } from '../emit/layout.ts';
import { streamArrayName, streamArrays, type External, type Group, type ProgramPlan } from '../emit/plan.ts';
import { UnsupportedProgram } from '../emit/unsupported.ts';
import { kindsIn } from '../emit/value.ts';
import type { ConstantData } from '../ir.ts';
import { FunctionMaker, type MadeFunction, type Mode } from './function.ts';
import type { Site } from './sites.ts';
import { scalarTypes, type Buffers } from './value.ts';
import { TooLarge } from './writer.ts';

/** What a buffer of the program is for. */
export type BufferUse = 'channel' | 'state' | 'table';

/** A buffer of a channel, a field or a table, as its runtime needs to know it. */
export interface BufferDeclaration {
  readonly buffer: Buffer;
  readonly kind: Kind;
  readonly use: BufferUse;
  /** Of a channel: its number, and scalars of the kind for each item. */
  readonly channel?: number;
  readonly stride?: number;
}

/** Words that the runtime reads and writes. */
export interface SystemBuffers {
  /** Index of the next item that is read and written, by channel and stream. */
  readonly ix: Buffer;
  /** By node: the number of its next firing, the state of its random numbers. */
  readonly it: Buffer;
  readonly rs: Buffer;
  /** Turns left that loops without known end may make. */
  readonly steps: Buffer;
}

/**
 * A program. Functions take the number of firings or iterations. `fire_3` fires node 3, `first_3` once by its prework (of nodes that are
 * asked for), `group_3` makes iterations of group 3; `steady` makes whole steady states, and `settle` moves what remains on channels behind
 * so many to their fronts.
 * Imports: `put` notes a value to be printed, `print` those noted at a site, `room` makes room on a channel.
 */
export interface LoweredProgram {
  readonly plan: ProgramPlan;
  readonly program: Program;
  readonly declarations: readonly BufferDeclaration[];
  readonly system: SystemBuffers;
  readonly sites: readonly Site[];
  /** By channel: items that its buffers hold. */
  readonly capacities: readonly number[];
  /** The program with functions for more nodes alone; itself where it has them. */
  including(nodes: Iterable<number>): LoweredProgram;
}

export interface LowerOptions {
  /** Nodes that get functions of their own. Default: those that fire before the first steady state. */
  readonly nodes?: Iterable<number>;
  /** Items that channels must hold at least, by channel. */
  readonly capacities?: readonly number[];
  /** One FIFO buffer per channel; no groups. */
  readonly baseline?: boolean;
  /** Groups begin where `ix` says instead of at the fronts of channels. */
  readonly placed?: boolean;
  /**
   * Firings of a filter with long sums that are written together, by the items that it pops: four make a vector, eight hide how long a sum
   * takes where their items lie side by side. Default: none, for targets whose compilers see to it.
   */
  readonly together?: (pop: number) => number;
  /** What is made of the functions that run often: those of groups. */
  readonly passes?: (program: Program) => Program;
}

/** What WebAssembly wants: see {@link LowerOptions.together}. */
export const togetherForWasm = (pop: number): number => (pop === 1 ? 8 : 4);

/** What buffers of the kinds hold for a constant; nothing for zeros, of which there may be many. */
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

/** Makes and collects the buffers and sites of a program. */
export class ProgramBuffers {
  readonly plan: ProgramPlan;
  readonly declarations: BufferDeclaration[] = [];
  readonly sites: Site[] = [];
  readonly capacities: readonly number[];
  readonly isPlaced: boolean;
  readonly togetherOf: (pop: number) => number;
  readonly system: SystemBuffers;
  readonly streams: readonly Buffer[];
  readonly #siteOf = new Map<string, number>();
  readonly #tables = new Map<ConstantData, Buffers>();
  readonly #fields = new Map<string, Buffers>();
  readonly #channels: readonly Buffers[];

  constructor(plan: ProgramPlan, { capacities, baseline = false, placed = false, together = () => 1 }: LowerOptions) {
    this.plan = plan;
    this.isPlaced = placed;
    this.togetherOf = together;
    this.capacities = capacitiesOf(plan, capacities, baseline);
    this.#channels = plan.graph.channels.map(({ id, type }) => this.#declare(`c${id}`, countsOf(type), 'channel', undefined, id));
    const word = (name: string, length: number, element: Buffer['element'] = 'i32'): Buffer => ({ name, element, role: 'global', length });
    const nodes = plan.graph.nodes.length;
    this.system = {
      ix: word('ix', 2 * (plan.graph.channels.length + plan.externals.length)), it: word('it', nodes), rs: word('rs', nodes),
      steps: word('steps', 1, 'f64'),
    };
    this.streams = streamArrays(plan).map(({ name, kind, role }): Buffer => ({
      name, element: scalarTypes[kind], role: 'external', length: undefined, isReadOnly: role === 'input' || role === 'reader',
    }));
  }

  #declare(prefix: string, counts: Counts, use: BufferUse, initial: ConstantData | undefined, channel?: number): Buffers {
    const made: Partial<Record<Kind, Buffer>> = {};
    const split = initial === undefined ? undefined : splitByKind(initial);
    for (const kind of kinds) {
      if (counts[kind] === 0) continue;
      const data = split?.[kind];
      const buffer: Buffer = {
        name: `${prefix}${kind}`, element: scalarTypes[kind], role: use === 'table' ? 'constant' : 'global',
        length: counts[kind] * (channel === undefined ? 1 : this.capacities[channel]!), ...(data === undefined ? {} : { initial: data }),
      };
      made[kind] = buffer;
      this.declarations.push({ buffer, kind, use, ...(channel === undefined ? {} : { channel, stride: counts[kind] }) });
    }
    return made;
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

  /** Buffers of a field: a table shared by all nodes with the same data, or state of one node. */
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
    return this.#channels[id]!;
  }

  /** Buffers of an external stream. */
  external({ id, type }: External): Buffers {
    const find = (kind: Kind): Buffer => this.streams.find(({ name }) => name === streamArrayName(id, kind))!;
    return Object.fromEntries(kindsIn(countsOf(type)).map((kind) => [kind, find(kind)]));
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

/** All nodes as one group, in the order of the single-appearance schedule. */
function wholeOf({ schedule }: ProgramPlan): Group {
  return { id: 0, steps: schedule.steps, iterations: 1, isLoop: true };
}

/** The function of a group; with as little code as possible where it takes too much. */
function groupFunction(p: ProgramBuffers, group: Group, mode: Mode): KernelFunction {
  const make = (how: Mode, isWhole = false): MadeFunction => new FunctionMaker(p, how, `group_${group.id}`).group(group, isWhole);
  try {
    const made = make(mode);
    // A firing that may fail has to be made although nobody needs its items.
    const leavesOut = group.live !== undefined && group.live.length < group.steps[0]!.count;
    return (made.raises && leavesOut ? make(mode, true) : made).f;
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
  }
  return small(() => make('small').f);
}

function small<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof TooLarge) throw new UnsupportedProgram('the code of a filter is too large to be compiled');
    throw error;
  }
}

/** Moves what remains on channels after `n` steady states to their fronts. */
function settleFunction(p: ProgramBuffers): KernelFunction {
  const { plan, declarations } = p;
  const n: Local = { name: 'n', type: 'i32' };
  const body = declarations.flatMap(({ buffer, channel, stride }) => {
    if (channel === undefined || plan.storage[channel] !== 'block' || plan.steady.residual[channel] === 0) return [];
    const from = exact('mul', get(n), i32(plan.rates[channel]! * stride!));
    return [{
      kind: 'copy', to: buffer, toIndex: i32(0), from: buffer, fromIndex: from, count: i32(plan.steady.residual[channel]! * stride!),
    } as const];
  });
  return { name: 'settle', parameters: [n], results: [], buffers: [], body };
}

/** So many whole steady states. */
function steadyFunction({ groups }: ProgramPlan): KernelFunction {
  const n: Local = { name: 'n', type: 'i32' };
  const body = groups.map(({ id, iterations }) => call(`group_${id}`, [exact('mul', get(n), i32(iterations))]));
  return { name: 'steady', parameters: [n], results: [], buffers: [], body: [...body, call('settle', [get(n)])] };
}

const imports: readonly Import[] = [
  { name: 'put', parameters: ['f64'], results: [] }, { name: 'print', parameters: ['i32'], results: [] },
  { name: 'room', parameters: ['i32', 'i32', 'i32'], results: [] },
];

/** The functions of a program: those for nodes alone are made when they are first asked for. */
class Lowering {
  readonly #p: ProgramBuffers;
  readonly #groups: readonly KernelFunction[];
  readonly #alone = new Map<number, readonly KernelFunction[]>();

  constructor(plan: ProgramPlan, options: LowerOptions) {
    this.#p = new ProgramBuffers(plan, options);
    const isBaseline = options.baseline === true;
    const groups = (isBaseline ? [wholeOf(plan)] : plan.groups).map((group) =>
      groupFunction(this.#p, group, isBaseline ? 'baseline' : 'group'));
    const all = isBaseline ? groups : [...groups, settleFunction(this.#p), steadyFunction(plan)];
    this.#groups = options.passes === undefined ? all : options.passes(this.#whole(all)).functions;
  }

  #whole(functions: readonly KernelFunction[]): Program {
    const { declarations, system, streams } = this.#p;
    return { buffers: [...declarations.map(({ buffer }) => buffer), ...Object.values(system) as Buffer[], ...streams], imports, functions };
  }

  #functionsOf(id: number): readonly KernelFunction[] {
    let found = this.#alone.get(id);
    if (found === undefined) {
      const node = this.#p.plan.graph.nodes[id]!;
      const make = (name: string, isFirst: boolean): KernelFunction =>
        small(() => new FunctionMaker(this.#p, 'node', `${name}_${id}`).fire(id, isFirst).f);
      const first = node.kind === 'filter' && node.code.prework !== undefined ? [make('first', true)] : [];
      this.#alone.set(id, found = [make('fire', false), ...first]);
    }
    return found;
  }

  program(nodes: ReadonlySet<number>): LoweredProgram {
    const alone = [...nodes].flatMap((id) => this.#functionsOf(id));
    const { plan, system, sites, capacities } = this.#p;
    const made: LoweredProgram = {
      plan, declarations: [...this.#p.declarations], system, sites, capacities, program: this.#whole([...alone, ...this.#groups]),
      including: (more) => {
        const all = new Set([...nodes, ...more]);
        return all.size === nodes.size ? made : this.program(all);
      },
    };
    return made;
  }
}

/** Nodes that fire before the first steady state. */
function firedBefore({ steady }: ProgramPlan): Set<number> {
  return new Set(steady.init.map(({ actor }) => actor));
}

/** Translates a planned program. Throws UnsupportedProgram where it holds what compiled code does not do. */
export function lowerProgram(plan: ProgramPlan, options: LowerOptions = {}): LoweredProgram {
  return new Lowering(plan, options).program(new Set(options.nodes ?? firedBefore(plan)));
}
