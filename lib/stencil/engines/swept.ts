// The swept rule in two dimensions, on a device: a reference beside `streaming`.
import type { DeviceArray } from '../../core/device.ts';
import { elementAt } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import { remembered } from '../compile/memo.ts';
import { layoutOf } from '../compile/scheme.ts';
import type { StencilProgram } from '../compile/stages.ts';
import { bridgeKernel, pyramidKernel, sweptBytes, sweptText, sweptTile } from '../compile/swept.ts';
import { classicThreads } from './blocks.ts';
import { ClassicEngine, DeviceState, type DeviceParts } from './device.ts';
import { levelsUsed, timeOf, type Span } from './span.ts';

/** What a launch of a round is told. `first`: the number of the round's first step. */
interface Round {
  readonly first: number;
  readonly shift: number;
  readonly grows: boolean;
  readonly continues: boolean;
}

/** Rounds of several steps; the steps that are left over are taken one by one. */
export class SweptEngine extends ClassicEngine {
  override readonly variant = 'swept';
  override readonly threads = classicThreads;
  override readonly depth: number;
  readonly #program: StencilProgram;
  readonly #tiles: number;
  readonly #sides: readonly [DeviceArray, DeviceArray];

  private constructor(
    { made }: DeviceParts, state: DeviceState, module: DeviceModule, sides: readonly [DeviceArray, DeviceArray], depth: number,
  ) {
    const tile = sweptTile(made, depth);
    super(state, module, made, `pyramids, bridges and octahedra on tiles of ${tile.join(' × ')} cells, ${depth} steps high`);
    this.depth = depth;
    this.#program = made;
    this.#sides = sides;
    this.#tiles = tile.reduce((count, side, axis) => count * (elementAt(state.grid.shape, axis) / side), state.grid.members);
  }

  static async begin(parts: DeviceParts, depth: number): Promise<SweptEngine> {
    const { device, made, target, content, request: { signal } } = parts;
    const { source, kernels } = remembered(made, ['swept', depth], () => sweptText(made, target, depth));
    const headers = { 'arithmetic.h': arithmeticHeader() };
    const own: { dispose: () => void }[] = [];
    try {
      const module = await device.module({ source, kernels, headers, ...(signal === undefined ? {} : { signal }) });
      own.push(module);
      const state = await DeviceState.place(device, content, [...new Set([...levelsUsed(made.stages), 'first' as const])]);
      own.push(state);
      const { cells, members } = content.grid;
      const length = Math.max(1, (depth * made.stages.length - 1) * members * layoutOf(made).components * cells);
      const type = content.precision === 'f32' ? 'float32' : 'float64';
      const first = await device.array(type, length);
      own.push(first);
      return new SweptEngine(parts, state, module, [first, await device.array(type, length)], depth);
    } catch (error) {
      for (const each of own) each.dispose();
      throw error;
    }
  }

  override dispose(): void {
    super.dispose();
    for (const each of this.#sides) each.dispose();
  }

  protected override* launches(span: Span): Generator<ListedLaunch> {
    const { depth } = this;
    const rounds = Math.floor(span.steps / depth);
    if (rounds > 0) yield this.#launch(span, pyramidKernel, { first: -depth, shift: 1, grows: false, continues: true });
    for (let round = 0; round < rounds; round += 1) {
      const here = { first: round * depth, shift: round % 2, grows: true, continues: round + 1 < rounds };
      yield this.#launch(span, bridgeKernel, here);
      yield this.#launch(span, pyramidKernel, here);
      this.state.swap();
    }
    const done = rounds * depth;
    if (done < span.steps) yield* super.launches({ ...span, steps: span.steps - done, from: span.from + done }, done);
  }

  #launch(span: Span, kernel: string, { first, shift, grows, continues }: Round): ListedLaunch {
    const { stages, names: { precision } } = this.#program;
    const { state } = this;
    const { shape, members } = state.grid;
    const real = (x: number): KernelArgument => (precision === 'f32' ? { f32: x } : { f64: x });
    const times = Array.from({ length: 2 * this.depth }, (_, i) => {
      const t = timeOf(span, first + i);
      return stages.map(({ time }) => t + time * span.dt);
    }).flat();
    const ints = [...shape, members, first, shift, Number(grows), Number(continues)];
    return {
      kernel, blocks: (kernel === bridgeKernel ? 2 : 1) * this.#tiles, threads: classicThreads,
      sharedBytes: sweptBytes(this.#program, this.depth),
      arguments: [
        state.array('state'), state.array('first'), elementAt(this.#sides, shift), elementAt(this.#sides, 1 - shift), state.coefficients,
        state.parameters, state.status, real(span.dt), ...times.map(real), ...stages.map(({ h }) => real(h(span.dt))),
        ...stages.map(({ g }) => real(g(span.dt))), ...ints.map((n) => ({ i32: n })),
      ],
    };
  }
}
