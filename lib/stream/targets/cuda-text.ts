// The text of a program in one kernel, beside its functions: loads and stores of a round, and who makes what of it.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, Program } from '../../kernel/ir.ts';
import { cLiteral, cName, cTypes } from '../../kernel/print/c-family.ts';
import { cudaCanFail, cudaParameters } from '../../kernel/print/cuda.ts';
import { countsOf } from '../plan/layout.ts';
import type { Group } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { FusedEnd, Gaps, RoundLayout, Tile } from './cuda-layout.ts';
import type { Member, Task, Tasks } from './cuda-tasks.ts';

/** More turns than there are. */
const never = 2 ** 31 - 1;

interface GroupEnd extends Pick<Gaps, 'row' | 'gap'> {
  /** Items that an iteration moves, and those before the first. */
  readonly each: number;
  readonly base: number;
}

export class ProgramText {
  readonly #layout: RoundLayout;
  readonly #program: Program;
  readonly #tasks: Tasks;
  readonly #gaps: ReadonlyMap<string, Gaps>;
  readonly #ends: ReadonlyMap<Group, ReadonlyMap<number, GroupEnd>>;

  /** @param program its functions are those of the tasks, as they are printed */
  constructor(layout: RoundLayout, program: Program, tasks: Tasks) {
    this.#layout = layout;
    this.#program = program;
    this.#tasks = tasks;
    this.#gaps = new Map([...layout.tiles].map(([buffer, { gaps }]) => [buffer.name.slice(0, -1), gaps]));
    this.#ends = this.#endsOfGroups();
  }

  #tile(buffer: Buffer): Tile {
    return required(this.#layout.tiles.get(buffer));
  }

