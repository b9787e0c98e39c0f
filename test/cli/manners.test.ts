// What all commands share: suggestions, colour, quiet and verbose, progress without a terminal, tables, completion.
import { deepStrictEqual, equal, match, ok, rejects, throws } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { commands } from '../../lib/cli/commands.ts';
import { aboutOption, completionScript } from '../../lib/cli/completion.ts';
import { fitHelp } from '../../lib/cli/help-text.ts';
import { main } from '../../lib/cli/main.ts';
import { choiceFlag, commonHelp, commonOptions, parseFlags, UsageError, type Options } from '../../lib/cli/options.ts';
import { ProgressBar } from '../../lib/cli/progress-bar.ts';
import { formatTable, wrapText } from '../../lib/cli/table.ts';
import { Terminal } from '../../lib/cli/terminal.ts';
import { formatNpy, parseNpy } from '../../lib/files/npy.ts';

const { signal } = new AbortController();

async function run(argv: string[], { tty = false, columns, env = {} }: { tty?: boolean; columns?: number; env?: Record<string, string> } = {}) {
  const [out, err] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY: tty, columns: columns ?? 80 }));
  const code = await main(argv, { out: out!, err: err!, signal, env });
  return { code, out: String(out!.read() ?? ''), err: String(err!.read() ?? '') };
}

