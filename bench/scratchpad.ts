// npm run bench -- scratchpad [--table1] [--table2] [--table3] [--planners] [--out FOLDER]
// npm run bench -- scratchpad --build FOLDER            the programs alone, to run elsewhere
// npm run bench -- scratchpad --rows CAPPED FREE        takes what they printed there (PROGRAM time)
//
// Tables I to III of Moazeni et al. (2009) with the kernels of examples/kernels, and how close each planner comes to the least
// bytes. Without a table everything is done and bench/results/<device>/scratchpad.json is written. Row ids:
//   scratchpad/table1/<kernel>/bytes                      bytes of shared memory a block after the pass; peers: before, the paper's
//   scratchpad/planners/<n>/<rule>                        mean bytes relative to the least
//   scratchpad/<kernel>/<n>/<carve-out>/optimised         seconds per launch; peers: as written, by Algorithm 1
// Carve-outs: `default`, and `16k` and so on for what the multiprocessor is told to keep as shared memory; registers are capped at
// 32 a thread so that shared memory decides. `free`: the default carve-out with as many registers as the compiler takes.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { formatTable } from '../lib/cli/table.ts';
import { packageRoot } from '../lib/core/binding.ts';
import { findNvcc } from '../lib/core/compile/cuda.ts';
import { optimize, type OptimizeOptions } from '../lib/scratchpad/index.ts';
import { Random } from '../test/support/random.ts';
import { buildPrograms, parseMeasured, runProgram, timedKernels, type Measured } from './scratchpad-device.ts';
import { intervalKernels, ratios } from './scratchpad-problems.ts';
import { deviceFolder, provenance } from './provenance.ts';
import { formatRow, readReport, writeReport, type Report, type Row } from './report.ts';
import { summarise } from './statistics.ts';

const run = promisify(execFile);

/** Table I of the paper. */
const paperBytes = [
  { name: 'denoising', file: 'curvature3d', options: {}, before: 6220, after: 3916 },
  { name: 'segmentation', file: 'curvature2d', options: {}, before: 4940, after: 3084 },
  { name: 'registration', file: 'registration', options: { reorder: true }, before: 13596, after: 13596 },
] as const satisfies readonly { name: string; file: string; options: OptimizeOptions; before: number; after: number }[];

/** Microseconds of Tables II and III. */
const paperTimes: Readonly<Record<string, readonly (readonly [size: number, naive: number, optimised: number])[]>> = {
  curvature3d: [[16, 25.2, 19.53], [32, 74.89, 60.96], [64, 390.7, 319.59], [128, 3033.3, 2532.85]],
  curvature2d: [[64, 35.3, 22.14], [128, 39, 27.39], [256, 70.5, 61.2], [512, 185, 181.76]],
};

const percent = (before: number, after: number): string => `${(100 * (1 - after / before)).toFixed(1)} %`;

