// Equations as device code: one kernel for each stage, one thread for each cell. What is the same for all equations is in cuda/stencil.
import { required } from '../../core/known.ts';
import type { Buffer, Program } from '../../kernel/ir.ts';
import { optimise } from '../../kernel/passes/index.ts';
import { cName } from '../../kernel/print/c-family.ts';
import { cudaParameters, printCuda } from '../../kernel/print/cuda.ts';
import { verify } from '../../kernel/verify.ts';
import type { StencilProgram } from './stages.ts';

/** Text for `Device.module`. */
export interface DeviceText {
  readonly source: string;
  readonly kernels: readonly string[];
}

/** Names of the groups of buffers in the parameters of kernels. */
const groups = ['y', 'u', 'a', 'o', 'c'] as const;

/** The program as the device runs it. */
export function deviceProgram({ program }: StencilProgram, roots: readonly string[]): Program {
  return verify(optimise(program, { roots: new Set(roots), inline: ({ name }) => !name.startsWith('read_'), vectors: false, unroll: 0 }));
}

/** The pointer to a buffer of the member. */
export function pointerText({ buffers, names }: StencilProgram, buffer: Buffer): string {
  const group = required(groups.find((name) => buffers[name].includes(buffer)));
  const at = buffers[group].indexOf(buffer);
  return group === 'c' ? `p.c + ${at} * p.cells` : `p.${group} + (member * ${names.fields.length} + ${at}) * p.cells`;
}

/** The numbers that all functions take: extents, then scalars. */
export function scalarTexts({ names, scalars }: StencilProgram): readonly string[] {
  const count = names.parameters.length;
  return [
    ...names.spacing.map((_, axis) => `p.n[${axis}]`),
    ...scalars.map((name) => (/^p\d/.test(name) ? `p.p[member * ${count} + ${name.slice(1)}]` : `p.${name}`)),
  ];
}

/** The number of an axis, as an expression that is constant once loops over axes are unrolled. */
function reachText(reach: readonly number[]): string {
  return reach.reduceRight((rest, of, axis) => (rest === '' ? `${of}` : `axis == ${axis} ? ${of} : ${rest}`), '');
}

const ends = ['inner', 'edge'] as const;

/** The kernels of the variant `classic`: stage_0, stage_1, … */
export function classicText(made: StencilProgram): DeviceText {
  const { stages, names } = made;
  const program = deviceProgram(made, stages.flatMap((_, s) => ends.map((end) => `${end}_${s}`)));
  const pointers = cudaParameters(program);
  const real = names.precision === 'f32' ? 'float' : 'double';
  const indices = names.spacing.map((_, axis) => `at[${axis}]`);
  const types = stages.flatMap((stage, s) => [
    `struct Stage${s} {`, `  using Real = ${real};`, `  static constexpr int kDimensions = ${names.dimensions};`,
    `  static WARPLOOM_DEVICE int reach(int axis) { return ${reachText(stage.reach)}; }`,
    '  using Parameters = warploom::WARPLOOM_TARGET::stencil::StageParameters<Real, kDimensions>;',
    ...ends.flatMap((end) => [
      `  static WARPLOOM_DEVICE int ${end}(const Parameters& p, int64_t member, const int (&at)[kDimensions]) {`,
      '    int good;',
      `    ${cName(`${end}_${s}`)}(${[...indices, ...scalarTexts(made), 'good',
        ...required(pointers.get(`${end}_${s}`)).map((buffer) => pointerText(made, buffer))].join(', ')});`,
      '    return good;', '  }',
    ]), '};', `WARPLOOM_KERNEL(stage_${s}, warploom::WARPLOOM_TARGET::stencil::ClassicAgent<Stage${s}>)`, '',
  ]);
  return {
    source: ['#include "cuda/core/module.cuh"', '#include "arithmetic.h"', '#include "cuda/stencil/classic.cuh"', printCuda(program),
      ...types].join('\n'),
    kernels: stages.map((_, s) => `stage_${s}`),
  };
}
