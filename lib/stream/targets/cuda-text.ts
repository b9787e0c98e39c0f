// The text of a program in one kernel, beside its functions: loads and stores of a round, and who makes what of it.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, Program } from '../../kernel/ir.ts';
import { cLiteral, cName, cTypes } from '../../kernel/print/c-family.ts';
import { cudaCanFail, cudaParameters } from '../../kernel/print/cuda.ts';
import { countsOf } from '../plan/layout.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { endsOf, type Ends } from './cuda-ends.ts';
import type { FusedEnd, RoundLayout, Tile } from './cuda-layout.ts';
import type { Task, Tasks } from './cuda-tasks.ts';
import type { Pass } from './state-passes.ts';
import { StateText } from './state-text.ts';

/** More turns than there are. */
const never = 2 ** 31 - 1;
const roundParameters = 'const Block& block, const Parameters& p, int64_t state, int states';

export class ProgramText {
  readonly #layout: RoundLayout;
  readonly #program: Program;
  readonly #tasks: Tasks;
  readonly #ends: Ends;

  readonly #tables: string[] = [];
  readonly #parameters: ReadonlyMap<string, readonly Buffer[]>;
  readonly #state: StateText | undefined;
  readonly #passes: readonly Pass[];

  /**
   * @param program its functions are those of the tasks, as they are printed
   * @param stageTasks by function of a stage: the task that calls it
   */
  constructor(layout: RoundLayout, program: Program, tasks: Tasks, stageTasks: ReadonlyMap<string, Task>, passes: readonly Pass[]) {
    this.#layout = layout;
    this.#program = program;
    this.#tasks = tasks;
    this.#ends = endsOf(layout);
    this.#parameters = cudaParameters(program);
    this.#passes = passes;
    this.#state = layout.state && new StateText(layout.state, {
      passes, plan: layout.plan, states: layout.states, pointer: (buffer) => this.#pointer(buffer), tables: this.#tables,
      taken: (f) => new Set(this.#parameters.get(f)),
      call: (_, { f }, own) => this.#call(required(stageTasks.get(f.name)), own),
    });
  }

  #tile(buffer: Buffer): Tile {
    return required(this.#layout.tiles.get(buffer));
  }

  #placing(buffer: Buffer): string {
    const { gaps: { shift, row, gap }, stride } = this.#tile(buffer);
    return row === 0 ? `fused::Spread<${shift}>` : `fused::Rows<${row * stride}, ${gap * stride}>`;
  }

  #pointer(buffer: Buffer): string {
    const { at, alternates } = this.#tile(buffer);
    return `block.shared<${cTypes[buffer.element]}>(${at}${alternates ? ' + half' : ''})`;
  }

  /** The type `Program` that cuda/stream/fused.cuh runs, with what it needs before it. */
  lines(): string[] {
    const { threads, minBlocks, readsAhead } = this.#layout.options;
    const kinds = (end: FusedEnd) => end.kinds.length;
    // Tables come first, so they must be known.
    const [steady, settle] = [this.#steadyText(), this.#settleText()];
    const state = this.#state;
    const pass = state === undefined ? [] : ['  template <int kPass>'];
    return [
      ...this.#tables,
      'using warploom::WARPLOOM_TARGET::device::Block;', 'namespace fused = warploom::WARPLOOM_TARGET::stream;', '',
      ...state?.types() ?? [], 'struct Program {',
      ...(state === undefined ? [] : [`  static constexpr int kPasses = ${state.passes};`]),
      `  static constexpr int kThreads = ${threads}, kMinBlocks = ${minBlocks}, kStates = ${this.#layout.states};`,
      `  static constexpr bool kReadsAhead = ${readsAhead};`,
      ...(state === undefined ? [`  static constexpr int kHalf = ${this.#layout.half};`] : []),
      `  static constexpr int kInputs = ${kinds(this.#layout.input)}, kOutputs = ${kinds(this.#layout.output)};`,
      `  using Parameters = fused::${state === undefined ? 'Fused' : 'State'}Parameters<kInputs, kOutputs>;`,
      ...pass, ...(readsAhead ? this.#aheadText() : this.#loadText()), ...pass, ...steady, ...this.#storeText(), ...pass,
      ...settle, ...state?.members() ?? [], '};',
    ];
  }

  /** By kind of the input's scalars: where they lie in shared memory and how, where they come from, and how many there are in a round. */
  #inputs(): { tile: string; placing: string; landing: string; from: string; count: string; each: number }[] {
    const { external, kinds, items } = this.#layout.input;
    const counts = countsOf(external.type);
    return kinds.map((kind, i) => {
      const buffer = this.#layout.streamBuffer(external.id, kind);
      const type = cTypes[buffer.element];
      return {
        tile: this.#pointer(buffer), placing: this.#placing(buffer), landing: `block.shared<${type}>(${this.#layout.landings[i] ?? 0})`,
        from: `static_cast<const ${type}*>(p.input[${i}]) + (p.first_input + state * ${items}) * ${counts[kind]}`,
        count: `(states * ${items} + ${external.later.beyond}) * ${counts[kind]}`, each: items * counts[kind],
      };
    });
  }

  #loadText(): string[] {
    const lines = this.#inputs().flatMap(({ tile, placing, from, count, each }, i) => {
      // Passes that find the state load only what they read.
      const own = this.#passes.flatMap(({ input }, number) => (input[i] === undefined ? [] : [{ parts: input[i], pass: number + 1 }]));
      const some = own.reduce((sum, { pass }) => sum + 2 ** pass, 0);
      return [
        ...own.flatMap(({ parts, pass }) => [`    if (kPass == ${pass}) {`, ...parts.map(({ begin, end }) =>
          `      fused::load_part<${placing}>(block, ${tile}, ${from}, states, ${each}, ${begin}, ${end - begin});`), '    }']),
        `    ${some === 0 ? '' : `if ((${some}u >> kPass & 1u) == 0) `}fused::load_tile<kThreads, ${placing}>(block, `
          + `${tile}, ${from}, ${count});`,
      ];
    });
    return [`  static WARPLOOM_DEVICE void load(${roundParameters}) {`, ...lines, '  }'];
  }

  #aheadText(): string[] {
    const inputs = this.#inputs();
    if (this.#layout.half > 0) return [
      `  static WARPLOOM_DEVICE void begin_input(${roundParameters}, int half) {`, ...inputs.map(({ tile, placing, from, count }) =>
        `    fused::begin_tile<kThreads, ${placing}>(block, ${tile}, ${from}, ${count});`), '  }',
    ];
    return [
      `  static WARPLOOM_DEVICE void begin_input(${roundParameters}, int) {`, ...inputs.map(({ landing, from, count }) =>
        `    fused::begin_landing<kThreads>(block, ${landing}, ${from}, ${count});`), '  }',
      `  static WARPLOOM_DEVICE void place_input(${roundParameters}) {`, ...inputs.map(({ tile, placing, landing, from, count }) =>
        `    fused::place_landed<kThreads, ${placing}>(block, ${tile}, ${landing}, ${from}, ${count});`), '  }',
    ];
  }

  #storeText(): string[] {
    const { external, kinds, items } = this.#layout.output;
    const counts = countsOf(external.type);
    const lines = kinds.map((kind, i) => {
      const buffer = this.#layout.streamBuffer(external.id, kind);
      const type = cTypes[buffer.element];
      return `    fused::store_tile<kThreads, ${this.#placing(buffer)}>(block, ${this.#pointer(buffer)}, static_cast<${type}*>(p.output[${
        i}]) + (p.first_output + state * ${items}) * ${counts[kind]}, states * ${items * counts[kind]});`;
    });
    const half = this.#state === undefined ? `, int${lines.some((line) => line.includes(' + half)')) ? ' half' : ''}` : '';
    return [`  static WARPLOOM_DEVICE void store(${roundParameters}${half}) {`, ...lines, '  }'];
  }

  #settleText(): string[] {
    // What stays on channels of one layout moves together, so that all threads have something to do.
    const alike = new Map<string, { readonly type: string; readonly each: number; readonly beside: number; readonly tiles: Tile[] }>();
    for (const { buffer, each, beside, isPlain } of this.#layout.stretches) {
      if (beside === 0 || isPlain || buffer === this.#streamBufferOf(buffer)) continue;
      const type = cTypes[buffer.element];
      const key = `${type} ${this.#placing(buffer)} ${each} ${beside}`;
      const found = alike.get(key) ?? { type, each, beside, tiles: [] };
      found.tiles.push(this.#tile(buffer));
      alike.set(key, found);
    }
    const lines = [...alike.values()].map(({ type, each, beside, tiles }) =>
      `    fused::settle_tiles<kThreads, ${this.#placing(required(tiles[0]).buffer)}, ${tiles.length}, ${beside}>(`
      + `block, states * ${each}, [&](int member) { return ${this.#sharedAt(type, tiles)}; });`);
    lines.push(...this.#state?.settle() ?? []);
    return [
      `  static WARPLOOM_DEVICE void settle(const Block&${lines.length > 0 ? ' block' : ''}, int${lines.length > 0 ? ' states' : ''}) {`,
      ...lines, '  }',
    ];
  }

  #streamBufferOf(buffer: Buffer): Buffer | undefined {
    return this.#layout.plan.streamArrays.some(({ name }) => name === buffer.name) ? buffer : undefined;
  }

  #steadyText(): string[] {
    const steady: string[] = [];
    this.#tasks.levels.forEach((tasks, level) => {
      const text = this.#state === undefined ? this.#levelText(tasks) : this.#stateLevelText(this.#state, tasks, level);
      steady.push(...text, '    block.sync();');
    });
    const round = this.#state === undefined ? 'Round' : 'StateRound';
    return [
      `  static WARPLOOM_DEVICE void steady(const Block& block, const fused::${round}& round) {`,
      ...this.#state?.pointers(false) ?? [], ...(steady.some((line) => /\bhalf\b/.test(line)) ? ['    const int half = round.half;'] : []),
      ...steady, '  }',
    ];
  }

  #stateLevelText(state: StateText, tasks: readonly Task[], level: number): string[] {
    const text = [...state.level(level)];
    let offset = 0;
    for (const task of tasks) {
      const span = Math.ceil(this.#callsOf(task) / 32) * 32;
      text.push(...state.inLast(this.#taskText(task, span, offset)));
      // Each begins with a warp of its own, so that all threads of a warp do the same.
      offset = (offset + span * task.members.length) % this.#layout.options.threads;
    }
    this.#passes.forEach((pass, i) => {
      const own = pass.tasks[level]?.flatMap((task) => this.#taskText(task, 0, 0)) ?? [];
      if (own.length > 0) text.push(`    if (kPass == ${i + 1}) {`, ...own, '    }');
    });
    return text;
  }

  /** Calls of a member's function in a whole round. */
  #callsOf({ members, parts, width }: Task): number {
    return Math.ceil(this.#layout.states * required(members[0]).group.iterations * parts / width);
  }

  /**
   * The calls of a level, shared out among warps in units of 32: those of a task begin with a unit of its own, so that all threads of a
   * warp do the same, and each warp finds its task in few steps.
   */
  #levelText(tasks: readonly Task[]): string[] {
    const { threads } = this.#layout.options;
    const counts = tasks.map((task) => this.#callsOf(task) * task.members.length);
    const [task, count] = [tasks[0], counts[0]];
    if (task === undefined || count === undefined) return [];
    if (tasks.length === 1) {
      const name = this.#counterOf(task);
      const text = this.#callText(task);
      return count <= threads ? ['    {', `      const int ${name} = block.thread();`, ...text, '    }']
        : [`    for (int ${name} = block.thread(); ${name} < ${count}; ${name} += kThreads) {`, ...text, '    }'];
    }
    let warps = 0;
    const units = tasks.map((each, i) => {
      const first = warps;
      warps += Math.ceil(elementAt(counts, i) / 32);
      const number = `      const int ${this.#counterOf(each)} = (unit - ${first}) * 32 + block.lane();`;
      return { first, text: [number, ...this.#callText(each)] };
    });
    const sizes = tasks.map(({ f }, i) => ({ count: Math.ceil(elementAt(counts, i) / 32), size: sizeOf(f.body) }));
    const shared = sharedCaches(sizes, threads / 32);
    const head = shared !== undefined
      ? [`      for (fused::Quarter<kThreads, ${shared}> turn(block.warp(), ${warps}); turn.goes_on(); turn.next()) {`,
        '        const int unit = turn.unit;']
      : warps * 32 <= threads ? ['      const int unit = block.warp();', `      if (unit < ${warps}) {`]
        : [`      for (int unit = block.warp(); unit < ${warps}; unit += kThreads / 32) {`];
    return ['    {', ...head, ...chosen(units), '      }', '    }'];
  }

  #counterOf({ members }: Task): string {
    return members.length === 1 ? 'i' : 'all';
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
      const gap = choice('int', own.map((end) => String(end.gap)));
      const rows = turns === String(never) ? '' : ` + fused::quotient(turn, ${turns})${gap === '1' ? '' : ` * ${gap}`}`;
      return `${base === '0' ? '' : `${base} + `}turn * ${each}${rows}`;
    }) ?? [];
  }

  /** Where one of these tiles begins, at a multiple of 16 bytes, which compilers shall know. */
  #sharedAt(type: string, tiles: readonly Tile[]): string {
    const places = tiles.map(({ at }) => at);
    const isOne = places.every((at) => at === places[0]);
    const at = isOne ? String(places[0]) : `16 * ${this.#choice('int', places.map((each) => String(each / 16)))}`;
    if (!tiles.some(({ alternates }) => alternates)) return `block.shared<${type}>(${at})`;
    const alternates = this.#choice('int', tiles.map((tile) => (tile.alternates ? '1' : '0')));
    return `block.shared<${type}>(${at} + half${alternates === '1' ? '' : ` * ${alternates}`})`;
  }

  #choice(type: string, values: readonly string[]): string {
    return choiceOf(type, values, this.#tables);
  }

  /** The call of a task's function in iteration `turn`. @param own what stands for buffers that a thread has for itself */
  #call(task: Task, own: (buffer: Buffer) => string | undefined): { text: string; fails: boolean } {
    const { f: { name }, isCounted, parts, members } = task;
    const { steps } = this.#layout.lowered.system;
    const choice = (type: string, values: readonly string[]): string => this.#choice(type, values);
    const positions = this.#positions(task, choice);
    const args = members[0]?.args.map(({ type }, at) =>
      choice(cTypes[type], members.map((member) => cLiteral(type as 'i32', elementAt(member.args, at).value)))) ?? [];
    const argument = (buffer: Buffer): string => {
      if (buffer === steps) return '&turns';
      const text = own(buffer);
      if (text !== undefined) return text;
      const places = members.map((member) => {
        const tile = this.#layout.tiles.get(member.buffers.get(buffer) ?? buffer);
        if (tile === undefined) throw new UnsupportedProgram(`the program keeps '${buffer.name}' between firings`);
        return tile;
      });
      return this.#sharedAt(cTypes[buffer.element], places);
    };
    const fails = cudaCanFail(this.#program, name);
    const list = [
      ...(isCounted ? ['1'] : parts === 1 ? [] : ['part']), ...positions, ...args,
      ...required(this.#parameters.get(name)).map(argument), ...(fails ? ['fault'] : []),
    ];
    return { text: `${cName(name)}(${list.join(', ')})`, fails };
  }

  /** The nodes that a task fires, for readers. */
  #comment({ members }: Task): string {
    const { group: { steps } } = required(members[0]);
    const nodes = steps.map(({ actor }) => elementAt(this.#layout.plan.graph.nodes, actor).name.replaceAll(/[^\w .-]/g, '')).slice(0, 6);
    return `// ${nodes.join(', ')}${steps.length > 6 ? ' …' : ''}${members.length > 1 ? `, and ${members.length - 1} more like it` : ''}`;
  }

  /** Calls of a member in this round, which may be the last one. */
  #callsInRound({ members, parts, width }: Task): string {
    const whole = `round.states * ${required(members[0]).group.iterations * parts}`;
    return width === 1 ? whole : `(${whole} + ${width - 1}) / ${width}`;
  }

  /** Call number `i`, if there is one, or number `all` of all members. */
  #callText(task: Task): string[] {
    const { members } = task;
    const calls = this.#callsOf(task);
    const own = `i < ${this.#callsInRound(task)}`;
    return [
      `      ${this.#comment(task)}`,
      ...(members.length === 1 ? [`      if (${own}) {`] : [
        `      const int member = fused::quotient(all, ${calls}), i = all - member * ${calls};`,
        `      if (member < ${members.length} && ${own}) {`,
      ]),
      ...this.#turnText(task), '      }',
    ];
  }

  #turnText(task: Task): string[] {
    const { f: { name }, parts, members } = task;
    const { group } = required(members[0]);
    const { text: call, fails } = this.#call(task, (buffer) => this.#state?.argument(buffer));
    const taken = required(this.#parameters.get(name));
    return [
      parts === 1 ? '      const int turn = i;' : `      const int turn = fused::quotient(i, ${parts}), part = i - turn * ${parts};`,
      ...this.#state?.provide(group.steps.map(({ actor }) => actor), '      ', new Set(taken)) ?? [],
      ...(taken.includes(this.#layout.lowered.system.steps) ? ['      double turns = round.turns;'] : []),
      ...(fails ? ['      wl_fault fault;', `      if (!${call}) round.fail(turn / ${group.iterations});`] : [`      ${call};`]),
    ];
  }

  /** @param span threads that take a member's part, whole warps; @param offset the first thread that takes any */
  #taskText(task: Task, span: number, offset: number): string[] {
    const { members } = task;
    const actors = required(members[0]).group.steps.map(({ actor }) => actor);
    const first = offset === 0 ? 'block.thread()' : `fused::turned(block, ${offset})`;
    const all = this.#callsInRound(task);
    const head = members.length === 1 ? [`    for (int i = ${first}; i < ${all}; i += kThreads) {`] : [
      `    for (int all = ${first}; all < ${members.length * span}; all += kThreads) {`,
      `      const int member = all / ${span}, i = all - member * ${span};`, `      if (i >= ${all}) continue;`,
    ];
    const begin = this.#state?.begin(actors) ?? [];
    const text = [`    ${this.#comment(task)}`, ...begin, ...head, ...this.#turnText(task), '    }'];
    return begin.length === 0 ? text : ['    {', ...text, '    }'];
  }
}

/** Finds the task to which a unit belongs. */
function chosen(units: readonly { readonly first: number; readonly text: readonly string[] }[]): string[] {
  if (units.length === 1) return [...required(units[0]).text];
  const [low, high] = [units.slice(0, units.length >> 1), units.slice(units.length >> 1)];
  return [`      if (unit < ${required(high[0]).first}) {`, ...chosen(low), '      } else {', ...chosen(high), '      }'];
}

/** Schedulers of a multiprocessor, each with a cache for the instructions of every fourth warp. */
const schedulers = 4;
/** How much longer a scheduler may be busy for warps that run the same code. */
const sharedWorth = 1.1;

/**
 * How many units each scheduler takes, one after the other, so that its warps run the same code; undefined if that is no better than units
 * in turn: where schedulers would get work that differs.
 */
function sharedCaches(tasks: readonly { readonly count: number; readonly size: number }[], warps: number): number | undefined {
  const sizes = tasks.flatMap(({ count, size }) => Array.from({ length: count }, () => size));
  if (warps % schedulers > 0 || sizes.length <= schedulers) return undefined;
  const quarter = Math.ceil(sizes.length / schedulers);
  const loads = (of: (unit: number) => number): number[] => sizes.reduce((sums, size, unit) => {
    sums[of(unit)] = elementAt(sums, of(unit)) + size;
    return sums;
  }, Array.from({ length: schedulers }, () => 0));
  const [own, inTurn] = [loads((unit) => Math.floor(unit / quarter)), loads((unit) => unit % schedulers)];
  return Math.max(...own) <= sharedWorth * Math.max(...inTurn) ? quarter : undefined;
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
