// Runs programs by the interpreter of the kernel representation: the reference for all compiled forms, and slow.
import { Machine, type Elements } from '../../kernel/interpret.ts';
import { required } from '../../core/known.ts';
import type { RealArray } from '../types.ts';
import { HostEngine } from './host.ts';
import { rowsOf, stageScalars, timeOf, type Span } from './span.ts';

export class InterpreterEngine extends HostEngine {
  readonly backend = 'interpreter';
  readonly reason = 'the interpreter runs stage by stage';

  protected override stage(s: number, arrays: Record<'y' | 'u' | 'a' | 'out', RealArray>, span: Span, step: number): boolean {
    const { made: { program, buffers, stages, names }, content: { grid, parameters, coefficients, precision } } = this;
    const { cells, fields, members, shape } = grid;
    const { rows, columns } = rowsOf(grid);
    const count = names.parameters.length;
    const stage = required(stages[s]);
    const round = (x: number): number => (precision === 'f32' ? Math.fround(x) : x);
    let isGood = true;
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
      const scalars = [...stageScalars(stage, timeOf(span, step), span.dt), ...own].map(round);
      const machine = new Machine(program, { external, limit: Infinity });
      const [bad] = machine.call(`rows_${s}`, [0, rows, 0, columns, ...shape, ...scalars]);
      isGood &&= bad === 0;
    }
    return isGood;
  }
}
