// What all commands share: suggestions, colour, quiet and verbose, progress without a terminal, tables, completion.
import { deepStrictEqual, equal, match, ok, throws } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { commands } from '../../lib/cli/commands.ts';
import { aboutOption, completionScript } from '../../lib/cli/completion.ts';
import { main } from '../../lib/cli/main.ts';
import { choiceFlag, commonHelp, commonOptions, parseFlags, UsageError, type Options } from '../../lib/cli/options.ts';
import { ProgressBar } from '../../lib/cli/progress-bar.ts';
import { formatTable, wrapText } from '../../lib/cli/table.ts';
import { Terminal } from '../../lib/cli/terminal.ts';

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
    equal(lines(false), 'job/all: 23 %  0:33 left\njob/all: 46 %  0:24 left\njob/all: 69 %  0:14 left\njob/all: 92 %  0:04 left\n');
    equal(lines(true), '');
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
