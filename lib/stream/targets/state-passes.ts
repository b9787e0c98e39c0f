// What the passes before a program's own need of it: only what the records of their scans follow from.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, KernelFunction, Local } from '../../kernel/ir.ts';
import { linearOf } from '../../kernel/passes/linear.ts';
import { forCount } from '../../kernel/passes/slice.ts';
import { buffersIn, loadedIn, mapBody, walkBody, writesIn } from '../../kernel/visit.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { countsOf } from '../plan/layout.ts';
import { sumOfDigits } from '../plan/permutations.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { positioned, type Task } from './cuda-tasks.ts';
import type { PrintedLayout, RoundLayout, Run } from './cuda-layout.ts';
import type { FusedEnd } from './cuda-places.ts';
import { viewsOf } from './cuda-views.ts';
import type { StageWork, StateLayout } from './state-layout.ts';

export interface Pass {
  /** By level: what makes the items that are needed. */
  readonly tasks: readonly (readonly Task[])[];
  readonly works: ReadonlySet<StageWork>;
  /** By kind of scalars of the input: what is needed of each steady state; undefined: all. */
  readonly input: readonly (readonly Run[] | undefined)[];
}

export interface PassContext {
  readonly plan: ProgramPlan;
  readonly lowered: LoweredProgram;
  readonly state: StateLayout;
  readonly levels: readonly number[];
  readonly input: FusedEnd;
  /** By kind of scalars of the input. */
  readonly inputBuffers: readonly Buffer[];
  /** Buffers that lie in shared memory: others belong to one function. */
  readonly isShared: (buffer: Buffer) => boolean;
  /** By function of a stage. */
  readonly stageTasks: ReadonlyMap<string, Task>;
}

/** Passes 1 to that before the last. */
export function passesOf(context: PassContext): readonly Pass[] {
  return Array.from({ length: context.state.passes }, (_, i) => passOf(context, i + 1));
}

/** A layout for passes alone, where blocks begin no rounds early. */
export function passLayout(layout: RoundLayout, { stageTasks, inputBuffers }: PassContext, passes: readonly Pass[]): PrintedLayout {
  const needed = new Set<Buffer>(layout.state === undefined ? [] : [layout.state.cells]);
  const add = ({ f }: Task): void => { for (const buffer of buffersIn(f.body)) needed.add(buffer); };
  for (const { tasks, works } of passes) {
    tasks.flat().forEach(add);
    for (const { record, scans, scanGroups } of works) {
      for (const { next } of [...(record === undefined ? [] : [record]), ...scans]) add(required(stageTasks.get(next.f.name)));
      for (const { tile } of [...(record === undefined ? [] : [record]), ...scanGroups]) needed.add(tile);
    }
  }
  // Of a firing that takes a whole steady state, a stretch may do.
  const { external, kinds } = layout.input;
  const { id, iterations } = elementAt(layout.plan.groupOf, external.node);
  const isWhole = (iterations === 1 || viewsOf(layout.plan).gone.has(id)) && external.later.beyond === 0 && kinds.length === 1
    && Object.values(countsOf(external.type)).reduce((sum, each) => sum + each, 0) === 1;
  const parts = new Map<Buffer, Run>();
  inputBuffers.forEach((buffer, i) => {
    const runs = passes.map(({ input }) => input[i]);
    if (!isWhole || runs.some((own) => own === undefined)) return;
    const all = runs.flatMap((own) => own ?? []);
    const [begins, ends] = [all.map(({ begin }) => begin), all.map(({ end }) => end)];
    if (all.length > 0) parts.set(buffer, { begin: Math.min(...begins), end: Math.max(...ends) });
  });
  return layout.forPasses(needed, parts);
}

