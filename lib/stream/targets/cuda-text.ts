// The text of a program in one kernel, beside its functions: loads and stores of a round, and who makes what of it.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, Program } from '../../kernel/ir.ts';
import { cLiteral, cName, cTypes } from '../../kernel/print/c-family.ts';
import { cudaCanFail, cudaParameters } from '../../kernel/print/cuda.ts';
import { countsOf } from '../plan/layout.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { choiceOf, chosen, failedAt, foldLines, sharedCaches, type InputText } from './cuda-choices.ts';
import { endsOf, type Ends } from './cuda-ends.ts';
import { streamBuffer, type PrintedLayout } from './cuda-layout.ts';
import { areStoredAside, type FusedEnd, type Tile } from './cuda-places.ts';
import { withRest, type Task, type Tasks } from './cuda-tasks.ts';
import type { Pass } from './state-passes.ts';
import type { WhichPasses } from './state-members.ts';
import { StateText } from './state-text.ts';

/** More turns than there are. */
const never = 2 ** 31 - 1;
const roundParameters = 'const Block& block, const Parameters& p, int64_t state, int states';

export class ProgramText {
  readonly #layout: PrintedLayout;
  readonly #program: Program;
  readonly #tasks: Tasks;
  readonly #ends: Ends;
  readonly #tables: string[] = [];
  readonly #parameters: ReadonlyMap<string, readonly Buffer[]>;
  readonly #state: StateText | undefined;
  readonly #passes: readonly Pass[];
  readonly #which: WhichPasses;
  readonly #roundStates: number;
  readonly #isAside: boolean; // what comes out is copied while the next round begins

