// A stage whose cells share work (./cascade.ts), as the members that cuda/stencil/sharing.cuh calls.
import { required } from '../../core/known.ts';
import type { Program } from '../../kernel/ir.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { cudaParameters } from '../../kernel/print/cuda.ts';
import { pointerText, scalarTexts } from './argument-text.ts';
import type { Cascade, Link } from './cascade.ts';
import type { StencilProgram } from './stages.ts';

/** What a link is printed with. */
interface Printing {
  readonly made: StencilProgram;
  readonly program: Program;
  readonly s: number;
  readonly cascade: Cascade;
  readonly scalars: Readonly<Record<string, string>>;
}

/** Whether all that a link reads from arrays is inside. */
function insideText({ inputs }: Link, dimensions: number): string {
  const reads = inputs.flatMap((input) => (input.kind === 'y' || input.kind === 'c' ? [input.offset] : []));
  if (reads.length === 0) return 'true';
  return Array.from({ length: dimensions }, (_, axis) => {
    const offsets = reads.map((offset) => required(offset[axis]));
    return `to[${axis}] + (${Math.min(...offsets)}) >= 0 && to[${axis}] + ${Math.max(0, ...offsets)} < p.n[${axis}]`;
  }).join(' && ');
}

/** The numbers that a link takes, of the rows and the lanes that have made them. What comes from other lanes is asked for once. */
function takenText({ takes, lead }: Link, { links }: Cascade, dimensions: number, asked: Set<string>): {
  readonly asks: readonly string[];
  readonly numbers: readonly string[];
} {
  const asks: string[] = [];
  const numbers = takes.map(({ index, offset }, i) => {
    const maker = required(links.find(({ from, f }) => index >= from && index < from + f.results.length));
    const age = dimensions === 1 ? 0 : maker.lead - lead - required(offset[0]);
    const by = required(offset.at(-1)), value = `n[${index}][${age}]`;
    if (by === 0) return `      const Real a${i} = ${value};`;
    const direction = by < 0 ? 'up' : 'down', name = `${direction}${Math.abs(by)}_${index}_${age}`;
    if (!asked.has(name)) asks.push(`    const Real ${name} = device::shuffle_${direction}(block, ${value}, ${Math.abs(by)});`);
    asked.add(name);
    return `      const Real a${i} = ${name};`;
  });
  return { asks, numbers };
}

function linkText(k: number, asked: Set<string>, { made, program, s, cascade, scalars }: Printing): readonly string[] {
  const link = required(cascade.links[k]);
  const { dimensions } = made.names;
  const isEnd = k === cascade.links.length - 1;
  const name = isEnd ? `end_${s}` : `link${k}_${s}`;
  const args = [
    ...made.names.spacing.map((_, axis) => `to[${axis}]`), 'inside', ...scalarTexts(made, scalars, (i) => `q[${i}]`),
    ...link.takes.map((_, i) => `a${i}`),
    ...isEnd ? ['good'] : link.f.results.map((_, i) => `n[${link.from + i}][0]`),
    ...required(cudaParameters(program).get(name)).map((buffer) => pointerText(made, buffer)),
  ];
  const to = made.names.spacing.map((_, axis) => (axis === 0 && dimensions > 1 ? `at[0] + ${link.lead}` : `at[${axis}]`));
  const condition = isEnd ? `if (owns${dimensions === 1 ? '' : ' && at[0] >= first'}) `
    : link.isEarly ? `if (to[0] < p.n[0] + ${link.rows[1]}) ` : '';
  const { asks, numbers } = takenText(link, cascade, dimensions, asked);
  return [
    ...asks, '    {', ...numbers,
    `      const int to[kDimensions] = {${to.join(', ')}};`,
    `      [[maybe_unused]] const bool inside = ${insideText(link, dimensions)};`,
    `      ${condition}${cName(name)}(${args.join(', ')});`, '    }',
  ];
}

/** All links of a row. Those of numbers run from the first row on for which one of them is needed: others then make what no one takes. */
function rowText(printing: Printing): readonly string[] {
  const { cascade: { links }, made: { names: { dimensions } } } = printing;
  const asked = new Set<string>();
  const text = (k: number, names: Set<string>): readonly string[] => linkText(k, names, printing);
  const isFirst = ({ takes }: Link): boolean => takes.every(({ index }) => links.some(({ from, isEarly, f: { results } }) =>
    isEarly && index >= from && index < from + results.length));
  const firsts = links.flatMap((link, k) => (isFirst(link) ? [k] : []));
  // Loads follow what takes them: they are for the next row.
  const ordered = [...firsts.filter((k) => !required(links[k]).isEarly), ...firsts.filter((k) => required(links[k]).isEarly)];
  const rest = links.slice(0, -1).flatMap((link, k) => (isFirst(link) ? [] : [{ start: link.rows[0] - link.lead, k }]));
  const starts = dimensions === 1 ? [0] : [...new Set(rest.map(({ start }) => start))];
  return [
    ...ordered.flatMap((k) => text(k, asked)),
    ...dimensions === 1 ? rest.flatMap(({ k }) => text(k, asked)) : starts.flatMap((start) => {
      const names = new Set(asked);
      return [`    if (at[0] >= first + (${start})) {`, ...rest.filter((each) => each.start === start).flatMap(({ k }) => text(k, names)), '    }'];
    }),
    ...text(links.length - 1, asked),
  ];
}

/** The members of a stage. */
export function sharingText(
  made: StencilProgram, program: Program, { s, cascade }: { readonly s: number; readonly cascade: Cascade },
  scalars: Readonly<Record<string, string>>,
): readonly string[] {
  const { links, numbers, ages, width, warps, held } = cascade;
  const { dimensions, parameters } = made.names;
  const start = Math.min(...links.map(({ lead, rows }) => rows[0] - lead));
  return [
    `  static constexpr int kNumbers = ${numbers}, kAges = ${ages}, kWidth = ${width}, kParameters = ${parameters.length};`,
    `  static constexpr int kStart = ${dimensions === 1 ? 0 : start}, kLow = ${Math.min(...links.map(({ columns }) => columns[0]))},`,
    `                       kHigh = ${Math.max(...links.map(({ columns }) => columns[1]))};`,
    `  static constexpr int kLast = kDimensions - 1, kWarps = ${warps}, kHeld = ${held};`,
    '  static WARPLOOM_DEVICE int row(const device::Block& block, const Parameters& p, int64_t member, const Real (&q)[kParameters + 1],',
    '                                 const int (&at)[kDimensions], [[maybe_unused]] int first, bool owns, Real (&n)[kNumbers][kAges]) {',
    '    int good = 1;',
    ...rowText({ made, program, s, cascade, scalars }),
    '    return good;', '  }',
  ];
}
