// The text of what tells the state before each firing: see cuda/stream/state.cuh.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, ScalarType } from '../../kernel/ir.ts';
import { cLiteral, cTypes } from '../../kernel/print/c-family.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { progressionOf, type Cycle } from '../state/closed.ts';
import type { Source } from '../state/recorded.ts';
import type { NodePlan } from '../state/stages.ts';
import { wordsOf } from '../state/words.ts';
import { isIdentity, slotsOf, type RecordWork, type ScanGroup, type ScanWork, type StageWork, type StateLayout } from './state-layout.ts';
import type { NextFunction } from './state-functions.ts';
import { rowsOf, scanGroupsOf, StateMembers, type WhichPasses } from './state-members.ts';
import type { Pass } from './state-passes.ts';

/** What surrounds the text. */
export interface StateContext {
  readonly plan: ProgramPlan;
  readonly states: number;
  readonly threads: number;
  /** Where a buffer begins in shared memory, as a pointer. */
  readonly pointer: (buffer: Buffer) => string;
  /** The call of a function for iteration `turn` of a node's group: its arguments, given those for buffers that are the thread's own. */
  readonly call: (work: StageWork, next: NextFunction, own: (buffer: Buffer) => string | undefined) => { text: string; fails: boolean };
  /** Buffers that a function takes. */
  readonly taken: (f: string) => ReadonlySet<Buffer>;
  readonly tables: string[];
  readonly passes: readonly Pass[];
  readonly which: WhichPasses;
}

/** Steps that a warp takes to join what its lanes found, and that a barrier takes. */
const stepsOfScan = 8, barrierSteps = 4;

/** Elements of the state that stand for others while a firing is tried. */
type Tried = ReadonlyMap<number, string>;

const wrapText = (wrap: { readonly low: number; readonly size: number } | undefined): string =>
  (wrap === undefined ? '{0, ~0u}' : `{${cLiteral('i32', wrap.low)}, ${wrap.size - 1}u}`);

export class StateText {
  readonly #layout: StateLayout;
  readonly #context: StateContext;
  readonly #members: StateMembers;
  readonly #tables = new Map<string, string>();

  constructor(layout: StateLayout, context: StateContext) {
    this.#layout = layout;
    this.#context = context;
    this.#members = new StateMembers(layout, context);
  }

  /** What stands before the program. */
  get passes(): number {
    return this.#layout.passes;
  }