/** Shared bytes that ptxas reports. */
async function assembledBytes(nvcc: string, ptx: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'warploom-table-'));
  try {
    await writeFile(join(folder, 'kernel.ptx'), ptx);
    const argv = ['-arch=sm_90', '-Xptxas', '-v', '-cubin', '-o', join(folder, 'kernel.cubin'), join(folder, 'kernel.ptx')];
    return Number(/(\d+) bytes smem/.exec((await run(nvcc, argv)).stderr)?.[1] ?? 0);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Table I: prints it, and gives its rows. */
export async function tableOne(root = packageRoot()): Promise<Row[]> {
  const rows: Row[] = [];
  const cells: string[][] = [];
  const nvcc = findNvcc();
  if (nvcc === undefined) throw new Error('Table I compiles the kernels, which needs nvcc');
  for (const { name, file, options, before, after } of paperBytes) {
    const text = await readFile(join(root, `examples/kernels/${file}.cu`), 'utf8');
    const common = { barriers: 'any', compilerOptions: ['-arch=sm_90'] } as const;
    const plain = (await optimize(text, common)).report.kernels[0]!;
    const { ptx, report } = await optimize(text, { ...common, ...options });
    const kernel = report.kernels[0]!;
    const read = await assembledBytes(nvcc, ptx);
    if (read !== kernel.bytesAfter) throw new Error(`${file}: ptxas finds ${read} bytes, the pass says ${kernel.bytesAfter}`);
    cells.push([name, String(before), String(after), percent(before, after), String(kernel.bytesBefore), String(plain.bytesAfter),
      String(kernel.bytesAfter), percent(kernel.bytesBefore, kernel.bytesAfter), String(kernel.lowerBound),
      String(kernel.barriersAdded.length)]);
    rows.push({
      id: `scratchpad/table1/${name}/bytes`, value: kernel.bytesAfter, unit: 'B', spread: 0,
      limit: kernel.lowerBound, fraction: kernel.lowerBound / kernel.bytesAfter,
      peers: { 'as written': kernel.bytesBefore, 'paper before': before, 'paper after': after, 'without reordering': plain.bytesAfter },
      note: `${kernel.barriersAdded.length} barriers inserted; read back from ptxas`,
    });
  }
  const headings = ['benchmark', 'paper', 'reuse', 'saved', 'ours', 'reuse', 'reordered', 'saved', 'bound', 'barriers +'];
  console.log(`Table I: bytes of shared memory a block\n${formatTable(headings, cells)}\n`);
  return rows;
}

/** Mean and worst bytes of each rule relative to the least, over random straight-line kernels. */
function planners(count: number): Row[] {
  const rows: Row[] = [];
  const cells: string[][] = [];
  for (const n of [5, 8, 10]) {
    const { mean, worst, proved } = ratios(intervalKernels(n, count, new Random(n)));
    for (const rule of ['none', 'greedy', 'coloring', 'packing', 'bound'] as const) {
      cells.push([String(n), rule, mean[rule].toFixed(3), worst[rule].toFixed(2)]);
      rows.push({
        id: `scratchpad/planners/${n}/${rule}`, value: mean[rule], unit: 'x', spread: 0,
        note: `worst ${worst[rule].toFixed(3)}; ${count} kernels, least bytes proved for ${proved}`,
      });
    }
  }
  console.log(`Bytes relative to the least, ${count} random kernels of n arrays\n${formatTable(['n', 'rule', 'mean', 'worst'], cells)}\n`);
  return rows;
}

interface Timings {
  readonly device: string;
  readonly driver: string;
  readonly rows: Row[];
}

const carveoutName = (kib: number): string => (kib === 0 ? 'default' : `${kib}k`);

const share = ({ occupancy }: Measured): string => (100 * occupancy).toFixed(0);

function timedRows(measured: readonly Measured[], free: boolean): Row[] {
  const groups = new Map<string, Measured[]>();
  for (const row of measured) {
    const id = `scratchpad/${row.kernel}/${row.size}/${free ? 'free' : carveoutName(row.carveout)}`;
    groups.set(id, [...groups.get(id) ?? [], row]);
  }
  return [...groups].map(([id, group]) => {
    const of = (name: string) => group.find((row) => row.variant === name)!;
    const [naive, greedy, best] = [of('naive'), of('greedy'), of('optimised')];
    if (!greedy.equal || !best.equal) throw new Error(`${id}: the rewritten kernel gives other bytes`);
    const { median, spread } = summarise(best.seconds);
    const [before, paper] = [summarise(naive.seconds).median, summarise(greedy.seconds).median];
    return {
      id: `${id}/optimised`, value: median, unit: 's', spread, peers: { naive: before, greedy: paper },
      note: `${percent(before, median)} less; ${naive.sharedBytes} to ${best.sharedBytes} B, ${naive.blocks} to ${best.blocks} blocks, `
        + `occupancy ${share(naive)} to ${share(best)} %, ${naive.registers} and ${best.registers} registers`,
    };
  });
}

function readTimings(capped: string, free: string): Timings {
  const [own, other] = [parseMeasured(capped), parseMeasured(free)];
  return {
    device: own.device, driver: own.driver,
    rows: [...timedRows(own.rows, false), ...timedRows(other.rows.filter((row) => row.carveout === 0), true)],
  };
}

/** Builds and runs the programs here; undefined where that cannot be. */
async function timeHere(root: string): Promise<Timings | undefined> {
  const nvcc = findNvcc();
  if (nvcc === undefined) return undefined;
  const programs = await buildPrograms(join(root, 'build/scratchpad-bench'), nvcc, root);
  const capped = await runProgram(programs.capped);
  const free = capped === undefined ? undefined : await runProgram(programs.free);
  return capped === undefined || free === undefined ? undefined : readTimings(capped, free);
}

/** Table II or III: sizes by carve-out, before and after, with the paper's figures. */
function printTimes(title: string, kernel: 'curvature3d' | 'curvature2d', rows: readonly Row[]): void {
  const cells: string[][] = [];
  for (const { file, carveouts } of timedKernels.filter((timed) => timed.file.startsWith(kernel))) {
    for (const carveout of [...carveouts.map(carveoutName), 'free']) {
      for (const row of rows) {
        const [, , size] = row.id.split('/');
        if (row.id !== `scratchpad/${file}/${size}/${carveout}/optimised`) continue;
        const paper = file === kernel ? paperTimes[kernel]!.find(([n]) => String(n) === size) : undefined;
        const occupancy = /(\d+) to (\d+) blocks/.exec(row.note ?? '');
        const naive = row.peers!['naive']!;
        cells.push([file, size!, carveout, `${occupancy?.[1]} to ${occupancy?.[2]}`, (naive * 1e6).toFixed(2), (row.value * 1e6).toFixed(2),
          percent(naive, row.value), paper ? `${paper[1]} to ${paper[2]}` : '', paper ? percent(paper[1], paper[2]) : '']);
      }
    }
  }
  const headings = ['kernel', 'edge', 'carve-out', 'blocks', 'as written', 'optimised', 'less', 'paper', 'paper less'];
  console.log(`${title}: µs per launch\n${formatTable(headings, cells)}\n`);
}

async function committedRows(root: string): Promise<Row[] | undefined> {
  return await readReport(join(root, 'bench/results/h200/scratchpad.json')).then((report) => report.rows, () => undefined);
}

/** The rows to print the timing tables from, with a word about where they come from. */
async function timings(root: string, given: readonly string[]): Promise<Timings | undefined> {
  if (given.length === 2) return readTimings(await readFile(given[0]!, 'utf8'), await readFile(given[1]!, 'utf8'));
  const here = await timeHere(root);
  if (here !== undefined) return here;
  const rows = await committedRows(root);
  console.log(`Timing needs an NVIDIA GPU and nvcc${rows === undefined ? '.' : '; these are the committed figures of an H200.'}\n`);
  return rows && { device: '', driver: '', rows };
}

/** `npm run bench -- scratchpad …`; returns the exit code. */
export async function benchmarkScratchpad(argv: readonly string[]): Promise<number> {
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    args: [...argv], allowPositionals: true,
    options: {
      table1: flag, table2: flag, table3: flag, planners: flag, rows: flag, quick: flag, build: { type: 'string' }, out: { type: 'string' },
    },
  });
  const root = packageRoot();
  if (values.build !== undefined) {
    const nvcc = findNvcc();
    if (nvcc === undefined) throw new Error('building the programs needs nvcc');
    console.log(JSON.stringify(await buildPrograms(values.build, nvcc, root)));
    return 0;
  }
  const all = !values.table1 && !values.table2 && !values.table3 && !values.planners;
  const rows: Row[] = [];
  if (all || values.table1) rows.push(...await tableOne(root));
  if (all || values.planners) rows.push(...planners(values.quick ? 20 : 2000));
  if (!all && !values.table2 && !values.table3) return 0;
  const timed = await timings(root, values.rows ? positionals : []);
  if (timed !== undefined && (all || values.table2)) printTimes('Table II', 'curvature3d', timed.rows);
  if (timed !== undefined && (all || values.table3)) printTimes('Table III', 'curvature2d', timed.rows);
  if (!all || timed === undefined || timed.device === '') return 0;
  const { commit, sourceHash, nvcc } = provenance(root);
  const folder = deviceFolder('cuda', timed.device);
  const report: Report = {
    schema: 1, domain: 'scratchpad', device: folder, deviceName: timed.device, driver: timed.driver,
    versions: { node: process.versions.node, nvcc }, commit, sourceHash, date: new Date().toISOString(), rows: [...rows, ...timed.rows],
  };
  const path = join(values.out ?? join(root, 'bench/results'), folder, 'scratchpad.json');
  writeReport(path, report);
  for (const row of timed.rows.filter((own) => own.id.includes('registration'))) console.log(formatRow(row));
  console.log(`${report.rows.length} rows in ${path}`);
  return 0;
}
