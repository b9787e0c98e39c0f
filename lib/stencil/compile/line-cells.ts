// Stages in one dimension whose cells share work (./cascade.ts), as members of the scheme for cuda/stencil/line.cuh: each lane makes what
// its own cells share, and gets from the lanes beside it what theirs have made.
import { lastOf, required } from '../../core/known.ts';
import type { KernelFunction } from '../../kernel/ir.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { cascadeOf } from './cascade.ts';
import type { Cascade, Link } from './links.ts';
import type { StencilProgram } from './stages.ts';
import type { Input } from './trace.ts';

/** How inputs and results of a stage are written. */
export interface StageTexts {
  readonly input: (input: Input) => string;
  /** Results of the stage's function. */
  readonly results: (s: number, count: number) => readonly string[];
  /** Statements that carry other numbers to the next stage. */
  readonly carried: (s: number) => readonly string[];
}

/** The functions that are printed for a stage, callees first, and which of them are called. */
export function stageFunctions(
  made: StencilProgram, s: number,
): { readonly all: readonly KernelFunction[]; readonly roots: readonly string[] } {
  const cascade = cascadeOf(required(made.stages[s]), s);
  if (cascade === undefined) return { all: [], roots: [] };
  const links = cascade.links.map(({ f }) => f);
  return { all: [...cascade.callees, ...links], roots: links.map(({ name }) => name) };
}

/** Fields that are read beside the cell itself. */
export function fieldsBeside(made: StencilProgram, s: number): readonly number[] {
  const stage = required(made.stages[s]);
  const inputs = cascadeOf(stage, s)?.links.flatMap((link) => link.inputs) ?? stage.point.inputs;
  return [...new Set(inputs.flatMap((input) => (input.kind === 'y' && input.offset.some((by) => by !== 0) ? [input.index] : [])))];
}

/** Cells beside a lane's own for which a number is needed: before the first, and behind the last. */
function besideOf({ links }: Cascade, number: number): readonly [low: number, high: number] {
  const offsets = links.flatMap(({ takes }) => takes.filter(({ index }) => index === number).map(({ offset }) => required(offset[0])));
  return [Math.max(0, ...offsets.map((by) => -by)), Math.max(0, ...offsets)];
}

function linkText(link: Link, results: readonly string[], more: readonly string[], { input }: StageTexts): readonly string[] {
  const takes = link.takes.map(({ index, offset }) => `n[${index}][kPad + e + (${required(offset[0])})]`);
  return [
    '      WARPLOOM_UNROLL', '      for (int e = 0; e < kPoints; ++e) {', '        const auto at = lane.cell(e);',
    '        [[maybe_unused]] const Real x = centre_x(0), y = centre_y(lane.column(e));',
    `        ${cName(link.f.name)}(${[...takes, ...link.inputs.map(input), ...results].join(', ')});`,
    ...more.map((line) => `        ${line}`), '      }',
  ];
}

function stageLines(cascade: Cascade, s: number, texts: StageTexts): readonly string[] {
  const makers = cascade.links.slice(0, -1), end = lastOf(cascade.links);
  const beside = Array.from({ length: cascade.numbers }, (_, number) => besideOf(cascade, number));
  const pad = Math.max(0, ...beside.flat());
  return [
    `      constexpr int kPad = ${pad};`, `      static_assert(kPad <= kPoints, "numbers come from the lanes beside this one");`,
    `      Real n[${cascade.numbers}][kPoints + 2 * kPad];`,
    ...makers.flatMap((link) => [
      ...linkText(link, link.f.results.map((_, i) => `n[${link.from + i}][kPad + e]`), [], texts),
      ...link.f.results.flatMap((_, i) => {
        const [low, high] = required(beside[link.from + i]);
        return low + high === 0 ? [] : [`      lane.template spread<kPad, ${low}, ${high}>(n[${link.from + i}]);`];
      }),
    ]),
    ...linkText(end, texts.results(s, end.f.results.length), texts.carried(s), texts),
  ];
}

/** Members: whether the cells of a stage share work, and those of a lane after it. */
export function cellsText(made: StencilProgram, texts: StageTexts): readonly string[] {
  const shared = made.stages.flatMap((stage, s) => {
    const cascade = cascadeOf(stage, s);
    return cascade === undefined ? [] : [{ s, cascade }];
  });
  return [
    '  static constexpr WARPLOOM_DEVICE bool shares([[maybe_unused]] int stage) {',
    `    return ${shared.map(({ s }) => `stage == ${s}`).join(' || ') || 'false'};`, '  }',
    '  template <int kStage, class Lane>',
    '  static WARPLOOM_DEVICE void cells(const Lane& lane, const Q& q, Real (&made)[kPoints][kComponents]) {',
    ...shared.flatMap(({ s, cascade }, i) => [
      `    ${i === 0 ? '' : 'else '}if constexpr (kStage == ${s}) {`, ...stageLines(cascade, s, texts), '    }',
    ]),
    '  }',
  ];
}
