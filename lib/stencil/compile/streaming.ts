// Equations in two dimensions as one kernel that takes several steps per pass over memory: the scheme for cuda/stencil/streaming.cuh. Its
// rows (x) run along the first axis, its columns (y) along the last.
import { required } from '../../core/known.ts';
import { classicText, type DeviceText } from './cuda.ts';
import { besideOf, innerAlong, lanes, newestOf, passKernel, schemeText, type Shape } from './scheme.ts';
import type { StencilProgram, Target } from './stages.ts';

/** Lanes at each side of a strip that are lost, and columns of a strip. */
export function stripOf({ stages, reach }: StencilProgram, { depth, points }: Pick<Shape,
  'depth' | 'points'>): { readonly halo: number; readonly own: number } {
  const halo = Math.ceil((stages.length * depth * required(reach.at(-1))) / points);
  return { halo, own: (lanes - 2 * halo) * points };
}

/** Rows of a strip in shared memory: all but one are on their way. */
const ring = 4;

/** Bytes of shared memory of a block. */
export function streamingBytes(made: StencilProgram, { points }: Pick<Shape, 'points'>): number {
  const { fields, precision } = made.names;
  return ring * fields.length * lanes * points * (precision === 'f32' ? 4 : 8);
}

function besideText(made: StencilProgram): readonly string[] {
  const { stages, reach } = made;
  const newest = newestOf(made);
  const conditions = stages.flatMap((_, s) => {
    const least = new Map<number, number>();
    for (const { component, dx } of besideOf(made, s)) least.set(component, Math.min(dx, least.get(component) ?? dx));
    return [...least].map(([component, dx]) => ({ s, text: `component == ${component} && dx >= ${dx} && dx <= ${required(newest[s])}`,
      any: `dx >= ${dx} && dx <= ${required(newest[s])}` }));
  });
  const any = (part: 'text' | 'any'): string => conditions.map((each) => `(stage == ${each.s} && ${each[part]})`).join(' || ') || 'false';
  return [
    `  static constexpr WARPLOOM_DEVICE bool beside(int stage, int component, int dx) { return ${any('text')}; }`,
    `  static constexpr WARPLOOM_DEVICE bool any_beside(int stage, int dx) { return ${any('any')}; }`,
    `  static constexpr int kReachX = ${required(reach[0])}, kReachY = ${required(reach.at(-1))}, kRing = ${ring};`,
  ];
}

/** The kernels of both variants: those of `classic`, for single steps, and the pass. */
export function streamingText(made: StencilProgram, target: Target, shape: Shape): DeviceText {
  const classic = classicText(made);
  const inner = Math.max(1, innerAlong(made, target, made.names.dimensions - 1));
  return {
    source: [
      classic.source, '#include "cuda/stencil/streaming.cuh"',
      schemeText(made, target, shape, [...besideText(made), `  static constexpr int kInnerY = ${inner};`]),
      `WARPLOOM_KERNEL(${passKernel}, warploom::WARPLOOM_TARGET::stencil::StreamingAgent<streaming::Scheme>)`, '',
    ].join('\n'),
    kernels: [...classic.kernels, passKernel],
  };
}
