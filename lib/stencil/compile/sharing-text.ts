// A stage whose cells share work (./cascade.ts), as the members that cuda/stencil/sharing.cuh calls.
import { required } from '../../core/known.ts';
import type { Program } from '../../kernel/ir.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { cudaParameters } from '../../kernel/print/cuda.ts';
import { pointerText, scalarTexts } from './argument-text.ts';
import type { Cascade, Link } from './links.ts';
import { ageOf, makerOf, ringsOf, type Rings } from './rings.ts';
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

const directionOf = (by: number): string => `${by < 0 ? 'up' : by > 0 ? 'down' : 'own'}${Math.abs(by)}`;

/** The place of a number in shared memory, of the row and the lane so many before. */
function placeText({ places }: Rings, index: number, age: number, by: number): string {
  const { isOne, at } = required(places.get(index));
  return `${isOne ? 'once' : `rows[${age}]`}[${at} * kLanes${by === 0 ? '' : ` + ${directionOf(by)}`}]`;
}

/** Steps to lanes beside this one, or to the last one: what lanes at the ends make of these, no one needs, but it must not take long. */
const besideText = ({ beside }: Rings): readonly string[] => beside.map((by) => (by < 0
  ? `    const int ${directionOf(by)} = block.thread() < ${-by} ? -block.thread() : ${by};`
  : `    const int ${directionOf(by)} = block.thread() + ${by} < kLanes ? ${by} : kLanes - 1 - block.thread();`));

/**
 * The numbers that a link takes, of the rows and the lanes that have made them: each is asked for once. `fresh`: those that lanes have
 * stored since they last met.
 */
function takenText(link: Link, cascade: Cascade, { asked, fresh }: Scope): readonly string[] {
  const rings = ringsOf(cascade);
  const asks: string[] = [], numbers: string[] = [];
  let isMet = true;
  for (const [i, taken] of link.takes.entries()) {
    const { index, offset } = taken;
    const age = ageOf(cascade, link, taken), by = required(offset.at(-1)), own = `n[${index}][${age}]`;
    const isKept = rings.places.has(index);
    if (by === 0 && (!isKept || (age === 0 && makerOf(cascade, index).loads === undefined))) {
      numbers.push(`      const Real a${i} = ${own};`);
      continue;
    }
    const name = `${directionOf(by)}_${index}_${age}`;
    isMet &&= !(isKept && age === 0 && by !== 0 && fresh.has(index));
    const from = isKept ? placeText(rings, index, age, by) : `device::shuffle_${by < 0 ? 'up' : 'down'}(block, ${own}, ${Math.abs(by)})`;
    if (!asked.has(name)) asks.push(`    const Real ${name} = ${from};`);
    asked.add(name);
    numbers.push(`      const Real a${i} = ${name};`);
  }
  if (!isMet) fresh.clear();
  return [...isMet ? [] : [meetText(cascade)], ...asks, '    {', ...numbers];
}

/** What lanes have stored is there for the others. */
const meetText = ({ lanes }: Cascade): string => (lanes > 32 ? '    block.sync();' : '    block.sync_warp();');

/** What the links before have asked for, and stored. */
interface Scope {
  readonly asked: Set<string>;
  readonly fresh: Set<number>;
}

function linkText(k: number, scope: Scope, printing: Printing): readonly string[] {
  const { made, program, s, cascade, scalars } = printing;
  const link = required(cascade.links[k]);
  const { dimensions } = made.names;
  const isEnd = k === cascade.links.length - 1;
  const name = isEnd ? `end_${s}` : `link${k}_${s}`;
  const argsOf = (inside: string, results: readonly string[]): string => [
    ...made.names.spacing.map((_, axis) => `to[${axis}]`), inside, ...scalarTexts(made, scalars, (i) => `q[${i}]`),
    ...link.takes.map((_, i) => `a${i}`), ...results,
    ...required(cudaParameters(program).get(name)).map((buffer) => pointerText(made, buffer)),
  ].join(', ');
  const to = made.names.spacing.map((_, axis) => (axis === 0 && dimensions > 1 ? `at[0] + ${link.lead}` : `at[${axis}]`));
  const where = [`      const int to[kDimensions] = {${to.join(', ')}};`,
    `      [[maybe_unused]] const bool inside = ${insideText(link, dimensions)};`];
  if (link.loads !== undefined) {
    return ['    {', ...where, ...loadText(link, printing, (results) => `${cName(name)}(${argsOf('false', results)});`), '    }'];
  }
  const rings = ringsOf(cascade);
  const kept = isEnd ? [] : link.f.results.flatMap((_, i) => (rings.places.has(link.from + i) ? [link.from + i] : []));
  const taken = takenText(link, cascade, scope);
  for (const index of kept) scope.fresh.add(index);
  const results = isEnd ? ['good'] : link.f.results.map((_, i) => `n[${link.from + i}][0]`);
  return [
    ...taken, ...where, `      ${isEnd ? ownsText(dimensions) : ''}${cName(name)}(${argsOf('inside', results)});`,
    '    }', ...kept.map((index) => `    ${placeText(rings, index, 0, 0)} = n[${index}][0];`),
  ];
}

const ownsText = (dimensions: number): string => `if (owns${dimensions === 1 ? '' : ' && at[0] >= first'}) `;

