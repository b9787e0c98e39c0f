// npm run bench -- DOMAIN [--backend auto|cuda|cpu] [--filter REGEXP] [--out FOLDER] [--quick]
// npm run bench -- tridiagonal --table1 [--write] | --figure6 | --figure7
// npm run bench -- stream [--partition | --compile | --math | --variants]
// npm run bench -- check | table | draw [REPORT …]
// npm run bench -- merge REPORT … > REPORT
//
// Writes FOLDER/<device>/<domain>.json and .svg (default bench/results). A filtered run keeps the other rows of
// the report when they come from the same sources. `check` compares reports with bench/goals.json.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../lib/core/binding.ts';
import { devices } from '../lib/core/devices.ts';
import { openDevice } from '../lib/index.ts';
import type { BenchContext, DomainBenchmark, HostBenchmark } from './domain.ts';
import { benchmarkCalls } from './calls/index.ts';
import { writeCallsFigure } from './calls-figure.ts';
import { compare, readGoals } from './goals.ts';
import { nativeBenchmarks } from './native.ts';
import { benchmarkFigure6, benchmarkFigure7, printTable1, writeModelTable, writeTable1 } from './paper.ts';
import { writePlot } from './plot.ts';
import { deviceFolder, provenance } from './provenance.ts';
import { formatRow, mergeReports, readReport, writeReport, type Report, type Row } from './report.ts';
import { benchmarkImports } from './imports.ts';
import { imagingTables, writeImagingFigures } from './imaging-figures.ts';
import { benchmarkImaging } from './imaging.ts';
import { benchmarkKernel } from './kernel.ts';
import { benchmarkScan } from './scan.ts';
import { benchmarkScratchpad } from './scratchpad.ts';
import { benchmarkServe } from './serve/index.ts';
import { writeServeFigure } from './serve/figure.ts';
import { benchmarkStream } from './stream.ts';
import { benchmarkStreamDevice, summaryRows } from './stream-device.ts';
import { benchmarkStreamCompile } from './stream-compile.ts';
import { benchmarkStreamMath } from './stream-math.ts';
import { benchmarkStreamVariants, variantTables } from './stream-variants.ts';
import { streamTables, writeStreamFigures } from './stream-figures.ts';
import { benchmarkPartition } from './stream-partition.ts';
import { figureTables, writeFigures } from './swept-figures.ts';
import { benchmarkStencil } from './stencil.ts';
import { benchmarkSwept } from './swept.ts';
import { benchmarkSweptCfl } from './swept-cfl.ts';
import { markdownTable } from './table.ts';
import { benchmarkTridiagonal } from './tridiagonal.ts';

const domains: Readonly<Record<string, DomainBenchmark>> = {
  tridiagonal: benchmarkTridiagonal,
  scan: benchmarkScan,
  kernel: benchmarkKernel,
  stencil: benchmarkStencil,
  swept: benchmarkSwept,
  'swept-cfl': benchmarkSweptCfl,
  imaging: benchmarkImaging,
  calls: benchmarkCalls,
  serve: benchmarkServe,
  figure6: benchmarkFigure6,
  figure7: benchmarkFigure7,
  'stream-variants': benchmarkStreamVariants,
};
/** Those that need neither device nor addon. */
const hostDomains: Readonly<Record<string, HostBenchmark>> = {
  stream: benchmarkStream, 'stream-partition': benchmarkPartition, 'stream-compile': benchmarkStreamCompile,
  'stream-math': benchmarkStreamMath,
  imports: benchmarkImports,
};
/** Those of the host that measure something else on a device that runs kernels. */
const kernelDomains: Readonly<Record<string, DomainBenchmark>> = { stream: benchmarkStreamDevice };
/** Domains people name; the others are figures of one of them. */
const named = ['tridiagonal', 'scan', 'kernel', 'stencil', 'swept', 'imaging', 'stream', 'swept-cfl', 'calls', 'serve', 'imports'];

const usage = `Usage: npm run bench -- DOMAIN [--backend auto|cuda|cpu] [--filter REGEXP] [--out FOLDER] [--quick]
       npm run bench -- tridiagonal --table1 [--write] | --figure6 | --figure7
       npm run bench -- stream [--partition | --compile | --math | --variants]
       npm run bench -- scratchpad [--table1 | --table2 | --table3 | --planners]
       npm run bench -- check [REPORT …]    compares reports with the goals
       npm run bench -- table [REPORT …]    prints them as Markdown
       npm run bench -- draw [REPORT …]     draws their pictures again
       npm run bench -- merge REPORT …      prints filtered runs of one domain as one report, which stdout is to take

--table1   the paper's Table 1: model, compiler report and occupancy of the real kernels, with refitted coefficients,
           written as FOLDER/<architecture>/table1.json;
           --write stores them in lib/tridiagonal/model-table.ts
--figure6  the paper's Fig. 6: time of cr-regpack by packing depth
--figure7  the paper's Fig. 7: all algorithms on the paper's four shapes
--partition  the stream compiler's partitioner and pipelines against the ILP, over the twelve programs
--compile  what programs of up to 10,000 nodes take until they run
--math     mathematical functions beside those of the host
--variants layouts of each stream program on a GPU: threads, shared memory, blocks, sizes of groups

stream measures the GPU where there is one (--backend cuda, simt), else the cores (--backend cpu).

serve measures a server on loopback from a client in another process.

Domains: ${named.join(', ')}`;

