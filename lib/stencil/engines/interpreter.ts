// Runs programs by the interpreter of the kernel representation: the reference for all compiled forms, and slow.
import { Machine, type Elements } from '../../kernel/interpret.ts';
import { required } from '../../core/known.ts';
import type { RealArray } from '../types.ts';
import { HostEngine } from './host.ts';
import { rowsOf, stageScalars } from './span.ts';

export class InterpreterEngine extends HostEngine {
  readonly backend = 'interpreter';
  readonly reason = 'the interpreter runs stage by stage';

  protected override stage(s: number, arrays: Record<'y' | 'u' | 'a' | 'out', RealArray>, t: number, dt: number): boolean {
    const stage = required(this.made.stages[s]);
    let isGood = true;
    this.#members(arrays, stageScalars(stage, t, dt), (machine, numbers) => {
      const [bad] = machine.call(`rows_${s}`, numbers);
      isGood &&= bad === 0;
    });
    return isGood;
  }

  protected override rate(state: RealArray, t: number, h: number, g: number): number {
    let most = 0;
    this.#members({ y: state, u: state, a: state, out: state }, [t, 0, h, g], (machine, numbers) => {
      const [rate] = machine.call('limit_rows', numbers);
      most = Math.max(most, Number(rate));
    });
    return most;
  }

  /** Calls a function with a machine for every member, and the arguments of functions that work on all rows. */
  #members(
    arrays: Readonly<Record<'y' | 'u' | 'a' | 'out', RealArray>>, scalars: readonly number[],
    use: (machine: Machine, numbers: readonly number[]) => void,
  ): void {
    const { made: { program, buffers, names }, content: { grid, parameters, coefficients, precision } } = this;
    const { cells, fields, members, shape } = grid;
    const { rows, columns } = rowsOf(grid);
    const count = names.parameters.length;
    const round = (x: number): number => (precision === 'f32' ? Math.fround(x) : x);
    for (let member = 0; member < members; member += 1) {
      const external: Record<string, Elements> = {};
      const place = (list: readonly { readonly name: string }[], array: RealArray): void => {
        list.forEach(({ name }, i) => {
          const from = (member * fields + i) * cells;
          external[name] = array.subarray(from, from + cells);
        });
      };
      place(buffers.y, arrays.y);
      place(buffers.u, arrays.u);
      place(buffers.a, arrays.a);
      place(buffers.o, arrays.out);
      buffers.c.forEach(({ name }, i) => { external[name] = coefficients.subarray(i * cells, (i + 1) * cells); });
      const own = parameters.subarray(member * count, (member + 1) * count);
      use(new Machine(program, { external, limit: Infinity }), [0, rows, 0, columns, ...shape, ...[...scalars, ...own].map(round)]);
    }
  }
}