/** Copies that are under way until the numbers are needed; what lies beyond a boundary is read at once. */
function loadText(
  { inputs, from, loads, rows, f }: Link, { made, cascade }: Printing, call: (results: readonly string[]) => string,
): readonly string[] {
  const rings = ringsOf(cascade);
  const { dimensions } = made.names;
  const cell = Array.from({ length: dimensions - 1 }, (_, i) => i + 1)
    .reduce((text, axis) => `(${text}) * p.n[${axis}] + to[${axis}]`, 'to[0]');
  const copies = inputs.flatMap((input, i) => {
    if (!('index' in input)) return [];
    const buffer = required(made.buffers[input.kind as 'y'][input.index]);
    const copy = `device::async_copy<sizeof(Real)>(block, &${placeText(rings, from + i, 0, 0)}, ${pointerText(made, buffer)} + cell)`;
    return [`          ${copy};`];
  });
  const copied = ['{', `          const int cell = ${cell};`, ...copies, '        }'];
  if (loads === 'now') return [`      ${ownsText(dimensions)}${copied.join('\n')}`];
  return [
    `      if (to[0] < p.n[0] + ${rows[1]}) {`, `        if (inside) ${copied.join('\n')} else {`,
    `          Real made[${f.results.length}];`, `          ${call(f.results.map((_, i) => `made[${i}]`))}`,
    ...f.results.map((_, i) => `          ${placeText(rings, from + i, 0, 0)} = made[${i}];`), '        }', '      }',
  ];
}

/** All links of a row. Those of numbers run from the first row on for which one of them is needed: others then make what no one takes. */
function rowText(printing: Printing): readonly string[] {
  const { cascade: { links }, cascade, made: { names: { dimensions } } } = printing;
  const scope: Scope = { asked: new Set(), fresh: new Set() };
  const text = (k: number, within: Scope): readonly string[] => linkText(k, within, printing);
  const all = links.map((_, k) => k);
  const loads = all.filter((k) => required(links[k]).loads !== undefined);
  const isFirst = ({ takes }: Link): boolean => takes.every(({ index }) => makerOf(cascade, index).loads !== undefined);
  const makers = all.slice(0, -1).filter((k) => !loads.includes(k));
  const firsts = makers.filter((k) => isFirst(required(links[k]))), rest = makers.filter((k) => !firsts.includes(k));
  const startOf = (k: number): number => required(links[k]).rows[0] - required(links[k]).lead;
  const starts = dimensions === 1 ? [] : [...new Set(rest.map(startOf))];
  const wait = '    device::async_wait<0>(block);';
  const isHeld = links.some((link) => link.loads === 'now');
  return [
    ...besideText(ringsOf(cascade)), ...loads.length > 0 ? [wait] : [], ...ringsOf(cascade).places.size > 0 ? [meetText(cascade)] : [],
    ...loads.flatMap((k) => text(k, scope)), ...loads.length > 0 ? ['    device::async_commit(block);'] : [],
    ...firsts.flatMap((k) => text(k, scope)), ...dimensions === 1 ? rest.flatMap((k) => text(k, scope)) : [],
    ...starts.flatMap((start) => {
      const within: Scope = { asked: new Set(scope.asked), fresh: scope.fresh };
      const texts = rest.filter((k) => startOf(k) === start).flatMap((k) => text(k, within));
      return [`    if (at[0] >= first + (${start})) {`, ...texts, '    }'];
    }),
    ...isHeld ? [wait] : [], ...text(links.length - 1, scope),
  ];
}

/** The members of a stage. */
export function sharingText(
  made: StencilProgram, program: Program, { s, cascade }: { readonly s: number; readonly cascade: Cascade },
  scalars: Readonly<Record<string, string>>,
): readonly string[] {
  const { links, numbers, ages, lanes, width, warps, held } = cascade;
  const { dimensions, parameters } = made.names;
  const start = Math.min(...links.map(({ lead, rows }) => rows[0] - lead));
  const rings = ringsOf(cascade);
  return [
    `  static constexpr int kLanes = ${lanes}, kRows = ${rings.rows}, kOnes = ${rings.ones} * kLanes,`,
    `                       kOthers = ${rings.others} * kLanes, kRing = kOnes + kRows * kOthers;`,
    `  static constexpr int kNumbers = ${numbers}, kAges = ${ages}, kWidth = ${width}, kParameters = ${parameters.length};`,
    `  static constexpr int kStart = ${dimensions === 1 ? 0 : start}, kLow = ${Math.min(...links.map(({ columns }) => columns[0]))},`,
    `                       kHigh = ${Math.max(...links.map(({ columns }) => columns[1]))};`,
    `  static constexpr int kLast = kDimensions - 1, kWarps = ${warps}, kHeld = ${held};`,
    '  static WARPLOOM_DEVICE int row(const device::Block& block, const Parameters& p, int64_t member, const Real (&q)[kParameters + 1],',
    '                                 const int (&at)[kDimensions], [[maybe_unused]] int first, bool owns, Real (&n)[kNumbers][kAges],',
    '                                 [[maybe_unused]] Real* once, [[maybe_unused]] Real* const (&rows)[kRows]) {',
    '    int good = 1;',
    ...rowText({ made, program, s, cascade, scalars }),
    '    return good;', '  }',
  ];
}
