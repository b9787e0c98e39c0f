// Members of printed programs with state beside those of others: what begins and ends with the state that blocks and launches hand on.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer } from '../../kernel/ir.ts';
import { cLiteral } from '../../kernel/print/c-family.ts';
import { wordsOf } from '../state/words.ts';
import type { ScanGroup, StageWork, StateLayout } from './state-layout.ts';

/** Which passes a text is for: those before the program's own, that one, or all. */
export type WhichPasses = 'passes' | 'last' | 'all';

export function scanGroupsOf({ works }: StateLayout): ScanGroup[] {
  return works.flatMap(({ scanGroups }) => scanGroups);
}

/** Rows of a stage's tiles: firings of a round, and those before it that are kept. */
export function rowsOf(states: number, { group, record }: StageWork): number {
  return states * group.iterations + (record?.recorded.longestLag ?? 0);
}

const isOf = ({ name, scans }: ScanGroup): string => `${name}, ${scans.length}`;
/** A loop over the words of the records of a group. */
const each = ({ scans, words }: ScanGroup): string => `for (int i = block.thread(); i < ${scans.length * words}; i += kThreads)`;

/** What members follow from. */
interface MembersContext {
  readonly states: number;
  readonly pointer: (buffer: Buffer) => string;
  readonly which: WhichPasses;
}

export class StateMembers {
  readonly #layout: StateLayout;
  readonly #context: MembersContext;

  constructor(layout: StateLayout, context: MembersContext) {
    this.#layout = layout;
    this.#context = context;
  }

  /** Pointers that scans use. */
  pointers(isWhole: boolean): string[] {
    const { cells, totalWords } = this.#layout;
    if (totalWords === 0) return [];
    return [
      `    int* const cells = ${this.#context.pointer(cells)};`,
      ...(isWhole ? [`    int* const starts = cells + ${totalWords};`] : []), `    int* const scratch = cells + ${2 * totalWords};`,
      `    (void)cells, ${isWhole ? '(void)starts, ' : ''}(void)scratch;`,
    ];
  }

  lines(): string[] {
    const { totalWords } = this.#layout;
    const groups = scanGroupsOf(this.#layout);
    return [
      '  template <int kPass>', this.#head('begin', 'const Parameters& p'), ...this.pointers(true), ...this.#clear(),
      ...groups.flatMap((group) => [
        `    if (kPass == ${group.pass}) fused::clear_records<${isOf(group)}>(block, cells + ${group.at});`, ...this.#start(group),
        `    if (kPass > ${group.pass}) fused::begin_scans<${isOf(group)}>(block, wrap_${group.name}, p.totals + ${group.at}, `
          + `${totalWords}, `
          + `p.carry + ${group.carryAt}, starts + ${group.at});`,
      ]),
      '    (void)block, (void)p;', '  }',
      '  template <int kPass>', this.#head('enter', 'int offset, int warm'), ...this.pointers(true),
      ...groups.flatMap((group) => [
        `    if (offset == -(kPasses + 1 - ${group.pass}) * warm) {`,
        `      if (kPass == ${group.pass}) fused::clear_records<${isOf(group)}>(block, cells + ${group.at});`,
        `      if (kPass > ${group.pass}) ${each(group)} cells[${group.at} + i] = starts[${group.at} + i];`, '    }',
      ]),
      '    (void)block, (void)offset, (void)warm;', '  }',
      ...(this.#context.which === 'last' ? [] : this.#totalText()), ...(this.#context.which === 'passes' ? [] : this.#finishText()),
    ];
  }

  #head(name: string, parameters: string): string {
    return `  static WARPLOOM_DEVICE void ${name}(const Block& block, ${parameters}) {`;
  }

  /** Where a block's records of a group of scans lie among those of all blocks. */
  #totals({ at }: ScanGroup): string {
    return `p.totals + block.index() * ${this.#layout.totalWords} + ${at}`;
  }

  #totalText(): string[] {
    return [
      '  template <int kPass>', this.#head('total', 'const Parameters& p'), ...this.pointers(false),
      ...scanGroupsOf(this.#layout).map((group) =>
        `    if (kPass == ${group.pass}) ${each(group)} (${this.#totals(group)})[i] = cells[${group.at} + i];`),
      '    (void)block, (void)p;', '  }',
    ];
  }

  #finishText(): string[] {
    return [
      this.#head('finish', 'const Parameters& p'), ...this.pointers(true),
      ...scanGroupsOf(this.#layout).map((group) => `    fused::finish_scans<${isOf(group)}>(block, wrap_${group.name}, ${
        this.#totals(group)}, starts + ${group.at}, p.carried + ${group.carryAt});`),
      '    (void)block, (void)p;', '  }',
    ];
  }

  /** The first firings of a stretch find nothing that others left. */
  #clear(): string[] {
    return this.#layout.works.flatMap((work) => {
      if (work.record === undefined) return [];
      const { recorded: { longestLag }, slots, tile } = work.record;
      return [`    for (int i = block.thread(); i < ${slots * longestLag}; i += kThreads) ${this.#context.pointer(tile)}[i / ${
        longestLag} * ${rowsOf(this.#context.states, work)} + i % ${longestLag}] = 0;`];
    });
  }

  /** What stands in cells before a pass knows better: the state before the first firing. */
  #start({ pass, scans }: ScanGroup): string[] {
    const lines = scans.flatMap(({ scan: { elements, choices }, at, slots, next }) => {
      const { state } = required(this.#layout.works.find((work) => work.scans.some((each) => each.next === next))).plan;
      const words = elements.flatMap((element) =>
        wordsOf(elementAt(state.elements, element).buffer.element, choices === undefined ? state.start[element] ?? 0 : 0));
      return Array.from({ length: slots }, (_, s) => `      cells[${at + s}] = ${cLiteral('i32', elementAt(words, s))};`);
    });
    return [`    if (kPass != ${pass} && block.thread() == 0) {`, ...lines, '    }'];
  }
}
