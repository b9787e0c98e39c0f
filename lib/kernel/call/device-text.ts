// The text of a function's kernels for devices: the function as it is printed, and a type that tells cuda/kernel/map.cuh about it.
import { elementAt } from '../../core/known.ts';
import type { KernelFunction, Program, ScalarType } from '../ir.ts';
import { optimise } from '../passes/index.ts';
import { cTypes } from '../print/c-family.ts';
import { printCuda } from '../print/cuda.ts';
import { walkBody } from '../visit.ts';
import type { Combination } from './order.ts';
import { itemFunction, scalarTypes, type Point, type Preparation } from './point.ts';

/** A text for `device.module`, and how to launch its kernels. */
export interface DeviceText {
  readonly source: string;
  readonly kernels: readonly string[];
  /** Elements that a thread moves at once, and those that it has in flight. */
  readonly group: number;
  readonly atOnce: number;
}

export interface DeviceRequest {
  readonly point: Point;
  readonly results: readonly ScalarType[];
  /** Dimensions that are stepped through with strides; 0: arrays without gaps. */
  readonly rank: number;
  readonly reduction?: { readonly combination: Combination; readonly preparation: Preparation };
}

export const mapThreads = 256;
export const kernelNames = { map: 'wl_map', reduce: 'wl_reduce', again: 'wl_again' } as const;

/** Functions with more nodes than this are printed for single elements only: their arithmetic takes longer than their loads. */
const mostGrouped = 400;

function sizeOf({ body }: KernelFunction): number {
  let size = 0;
  walkBody(body, { statement: () => { ++size; }, expression: () => { ++size; } });
  return size;
}

/** The function as device code. */
function itemProgram(point: Point, results: readonly ScalarType[], preparation: Preparation): Program {
  const program: Program = { buffers: [], imports: [], functions: [point.f, itemFunction(point, results, preparation)] };
  return optimise(program, { roots: new Set(['item']), vectors: false });
}

/** The members of Items: groups of elements, and what is done with them. */
function itemsText(point: Point, results: readonly ScalarType[], isReduced: boolean): string[] {
  const arrays = point.kinds.flatMap((kind, i) => (kind === 'number' ? [] : [{ name: `a${i}`, type: cTypes[scalarTypes[kind]] }]));
  const outputs = results.map((type, i) => ({ name: `r${i}`, type: cTypes[type] }));
  let scalars = 0;
  const args = point.kinds.map((kind, i) => (kind === 'number' ? `p.scalar[${scalars++}]` : `a${i}.item[k]`));
  const values = outputs.map(({ name }) => `${name}.item[k]`);
  const loads = arrays.map(({ name }, i) => `      place.template load<${i}>(${name});`);
  const stores = outputs.map(({ name }, i) => `      place.template store<${arrays.length + i}>(${name});`);
  const ways = outputs.map(({ name }, i) => `${i === outputs.length - 1 ? '' : `result == ${i} ? `}${name}.item[k]`).join(' : ');
  return [
    ...[...arrays, ...outputs].map(({ name, type }) => `    kernel::Group<${type}, kCount> ${name};`),
    '    template <class Place>', `    WARPLOOM_DEVICE void load(const Place&${loads.length === 0 ? '' : ' place'}) {`, ...loads, '    }',
    '    WARPLOOM_DEVICE void compute(const Parameters& p) {', '      WARPLOOM_UNROLL',
    `      for (int k = 0; k < kCount; ++k) item(${[...args, ...values].join(', ')});`, ...(scalars === 0 ? ['      (void)p;'] : []),
    '    }',
    '    template <class Place>', '    WARPLOOM_DEVICE void store(const Place& place) const {', ...stores, '    }',
    ...(isReduced ? [
      '    WARPLOOM_DEVICE double value(int result, int k) const {', '      (void)result;', `      return ${ways};`, '    }',
    ] : []),
  ];
}

/** Prints the kernels of a request. */
export function deviceText({ point, results, rank, reduction }: DeviceRequest): DeviceText {
  const program = itemProgram(point, results, reduction?.preparation ?? 'none');
  const item = elementAt(program.functions, program.functions.length - 1);
  const arrays = point.kinds.filter((kind) => kind !== 'number');
  const isLarge = sizeOf(item) > mostGrouped;
  const moved = [...arrays.map((kind) => scalarTypes[kind]), ...(reduction ? [] : results)];
  const narrowest = Math.min(...moved.map((type) => (type === 'f64' ? 8 : 4)));
  const group = isLarge ? 1 : reduction ? 2 : 16 / narrowest;
  const operands = arrays.length + results.length;
  // Some 128 bytes of a thread in flight are enough for the memory's latency.
  const unroll = isLarge ? 1 : reduction ? 4 : Math.max(1, Math.min(4, Math.floor(8 / Math.max(1, operands - 1))));
  const scalars = point.kinds.length - arrays.length;
  const operation = reduction && { sum: 'Sum', min: 'Minimum', max: 'Maximum' }[reduction.combination];
  const kernels: (readonly [name: string, agent: string])[] = [[kernelNames.map, 'kernel::Map<Point>']];
  if (operation !== undefined) {
    kernels.push([kernelNames.reduce, `kernel::Reduce<Point, kernel::${operation}>`],
      [kernelNames.again, `kernel::Reduce<kernel::Itself, kernel::${operation}>`]);
  }
  const source = [
    '#ifdef WARPLOOM_SIMT', '#define WL_STRUCT_LANES', '#endif', '#include "cuda/core/module.cuh"', '#include "arithmetic.h"',
    `#include "cuda/kernel/${reduction ? 'reduce' : 'map'}.cuh"`, '', 'namespace {',
    'namespace kernel = warploom::WARPLOOM_TARGET::kernel;', printCuda(program), '', 'struct Point {',
    `  using Parameters = kernel::ArrayParameters<${operands}, ${scalars}, ${rank}>;`,
    `  static constexpr int kThreads = ${mapThreads}, kGroup = ${group}, kUnroll = ${unroll};`,
    ...(reduction ? [`  static constexpr int kResults = ${results.length};`] : []),
    '  template <int kCount>', '  struct Items {', ...itemsText(point, results, reduction !== undefined), '  };', '};', '}  // namespace',
    '',
    ...kernels.map(([name, agent]) => `WARPLOOM_KERNEL(${name}, ${agent})`), '',
  ].join('\n');
  return { source, kernels: kernels.map(([name]) => name), group, atOnce: group * unroll };
}