  types(): string[] {
    return scanGroupsOf(this.#layout).flatMap(({ name, type, scans }) => [
      `using ${name} = fused::${type};`,
      `WL_UNIFORM_TABLE fused::Wrap wrap_${name}[] = {${scans.map(({ scan: { wrap } }) => wrapText(wrap)).join(', ')}};`,
    ]);
  }

  /** Lines that all passes need in which `isNeeded`, and the program itself. */
  #inPasses(lines: readonly string[], isNeeded: (pass: Pass) => boolean): string[] {
    const { which } = this.#context;
    const needed = this.#context.passes.flatMap((pass, i) => (isNeeded(pass) ? [i + 1] : []));
    if (lines.length === 0 || needed.length === this.passes || which === 'last') return [...lines];
    if (which === 'passes' && needed.length === 0) return [];
    const mask = needed.reduce((sum, pass) => sum + 2 ** pass, 2 ** (this.passes + 1));
    return [`    if ((${mask}u >> kPass & 1u) != 0) {`, ...lines, '    }'];
  }

  /** Lines for the program itself. */
  inLast(lines: readonly string[]): string[] {
    return this.#inPasses(lines, () => false);
  }

  /** Variables of a task in which these nodes fire: what is the same for all iterations of a round. */
  begin(nodes: readonly number[]): string[] {
    return nodes.flatMap((node) => {
      const plan = this.#layout.plans.get(node);
      if (plan === undefined) return [];
      const { steady } = this.#context.plan;
      const done = elementAt(steady.initFirings, node) - this.#preworks(node);
      const fired = `fired_${node}`;
      const phases = this.#periods(plan).map(({ name, period, since }) =>
        `    [[maybe_unused]] const int ${name} = static_cast<int>((${fired} - ${since}) % ${period});`);
      return [`    [[maybe_unused]] const int64_t ${fired} = ${done} + round.first * ${elementAt(steady.repetitions, node)};`, ...phases];
    });
  }

  #preworks(node: number): number {
    const graphNode = elementAt(this.#context.plan.graph.nodes, node);
    return graphNode.kind === 'filter' && graphNode.code.prework !== undefined ? 1 : 0;
  }

  /** Periods of a node, and what their phases are called. */
  #periods({ state: { node }, closed, phases, stages }: NodePlan): { name: string; period: number; since: number }[] {
    const found = closed.cycles.flatMap(({ rows, since }, i) =>
      (rows.length === 1 ? [] : [{ name: `cycle_${node}_${i}`, period: rows.length, since }]));
    const hasPhases = phases.period > 1 && stages.some((stage) => 'kind' in stage);
    return hasPhases ? [...found, { name: `phase_${node}`, period: phases.period, since: phases.since }] : found;
  }

  /** Firings of a node before the one at hand in a round: the first one of an iteration. */
  #turns(node: number): string {
    const { groupOf } = this.#context.plan;
    const { count } = required(elementAt(groupOf, node).steps.find(({ actor }) => actor === node));
    return count === 1 ? 'turn' : `turn * ${count}`;
  }

  /**
   * Arrays with the state of nodes before iteration `turn`.
   * @param taken buffers that the function takes
   * @param tried elements that stand for others
   * @param stage stages from this one on have not been made: what they find is 0
   */
  provide(
    nodes: readonly number[], indent: string, taken: ReadonlySet<Buffer>, tried: Tried = new Map(), stage = Infinity,
  ): string[] {
    return nodes.flatMap((node) => {
      const plan = this.#layout.plans.get(node);
      if (plan === undefined) return [];
      const byBuffer = new Map<string, { type: ScalarType; values: string[] }>();
      plan.state.elements.forEach(({ buffer, index, field }, element) => {
        const name = field === 'iter()' ? `it${node}` : buffer.name;
        const before = this.#layout.functions.beforeOf(name);
        if (before === undefined || !taken.has(before)) return;
        const own = byBuffer.get(name) ?? { type: buffer.element, values: [] };
        own.values[field === 'iter()' ? 0 : index] = tried.get(element) ?? this.#element(plan, element, stage);
        byBuffer.set(name, own);
      });
      return [...byBuffer].map(([name, { type, values }]) =>
        `${indent}const ${cTypes[type]} before_${name}[${values.length}] = {${values.join(', ')}};`);
    });
  }

  /** What a function takes for a buffer of the state. */
  argument(buffer: Buffer): string | undefined {
    const name = buffer.name.replace(/_before$/, '');
    return this.#layout.functions.beforeOf(name) === buffer ? `before_${name}` : undefined;
  }

  #element(plan: NodePlan, element: number, stage: number): string {
    const { node } = plan.state;
    const { buffer: { element: type } } = elementAt(plan.state.elements, element);
    const zero = cLiteral(type, 0);
    const counter = plan.closed.counters.find((each) => each.element === element);
    if (counter !== undefined) {
      return `fused::counted(${cLiteral('i32', counter.first)}, ${cLiteral('i32', counter.step)}, fired_${node} + ${this.#turns(node)})`;
    }
    const cycle = plan.closed.cycles.findIndex(({ elements }) => elements.includes(element));
    if (cycle >= 0) return this.#inCycle(node, elementAt(plan.closed.cycles, cycle), cycle, element, type);
    for (const work of this.#layout.works) {
      if (work.node !== node || work.stage >= stage) continue;
      const place = work.record?.recorded.elements.indexOf(element) ?? -1;
      if (place >= 0) return this.#inRecord(work, required(work.record), place, type);
      const scan = work.scans.find((each) => each.scan.elements.includes(element));
      if (scan !== undefined) return this.#inScan(work, scan, plan, element, type);
    }
    return zero;
  }

  #table(type: ScalarType, numbers: readonly number[]): string {
    const text = `${cTypes[type]} %[] = {${numbers.map((x) => cLiteral(type, x)).join(', ')}};`;
    let name = this.#tables.get(text);
    if (name === undefined) {
      this.#tables.set(text, name = `wl_of_state_${this.#tables.size}`);
      this.#context.tables.push(`WL_TABLE ${text.replace('%', name)}`);
    }
    return name;
  }

  #inCycle(node: number, { elements, rows }: Cycle, number: number, element: number, type: ScalarType): string {
    const place = elements.indexOf(element);
    const column = rows.map((row) => elementAt(row, place));
    if (column.every((x) => Object.is(x, column[0]))) return cLiteral(type, elementAt(column, 0));
    const at = (shift: number): string =>
      `(cycle_${node}_${number} + ${this.#turns(node)}${shift === 0 ? '' : ` + ${shift}`}) % ${rows.length}`;
    const progression = type === 'i32' ? progressionOf(column) : undefined;
    if (progression === undefined) return `${this.#table(type, column)}[${at(0)}]`;
    const { low, step, begin } = progression;
    return `${cLiteral('i32', low)} + ${at((rows.length - begin) % rows.length)} * ${step}`;
  }

  #rows(work: StageWork): number {
    return rowsOf(this.#context.states, work);
  }

  #number(type: ScalarType, words: (slot: number) => string): string {
    if (type === 'i32') return words(0);
    return `fused::from_words<${cTypes[type]}>(${words(0)}, ${type === 'f64' ? words(1) : '0'})`;
  }

  #inRecord(
    work: StageWork, { recorded: { sources, longestLag }, wordAt, tile }: RecordWork, place: number, type: ScalarType,
  ): string {
    const own = sources.map((each) => elementAt(each, place));
    const [first] = own as [Source];
    if ('constant' in first) return cLiteral(type, first.constant);
    const found = own as Exclude<Source, { readonly constant: number }>[];
    const phase = `(phase_${work.node} + turn) % ${sources.length}`;
    const choose = (numbers: readonly number[]): string =>
      (numbers.every((x) => x === numbers[0]) ? String(numbers[0]) : `${this.#table('i32', numbers)}[${phase}]`);
    const at = choose(found.map(({ word }) => elementAt(wordAt, word) * this.#rows(work)));
    const back = choose(found.map(({ lag }) => longestLag - lag));
    const pointer = this.#context.pointer(tile);
    return this.#number(type, (slot) => `${pointer}[${at} + ${slot * this.#rows(work)} + turn + ${back}]`);
  }

  #inScan(
    work: StageWork, { scan: { elements, choices }, tile, tileAt }: ScanWork, { state }: NodePlan, element: number, type: ScalarType,
  ): string {
    const before = elements.slice(0, elements.indexOf(element))
      .reduce((sum, each) => sum + slotsOf(elementAt(state.elements, each).buffer.element), 0);
    const word = (slot: number): string => `${this.#context.pointer(tile)}[${(tileAt + before + slot) * this.#rows(work)} + turn]`;
    return choices === undefined ? this.#number(type, word) : `${this.#table('i32', choices)}[${word(0)}]`;
  }

  /** What stages make at a level, and the warps that have to do with it, from the first one on. */
  level(level: number): { readonly lines: string[]; readonly warps: number } {
    let warps = 0;
    const lines = this.#layout.works.flatMap((work) => {
      const { record, scans } = work;
      const own: string[] = [];
      if (work.level === level) {
        const each = Math.ceil(this.#rows(work) / 32);
        if (record !== undefined) own.push(...this.#loop(work, warps, () => this.#recordText(work, record)));
        else scans.forEach((scan, i) => { own.push(...this.#move(work, scan, warps + i * each)); });
        if (this.#isWithinWarps(work)) own.push('    block.sync_warp();', ...this.#scanText(work, warps));
        warps += Math.max(1, scans.length) * each;
      }
      if (work.level + 1 === level && scans.length > 0 && !this.#isWithinWarps(work)) {
        own.push(...this.#scanText(work, warps));
        warps += scans.length;
      }
      return this.#inPasses(own, ({ works }) => works.has(work));
    });
    return { lines, warps };
  }

  /** @param warp the first one that takes part */
  #loop(work: StageWork, warp: number, body: () => readonly string[]): string[] {
    const { node, group } = work;
    const first = warp === 0 ? 'block.thread()' : `fused::turned(block, ${warp} * 32 % kThreads)`;
    return [
      '    {', ...this.begin([node]),
      `    for (int turn = ${first}; turn < round.states * ${group.iterations}; turn += kThreads) {`,
      ...body(), '    }', '    }',
    ];
  }

  /** A firing is tried: what it leaves stands in arrays `next_…`. */
  #tryText(work: StageWork, next: NextFunction, tried: Tried, number: number): string[] {
    const outs = Object.values(next.outs);
    const own = new Map<Buffer, string>(outs.map((buffer) => [buffer, `${buffer.name}_${number}`]));
    if (next.phase !== undefined) own.set(next.phase, '&at_phase');
    const { text, fails } = this.#context.call(work, next, (buffer) => own.get(buffer) ?? this.argument(buffer));
    return [
      ...outs.map((buffer) => `      ${cTypes[buffer.element]} ${required(own.get(buffer))}[${buffer.length}] = {};`), '      {',
      ...this.provide([work.node], '        ', this.#context.taken(next.f.name), tried, work.stage),
      ...(next.phase === undefined ? []
        : [`        [[maybe_unused]] const int at_phase = (phase_${work.node} + turn) % ${work.plan.phases.period};`]),
      // More than the firing itself has: it may turn a little less often.
      '        [[maybe_unused]] double turns = 2 * round.turns + 1000;',
      ...(fails ? ['        wl_fault fault;', `        (void)${text};`] : [`        ${text};`]), '      }',
    ];
  }

  #recordText(work: StageWork, { recorded: { types, longestLag }, wordAt, tile, next }: RecordWork): string[] {
    const rows = this.#rows(work);
    const lines = types.flatMap((type, word) => Array.from({ length: slotsOf(type) }, (_, slot) =>
      `      ${this.#context.pointer(tile)}[${(elementAt(wordAt, word) + slot) * rows + longestLag} + turn] = fused::word_of(${
        required(next.outs[type]).name}_0[${word}], ${slot});`));
    return [...this.#tryText(work, next, new Map(), 0), ...lines];
  }

  #move(work: StageWork, scan: ScanWork, warp: number): string[] {
    return this.#loop(work, warp, () => {
      const { kind, elements, choices = [] } = scan.scan;
      const { state } = work.plan;
      const typeOf = (element: number): ScalarType => elementAt(state.elements, element).buffer.element;
      const left = (i: number, at: number): string =>
        `${required(scan.next.outs[typeOf(elementAt(elements, i))]).name}_${at}[${i}]`;
      const put = (word: number, value: string): string =>
        `      ${this.#context.pointer(scan.tile)}[${(scan.tileAt + word) * this.#rows(work)} + turn] = ${value};`;
      const tryWith = (value: (element: number, place: number) => string, at: number): string[] =>
        this.#tryText(work, scan.next, new Map(elements.map((element, i) => [element, value(element, i)])), at);
      if (kind === 'bits') {
        const [element] = elements as [number];
        const bits = (x: number) => this.#number(typeOf(element), () => String(x));
        const words = Array.from({ length: scan.slots }, (_, w) => w);
        return [
          ...tryWith(() => bits(0), 0), ...tryWith(() => bits(-1), 1),
          ...words.flatMap((w) => [
            put(2 * w, `fused::word_of(${left(0, 1)}, ${w}) ^ fused::word_of(${left(0, 0)}, ${w})`),
            put(2 * w + 1, `fused::word_of(${left(0, 0)}, ${w})`),
          ]),
        ];
      }
      if (kind === 'choice') {
        const made = choices.flatMap((choice, i) => [
          ...tryWith(() => cLiteral('i32', choice), i),
          `      ${scan.name}::put(record, ${i}, fused::place_of(${this.#table('i32', choices)}, ${choices.length}, ${left(0, i)}));`,
        ]);
        return [`      auto record = ${scan.name}::none();`, ...made,
          ...Array.from({ length: scan.words }, (_, w) => put(w, `record.word[${w}]`))];
      }
      const size = elements.length;
      if (kind === 'real') {
        const factors = isIdentity(scan.scan) ? [] : scan.scan.factors ?? [];
        return [
          ...tryWith(() => cLiteral('f32', 0), 0), ...elements.map((_, i) => put(i, `fused::word_of(${left(i, 0)}, 0)`)),
          ...factors.map((factor, i) => put(size + i, cLiteral('i32', elementAt(wordsOf('f32', factor), 0)))),
        ];
      }
      const plain = [...tryWith(() => '0', 0), ...elements.map((_, i) => put(i, left(i, 0)))];
      if (isIdentity(scan.scan)) return plain;
      return [...plain, ...elements.flatMap((_, j) => [
        ...tryWith((__, i) => (i === j ? '1' : '0'), j + 1),
        ...elements.map((__, i) => put(size + i * size + j, `fused::difference(${left(i, j + 1)}, ${left(i, 0)})`)),
      ])];
    });
  }

  /** The scans of a stage, side by side: those of each warp, or all threads together where that takes less time. */
  #scanText(work: StageWork, warp: number): string[] {
    const { scanGroups, group } = work;
    const [{ pass }] = scanGroups as [ScanGroup];
    const rows = this.#rows(work);
    const count = `round.states * ${group.iterations}`, warps = this.#context.threads / 32;
    let first = warp;
    const alone: string[] = [], together: string[] = [];
    for (const { name, tile, at, words, scans } of scanGroups) {
      const pointer = this.#context.pointer(tile);
      if (this.#isByWarps(rows, scans.length)) {
        alone.push(`      fused::scan_by_warps<${name}, (kPass == ${pass}), ${scans.length}>(block, ${first % warps}, wrap_${name}, ${
          pointer}, ${rows}, ${count}, cells + ${at});`);
        first += scans.length;
      } else {
        together.push(...scans.map((_, i) => `      fused::Scanning<${name}, (kPass == ${pass})> ${name}_${i}(block, wrap_${name}[${i}], ${
          pointer} + ${i * words * rows}, ${rows}, ${count}, cells + ${at + i * words}, scratch + ${at + i * words} * (kThreads / 32));`));
      }
    }
    const finish = together.length === 0 ? [] : ['      block.sync();', ...scanGroups.filter(({ scans }) =>
      !this.#isByWarps(rows, scans.length)).flatMap(({ name, scans }) => scans.map((_, i) => `      ${name}_${i}.finish(block);`))];
    return [`    if constexpr (kPass >= ${pass}) {`, ...together, ...alone, ...finish, '    }'];
  }

  /** Whether each scan is by the warp that makes all of its records, so that no barrier is needed between them. */
  #isWithinWarps(work: StageWork): boolean {
    const rows = this.#rows(work);
    return work.scans.length > 0 && rows <= 32 && work.scanGroups.every(({ scans }) => this.#isByWarps(rows, scans.length));
  }

  /** Whether warps make so many scans of one type, of so many firings, sooner than all threads together make one after the other. */
  #isByWarps(firings: number, scans: number): boolean {
    const warps = this.#context.threads / 32;
    const byWarps = Math.ceil(scans / warps) * (stepsOfScan + 2 * Math.ceil(firings / 32));
    return byWarps <= scans * (stepsOfScan + warps + barrierSteps + 2 * Math.ceil(firings / this.#context.threads));
  }

  /** Pointers that scans use. */
  pointers(isWhole: boolean): string[] {
    return this.#members.pointers(isWhole);
  }

  /** Members of the program beside those of programs without state. */
  members(): string[] {
    return this.#members.lines();
  }

  /** What the next round needs of this one's records. */
  settle(): string[] {
    return this.#layout.works.flatMap((work) => {
      if (work.record === undefined || work.record.recorded.longestLag === 0) return [];
      const { recorded: { longestLag }, slots, tile } = work.record;
      const lines = [`    fused::settle_tiles<kThreads, fused::Plain, ${slots}, ${longestLag}>(block, states * ${work.group.iterations}, `
        + `[&](int member) { return ${this.#context.pointer(tile)} + member * ${this.#rows(work)}; });`];
      return this.#inPasses(lines, ({ works }) => works.has(work));
    });
  }
}