describe('the manners of all commands', () => {
  const options = {
    weight: { type: 'string' }, out: { type: 'string', short: 'o' }, set: { type: 'string', multiple: true }, again: { type: 'boolean' },
    mode: { type: 'string', values: ['fast', 'slow'], default: 'slow' },
  } as const satisfies Options;

  it('parses options as declared', () => {
    const { values, positionals } = parseFlags(options, ['a', '--weight', '-1.5', '-o', '-', '--set', 'a=1', '--set=b=2', '--again', '-', '--', '--b']);
    deepStrictEqual(positionals, ['a', '-', '--b']);
    deepStrictEqual({ ...values }, { mode: 'slow', weight: '-1.5', out: '-', set: ['a=1', 'b=2'], again: true });
    deepStrictEqual({ ...parseFlags({}, ['-qv']).values }, { quiet: true, verbose: true });
  });

  it('refuses what is not declared, and names what was meant', () => {
    const refused: [string[], RegExp][] = [
      [['--wieght', '1'], /^there is no option --wieght; did you mean --weight\?$/], [['--xyzzy'], /^there is no option --xyzzy$/],
      [['-z'], /^there is no option -z$/], [['--weight'], /^--weight takes a value$/], [['--mode'], /^--mode takes a value: fast, slow$/],
      [['--out', '--again'], /^-o, --out takes a value; write one that begins with a dash as --out=--again$/],
      [['--again=no'], /^--again takes no value, not 'no'$/], [['--toString', '1'], /^there is no option --toString$/],
      [['--__proto__=1'], /^there is no option --__proto__$/],
    ];
    for (const [argv, message] of refused) {
      throws(() => parseFlags(options, argv), (error: Error) => error instanceof UsageError && message.test(error.message), argv.join(' '));
    }
    throws(() => choiceFlag('mode', 'fsat', ['fast', 'slow']), { message: "--mode takes fast, slow, not 'fsat'; did you mean fast?" });
    equal(choiceFlag('mode', undefined, ['fast']), undefined);
  });

  it('suggests commands, explains them by help, and gives the version', async () => {
    const wrong = await run(['densoise']);
    deepStrictEqual([wrong.code, wrong.out], [2, '']);
    match(wrong.err, /there is no command 'densoise'; did you mean 'denoise'\?/);
    match((await run(['zzzzzzz'])).err, /there are info, doctor, run, /);
    equal((await run(['help', 'denoise'])).out, (await run(['denoise', '--help'])).out);
    equal((await run(['version'])).out, (await run(['--version'])).out);
    equal((JSON.parse((await run(['version', '--json'])).out) as { version: string }).version, (await run(['version'])).out.trim());
    match((await run(['--help'])).out, /WARPLOOM_BACKEND.*NODE_DEBUG=warploom/s);
  });

  it('explains every option in the help of its command', () => {
    for (const { name, options: own, help } of commands()) {
      for (const option of Object.keys(own)) ok(new RegExp(`--${option}(?![\\w-])`).test(help), `${name} --${option}`);
      for (const [, option] of help.matchAll(/^ {2,}(?:-\w, )?--([a-z][\w-]*)/gm)) {
        ok(Object.hasOwn(own, option!) || option === 'help', `${name} has no --${option}`);
      }
    }
    for (const option of Object.keys(commonOptions)) ok(aboutOption(commonHelp, option) !== '', option);
    equal(aboutOption('  -o, --out FILE   where it goes; default here\n', 'out'), 'where it goes');
    equal(aboutOption('  --method M  fast (default: for most), slow\n', 'method'), 'fast, slow');
  });

  it('colours for terminals, by FORCE_COLOR and not with NO_COLOR', async () => {
    const coloured = async (tty: boolean, env: Record<string, string>, ...more: string[]) => {
      const { out } = await run(['info', ...more], { tty, columns: 300, env });
      return out !== stripVTControlCharacters(out);
    };
    deepStrictEqual([await coloured(true, {}), await coloured(false, {}), await coloured(true, { NO_COLOR: '1' }), await coloured(true, { NO_COLOR: '' }),
      await coloured(false, { FORCE_COLOR: '1' }), await coloured(true, { FORCE_COLOR: '0' }), await coloured(true, { TERM: 'dumb' }),
      await coloured(true, {}, '--no-color')], [true, false, false, true, true, false, false, false]);
  });

  it('fits tables into the terminal without losing words', async () => {
    const { out } = await run(['info'], { tty: true, columns: 60, env: { NO_COLOR: '1' } });
    for (const line of out.split('\n').slice(1)) ok(line.length <= 60, line);
    deepStrictEqual(wrapText('one two three', 7), ['one two', 'three']);
    deepStrictEqual(wrapText('abcdefghij kl', 4), ['abcd', 'efgh', 'ij', 'kl']);
    const table = formatTable(['name', 'n', 'about'], [['\u001b[31mred\u001b[39m', '1', 'words '.repeat(8).trim()], ['b', '22', '']], 30);
    deepStrictEqual(stripVTControlCharacters(table).split('\n'), ['name   n  about', '────  ──  ────────────────────', 'red    1  words words words',
      '          words words words', '          words words', 'b     22']);
    ok(table.includes('\n\u001b[31mred \u001b[39m'));
    // Numbers and headings are never broken.
    match(formatTable(['n', 'a heading'], [['123456789', 'x']], 5), /123456789 {2}x/);
  });

  it('without a terminal, progress is a line every ten seconds; nothing when quiet', () => {
    let time = 0;
    const lines = (silent: boolean) => {
      const err = new PassThrough();
      time = 0;
      const bar = new ProgressBar(err, { silent, now: () => time });
      for (let done = 1; done <= 100; ++done) {
        time += 450;
        bar.update('job/all', done, 100);
      }
      bar.clear();
      return String(err.read() ?? '');
    };
    equal(lines(false), 'job/all: 23 %  0:35 left\njob/all: 46 %  0:24 left\njob/all: 69 %  0:14 left\njob/all: 92 %  0:04 left\n');
    equal(lines(true), '');
    // Of a sweep, the name changes with every item that ends: the time that is left does not begin anew.
    const err = new PassThrough();
    time = 0;
    const bar = new ProgressBar(err, { now: () => time });
    for (let done = 20; done <= 60; done += 20, time += 20_000) bar.update(`sweep: ${done} of 100`, done, 100, 'sweep');
    equal(String(err.read()), 'sweep: 40 of 100: 40 %  1:00 left\nsweep: 60 of 100: 60 %  0:40 left\n');
  });

  it('help texts have at most 100 characters in a line, or as many as the terminal, and the same words', () => {
    const words = (text: string): string => text.replace(/ \\\n/g, ' ').replace(/\s+/g, ' ');
    for (const { name, help } of commands()) {
      for (const columns of [Infinity, 80]) {
        const fitted = fitHelp(`${help}${commonHelp}`, columns);
        equal(words(fitted), words(`${help}${commonHelp}`));
        for (const line of fitted.split('\n')) ok(line.length <= Math.min(100, columns) || (columns < 100 && /['"{}]|=>|^ +ssh/.test(line)), `${name}: ${line}`);
      }
    }
    equal(fitHelp('Usage: a\n\n  -x, --xx N   some words that go\n               on\n- a list\n  warploom run it --again', 40),
      'Usage: a\n\n  -x, --xx N   some words that go on\n- a list\n  warploom run it --again'.replace(' on\n', '\n               on\n'));
    equal(fitHelp('  warploom run job.json --again --backend cpu', 30), '  warploom run job.json \\\n    --again --backend cpu');
    equal(fitHelp('  -x, --xx N   some words that go on and on\n               and on', 40),
      '  -x, --xx N   some words that go on and\n               on and on');
  });

  it('notes keep quiet with -q, and results are JSON with --json', () => {
    const written = (manner: { quiet?: boolean; json?: boolean }) => {
      const [out, err] = [new PassThrough(), new PassThrough()];
      const terminal = new Terminal({ out, err, signal, env: {} }, manner);
      terminal.note('a note');
      terminal.result({ a: 1 }, 'one');
      return [String(out.read() ?? ''), String(err.read() ?? '')];
    };
    deepStrictEqual(written({}), ['one\n', 'a note\n']);
    deepStrictEqual(written({ quiet: true, json: true }), ['{"a":1}\n', '']);
  });

  it('WARPLOOM_BACKEND names what auto stands for', async () => {
    const kept = process.env['WARPLOOM_BACKEND'];
    try {
      process.env['WARPLOOM_BACKEND'] = 'simt';
      const { openDevice } = await import('../../lib/core/device.ts');
      await using device = await openDevice();
      equal(device.backend, 'simt');
      await using cpu = await openDevice({ backend: 'cpu' });
      equal(cpu.backend, 'cpu');
      process.env['WARPLOOM_BACKEND'] = 'gpu';
      await openDevice().then(() => ok(false), (error: unknown) => {
        match(String(error), /WARPLOOM_BACKEND: expected cuda, cpu, simt or auto, received gpu/);
      });
    } finally {
      if (kept === undefined) delete process.env['WARPLOOM_BACKEND'];
      else process.env['WARPLOOM_BACKEND'] = kept;
    }
  });

  it('completes commands, options, values and files in bash', function () {
    if (spawnSync('bash', ['--version']).error !== undefined) this.skip();
    const script = completionScript('bash', commands());
    const cases: [string[], RegExp][] = [
      [['de'], /^denoise$/], [['denoise', '--prec'], /^--precision$/], [['denoise', 'x', '--method', ''], /^primal-dual flow$/],
      [['denoise', 'x', '--method', '=', 'f'], /^flow$/], [['stream', 's'], /^schedule$/], [['run', '--results', '/et'], /^\/etc$/],
      [['help', 'den'], /^denoise$/], [['he'], /^help$/],
      [['solve', '--lower', '/etc/hostn'], /^\/etc\/hostname$/], [['denoise', '--weight', ''], /^$/], [['nonsense', '--'], /^$/],
    ];
    const program = `${script}\n${cases.map(([words]) => {
      const list = ['warploom', ...words].map((word) => `'${word}'`).join(' ');
      return `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; COMPREPLY=(); _warploom; echo "\${COMPREPLY[*]}"`;
    }).join('\n')}`;
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', program], { encoding: 'utf8' });
    deepStrictEqual([status, stderr], [0, '']);
    stdout.trimEnd().split('\n').forEach((line, i) => { match(line, cases[i]![1], cases[i]![0].join(' ')); });
  });

  it('writes completion for zsh and fish with what each option does', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { code, out } = await run(['completion', shell]);
      equal(code, 0);
      for (const command of commands()) ok(out.includes(command.name));
      match(out, /smaller finds finer detail|weight of the border/);
      if (spawnSync(shell, ['--version']).error !== undefined) continue; // the shell's own parser, where it is installed
      equal(spawnSync(shell, ['-n'], { input: out, encoding: 'utf8' }).stderr, '');
    }
    equal((await run(['completion', 'tcsh'])).code, 2);
  });
});

describe('standard input, dry runs and verbose runs', function () {
  this.timeout(60_000);
  let folder: string;
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-manners-')); });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Runs a command line with what comes from standard input. */
  async function piped(argv: string[], input: Uint8Array | string) {
    const [out, err] = [new PassThrough(), new PassThrough()];
    const code = await main(argv, { in: Readable.from([input]), out, err, signal, env: {} });
    return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
  }
  const program = 'void->void pipeline P { add S(); add K(); } void->int filter S { work push 1 { push(3); } } int->void filter K { work pop 1 { println(pop()); } }';

  it('- is standard input: an image, a job, an array and a program', async () => {
    const pixels = Float32Array.from({ length: 48 }, (_, i) => i % 7);
    const image = formatNpy({ type: 'float32', shape: [6, 8], data: pixels });
    const fromFile = join(folder, 'image.npy');
    await writeFile(fromFile, image);
    const flags = ['--weight', '0.1', '--backend', 'cpu', '-q'];
    equal((await piped(['denoise', '-', '-o', join(folder, 'a.npy'), ...flags], image)).err, '');
    equal((await piped(['denoise', fromFile, '-o', join(folder, 'b.npy'), ...flags], '')).err, '');
    deepStrictEqual(await readFile(join(folder, 'a.npy')), await readFile(join(folder, 'b.npy')));
    match((await piped(['register', '-', '-', '-o', join(folder, 'c.npy')], image)).err, /only one file can come from standard input/);
    const rhs = formatNpy({ type: 'float64', shape: [3], data: Float64Array.of(2, 4, 6) });
    const solved = await piped(['solve', '--lower', '0', '--diagonal', '2', '--upper', '0', '--rhs', '-', '-o', folder, '--backend', 'cpu', '--json'], rhs);
    equal((JSON.parse(solved.out) as { device: { backend: string } }).device.backend, 'cpu', solved.err);
    deepStrictEqual([...parseNpy(await readFile(join(folder, 'solution.npy'))).data], [1, 2, 3]);
    for (const action of ['check', 'graph', 'schedule']) {
      const { code, out, err } = await piped(['stream', action, '-', '--json'], program);
      equal(code, 0, err);
      ok(typeof JSON.parse(out) === 'object');
    }
    const ran = JSON.parse((await piped(['stream', 'run', '-', '--iterations', '2', '--json', '-q'], program)).out) as { printed: string };
    equal(ran.printed, '3\n3\n');
    match((await piped(['stream', 'check', '-'], program.replace('pop()', 'pup()'))).err, /standard input:1/);
    match((await piped(['run', '-'], '{')).err, /standard input is not a JSON job/);
    match((await piped(['run', '-'], ' \r\n')).err, /standard input is not a JSON job: it is empty/);
    equal((await piped(['stream', 'check', '-', '--json'], `\ufeff${program.replaceAll(' ', '\r\n')}`)).code, 0);
    match((await piped(['stream', 'chek', '-'], program)).err, /there is no action 'chek'; did you mean 'check'\?/);
  });

  it('-o - is standard output: an image in the format of the input or another, and a solution; what is said goes to standard error', async () => {
    const pixels = Float32Array.from({ length: 48 }, (_, i) => i % 7);
    const image = formatNpy({ type: 'float32', shape: [6, 8], data: pixels });
    const binary = async (argv: string[], input: Uint8Array, tty = false) => {
      const [out, err] = [Object.assign(new PassThrough(), { isTTY: tty }), new PassThrough()];
      const code = await main(argv, { in: Readable.from([input]), out, err, signal, env: {} });
      return { code, out: (out.read() as Buffer | null) ?? Buffer.alloc(0), err: String(err.read() ?? '') };
    };
    const flags = ['--weight', '0.1', '--backend', 'cpu'];
    const direct = await binary(['denoise', '-', '-o', '-', ...flags], image);
    equal(direct.code, 0, direct.err);
    match(direct.err, /relative duality gap.*\nresult in standard output\n/);
    await binary(['denoise', '-', '-o', join(folder, 'd.npy'), ...flags], image);
    deepStrictEqual(direct.out, await readFile(join(folder, 'd.npy')));
    const mask = await binary(['segment', '-', '-o', '-.png', '--iterations', '3', '--backend', 'cpu'], image);
    equal(String(mask.out.subarray(1, 4)), 'PNG', mask.err);
    const rhs = formatNpy({ type: 'float64', shape: [3], data: Float64Array.of(2, 4, 6) });
    const system = ['solve', '--lower', '0', '--diagonal', '2', '--upper', '0', '--rhs', '-', '-o', '-', '--backend', 'cpu'];
    deepStrictEqual([...parseNpy((await binary(system, rhs)).out).data], [1, 2, 3]);
    for (const [argv, tty, message] of [
      [[...system, '--json'], false, /both go to standard output/], [system, true, /which is the terminal/], [['denoise', '-', '-o', '-.xyz'], false, /a path ending in/],
    ] as const) {
      const { code, err } = await binary([...argv], rhs, tty);
      equal(code, 2);
      match(err, message);
    }
  });

  it('--dry-run says what would run, and writes nothing', async () => {
    await writeFile(join(folder, 'grid.npy'), formatNpy({ type: 'float64', shape: [3, 4], data: new Float64Array(12).fill(1) }));
    const job = JSON.stringify({ name: 'dry', kind: 'heat-adi', initial: { file: join(folder, 'grid.npy') }, dt: 0.5, steps: 2,
      device: { backend: 'cpu' }, sweep: { diffusivity: [1, 2] } });
    const results = join(folder, 'results');
    const dry = async (...more: string[]) => JSON.parse((await piped(['run', '-', '--results', results, '--dry-run', '--json', ...more], job)).out) as
      { item: string; will: string; kind: string }[];
    deepStrictEqual((await dry()).map(({ item, will, kind }) => [item, will, kind]),
      [['diffusivity=1', 'run', 'heat-adi'], ['diffusivity=2', 'run', 'heat-adi']]);
    await rejects(readdir(results), /ENOENT/);
    equal((await piped(['run', '-', '--results', results], `\ufeff${job.replaceAll(',', ',\r\n')}`)).code, 0);
    deepStrictEqual((await dry()).map(({ will }) => will), ['skip, finished', 'skip, finished']);
    deepStrictEqual((await dry('--again')).map(({ will }) => will), ['run again', 'run again']);
    match((await piped(['run', '-', '--results', results, '--dry-run'], job)).out, /0 of 2 would run; nothing was written/);
    equal((await piped(['run', '-', '--results', results], job)).err, 'dry: 2 items already finished, skipped (--again runs them again)\n');
    equal((await piped(['run', '-', '--dry-run'], job.replace('"dt":0.5', '"dt":-1'))).code, 2);
  });

  it('-v and NODE_DEBUG=warploom say what is opened and run, and -v where an error comes from', async () => {
    const rhs = formatNpy({ type: 'float64', shape: [1], data: Float64Array.of(2) });
    const argv = ['solve', '--lower', '0', '--diagonal', '2', '--upper', '0', '--rhs', '-', '-o', folder, '--backend', 'cpu'];
    match((await piped([...argv, '-v'], rhs)).err, /opened cpu 0.*\n.*tridiagonal\.solve on cpu: [\d.e-]+ ms/);
    equal((await piped(argv, rhs)).err, '');
    match((await piped([...argv, '-v'], 'no array')).err, /\n\s+at /);
    const code = "const { openDevice } = await import('./lib/index.ts'); await using d = await openDevice({ backend: 'cpu' }); await (await d.array(new Float32Array(3))).read();";
    const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code.replace('await using', 'const')],
      { encoding: 'utf8', cwd: fileURLToPath(new URL('../..', import.meta.url)), env: { ...process.env, NODE_DEBUG: 'warploom' } });
    match(stderr, /WARPLOOM \d+: opened cpu 0/);
  });
});