function passOf(context: PassContext, pass: number): Pass {
  const { plan, lowered: { program, system: { ix } }, state, levels, isShared, stageTasks } = context;
  const works = new Set<StageWork>();
  const wanted = new Set<Buffer>();
  const called: Task[] = [];
  const want = (task: Task): void => {
    for (const buffer of loadedIn(task.f.body)) wanted.add(buffer);
    called.push(task);
  };
  const wantWorks = (node: number, isNeeded: (work: StageWork) => boolean): void => {
    for (const work of state.works) {
      if (work.node !== node || works.has(work) || !isNeeded(work)) continue;
      works.add(work);
      for (const { next } of [...(work.record === undefined ? [] : [work.record]), ...work.scans]) {
        want(required(stageTasks.get(next.f.name)));
      }
    }
  };
  for (const { node, stage, scans } of state.works) {
    if (scans.some((scan) => scan.pass === pass)) wantWorks(node, (work) => work.stage <= stage);
  }
  const tasks: Task[][] = Array.from({ length: Math.max(...levels) + 1 }, () => []);
  for (const group of [...plan.groups].sort((a, b) => elementAt(levels, b.id) - elementAt(levels, a.id))) {
    const f = required(program.functions.find(({ name }) => name === `group_${group.id}`));
    if (![...writesIn(f.body).buffers].some((buffer) => wanted.has(buffer) && isShared(buffer))) continue;
    const task = positioned(program, group, forCount(program, onlyFor(f, wanted, isShared, pass), ix),
      { parts: 1, width: 1, isCounted: false }, ix);
    elementAt(tasks, elementAt(levels, group.id)).push(task);
    want(task);
    for (const { actor } of group.steps) wantWorks(actor, () => true);
  }
  return { tasks, works, input: context.inputBuffers.map((buffer, i) => runsOf(context, buffer, i, called)) };
}

/** A function that only makes what is wanted of it. */
function onlyFor(f: KernelFunction, wanted: ReadonlySet<Buffer>, isShared: (buffer: Buffer) => boolean, pass: number): KernelFunction {
  const isKept = (buffer: Buffer): boolean => wanted.has(buffer) || !isShared(buffer);
  const body = mapBody(f.body, { statement: (s) => {
    if (s.kind === 'store' || s.kind === 'fill') return isKept(s.buffer) ? s : [];
    return s.kind !== 'copy' || isKept(s.to) ? s : [];
  } });
  return { ...f, name: `${f.name}_pass${pass}`, body };
}

/** Which scalars of a steady state functions load, if that is plain to see and not most of them. */
function runsOf(
  { plan, input: { external, kinds, items } }: PassContext, buffer: Buffer, number: number, called: readonly Task[],
): readonly Run[] | undefined {
  const width = countsOf(external.type)[elementAt(kinds, number)];
  const scalars = items * width;
  const isNeeded = new Uint8Array(scalars);
  const isTaken = called.every(({ f, members: [member] }) => {
    const { group, slots } = required(member);
    if (!loadedIn(f.body).has(buffer)) return true;
    const views = viewsOf(plan).all.filter((view) => view.group === group && view.root === external.id);
    const isOwn = group.steps.some(({ actor }) => actor === external.node);
    const [view] = views;
    if (views.length + (isOwn ? 1 : 0) !== 1) return false;
    // A view's items are single scalars.
    const begins = Array.from({ length: group.iterations }, (_, i) =>
      (view === undefined ? i * scalars / group.iterations : view.base + sumOfDigits(view.outer, i)));
    const position = elementAt(f.parameters, f.parameters.length - slots.length + slots.indexOf(view?.slot ?? external.slot));
    return offsetsIn(f, buffer, position)?.every((offset) => begins.every((begin) => {
      const at = begin + offset;
      if (at < 0 || at >= scalars) return false;
      isNeeded[at] = 1;
      return true;
    }));
  });
  if (!isTaken || isNeeded.reduce((sum, each) => sum + each, 0) > scalars / 2) return undefined;
  const runs: Run[] = [];
  for (let at = isNeeded.indexOf(1); at >= 0;) {
    const end = isNeeded.indexOf(0, at);
    runs.push({ begin: at, end: end < 0 ? scalars : end });
    at = end < 0 ? -1 : isNeeded.indexOf(1, end);
  }
  return runs.length > mostRuns ? undefined : runs;
}

const mostRuns = 8;

/**
 * Places of a buffer that a function loads, counted from where its iteration begins; undefined where that is not plain.
 * @param position the parameter that says where it begins
 */
function offsetsIn(f: KernelFunction, buffer: Buffer, position: Local): readonly number[] | undefined {
  const found: number[] = [];
  let isPlain = true as boolean;
  const same = new Set([position]); // it may be kept in another local, set once
  walkBody(f.body, { statement: (s) => {
    if (s.kind === 'set' && s.value.kind === 'get' && same.has(s.value.local) && !same.has(s.local)) same.add(s.local);
    else if (s.kind === 'set' && same.has(s.local)) isPlain = false;
    if (s.kind === 'copy' && s.from === buffer) isPlain = false;
  } });
  walkBody(f.body, { expression: (e) => {
    if (e.kind !== 'load' || e.buffer !== buffer) return;
    const { terms: [only, ...others], constant } = linearOf(e.index);
    if (only?.factor === 1 && others.length === 0 && only.of.kind === 'get' && same.has(only.of.local)) found.push(constant + e.offset);
    else isPlain = false;
  } });
  return isPlain ? found : undefined;
}

