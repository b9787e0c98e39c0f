// warploom solve: one batch of systems from .npy files, without a job file.
import { openDevice } from '../core/device.ts';
import { dirname, join } from 'node:path';
import { makeFolder, readBytes, writeFileAtomic } from '../core/files.ts';
import { choices } from '../core/operations.gen.ts';
import { elementAt, required } from '../core/known.ts';
import { solveItem, solveJobSchema } from '../jobs/kinds/solve.ts';
import { backendNames, ExitCode, integerFlag, parseFlags, UsageError, type Command, type Options } from './command.ts';
import { withInputs } from './standard-input.ts';
import { withOutput, type Place } from './standard-output.ts';
import { formatSeconds } from './table.ts';

/** A flag that is a number stands for a constant band. */
function operand(text: string): string | number {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

const file = { type: 'string', takes: 'file' } as const;
const options = {
  lower: file, diagonal: file, upper: file, rhs: file, out: { type: 'string', short: 'o', default: '.', takes: 'folder' },
  algorithm: { type: 'string', values: choices['tridiagonal.solve'].algorithm }, depth: { type: 'string' },
  periodic: { type: 'boolean' },
  transpose: { type: 'string', values: choices['tridiagonal.solve'].transpose }, stable: { type: 'boolean' },
  'no-check': { type: 'boolean' }, refine: { type: 'boolean' }, backend: { type: 'string', values: backendNames },
} as const satisfies Options;

/** `warploom solve`. */
export const solveCommand: Command = {
  name: 'solve',
  summary: 'solve tridiagonal systems given as .npy files',
  help: `Usage: warploom solve --lower L --diagonal D --upper U --rhs R.npy [-o DIR] [options]

Solves lower[i]*x[i-1] + diagonal[i]*x[i] + upper[i]*x[i+1] = rhs[i] for every system of a batch.
R.npy has shape (n) or (batch, n); each band is a .npy of that shape, a .npy of shape (n) shared by the
batch, or a number for a constant band. float32, float64, complex64 and complex128.
One of the files may be - for standard input.

  -o, --out DIR        where solution.npy, status.npy, row.npy, backward-error.npy go (default .);
                       - writes the solution to standard output
      --algorithm A    auto, cr, pcr, cr-pcr, pcr-thomas, thomas, cr-regpack, pivoting, partition
      --depth D        rows per thread of cr-regpack: 2, 4, 8, 9, 13, 16, 17, 32
      --periodic       couple the first and last unknowns by lower[0] and upper[n-1]
      --transpose T    none, transpose, conjugate
      --stable         pivot, with accuracy like LAPACK's
      --no-check       do not measure backward errors
      --refine         compute residuals and solution in twice the precision
      --backend B      auto, cuda, cpu, simt

Example: the systems (-1, 2, -1) x = r
  warploom solve --lower -1 --diagonal 2 --upper -1 --rhs r.npy -o out

Exit codes: 0 all solved; 1 some system could not be solved; 2 invalid flags or input; 3 device.
`,
  options,
  async run(argv, context) {
    const { values, positionals } = parseFlags(options, argv);
    if (positionals.length > 0) throw new UsageError(`solve takes options only, not '${positionals.join(' ')}'`);
    const depth = integerFlag('depth', values.depth, 2, 32);
    const given = {
      kind: 'solve', name: 'solve', rhs: values.rhs,
      lower: operand(values.lower ?? ''), diagonal: operand(values.diagonal ?? ''), upper: operand(values.upper ?? ''),
      algorithm: values.algorithm, depth, periodic: values.periodic, transpose: values.transpose,
      stable: values.stable, check: values['no-check'] !== true, refine: values.refine,
      device: { backend: values.backend },
    };
    const parsed = solveJobSchema.safeParse(given);
    if (!parsed.success) {
      const issue = elementAt(parsed.error.issues, 0);
      throw new UsageError(`--${issue.path.join('.')}: ${issue.message}`);
    }
    const job = parsed.data;
    const run = async (folder: string, tell: Place['tell']): Promise<ExitCode> => {
      await using device = await openDevice({ backend: job.device?.backend ?? 'auto' });
      const bar = context.progress();
      const report = await withInputs([values.lower, values.diagonal, values.upper, values.rhs], context, (input) => solveItem(job, {
        device, input, folder, signal: context.signal, hash: '', warn: (note) => context.note(note),
        onProgress: (done, total) => bar.update('solve', done, total), show: () => undefined,
      }));
      bar.clear();
      tell({ ...report, device: { backend: device.backend, name: device.name }, folder },
        `${report.summary} on ${device.backend} (${device.name}): ${formatSeconds(required(report.figures['deviceSeconds']))}`
        + `, ${report.accuracy.meaning} ${report.accuracy.value.toExponential(2)}`);
      for (const note of report.notes ?? []) context.note(note);
      return report.failed === true ? ExitCode.failed : ExitCode.ok;
    };
    if (values.out !== '-') {
      await makeFolder(values.out);
      return run(values.out, (value, said) => { context.result(value, said); });
    }
    return withOutput('-', '.npy', context, async ({ path, tell }) => {
      const code = await run(dirname(path), tell);
      await writeFileAtomic(path, await readBytes(join(dirname(path), 'solution.npy')));
      return code;
    });
  },
};