interface Flags {
  readonly backend: string;
  readonly filter?: string | undefined;
  readonly out?: string | undefined;
  readonly quick: boolean;
}

/** What a benchmark runs on. */
interface Where {
  readonly backend: string;
  readonly name: string;
  readonly driver: string;
}

/** Whether the back end that is asked for runs kernels. */
function onKernels(backend: string): boolean {
  return backend === 'cuda' || backend === 'simt'
    || (backend === 'auto' && devices().some((device) => device.backend === 'cuda' && device.available));
}

/** Runs the benchmark of a domain, on a device where it needs one, and says what ended it early. */
async function runOn(
  domain: string, flags: Flags, context: Omit<BenchContext, 'device'>, begin: (where: Where) => Promise<void>,
): Promise<unknown> {
  // What was measured before a failure is kept.
  const settle = (work: Promise<void>) => work.then(() => undefined, (error: unknown) => error);
  const onHost = onKernels(flags.backend) && domain in kernelDomains ? undefined : hostDomains[domain];
  if (onHost !== undefined) {
    const name = `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${availableParallelism()} cores`;
    await begin({ backend: 'cpu', name, driver: '' });
    return await settle(onHost(context));
  }
  const benchmark = domains[domain] ?? kernelDomains[domain];
  if (benchmark === undefined) throw new RangeError(`no domain '${domain}'\n\n${usage}`);
  nativeBenchmarks(); // refuses builds that must not be timed
  using device = await openDevice({ backend: flags.backend as 'auto' | 'cuda' | 'cpu' | 'simt' });
  const { name, driver } = device.description;
  await begin({ backend: device.backend, name, driver });
  return await settle(benchmark({ ...context, device }));
}

/** A report whose rows that sum up others are those of all its rows, whatever runs these are from. */
function summedUp(report: Report): Report {
  if (report.domain !== 'stream' || report.device === 'cpu') return report;
  const sums = summaryRows(report.rows), own = new Set(sums.map(({ id }) => id));
  return { ...report, rows: [...report.rows.filter(({ id }) => !own.has(id)), ...sums] };
}

/** Milliseconds. */
const saveEvery = 5000;

/** Runs one domain and returns the report with where it was written, and what ended it early or spoiled some of its rows. */
export async function runDomain(domain: string, flags: Flags): Promise<{ report: Report; path: string; failure: unknown }> {
  const root = packageRoot();
  const pattern = new RegExp(flags.filter ?? '');
  const { commit, sourceHash, nvcc } = provenance(root, domain);
  let report: Report | undefined;
  let path = '';
  let previous: Report | undefined;
  let saved = performance.now();
  const rows: Row[] = [];
  const save = (): Report => {
    report = summedUp(mergeReports(previous, { ...report!, date: new Date().toISOString(), rows }));
    writeReport(path, report);
    saved = performance.now();
    return report;
  };
  const failure = await runOn(domain, flags, {
    quick: flags.quick,
    wanted: (id) => pattern.test(id),
    emit: (row) => {
      rows.push(row);
      console.log(formatRow(row));
      if (performance.now() - saved > saveEvery) save(); // a run that is killed leaves what it measured
    },
    say: (text) => { console.error(text); },
  }, async ({ backend, name, driver }) => {
    const folder = deviceFolder(backend, name);
    report = {
      schema: 1, domain, device: folder, deviceName: name, driver,
      versions: { node: process.versions.node, nvcc }, commit, sourceHash, date: '', rows,
    };
    path = join(flags.out ?? join(root, 'bench/results'), folder, `${domain}.json`);
    if (flags.filter !== undefined && existsSync(path)) previous = await readReport(path);
  });
  if (rows.length === 0 && failure !== undefined) throw failure;
  return { report: save(), path, failure };
}

/** Reports given, or all committed ones. */
function reportPaths(root: string, given: readonly string[]): string[] {
  if (given.length > 0) return [...given];
  const folder = join(root, 'bench/results');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.json'))
    .map((path) => join(folder, path)).sort();
}

/** Reports of one domain and device as one: of a row that several of them have, the newest. */
function asOne(reports: readonly Report[]): Report {
  const inOrder = [...reports].sort((a, b) => a.date.localeCompare(b.date));
  const rows = new Map(inOrder.flatMap((report) => report.rows.map((row) => [row.id, row] as const)));
  return summedUp({ ...inOrder.at(-1)!, rows: [...rows.values()] });
}

/** Filtered runs as one report. Throws unless they are of one domain, of one device and of the same sources. */
async function merged(paths: readonly string[]): Promise<Report> {
  if (paths.length === 0) throw new RangeError('merge takes reports');
  const reports = await Promise.all(paths.map(readReport));
  for (const name of ['domain', 'deviceName', 'sourceHash'] as const) {
    const found = new Set(reports.map((report) => report[name]));
    if (found.size > 1) throw new RangeError(`the reports are not of one ${name}: ${[...found].join(', ')}`);
  }
  return asOne(reports);
}