  /**
   * @param program its functions are those of the tasks, as they are printed
   * @param stageTasks by function of a stage: the task that calls it
   * @param which passes it is for, if the program has several
   * @param roundStates steady states of the rounds that blocks share among them
   */
  constructor(
    layout: PrintedLayout, program: Program, tasks: Tasks, stageTasks: ReadonlyMap<string, Task>, passes: readonly Pass[],
    which: WhichPasses = 'all', roundStates = layout.states,
  ) {
    this.#layout = layout;
    this.#which = which;
    this.#roundStates = roundStates;
    this.#program = program;
    this.#tasks = tasks;
    this.#ends = endsOf(layout);
    this.#parameters = cudaParameters(program);
    this.#passes = passes;
    const { external, kinds } = layout.output;
    this.#isAside = which !== 'passes' && areStoredAside(kinds.map((kind) => streamBuffer(layout, external.id, kind)), layout);
    this.#state = layout.state && new StateText(layout.state, {
      passes, which, plan: layout.plan, states: layout.states, threads: layout.options.threads, tables: this.#tables,
      pointer: (buffer) => this.#pointer(buffer),
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
    const lines = [
      ...this.#tables,
      'using warploom::WARPLOOM_TARGET::device::Block;', 'namespace fused = warploom::WARPLOOM_TARGET::stream;', '',
      ...state?.types() ?? [], 'struct Program {',
      ...(state === undefined ? [] : [`  static constexpr int kPasses = ${state.passes}, kRoundStates = ${this.#roundStates};`]),
      `  static constexpr int kThreads = ${threads}, kMinBlocks = ${minBlocks}, kStates = ${this.#layout.states};`,
      `  static constexpr bool kReadsAhead = ${readsAhead}, kStoresAside = ${this.#isAside};`,
      ...(state === undefined ? [`  static constexpr int kHalf = ${this.#layout.half};`] : []),
      `  static constexpr int kInputs = ${kinds(this.#layout.input)}, kOutputs = ${kinds(this.#layout.output)};`,
      `  using Parameters = fused::${state === undefined ? 'Fused' : 'State'}Parameters<kInputs, kOutputs>;`,
      ...pass, ...(readsAhead ? this.#aheadText() : this.#loadText()), ...pass, ...steady,
      ...(this.#which === 'passes' ? [] : this.#storeText()), ...pass, ...settle, ...state?.members() ?? [], '};',
    ];
    return this.#which === 'passes' ? ['namespace passes {', ...lines, '}  // namespace passes'] : lines;
  }

  /** By kind of the input's scalars: where they lie in shared memory and how, where they come from, and how many there are in a round. */
  #inputs(isIn: (buffer: Buffer) => boolean = () => true): readonly InputText[] {
    const { external, kinds, items } = this.#layout.input;
    const counts = countsOf(external.type);
    return kinds.flatMap((kind, i) => {
      const buffer = streamBuffer(this.#layout, external.id, kind);
      const type = cTypes[buffer.element];
      return !isIn(buffer) ? [] : {
        tile: this.#pointer(buffer), placing: this.#placing(buffer), landing: `block.shared<${type}>(${this.#layout.landings[i] ?? 0})`,
        from: `static_cast<const ${type}*>(p.input[${i}]) + (p.first_input + state * ${items}) * ${counts[kind]}`,
        count: `(states * ${items} + ${external.later.beyond}) * ${counts[kind]}`, each: items * counts[kind],
      };
    });
  }

  #loadText(): string[] {
    const lines = this.#which === 'passes' ? this.#passInputs() : this.#inputs().flatMap(({ tile, placing, from, count, each }, i) => {
      // Passes that find the state load only what they read.
      const own = this.#which === 'last' ? [] : this.#passes.flatMap(({ input }, number) =>
        (input[i] === undefined ? [] : [{ parts: input[i], pass: number + 1 }]));
      const some = own.reduce((sum, { pass }) => sum + 2 ** pass, 0);
      return [
        ...own.flatMap(({ parts, pass }) => [`    if (kPass == ${pass}) {`, ...parts.map(({ begin, end }) =>
          `      fused::begin_part<${placing}, ${each}, ${begin}>(block, ${tile}, ${from}, states, ${each}, ${begin}, ${end - begin});`),
        '    }']),
        `    ${some === 0 ? '' : `if ((${some}u >> kPass & 1u) == 0) `}fused::begin_tile<kThreads, ${placing}>(block, `
          + `${tile}, ${from}, ${count});`,
      ];
    });
    const unused = '    (void)block, (void)p, (void)state, (void)states;';
    return [`  static WARPLOOM_DEVICE void load(${roundParameters}) {`, ...lines, ...(this.#which === 'passes' ? [unused] : []), '  }'];
  }

  /** Loads of passes that have a layout of their own. */
  #passInputs(): string[] {
    const { input: { external, kinds }, tiles, parts } = this.#layout;
    const buffers = kinds.map((kind) => streamBuffer(this.#layout, external.id, kind));
    return this.#inputs((buffer) => tiles.has(buffer)).flatMap(({ tile, placing, from, count, each }, i) => {
      const part = parts?.get(required(buffers.filter((buffer) => tiles.has(buffer))[i]));
      if (part === undefined) return [`    fused::begin_tile<kThreads, ${placing}>(block, ${tile}, ${from}, ${count});`];
      const length = part.end - part.begin;
      return [`    fused::begin_part<${placing}, ${length}, 0>(block, ${tile}, ${from}, states, ${each}, ${part.begin}, ${length});`];
    });
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
      const buffer = streamBuffer(this.#layout, external.id, kind);
      const type = cTypes[buffer.element];
      const how = this.#isAside ? 'store_aside<kThreads>(block, aside' : `store_tile<kThreads, ${this.#placing(buffer)}>(block`;
      return `    fused::${how}, ${this.#pointer(buffer)}, static_cast<${type}*>(p.output[${
        i}]) + (p.first_output + state * ${items}) * ${counts[kind]}, states * ${items * counts[kind]});`;
    });
    const aside = `, warploom::WARPLOOM_TARGET::device::StoresAside&${this.#isAside ? ' aside' : ''}`;
    const half = this.#state === undefined ? `, int${lines.some((line) => line.includes(' + half)')) ? ' half' : ''}` : '';
    return [`  static WARPLOOM_DEVICE void store(${roundParameters}${half}${aside}) {`, ...lines, '  }'];
  }

  #settleText(): string[] {
    // What stays on channels of one layout moves together, so that all threads have something to do.
    const alike = new Map<string, { readonly type: string; readonly each: number; readonly beside: number; readonly tiles: Tile[] }>();
    for (const { buffer, each, beside, isPlain } of this.#layout.stretches) {
      if (beside === 0 || isPlain || this.#layout.plan.streamArrays.some(({ name }) => name === buffer.name)) continue;
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

  #steadyText(): string[] {
    const steady: string[] = [];
    this.#tasks.levels.forEach((tasks, level) => {
      const text = this.#state === undefined ? this.#levelText(tasks) : this.#stateLevelText(this.#state, tasks, level);
      if (text.length > 0) steady.push(...text, '    block.sync();');
    });
    if (this.#isAside) steady.splice(-1, 0, '    warploom::WARPLOOM_TARGET::device::StoresAside::publish(block);');
    const round = this.#state === undefined ? 'Round' : 'StateRound';
    return [
      `  static WARPLOOM_DEVICE void steady(const Block& block, const fused::${round}& round) {`,
      ...this.#state?.pointers(false) ?? [], ...(steady.some((line) => /\bhalf\b/.test(line)) ? ['    const int half = round.half;'] : []),
      ...steady, '  }',
    ];
  }

  #stateLevelText(state: StateText, tasks: readonly Task[], level: number): string[] {
    const { lines: text, warps } = state.level(level);
    let offset = 32 * warps % this.#layout.options.threads;
    for (const task of tasks) {
      const span = Math.ceil(this.#callsOf(task) / 32) * 32;
      if (this.#which !== 'passes') text.push(...state.inLast(this.#taskText(task, span, offset)));
      // Each begins with a warp of its own, so that all threads of a warp do the same.
      offset = (offset + span * task.members.length) % this.#layout.options.threads;
    }
    if (this.#which !== 'last') this.#passes.forEach((pass, i) => {
      const own = pass.tasks[level]?.flatMap((task) => this.#taskText(task, 0, 0)) ?? [];
      if (own.length > 0) text.push(`    if (kPass == ${i + 1}) {`, ...own, '    }');
    });
    return text;
  }

  /** Calls of a member's function in a whole round. */
  #callsOf({ members, parts, width }: Task): number {
    return Math.ceil(this.#layout.states * required(members[0]).group.iterations * parts / width);
  }

  /** Numbers that a member's calls take: whole warps where all threads of a warp are to belong to one. */
  #spanOf(task: Task): number {
    const calls = this.#callsOf(task);
    return task.member === undefined ? calls : Math.ceil(calls / 32) * 32;
  }

  /**
   * The calls of a level, shared out among warps in units of 32: those of a task begin with a unit of its own, so that all threads of a
   * warp do the same, and each warp finds its task in few steps.
   */
  #levelText(tasks: readonly Task[]): string[] {
    const { threads } = this.#layout.options;
    const counts = tasks.map((task) => this.#spanOf(task) * task.members.length);
    const [task, count] = [tasks[0], counts[0]];
    if (task === undefined || count === undefined) return [];
    if (tasks.length === 1) {
      const name = this.#counterOf(task);
      const text = this.#callText(task);
      return count <= threads ? ['    {', `      const int ${name} = block.thread();`, ...text, '    }']
        : [`    for (int ${name} = block.thread(); ${name} < ${Math.ceil(count / 32) * 32}; ${name} += kThreads) {`, ...text, '    }'];
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
      const advances = own.map((end) => end.advances(width));
      const terms = Array.from({ length: Math.max(...advances.map(({ length }) => length)) }, (_, term) => {
        const every = choice('int', advances.map((all) => String(all[term]?.every ?? never)));
        const by = choice('int', advances.map((all) => String(all[term]?.by ?? elementAt(advances, 0)[term]?.by ?? 0)));
        const turns = every === '1' ? 'turn' : `fused::quotient(turn, ${every})`;
        return by === '0' ? [] : [by === '1' && term > 0 ? turns : `${turns} * ${by}`];
      });
      return [...(base === '0' ? [] : [base]), ...terms.flat()].join(' + ') || '0';
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
    const calls = this.#spanOf(task);
    const own = `i < ${this.#callsInRound(task)}`;
    return [
      `      ${this.#comment(task)}`,
      ...(task.fold !== undefined ? ['      {'] : members.length === 1 ? [`      if (${own}) {`] : [
        `      const int member = fused::quotient(all, ${calls}), i = all - member * ${calls};`,
        `      if (member < ${members.length} && ${own}) {`,
      ]),
      ...this.#turnText(task), '      }',
    ];
  }

  #turnText(task: Task): string[] {
    const { f: { name }, parts, members, fold } = task;
    if (fold !== undefined) return this.#foldText(task, fold);
    const { group } = required(members[0]);
    const { text: call, fails } = this.#call(task, (buffer) => this.#state?.argument(buffer));
    const taken = required(this.#parameters.get(name));
    return [
      parts === 1 ? '      const int turn = i;' : `      const int turn = fused::quotient(i, ${parts}), part = i - turn * ${parts};`,
      ...this.#state?.provide(group.steps.map(({ actor }) => actor), '      ', new Set(taken)) ?? [],
      ...(taken.includes(this.#layout.lowered.system.steps) ? ['      double turns = round.turns;'] : []),
      ...(fails ? ['      wl_fault fault;', `      if (!${call}) round.fail(${failedAt(group, this.#state)});`] : [`      ${call};`]),
    ];
  }

  /** Call number `i` of lanes that look for a value together: all lanes of a warp take part, whether there are such calls or not. */
  #foldText(task: Task, { out, join, rest }: NonNullable<Task['fold']>): string[] {
    const { parts, members: [member] } = task;
    const provided = this.#state?.provide(required(member).group.steps.map(({ actor }) => actor), '      ', new Set(
      withRest(task).flatMap(({ f }) => required(this.#parameters.get(f.name))))) ?? [];
    const call = (of: Task): string => this.#call(of, (buffer) => (buffer === out ? 'found' : this.#state?.argument(buffer))).text;
    return foldLines(cTypes[out.element], parts, join, {
      condition: `i < ${this.#callsInRound(task)}`, part: [...provided, `        ${call(task)};`],
      rest: [...provided, `        ${call(rest)};`],
    });
  }

  /** @param span threads that take a member's part, whole warps; @param offset the first thread that takes any */
  #taskText(task: Task, span: number, offset: number): string[] {
    const { members } = task;
    const actors = required(members[0]).group.steps.map(({ actor }) => actor);
    const first = offset === 0 ? 'block.thread()' : `fused::turned(block, ${offset})`;
    const own = this.#callsInRound(task), all = task.fold === undefined ? own : `(${own} + 31) / 32 * 32`;
    const head = members.length === 1 ? [`    for (int i = ${first}; i < ${all}; i += kThreads) {`] : [
      `    for (int all = ${first}; all < ${members.length * span}; all += kThreads) {`,
      `      const int member = all / ${span}, i = all - member * ${span};`, `      if (i >= ${all}) continue;`,
    ];
    const begin = this.#state?.begin(actors) ?? [];
    const text = [`    ${this.#comment(task)}`, ...begin, ...head, ...this.#turnText(task), '    }'];
    return begin.length === 0 ? text : ['    {', ...text, '    }'];
  }
}
