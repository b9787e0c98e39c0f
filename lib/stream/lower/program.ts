// A planned program in the kernel representation: one function for each node, one for each group of nodes, and the buffers they share.
import { elementAt, required } from '../../core/known.ts';
import { call, exact, get, i32, type Buffer, type Import, type KernelFunction, type Local, type Program } from '../../kernel/ir.ts';
import type { Group, ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { ProgramBuffers, type BufferDeclaration, type BufferOptions, type SystemBuffers } from './buffers.ts';
import { FunctionMaker, type FunctionOptions, type MadeFunction, type Mode } from './function.ts';
import type { Site } from './sites.ts';
import { TooLarge } from './writer.ts';

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

export interface LowerOptions extends BufferOptions, FunctionOptions {
  /** Nodes that get functions of their own. Default: those that fire before the first steady state. */
  readonly nodes?: Iterable<number>;
  /** What is made of the functions that run often: those of groups. */
  readonly passes?: (program: Program) => Program;
}

/** What WebAssembly wants: see {@link FunctionOptions.together}. */
export const togetherForWasm = (pop: number): number => (pop === 1 ? 8 : 4);

/** All nodes as one group, in the order of the single-appearance schedule. */
function wholeOf({ schedule }: ProgramPlan): Group {
  return { id: 0, steps: schedule.steps, iterations: 1, isLoop: true };
}

/** The function of a group; with as little code as possible where it takes too much. */
function groupFunction(p: ProgramBuffers, group: Group, mode: Mode, options: FunctionOptions): KernelFunction {
  const make = (how: Mode, isWhole = false): MadeFunction =>
    new FunctionMaker(p, how, `group_${group.id}`, group, options).group(isWhole);
  try {
    const made = make(mode);
    // A firing that may fail has to be made although nobody needs its items.
    const leavesOut = group.live !== undefined && group.live.length < elementAt(group.steps, 0).count;
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
    const from = exact('mul', get(n), i32(elementAt(plan.rates, channel) * required(stride)));
    const count = i32(elementAt(plan.steady.residual, channel) * required(stride));
    return [{ kind: 'copy', to: buffer, toIndex: i32(0), from: buffer, fromIndex: from, count } as const];
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

  /** Functions as passes leave them; what tables they make are the program's. */
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
        small(() => new FunctionMaker(this.#p, 'node', `${name}_${id}`, undefined, this.#options).fire(id, isFirst).f);
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
