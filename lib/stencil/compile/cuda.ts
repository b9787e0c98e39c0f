// Equations as device code: one kernel for each stage, one thread for each cell. What is the same for all equations is in cuda/stencil.
import { required } from '../../core/known.ts';
import type { KernelFunction, Program } from '../../kernel/ir.ts';
import { optimise } from '../../kernel/passes/index.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { cudaParameters, printCuda } from '../../kernel/print/cuda.ts';
import { verify } from '../../kernel/verify.ts';
import { pointerText, scalarTexts } from './argument-text.ts';
import { cascadeOf } from './cascade.ts';
import { sharingFunctions } from './cells.ts';
import { sharingText } from './sharing-text.ts';
import { isLarge, type Stage, type StencilProgram } from './stages.ts';

/** Text for `Device.module`. */
export interface DeviceText {
  readonly source: string;
  readonly kernels: readonly string[];
}

/** The program as the device runs it. */
export function deviceProgram(made: StencilProgram, roots: readonly string[]): Program {
  const { program, stages } = made;
  const functions = [...program.functions, ...stages.flatMap((_, s) => sharingFunctions(made, s))];
  return verify(optimise({ ...program, functions },
    { roots: new Set(roots), inline: ({ name }) => !name.startsWith('read_'), vectors: false, unroll: 0 }));
}

/** The number of an axis, as an expression that is constant once loops over axes are unrolled. */
function reachText(reach: readonly number[]): string {
  return reach.reduceRight((rest, of, axis) => (rest === '' ? `${of}` : `axis == ${axis} ? ${of} : ${rest}`), '');
}

const ends = ['inner', 'edge'] as const;

/** Names of the kernels that choose steps of varying length, and of the one at the end of a round of a graph. */
export const limitKernel = 'limit', chooseKernel = 'choose', countKernel = 'count';

/** Where the stages take their time and length from: arguments, a clock on the device, or a counter there. */
type Way = 'plain' | 'adaptive' | 'graph';
const parametersOf: Readonly<Record<Way, string>> = {
  plain: 'StageParameters', adaptive: 'AdaptiveStageParameters', graph: 'GraphStageParameters',
};

/** The kernels of the variant `classic`: stage_0, stage_1, … */
export function classicText(made: StencilProgram): DeviceText {
  return textOf(made, deviceProgram(made, rootsOf(made)), 'plain');
}

/** The kernels of the variant `graph`: the same, and the one that counts rounds. */
export function graphText(made: StencilProgram): DeviceText {
  const { source, kernels } = textOf(made, deviceProgram(made, rootsOf(made)), 'graph');
  return { source: `${source}\nWARPLOOM_KERNEL(${countKernel}, ${stencilSpace}::CountAgent)`, kernels: [...kernels, countKernel] };
}

/** The same for steps of varying length, and the kernels that choose them. */
export function adaptiveText(made: StencilProgram): DeviceText {
  const program = deviceProgram(made, [...rootsOf(made), 'limit_cell']);
  const { source, kernels } = textOf(made, program, 'adaptive');
  const { names } = made;
  const indices = names.spacing.map((_, axis) => `at[${axis}]`);
  const scalars = { t: `static_cast<Real>(p.clock[${stencilSpace}::kNext])`, dt: 'Real(0)', h: 'p.h', g: 'p.g' };
  const limit = [
    'struct Limit {', `  using Real = ${realOf(made)};`, `  static constexpr int kDimensions = ${names.dimensions};`,
    `  using Parameters = ${stencilSpace}::LimitParameters<Real, kDimensions>;`,
    '  static WARPLOOM_DEVICE Real rate(const Parameters& p, int64_t member, const int (&at)[kDimensions]) {', '    Real rate;',
    `    ${cName('limit_cell')}(${[...indices, ...scalarTexts(made, scalars), 'rate',
      ...required(cudaParameters(program).get('limit_cell')).map((buffer) => pointerText(made, buffer))].join(', ')});`,
    '    return rate;', '  }', '};',
    `WARPLOOM_KERNEL(${limitKernel}, ${stencilSpace}::LimitAgent<Limit>)`,
    `WARPLOOM_KERNEL(${chooseKernel}, ${stencilSpace}::ChooseAgent)`,
  ];
  return { source: [source, ...limit].join('\n'), kernels: [...kernels, limitKernel, chooseKernel] };
}

