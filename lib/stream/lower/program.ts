// Lowers a planned program to the kernel representation: a function for each node, a function for each group, and shared buffers.
import { elementAt, required } from '../../core/known.ts';
import { call, exact, get, i32, type Buffer, type Import, type KernelFunction, type Local, type Program } from '../../kernel/ir.ts';
import type { Group, ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { ProgramBuffers, type BufferDeclaration, type BufferOptions, type SystemBuffers } from './buffers.ts';
import { FunctionMaker, type FunctionOptions, type Mode } from './function.ts';
import type { Site } from './sites.ts';
import { TooLarge } from './writer.ts';

/**
 * A program. Its functions take the number of firings or iterations: `fire_3` fires node 3, `first_3` fires it once by its prework (both
 * only for requested nodes), `group_3` runs iterations of group 3, `steady` runs whole steady states, and `settle` moves what remains on
 * channels after them to the front.
 * Imports: `put` queues a value for printing, `print` prints the queued values at a site, `room` makes room on a channel.
 */
export interface LoweredProgram {
  readonly plan: ProgramPlan;
  readonly program: Program;
  readonly declarations: readonly BufferDeclaration[];
  readonly system: SystemBuffers;
  readonly sites: readonly Site[];
  /** By channel: how many items its buffers hold. */
  readonly capacities: readonly number[];
  /** The program with separate functions for these nodes as well; the program itself if it has them already. */
  including(nodes: Iterable<number>): LoweredProgram;
}

export interface LowerOptions extends BufferOptions, FunctionOptions {
  /** Nodes that get their own functions. Default: those that fire before the first steady state. */
  readonly nodes?: Iterable<number>;
  /** Passes over the functions that run often: those of groups. */
  readonly passes?: (program: Program) => Program;
}

/** The setting for WebAssembly: see {@link FunctionOptions.together}. */
export const togetherForWasm = (pop: number): number => (pop === 1 ? 8 : 4);

/** All nodes as one group, in the order of the single-appearance schedule. */
function wholeOf({ schedule }: ProgramPlan): Group {
  return { id: 0, steps: schedule.steps, iterations: 1, isLoop: true, isJammed: false };
}

/** The function of a group. If it gets too large, it is made again with as little code as possible. */
function groupFunction(p: ProgramBuffers, group: Group, mode: Mode, options: FunctionOptions): KernelFunction {
  const make = (how: Mode): KernelFunction => new FunctionMaker(p, how, `group_${group.id}`, group, options).group();
  try {
    return make(mode);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
  }
  return small(() => make('small'));
}

function small<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof TooLarge) throw new UnsupportedProgram('the code of a filter is too large to be compiled');
    throw error;
  }
}

/** Moves what remains on channels after `n` steady states to the front. */
function settleFunction(p: ProgramBuffers): KernelFunction {
  const { plan, declarations } = p;
  const n: Local = { name: 'n', type: 'i32' };
  const body = declarations.flatMap(({ buffer, channel, stride }) => {
    if (channel === undefined || plan.storage[channel] !== 'block' || plan.steady.residual[channel] === 0) return [];
    const from = exact('mul', get(n), i32(elementAt(plan.rates, channel) * required(stride)));
    const count = i32(elementAt(plan.steady.residual, channel) * required(stride));
    return [{ kind: 'copy', to: buffer, toIndex: i32(0), from: buffer, fromIndex: from, count } as const];
  });
  return { name: 'settle', parameters: [n], results: [], buffers: [], body };
}

/** Runs `n` whole steady states. */
function steadyFunction({ groups }: ProgramPlan): KernelFunction {
  const n: Local = { name: 'n', type: 'i32' };
  const body = groups.map(({ id, iterations }) => call(`group_${id}`, [exact('mul', get(n), i32(iterations))]));
  return { name: 'steady', parameters: [n], results: [], buffers: [], body: [...body, call('settle', [get(n)])] };
}

const imports: readonly Import[] = [
  { name: 'put', parameters: ['f64'], results: [] }, { name: 'print', parameters: ['i32'], results: [] },
  { name: 'room', parameters: ['i32', 'i32', 'i32'], results: [] },
];

/** The functions of a program. Those for single nodes are made on first request. */
class Lowering {
  readonly #p: ProgramBuffers;
  readonly #options: LowerOptions;
  readonly #groups: readonly KernelFunction[];
  readonly #alone = new Map<number, readonly KernelFunction[]>();

  constructor(plan: ProgramPlan, options: LowerOptions) {
    this.#p = new ProgramBuffers(plan, options);
    this.#options = options;
    const isBaseline = options.baseline === true;
    const groups = (isBaseline ? [wholeOf(plan)] : plan.groups).map((group) =>
      groupFunction(this.#p, group, isBaseline ? 'baseline' : 'group', options));
    const all = [...groups, settleFunction(this.#p), ...(isBaseline ? [] : [steadyFunction(plan)])];
    this.#groups = options.passes === undefined ? all : this.#passed(all, options.passes);
  }

  /** The functions after the passes. Tables that passes create become the program's. */
  #passed(functions: readonly KernelFunction[], passes: (program: Program) => Program): readonly KernelFunction[] {
    const before = this.#whole(functions);
    const known = new Set(before.buffers);
    const made = passes(before);
    for (const buffer of made.buffers) if (!known.has(buffer)) this.#p.adopt(buffer);
    return made.functions;
  }

  #whole(functions: readonly KernelFunction[]): Program {
    const { declarations, system, streams } = this.#p;
    return { buffers: [...declarations.map(({ buffer }) => buffer), ...Object.values(system) as Buffer[], ...streams], imports, functions };
  }

  #functionsOf(id: number): readonly KernelFunction[] {
    let found = this.#alone.get(id);
    if (found === undefined) {
      const node = elementAt(this.#p.plan.graph.nodes, id);
      const make = (name: string, isFirst: boolean): KernelFunction =>
        small(() => new FunctionMaker(this.#p, 'node', `${name}_${id}`, undefined, this.#options).fire(id, isFirst));
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

/** Lowers a planned program. Throws UnsupportedProgram if it uses something that compiled code does not support. */
export function lowerProgram(plan: ProgramPlan, options: LowerOptions = {}): LoweredProgram {
  return new Lowering(plan, options).program(new Set(options.nodes ?? firedBefore(plan)));
}