/** Prints each goal's verdict; true when none is missed. Runs of a part of a domain have reports of their own beside the whole one. */
export async function checkReports(paths: readonly string[]): Promise<boolean> {
  const root = packageRoot();
  const goals = await readGoals(join(root, 'bench/goals.json'));
  const groups = new Map<string, { path: string; report: Report }[]>();
  for (const path of reportPaths(root, paths)) {
    const report = await readReport(path);
    const key = `${report.device} ${report.domain}`;
    groups.set(key, [...groups.get(key) ?? [], { path, report }]);
  }
  let fine = true;
  for (const group of groups.values()) {
    const report = asOne(group.map((each) => each.report));
    const verdicts = compare(report, goals);
    if (verdicts.length === 0) continue;
    for (const { path, report: { deviceName, date, sourceHash } } of group) {
      const isCurrent = sourceHash === provenance(root, report.domain).sourceHash;
      console.log(`${path}: ${deviceName}, ${date}${isCurrent ? '' : ' (older sources)'}`);
    }
    for (const { goal, state, text } of verdicts) {
      if (state !== 'reached') console.log(`  ${state.padEnd(8)} ${goal.id}: ${text}`);
    }
    const count = (state: string) => verdicts.filter((verdict) => verdict.state === state).length;
    console.log(`  ${count('reached')} reached, ${count('missed')} missed, ${count('missing')} not measured`);
    fine &&= count('missed') === 0;
  }
  return fine;
}

/** Tables of the domains that have figures of their own. */
const ownTables: Readonly<Record<string, (report: Report) => string>> = {
  swept: figureTables, imaging: imagingTables, stream: streamTables, 'stream-variants': variantTables,
};
const ownFigures: Readonly<Record<string, typeof writePlot>> = {
  calls: writeCallsFigure, serve: writeServeFigure, swept: writeFigures, imaging: writeImagingFigures, stream: writeStreamFigures,
  'stream-variants': () => Promise.resolve(false),
};

const tablesOf = (report: Report): string => (ownTables[report.domain] ?? markdownTable)(report);

/** Draws a report beside its file; the picture's path, if there is something to draw. */
async function draw(report: Report, path: string): Promise<string | undefined> {
  const svg = path.replace(/\.json$/, '.svg');
  return await (ownFigures[report.domain] ?? writePlot)(svg, report) ? svg : undefined;
}

/** The command line; returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === 'scratchpad' && !argv.includes('--help')) return await benchmarkScratchpad(argv.slice(1));
  const { values, positionals } = parseArgs({
    args: [...argv], allowPositionals: true,
    options: {
      backend: { type: 'string', default: 'auto' }, filter: { type: 'string' }, out: { type: 'string' },
      table1: { type: 'boolean', default: false }, write: { type: 'boolean', default: false }, figure6: { type: 'boolean', default: false },
      figure7: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false }, partition: { type: 'boolean', default: false },
      compile: { type: 'boolean', default: false }, math: { type: 'boolean', default: false },
      variants: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [domain, ...rest] = positionals;
  if (values.help || domain === undefined) {
    console.log(usage);
    return values.help ? 0 : 2;
  }
  if (domain === 'check') return await checkReports(rest) ? 0 : 1;
  if (domain === 'merge') {
    console.log(JSON.stringify(await merged(rest), null, 1));
    return 0;
  }
  if (domain === 'draw') {
    for (const path of reportPaths(packageRoot(), rest)) {
      const drawn = await draw(await readReport(path), path);
      if (drawn !== undefined) console.log(drawn);
    }
    return 0;
  }
  if (domain === 'table') {
    for (const path of reportPaths(packageRoot(), rest)) console.log(`${tablesOf(await readReport(path))}\n`);
    return 0;
  }
  if (values.table1) {
    const kernels = printTable1(packageRoot());
    await writeTable1(packageRoot(), values.out ?? join(packageRoot(), 'bench/results'), kernels);
    if (values.write) await writeModelTable(packageRoot(), kernels);
    return 0;
  }
  const what = values.figure6 ? 'figure6' : values.figure7 ? 'figure7'
    : values.partition ? 'stream-partition' : values.compile ? 'stream-compile' : values.math ? 'stream-math'
      : values.variants ? 'stream-variants' : domain;
  const { report, path, failure } = await runDomain(what, values);
  const drawn = await draw(report, path);
  if (report.domain in ownTables) console.log(`\n${tablesOf(report)}\n`);
  console.log(`${report.rows.length} rows in ${path}${drawn === undefined ? '' : `, drawn in ${drawn}`}`);
  if (failure !== undefined) throw failure;
  return 0;
}

if (process.argv[1] !== undefined && /bench[/\\]main\.(ts|js)$/.test(process.argv[1])) {
  process.exitCode = await main(process.argv.slice(2));
}