  #placing(buffer: Buffer): string {
    const { gaps: { shift, row, gap }, stride } = this.#tile(buffer);
    return row === 0 ? `fused::Spread<${shift}>` : `fused::Rows<${row * stride}, ${gap * stride}>`;
  }

  #pointer(buffer: Buffer): string {
    return `block.shared<${cTypes[buffer.element]}>(${this.#tile(buffer).at})`;
  }

  /** The type `Program` that cuda/stream/fused.cuh runs, with what it needs before it. */
  lines(): string[] {
    const { threads, minBlocks } = this.#layout.options;
    const kinds = (end: FusedEnd) => end.kinds.length;
    const { steady, tables } = this.#steadyText(this.#program, this.#tasks);
    return [
      ...tables,
      'using warploom::WARPLOOM_TARGET::device::Block;', 'namespace fused = warploom::WARPLOOM_TARGET::stream;', '',
      'struct Program {',
      `  static constexpr int kThreads = ${threads}, kMinBlocks = ${minBlocks}, kStates = ${this.#layout.states};`,
      `  static constexpr int kInputs = ${kinds(this.#layout.input)}, kOutputs = ${kinds(this.#layout.output)};`,
      '  using Parameters = fused::FusedParameters<kInputs, kOutputs>;',
      ...this.#loadText(), ...steady, ...this.#storeText(), ...this.#settleText(), '};',
    ];
  }

  #loadText(): string[] {
    const { external, kinds, items } = this.#layout.input;
    const counts = countsOf(external.type);
    const lines = kinds.map((kind, i) => {
      const buffer = this.#layout.streamBuffer(external.id, kind);
      const type = cTypes[buffer.element];
      return `    fused::load_tile<${this.#placing(buffer)}>(block, ${this.#pointer(buffer)}, static_cast<const ${type}*>(p.input[${
        i}]) + (p.first_input + state * ${items}) * ${counts[kind]}, (states * ${items} + ${external.later.beyond}) * ${counts[kind]});`;
    });
    return ['  static WARPLOOM_DEVICE void load(const Block& block, const Parameters& p, int64_t state, int states) {', ...lines, '  }'];
  }

  #storeText(): string[] {
    const { external, kinds, items } = this.#layout.output;
    const counts = countsOf(external.type);
    const lines = kinds.map((kind, i) => {
      const buffer = this.#layout.streamBuffer(external.id, kind);
      const type = cTypes[buffer.element];
      return `    fused::store_tile<${this.#placing(buffer)}>(block, ${this.#pointer(buffer)}, static_cast<${type}*>(p.output[${
        i}]) + (p.first_output + state * ${items}) * ${counts[kind]}, states * ${items * counts[kind]});`;
    });
    return ['  static WARPLOOM_DEVICE void store(const Block& block, const Parameters& p, int64_t state, int states) {', ...lines, '  }'];
  }

  #settleText(): string[] {
    const lines = this.#layout.stretches.flatMap(({ buffer, each, beside }) => {
      if (beside === 0 || buffer === this.#streamBufferOf(buffer)) return [];
      return [`    fused::settle_tile<${this.#placing(buffer)}>(block, ${this.#pointer(buffer)}, states * ${each}, ${beside});`];
    });
    return [
      `  static WARPLOOM_DEVICE void settle(const Block&${lines.length > 0 ? ' block' : ''}, int${lines.length > 0 ? ' states' : ''}) {`,
      ...lines, '  }',
    ];
  }

  #streamBufferOf(buffer: Buffer): Buffer | undefined {
    return this.#layout.plan.streamArrays.some(({ name }) => name === buffer.name) ? buffer : undefined;
  }

  #steadyText(program: Program, { levels }: Tasks): { steady: string[]; tables: string[] } {
    const parameters = cudaParameters(program);
    const steady: string[] = [], tables: string[] = [];
    for (const tasks of levels) {
      let offset = 0;
      for (const task of tasks) {
        const span = Math.ceil(this.#layout.states * required(task.members[0]).group.iterations * task.parts / task.width / 32) * 32;
        steady.push(...this.#taskText(program, task, required(parameters.get(task.f.name)), span, offset, tables));
        // Each begins with a warp of its own, so that all threads of a warp do the same.
        offset = (offset + span * task.members.length) % this.#layout.options.threads;
      }
      steady.push('    block.sync();');
    }
    return { steady: ['  static WARPLOOM_DEVICE void steady(const Block& block, const fused::Round& round) {', ...steady, '  }'], tables };
  }

  /** By group and place in `ix`: where iterations begin at their ends. */
  #endsOfGroups(): ReadonlyMap<Group, ReadonlyMap<number, GroupEnd>> {
    const { sdf, storage, rates, steady, externals, groups, groupOf } = this.#layout.plan;
    const found = new Map(groups.map((group) => [group, new Map<number, GroupEnd>()]));
    const put = (node: number, slot: number, items: number, base: number, name: string): void => {
      const group = elementAt(groupOf, node);
      required(found.get(group)).set(slot, { each: items / group.iterations, base, ...this.#gapsOf(name) });
    };
    for (const { id, from, to } of sdf.channels) {
      if (storage[id] !== 'block') continue;
      put(to, 2 * id, elementAt(rates, id), 0, `c${id}`);
      put(from, 2 * id + 1, elementAt(rates, id), elementAt(steady.residual, id), `c${id}`);
    }
    for (const { id, node, slot, later } of externals) put(node, slot, later.items * elementAt(steady.repetitions, node), 0, `x${id}`);
    return found;
  }

  /** Those of a channel or stream, alike in all its arrays: their names are its own and the kind. */
  #gapsOf(name: string): Pick<Gaps, 'row' | 'gap'> {
    return this.#gaps.get(name) ?? { row: 0, gap: 0 };
  }

  /** Where an iteration, number `turn`, begins at each end. */
  #positions({ members, width }: Task, choice: (type: string, values: readonly string[]) => string): string[] {
    const ends = members.map((member) => required(this.#ends.get(member.group)));
    return members[0]?.slots.map((_, at) => {
      const own = members.map(({ slots }, i) => required(required(ends[i]).get(elementAt(slots, at))));
      const base = choice('int', own.map((end) => String(end.base)));
      // Iterations that begin in a row of their own move by what a row takes.
      const moved = own.map(({ each }) => each * width);
      const each = choice('int', own.map((end, i) => String(elementAt(moved, i) + (end.row === moved[i] ? end.gap : 0))));
      const turns = choice('int', own.map((end, i) =>
        String(end.row > elementAt(moved, i) && end.gap > 0 ? end.row / elementAt(moved, i) : never)));
      return `${base === '0' ? '' : `${base} + `}turn * ${each}${turns === String(never) ? '' : ` + turn / ${turns}`}`;
    }) ?? [];
  }

  /** @param span threads that take a member's part, whole warps; @param offset the first thread that takes any */
  #taskText(
    program: Program, task: Task, parameters: readonly Buffer[], span: number, offset: number, tables: string[],
  ): string[] {
    const { f: { name }, isCounted, parts, members, width } = task;
    const { graph } = this.#layout.plan;
    const { steps } = this.#layout.lowered.system;
    const [{ group }] = members as [Member];
    const choice = (type: string, values: readonly string[]): string => choiceOf(type, values, tables);
    const positions = this.#positions(task, choice);
    const args = members[0]?.args.map(({ type }, at) =>
      choice(cTypes[type], members.map((member) => cLiteral(type as 'i32', elementAt(member.args, at).value)))) ?? [];
    const argument = (buffer: Buffer): string => {
      if (buffer === steps) return '&turns';
      const places = members.map((member) => {
        const tile = this.#layout.tiles.get(member.buffers.get(buffer) ?? buffer);
        if (tile === undefined) throw new UnsupportedProgram(`the program keeps '${buffer.name}' between firings`);
        return String(tile.at);
      });
      return `block.shared<${cTypes[buffer.element]}>(${choice('int', places)})`;
    };
    const fails = cudaCanFail(program, name);
    const list = [
      ...(isCounted ? ['1'] : parts === 1 ? [] : ['part']), ...positions, ...args, ...parameters.map(argument), ...(fails ? ['fault'] : []),
    ];
    const call = `${cName(name)}(${list.join(', ')})`;
    const nodes = group.steps.map(({ actor }) => elementAt(graph.nodes, actor).name.replaceAll(/[^\w .-]/g, '')).slice(0, 6).join(', ');
    const first = offset === 0 ? 'block.thread()' : `fused::turned(block, ${offset})`;
    const whole = `round.states * ${group.iterations * parts}`;
    const all = width === 1 ? whole : `(${whole} + ${width - 1}) / ${width}`;
    const head = members.length === 1 ? [`    for (int i = ${first}; i < ${all}; i += kThreads) {`] : [
      `    for (int all = ${first}; all < ${members.length * span}; all += kThreads) {`,
      `      const int member = all / ${span}, i = all - member * ${span};`, `      if (i >= ${all}) continue;`,
    ];
    const others = members.length > 1 ? `, and ${members.length - 1} more like it` : '';
    return [
      `    // ${nodes}${group.steps.length > 6 ? ' …' : ''}${others}`, ...head,
      parts === 1 ? '      const int turn = i;' : `      const int turn = i / ${parts}, part = i - turn * ${parts};`,
      ...(parameters.includes(steps) ? ['      double turns = round.turns;'] : []),
      ...(fails ? ['      wl_fault fault;', `      if (!${call}) round.fail(turn / ${group.iterations});`] : [`      ${call};`]),
      '    }',
    ];
  }
}

/** What each member has: one text for all, or the one of the member's number. */
function choiceOf(type: string, values: readonly string[], tables: string[]): string {
  const [first] = values as [string];
  if (values.every((value) => value === first)) return first;
  const numbers = values.map(Number), step = elementAt(numbers, 1) - elementAt(numbers, 0);
  if (type === 'int' && numbers.every((x, i) => x === elementAt(numbers, 0) + i * step)) return `(${first} + member * ${step})`;
  const table = `wl_of_members_${tables.length}`;
  tables.push(`WL_UNIFORM_TABLE ${type} ${table}[] = {${values.join(', ')}};`);
  return `${table}[member]`;
}
