// What the threads of a block share out among themselves: iterations of groups, or slices of iterations. Tasks of one shape, as branches
// of a split-join often have, run the same code, so that it stays in the cache of instructions.
import { elementAt, required } from '../../core/known.ts';
import { get, i32, valueOf, type Buffer, type ExpressionOf, type KernelFunction, type Local, type Program } from '../../kernel/ir.ts';
import { shareFunctions } from '../../kernel/passes/share.ts';
import { forCount, isStraight, sliceFunction } from '../../kernel/passes/slice.ts';
import { foldTrips, splitFold, type SplitFold } from '../../kernel/passes/split-fold.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import { buffersIn, mapBody, Names, walkBody } from '../../kernel/visit.ts';
import { onlyMoves } from '../lower/moves.ts';
import type { Group, ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { constantsOf, fromTables } from './cuda-member-tables.ts';
import { usersOf, viewOf, viewsOf } from './cuda-views.ts';

/** One of the groups whose iterations a task makes. */
export interface Member {
  readonly group: Group;
  /** Ends whose positions the function takes, as places in `ix`. */
  readonly slots: readonly number[];
  /** What else it takes. */
  readonly args: readonly ExpressionOf<'constant'>[];
  /** For placeholders among its buffers: the actual ones. */
  readonly buffers: ReadonlyMap<Buffer, Buffer>;
}

export interface Task {
  /** Takes the number of iterations or of the part, then positions, then `args`. */
  readonly f: KernelFunction;
  /** Whether it takes a number of iterations, which is 1. */
  readonly isCounted: boolean;
  /** Parts of an iteration; if there are several, the function takes the part's number. */
  readonly parts: number;
  /** Iterations that a thread makes together. */
  readonly width: number;
  readonly members: readonly Member[];
  /** The parameter that is the number of a member, if constants are found by it: threads of a warp belong to one member. */
  readonly member?: Local | undefined;
  /** Where parts look for a value together: what they leave, and who needs it. Parts of an iteration are neighbouring lanes. */
  readonly fold?: { readonly out: Buffer; readonly join: SplitFold['join']; readonly rest: Task } | undefined;
}

/** A task and what follows it. */
export function withRest(task: Task): readonly Task[] {
  return task.fold === undefined ? [task] : [task, task.fold.rest];
}

export interface Tasks {
  /** By level; tasks of one level do not wait for each other. */
  readonly levels: readonly (readonly Task[])[];
  /** Stand-ins among the buffers of tasks. */
  readonly placeholders: readonly Buffer[];
}

/** Nodes from which on the code of an iteration needs more registers than a thread has. */
const mostNodes = 1000;
/** Nodes of code without branches that takes the place of loops. */
const mostStraight = 3000;
/** Arguments that tasks of one shape may differ in. */
const mostArguments = 8;

/**
 * By group: how many others it waits for, one after the other.
 * @param before by group: levels that it takes for itself before its own
 */
export function levelsOf(plan: ProgramPlan, before: readonly number[] = []): number[] {
  const levels = plan.groups.map(({ id }) => before[id] ?? 0);
  const users = [...usersOf(plan).values()];
  for (let isSettled = false; !isSettled;) {
    isSettled = true;
    for (const { from, to } of users) {
      for (const source of from) for (const sink of to) {
        const least = elementAt(levels, source.id) + 1 + (before[sink.id] ?? 0);
        if (source === sink || elementAt(levels, sink.id) >= least) continue;
        levels[sink.id] = least;
        isSettled = false;
      }
    }
  }
  return levels;
}

interface TaskOptions {
  readonly program: Program;
  readonly plan: ProgramPlan;
  readonly levels: readonly number[];
  /** The positions of ends. */
  readonly ix: Buffer;
  /** Steady states of a round. */
  readonly states: number;
  readonly threads: number;
  /** By group: iterations that a thread makes together, as one function that runs straight through. */
  readonly wide: ReadonlyMap<number, { readonly width: number; readonly f: KernelFunction }>;
  /** Whether threads have a buffer for themselves: functions that take one are not shared. */
  readonly isPrivate: (buffer: Buffer) => boolean;
  /** Whether buffers are laid out alike. */
  readonly isAlike: (a: Buffer, b: Buffer) => boolean;
  /** Whether long functions that differ in many constants find theirs in tables, by their number. */
  readonly hasTables: boolean;
  /** Whether functions stay as they are, with their loops, and in one piece. */
  readonly isCompact: boolean;
}

export function tasksOf(options: TaskOptions): Tasks {
  const { plan, levels, states, threads, program, ix, wide, isCompact } = options;
  const { gone } = viewsOf(plan);
  const made: Task[][] = [];
  const placeholders: Buffer[] = [], tables: Buffer[] = [];
  for (let level = 0; level <= Math.max(...levels); ++level) {
    const groups = plan.groups.filter(({ id }) => levels[id] === level && !gone.has(id));
    const busy = groups.reduce((sum, { iterations }) => sum + Math.ceil(states * iterations / 32), 0);
    const spare = Math.floor(threads / 32 / Math.max(1, busy));
    const parts = Math.floor(threads / Math.max(1, groups.reduce((sum, { iterations }) => sum + states * iterations, 0)));
    const tasks = groups.flatMap((group): Task[] => {
      const together = wide.get(group.id);
      if (together !== undefined) {
        return [positioned(program, group, together.f, { parts: 1, width: together.width, isCounted: false }, ix)];
      }
      const f = required(program.functions.find(({ name }) => name === `group_${group.id}`));
      if (isCompact) return [positioned(program, group, f, { parts: 1, width: 1, isCounted: true }, ix)];
      const most = Math.max(spare, Math.ceil(sizeOf(f.body) / mostNodes));
      // Loops that only move items are divided among threads as loops.
      const once = isMover(plan, group) ? forCount(program, f, ix, 1, 0) : onceOf(program, f, ix);
      const slices = most < 2 ? undefined : sliceFunction(program, once, { most, parts });
      if (slices !== undefined) {
        return slices.map((slice) => positioned(program, group, slice.f, { parts: slice.parts, width: 1, isCounted: false }, ix));
      }
      const fold = foldOf(options, group, f);
      if (fold !== undefined) return [fold];
      // Compilers unroll loops as well, but not always in time for tables to become constants.
      const size = sizeOf(once.body);
      const isShort = isStraight(once) ? size <= mostStraight : isUnrolled(once) && size <= sizeOf(f.body);
      return [positioned(program, group, isShort ? once : f, { parts: 1, width: 1, isCounted: !isShort }, ix)];
    });
    const shared = share(tasks, options, `level_${level}`, tables);
    made.push(shared.tasks);
    placeholders.push(...shared.placeholders, ...tasks.flatMap(({ fold }) => (fold === undefined ? [] : [fold.out])));
  }
  return { levels: made, placeholders: [...placeholders, ...tables] };
}

/** Lanes of a warp, iterations of a loop that a lane makes at least, and the share of the threads that looking together is to keep busy. */
const lanes = 32, leastTrips = 4, leastBusy = 1 / 2;
/** Nodes to which loops within those that lanes share out are unrolled. */
const mostUnrolled = 256;

/** A group whose iterations, too few for the threads, look for the largest of many values: several lanes together. */
function foldOf({ program, states, threads, ix }: TaskOptions, group: Group, f: KernelFunction): Task | undefined {
  const calls = states * group.iterations;
  if (calls > leastBusy * threads / 2) return undefined;
  const once = forCount(program, f, ix, 1, mostUnrolled);
  const most = Math.min(lanes, foldTrips(once) / leastTrips);
  let parts = 1;
  while (2 * parts <= most && parts * calls < leastBusy * threads) parts *= 2;
  const split = parts < 2 ? undefined : splitFold(program, once, parts);
  if (split === undefined) return undefined;
  const rest = positioned(program, group, split.rest, { parts: 1, width: 1, isCounted: false }, ix);
  const { part, out, join } = split;
  return { ...positioned(program, group, part, { parts, width: 1, isCounted: false }, ix), fold: { out, join, rest } };
}

function isMover({ graph }: ProgramPlan, { steps }: Group): boolean {
  const node = elementAt(graph.nodes, elementAt(steps, 0).actor);
  return steps.length === 1 && node.kind === 'filter' && onlyMoves(node.code.work.body);
}

/** Whether a function has no loops, and cannot fail. */
function isUnrolled({ body }: KernelFunction): boolean {
  let found = false;
  walkBody(body, { statement: ({ kind }) => { found ||= kind === 'for' || kind === 'while' || kind === 'guard' || kind === 'trap'; } });
  return !found;
}

/** By function: one iteration of it. */
const once = new WeakMap<KernelFunction, KernelFunction>();

/** One iteration of a group's function. Searches ask for the same in each layout. */
function onceOf(program: Program, f: KernelFunction, ix: Buffer): KernelFunction {
  let found = once.get(f);
  if (found === undefined) once.set(f, found = forCount(program, f, ix));
  return found;
}

/** A task whose function takes positions in place of `ix`. */
export function positioned(
  program: Program, group: Group, f: KernelFunction, how: Pick<Task, 'parts' | 'width' | 'isCounted'>, ix: Buffer,
): Task {
  const names = Names.of(program, f);
  const slots = new Map<number, Local>();
  const body = mapBody(f.body, {
    expression: (e) => {
      if (e.kind !== 'load' || e.buffer !== ix) return e;
      const slot = valueOf(e.index);
      if (slot === undefined) throw new UnsupportedProgram('the program reads files');
      let local = slots.get(slot + e.offset);
      if (local === undefined) slots.set(slot + e.offset, local = { name: names.make('at'), type: 'i32' });
      return get(local);
    },
    statement: (s) => (s.kind === 'store' && s.buffer === ix ? [] : s),
  });
  const made = { ...f, parameters: [...f.parameters, ...slots.values()], body };
  return { ...how, f: made, members: [{ group, slots: [...slots.keys()], args: [], buffers: new Map() }] };
}

/** Nodes of functions of one shape, altogether, from which on they are too long to stay in the cache of instructions side by side. */
const leastTabled = 4000;
/** Constants in which functions of one shape may differ. */
const mostDifferences = 4096;

/** A task whose function finds constants by the member's number, in place of taking them. @param own parameters that are no constants */
function byNumber(program: Program, { f, members, ...task }: Task, own: number, tables: Buffer[]): Task {
  const member: Local = { name: Names.of(program, f).make('member'), type: 'i32' };
  const values = members.map(({ args }) => args.map(({ value }) => value));
  const body = fromTables(f.body, member, new Map(), constantsOf(f.parameters.slice(own), values, tables));
  return {
    ...task, member, f: { ...f, parameters: [...f.parameters.slice(0, own), member], body },
    members: members.map((each, i) => ({ ...each, args: [i32(i)] })),
  };
}

/** Tasks of one shape as one, where they do not differ in much. */
function share(
  all: readonly Task[], { program, plan, isAlike, isPrivate, hasTables }: TaskOptions, prefix: string, tables: Buffer[],
): { tasks: Task[]; placeholders: Buffer[] } {
  const isOwn = ({ f, fold }: Task): boolean => fold !== undefined || [...buffersIn(f.body)].some(isPrivate);
  const classes = new Map<string, Task[]>();
  for (const task of all.filter((each) => !isOwn(each))) {
    const { group, slots } = required(task.members[0]);
    // Positions in views of one shape differ by constants.
    const shapes = slots.map((slot) => viewOf(plan, group, slot)?.outer.map(({ count }) => count).join() ?? '');
    const key = `${task.isCounted} ${task.parts} ${task.width} ${group.iterations} ${shapes.join(' ')}`;
    classes.set(key, [...classes.get(key) ?? [], task]);
  }
  const made: Task[] = all.filter(isOwn);
  const placeholders: Buffer[] = [];
  let number = 0;
  for (const members of classes.values()) {
    const shared = shareFunctions(program, members.map(({ f }) => f), `${prefix}_${number++}`, ...(hasTables ? [mostDifferences] : []));
    for (const f of shared.functions) {
      const own = members.filter((task) => shared.calls.get(task.f.name)?.callee === f.name);
      const calls = own.map((task) => required(shared.calls.get(task.f.name)));
      const isAlikeInAll = own.length > 1 && calls.every(({ buffers }) => [...buffers].every(
        ([by, buffer]) => buffer.role !== 'constant' && isAlike(buffer, required(calls[0]?.buffers.get(by)))));
      const isCheap = calls.every(({ args }) => args.length <= mostArguments);
      const isLong = hasTables && own.length * sizeOf(f.body) >= leastTabled;
      if (!isAlikeInAll || !(isCheap || isLong)) {
        made.push(...own);
        continue;
      }
      const [first] = own as [Task];
      const together: Task = { ...first, f, members: own.map((task, i) =>
        ({ ...required(task.members[0]), args: elementAt(calls, i).args, buffers: elementAt(calls, i).buffers })) };
      made.push(isCheap ? together : byNumber(program, together, first.f.parameters.length, tables));
      placeholders.push(...elementAt(calls, 0).buffers.keys());
    }
  }
  return { tasks: made, placeholders };
}
