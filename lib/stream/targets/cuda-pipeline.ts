// Planned programs as a kernel whose blocks follow lists of instances (cuda/stream/pipelined.cuh): one case for each code, whatever the
// schedule, the number of multiprocessors and the threads of instances are.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, KernelFunction, Local } from '../../kernel/ir.ts';
import { cName, cTypes } from '../../kernel/print/c-family.ts';
import { cudaCanFail, cudaParameters, printCuda } from '../../kernel/print/cuda.ts';
import type { StreamGraph } from '../graph.ts';
import type { SdfGraph } from '../sdf.ts';
import { countsOf, kindsIn } from '../plan/layout.ts';
import { actorsOf, type ProgramActors } from '../plan/actors.ts';
import { keepsItems, openEnds } from '../plan/open-ends.ts';
import { planProgram, type External, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { startMatters } from '../plan/start.ts';
import { scalarTypes } from '../lower/value.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { noGaps } from './cuda-gaps.ts';
import { instancesFor, type InstanceCode, type InstanceEnd, type Instances } from './cuda-instances.ts';
import { checkLength } from './cuda-length.ts';
import { refuseHost } from './cuda.ts';

/** How instances find their items, and what a block may have. */
export interface PipelineTextOptions {
  /**
   * Threads whose items stand side by side: 128 (section 3.7) or 32 (section 4.2); 1: channels stay in the order of the stream, as they
   * always do in programs that keep items on channels between iterations.
   */
  readonly width: 1 | 32 | 128;
  /** Most threads of an instance, a multiple of 32. */
  readonly threads: number;
  /** Bytes of shared memory in which a block may stage windows. */
  readonly stagedBytes: number;
  /** Whether staged items have gaps, so that threads find theirs in different banks. */
  readonly gaps: boolean;
}

/** A program whose filters are scheduled one by one. */
export interface PipelinePlan {
  readonly plan: ProgramPlan;
  readonly actors: ProgramActors;
  /** The rates of the actors, with the open ends. */
  readonly graph: SdfGraph;
  /**
   * Whether firings of some actor must follow each other, or a loop holds items: runs then begin where the initialisation ends, and each
   * slice goes on with what the one before left.
   */
  readonly isContinued: boolean;
  /** By node of loops that are not contracted: threads of its instances. */
  readonly open: ReadonlyMap<number, number>;
  /** Steady states at the start of a run to which preworks may matter. */
  readonly startStates: number;
}

/** A program for `device.module`, and what lists need to know of it. */
export interface PipelineProgram extends PipelinePlan {
  readonly source: string;
  readonly kernel: string;
  /** Threads whose items stand side by side; 1: the order of the stream. */
  readonly width: number;
  readonly instances: Instances;
  /** Steady states after which what stood on the channels no longer matters. */
  readonly settledStates: number;
}

export const pipelineKernel = 'wl_pipeline';

/** Each filter is a group of its own. */
export const planOptions: PlanOptions = { groupSize: 0, filterSize: 400, forCores: 1, savings: false };

/**
 * Plans a graph. Throws UnsupportedProgram for programs with other ends than an open input and output, ScheduleError where there is no
 * schedule.
 * @param open by node of loops that are not contracted: threads of its instances
 */
export function pipelinePlan(whole: StreamGraph, open: ReadonlyMap<number, number> = new Map()): PipelinePlan {
  const plan = planProgram(whole, { ...planOptions, open: new Set(open.keys()) });
  const { externals } = plan;
  if (externals.length !== 2 || externals[0]?.kind !== 'input' || externals[1]?.kind !== 'output') {
    throw new UnsupportedProgram('the program has files, or other ends than one input and one output');
  }
  const { input, output } = openEnds(plan);
  if (input.later.items === 0 || output.later.items === 0) {
    throw new UnsupportedProgram('steady states take nothing from the input, or give nothing to the output');
  }
  const actors = actorsOf(plan);
  if (actors.graph.channels.some(({ push, tokens }) => push === 0 && tokens > 0)) {
    throw new UnsupportedProgram('items that never move stand on a channel');
  }
  const isContinued = open.size > 0 || actors.isOrdered.includes(true), begins = isContinued ? 0 : startMatters(plan);
  if (begins === undefined) throw new UnsupportedProgram('items stand on a channel before the program begins');
  return { plan, actors, graph: actors.graph, isContinued, open, startStates: Math.max(0, begins) };
}

/** Prints a program as one kernel. Throws UnsupportedProgram where it keeps what no firing of a device can. */
export function pipelineProgram(planned: PipelinePlan, options: PipelineTextOptions): PipelineProgram {
  const { plan, graph, actors, isContinued } = planned;
  const width = isContinued || keepsItems(graph) ? 1 : options.width;
  const instances = instancesFor(plan, actors, {
    width, stagedBytes: options.stagedBytes, stagedThreads: Math.min(options.threads, stagedThreads), gaps: options.gaps,
  });
  refuseHost({ ...instances.program, imports: instances.lowered.program.imports });
  const { input, output } = openEnds(plan);
  const source = pipelineText(instances, {
    width, threads: options.threads, kernel: pipelineKernel, inputs: arraysOf(input), outputs: arraysOf(output),
    cases: [
      ...endCase('take', input, { number: instances.codes.length, array: 'input', width }),
      ...endCase('give', output, { number: instances.codes.length + 1, array: 'output', width }),
    ],
  });
  return { ...planned, source, kernel: pipelineKernel, width, instances, settledStates: isContinued ? 0 : settledStates(plan, graph) };
}

/** The least block of section 3.4. */
const stagedThreads = 128;

/** Steady states until the items of every channel are right, whatever stood there at the start. */
function settledStates({ steady }: ProgramPlan, graph: SdfGraph): number {
  const until = graph.actors.map(() => 0);
  for (const actor of [...steady.order, graph.actors.length - 1]) {
    for (const { from, to, pop, tokens } of graph.channels) {
      if (to !== actor) continue;
      const rate = pop * (steady.repetitions[actor] ?? 1);
      until[actor] = Math.max(elementAt(until, actor), elementAt(until, from) + (tokens === 0 ? 0 : Math.ceil(tokens / rate)));
    }
  }
  return Math.max(...until);
}

const arraysOf = (end: External): number => kindsIn(countsOf(end.type)).length;

/** The case of an open end. */
function endCase(
  what: 'take' | 'give', { type }: External,
  { number, array, width }: { readonly number: number; readonly array: 'input' | 'output'; readonly width: number },
): string[] {
  const counts = countsOf(type);
  return [
    `      case ${number}:`,
    ...kindsIn(counts).map((kind, i) => `        pipelined::${what}<${width}, ${counts[kind]}, ${cTypes[scalarTypes[kind]]}>(block, work, ${
      i}, p.${array}[${i}], p.first_${array});`),
    '        break;',
  ];
}

/** What a text has beside the code of instances. */
export interface PipelineParts {
  /** Threads whose items stand side by side, where a filter is not ordered. */
  readonly width: number;
  /** Most threads of an instance. */
  readonly threads: number;
  /** Arrays of the open ends. */
  readonly inputs: number;
  readonly outputs: number;
  /** Cases for what follows the codes of instances, in lines. */
  readonly cases: readonly string[];
  readonly kernel: string;
  /** Lines of other kernels. */
  readonly entries?: readonly string[];
}

/** The text of a kernel whose blocks follow lists of instances. Throws UnsupportedProgram where it is too long to be compiled. */
export function pipelineText(instances: Instances, parts: PipelineParts): string {
  const text = new PipelineText(instances, parts).text();
  checkLength(text);
  return text;
}

class PipelineText {
  readonly #instances: Instances;
  readonly #parts: PipelineParts;
  readonly #parameters: ReadonlyMap<string, readonly Buffer[]>;

  constructor(instances: Instances, parts: PipelineParts) {
    this.#instances = instances;
    this.#parts = parts;
    this.#parameters = cudaParameters(instances.program);
  }

  text(): string {
    const { program, codes } = this.#instances;
    const same = new Set<Local>(codes.flatMap(({ member }) => (member === undefined ? [] : [member])));
    const { threads, inputs, outputs, cases, kernel, entries = [] } = this.#parts;
    return [
      '#ifdef WARPLOOM_SIMT', '#define WL_STRUCT_LANES', '#endif', '#include "cuda/core/module.cuh"', '#include "arithmetic.h"',
      '#include "cuda/stream/pipelined.cuh"', '', 'namespace {', printCuda(program, same),
      'using warploom::WARPLOOM_TARGET::device::Block;', 'namespace pipelined = warploom::WARPLOOM_TARGET::stream;', '',
      'struct Program {',
      `  static constexpr int kThreads = ${threads}, kInputs = ${inputs}, kOutputs = ${outputs};`,
      '  using Parameters = pipelined::PipelineParameters<kInputs, kOutputs>;',
      '  static WARPLOOM_DEVICE void make(const Block& block, const pipelined::Work& work, const Parameters& p) {',
      '    switch (work.code()) {',
      ...codes.flatMap((code, number) => this.#case(code, number)),
      ...cases,
      '    }', '  }', '};', '}  // namespace', '',
      `WARPLOOM_KERNEL(${kernel}, warploom::WARPLOOM_TARGET::stream::PipelineAgent<Program>)`, ...entries, '',
    ].join('\n');
  }

  #case(code: InstanceCode, number: number): string[] {
    const { f, actors, buffers, together, isOrdered } = code;
    const ends = required(code.ends[0]);
    const used = new Set((this.#parameters.get(f.name) ?? []).flatMap((buffer) => buffers.get(buffer) ?? []));
    const staged = (isInput: boolean): string[] => ends.flatMap((end, i) => {
      if (end.access !== 'staged' || end.isInput !== isInput || !used.has(i)) return [];
      const how = isInput ? `load<${spread(end)}, ${end.window * end.stride}>` : `store<${spread(end)}>`;
      return [`          e${i}.${how}(block, instance, threads, firings);`];
    });
    const [loads, stores] = [staged(true), staged(false)], isStaged = loads.length + stores.length > 0;
    const name = this.#instances.names(elementAt(actors, 0)).replaceAll(/[^\w .-]/g, '');
    const head = [
      `      case ${number}: {  // ${name}${actors.length > 1 ? `, and ${actors.length - 1} more like it` : ''}`,
      ...ends.flatMap(({ kind, rate, stride }, i) =>
        (used.has(i) ? [`        const pipelined::End<${cTypes[scalarTypes[kind]]}, ${rate * stride}> e${i}(work, ${i});`] : [])),
    ];
    if (isOrdered) return [...head, ...this.#ordered(code, loads, stores), '        break;', '      }'];
    if (!isStaged) return [...head, ...this.#inColumns(code, together), '        break;', '      }'];
    return [
      ...head, '        const int threads = work.threads(), last = work.last();',
      '        for (int instance = work.first(); instance < last; instance += work.group()) {',
      '          const int firings = work.staged(instance);',
      ...loads, '          block.sync();', '          for (int thread = block.thread(); thread < firings; thread += block.threads()) {',
      ...this.#fire(code, '            '), '          }', '          block.sync();', ...stores,
      ...(stores.length > 0 ? ['          block.sync();'] : []),
      '        }', '        break;', '      }',
    ];
  }

  /** As many instances at once as the block has threads for: others may have more threads. */
  #inColumns(code: InstanceCode, together: InstanceCode['together']): string[] {
    const ends = required(code.ends[0]), { instances = 1 } = together ?? {};
    const whole = together === undefined ? 'work.first()' : `work.first() + (work.last() - work.first()) / ${instances} * ${instances}`;
    return [
      '        const int threads = work.threads(), groups = block.threads() / threads, group = block.thread() / threads;',
      '        const int thread = block.thread() % threads, last = group < groups ? work.last() : 0;',
      ...(together === undefined ? [] : [
        `        for (int instance = work.first() + group * ${instances}; instance + ${instances} <= last; instance += groups * ${
          instances}) {`,
        `          ${this.#call(code, together.f, [...together.steps.values()].map((buffer) => {
          const { rate, stride } = elementAt(ends, required(code.buffers.get(buffer)));
          return `threads * ${rate * stride}`;
        }))};`, '        }',
      ]),
      `        for (int instance = ${whole} + group; instance < last; instance += groups) {`,
      ...this.#fire(code, '          '), '        }',
    ];
  }

  /** One thread makes the firings of an instance, as far as somebody wants them: what is kept is right behind the last of them. */
  #ordered(code: InstanceCode, loads: readonly string[], stores: readonly string[]): string[] {
    const fails = cudaCanFail(this.#instances.program, code.f.name);
    const call = this.#call(code, code.f, [], fails);
    const sync = '          block.sync();';
    return [
      '        const int threads = work.threads(), last = work.last();',
      '        for (int instance = work.first(); instance < last; ++instance) {', '          const int firings = work.wanted(instance);',
      '          if (firings == 0) break;', ...loads, ...(loads.length > 0 ? [sync] : []), '          if (block.thread() == 0) {',
      ...[
        ...(this.#takesTurns(code) ? ['double turns = work.turns_at(instance * threads);'] : []),
        ...(fails ? ['wl_fault fault;', `if (!${call}) work.fail(instance * threads);`] : [`${call};`]),
      ].map((line) => `            ${line}`),
      '          }', ...(loads.length + stores.length > 0 ? [sync] : []), ...stores, ...(stores.length > 0 ? [sync] : []), '        }',
    ];
  }

  /** A thread's firing. One that nobody wants does no harm, unless it may go wrong or take long. */
  #fire(code: InstanceCode, indent: string): string[] {
    const fails = cudaCanFail(this.#instances.program, code.f.name), takesTurns = this.#takesTurns(code);
    const call = this.#call(code, code.f, [], fails);
    if (!fails && !takesTurns) return [`${indent}${call};`];
    return [
      `const int firing = work.firing<${this.#widthOf(required(code.ends[0]))}>(instance, thread);`, 'if (work.wants(firing)) {',
      ...(takesTurns ? ['  double turns = work.turns_at(firing);'] : []),
      ...(fails ? ['  wl_fault fault;', `  if (!${call}) work.fail(firing);`] : [`  ${call};`]), '}',
    ].map((line) => `${indent}${line}`);
  }

  #call(code: InstanceCode, { name }: KernelFunction, more: readonly string[], fails = false): string {
    return `${cName(name)}(${[...this.#arguments(code), ...(code.member === undefined ? [] : ['work.member()']), ...more,
      ...this.#pointers(code, name), ...(fails ? ['fault'] : [])].join(', ')})`;
  }

  /** Filters in the order of the stream have no end with columns. */
  #widthOf(ends: readonly InstanceEnd[]): number {
    return ends.some(({ access }) => access === 'column') ? this.#parts.width : 1;
  }

  #takesTurns({ f }: InstanceCode): boolean {
    return (this.#parameters.get(f.name) ?? []).includes(this.#instances.lowered.system.steps);
  }

  #arguments({ parameters, ends: [ends], isOrdered }: InstanceCode): string[] {
    return parameters.map(({ end, what }) => {
      if (what === 'count') return 'firings';
      const { rate, stride } = elementAt(required(ends), end);
      if (what === 'base' && isOrdered) return `e${end}.wrapped(e${end}.place(instance, threads))`;
      if (what === 'at') return `thread * ${rate}`;
      return what === 'size' ? `e${end}.all` : `e${end}.wrapped(e${end}.place(instance, threads) + thread * ${rate * stride})`;
    });
  }

  #pointers({ buffers, ends: [ends], isOrdered }: InstanceCode, name: string): string[] {
    return (this.#parameters.get(name) ?? []).map((buffer) => {
      if (buffer === this.#instances.lowered.system.steps) return '&turns';
      const end = buffers.get(buffer);
      if (end === undefined) throw new UnsupportedProgram(`the program keeps '${buffer.name}' between firings`);
      const { access, rate, stride } = elementAt(required(ends), end);
      switch (access) {
        case 'column': return `e${end}.column<${this.#parts.width}>(instance, threads, thread)`;
        case 'staged': return `e${end}.tile(block)`;
        case 'direct': return `e${end}.ring + e${end}.place(instance, threads)${isOrdered ? '' : ` + thread * ${rate * stride}`}`;
        case 'wrapped': case 'kept': return `e${end}.ring`;
      }
    });
  }
}

function spread({ shift }: InstanceEnd): string {
  return `pipelined::Spread<${shift === noGaps ? 31 : shift}>`;
}
