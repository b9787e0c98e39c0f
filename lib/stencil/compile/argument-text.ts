// Arguments of the printed functions of stages, from the parameters of their kernels.
import { required } from '../../core/known.ts';
import type { Buffer } from '../../kernel/ir.ts';
import type { StencilProgram } from './stages.ts';

/** Names of the groups of buffers in the parameters of kernels. */
const groups = ['y', 'u', 'a', 'o', 'c'] as const;

/** The pointer to a buffer of the member. */
export function pointerText({ buffers, names }: StencilProgram, buffer: Buffer): string {
  const group = required(groups.find((name) => buffers[name].includes(buffer)));
  const at = buffers[group].indexOf(buffer);
  return group === 'c' ? `p.c + ${at} * p.cells` : `p.${group} + (member * ${names.fields.length} + ${at}) * p.cells`;
}

/** The numbers that all functions take: extents, then scalars. */
export function scalarTexts(
  { names, scalars }: StencilProgram, texts: Readonly<Record<string, string>> = {},
  parameterOf: (i: string) => string = (i) => `p.p[member * ${names.parameters.length} + ${i}]`,
): readonly string[] {
  return [
    ...names.spacing.map((_, axis) => `p.n[${axis}]`),
    ...scalars.map((name) => (/^p\d/.test(name) ? parameterOf(name.slice(1)) : texts[name] ?? `p.${name}`)),
  ];
}