/** The functions of a stage. Long ones are compiled once, for cells near the edges too, and may share work with their neighbours. */
const endsOf = (stage: Stage): readonly string[] => (isLarge(stage) ? ['cell'] : ends);
const rootsOf = ({ stages }: StencilProgram): readonly string[] => stages.flatMap((stage, s) => {
  const links = cascadeOf(stage, s)?.links.map((_, k, { length }) => (k === length - 1 ? 'end' : `link${k}`));
  return (links ?? endsOf(stage)).map((end) => `${end}_${s}`);
});
const realOf = ({ names }: StencilProgram): string => (names.precision === 'f32' ? 'float' : 'double');
const stencilSpace = 'warploom::WARPLOOM_TARGET::stencil';

/** t, dt, h and g of a stage, from the clock. */
function clockTexts({ time, h, g }: Stage): Readonly<Record<string, string>> {
  const dt = `p.clock[${stencilSpace}::kDt]`;
  const share = (divisor: number): string => `static_cast<Real>(${divisor === 0 ? '0' : `${dt} / ${divisor}`})`;
  return {
    t: `static_cast<Real>(p.clock[${stencilSpace}::kTime] + ${time} * ${dt})`, dt: `static_cast<Real>(${dt})`,
    h: share(h.divisor), g: share(g.divisor),
  };
}

/** A function of a stage, as a member. */
function memberText(made: StencilProgram, program: Program, { s, end }: { readonly s: number; readonly end: string },
  scalars: Readonly<Record<string, string>>): readonly string[] {
  const more = end === 'cell' ? ['inside'] : [];
  const parameters = ['const Parameters& p', 'int64_t member', 'const int (&at)[kDimensions]', ...more.map((name) => `bool ${name}`)];
  const name = `${end}_${s}`;
  const args = [...made.names.spacing.map((_, axis) => `at[${axis}]`), ...more, ...scalarTexts(made, scalars), 'good',
    ...required(cudaParameters(program).get(name)).map((buffer) => pointerText(made, buffer))];
  return [
    `  static WARPLOOM_DEVICE int ${end}(${parameters.join(', ')}) {`, '    int good;', `    ${cName(name)}(${args.join(', ')});`,
    '    return good;', '  }',
  ];
}

function textOf(made: StencilProgram, program: Program, way: Way): DeviceText {
  const { stages, names } = made;
  const scalarsOf = (stage: Stage): Readonly<Record<string, string>> =>
    (way === 'adaptive' ? clockTexts(stage) : way === 'graph' ? { t: 'p.begin()' } : {});
  const types = stages.flatMap((stage, s) => {
    const cascade = cascadeOf(stage, s);
    return [
      `struct Stage${s} {`, `  using Real = ${realOf(made)};`,
      `  static constexpr int kDimensions = ${names.dimensions}, kFields = ${names.fields.length};`,
      `  static constexpr bool kAdaptive = ${way === 'adaptive'}, kSingle = ${stages.length === 1}, kLarge = ${isLarge(stage)};`,
      `  static WARPLOOM_DEVICE int reach(int axis) { return ${reachText(stage.reach)}; }`,
      `  using Parameters = ${stencilSpace}::${parametersOf[way]}<Real, kDimensions>;`,
      ...cascade === undefined ? endsOf(stage).flatMap((end) => memberText(made, program, { s, end }, scalarsOf(stage)))
        : sharingText(made, program, { s, cascade }, scalarsOf(stage)), '};',
      `WARPLOOM_KERNEL(stage_${s}, ${stencilSpace}::${cascade === undefined ? 'Classic' : 'Sharing'}Agent<Stage${s}>)`, '',
    ];
  });
  // Reading beyond boundaries is rare, and takes more code than all the rest of long functions.
  const isLong = stages.some(isLarge);
  const apart = ({ name }: KernelFunction): string => (isLong && name.startsWith('read_') ? 'WARPLOOM_DEVICE_APART' : 'WARPLOOM_DEVICE');
  const isShared = stages.some((stage, s) => cascadeOf(stage, s) !== undefined);
  const headers = ['cuda/core/module.cuh', 'arithmetic.h', 'cuda/stencil/classic.cuh', ...isShared ? ['cuda/stencil/sharing.cuh'] : [],
    ...(way === 'plain' ? [] : [`cuda/stencil/${way}.cuh`])];
  return {
    source: [...headers.map((header) => `#include "${header}"`), printCuda(program, new Set(), apart), ...types].join('\n'),
    kernels: stages.map((_, s) => `stage_${s}`),
  };
}
