// warploom stream: check, graph, profile, schedule and run from files.
import { deepStrictEqual, equal, match, ok } from 'node:assert/strict';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { execFileSync, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { main } from '../../lib/cli/main.ts';
import { formatWav, parseWav } from '../../lib/files/wav.ts';
import { formatNpy, parseNpy } from '../../lib/files/npy.ts';
import { openDevice } from '../../lib/core/device.ts';
import { compileForDevice, elaborate, run, type DeviceProfile } from '../../lib/stream/index.ts';
import { hasBackend, skipCases } from '../support/backends.ts';

const warploom = (...argv: string[]) => warploomUntil(new AbortController().signal, ...argv);

async function warploomUntil(signal: AbortSignal, ...argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(['stream', ...argv], { out, err, signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

const smooth = `
float->float filter Mean(int n) {
  work push 1 pop 1 peek n {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += peek(i);
    push(sum / n);
    pop();
  }
}
float->float filter Counter {
  int count;
  work push 1 pop 1 { count++; push(pop() + count); }
}
float->float pipeline Main {
  add splitjoin {
    split duplicate;
    add Mean(4);
    add Identity<float>;
    join roundrobin(1, 1);
  }
  add Counter;
}
`;
const expected = (x: readonly number[]) => {
  const made: number[] = [];
  for (let i = 0; i + 4 <= x.length; i += 1) made.push((x[i]! + x[i + 1]! + x[i + 2]! + x[i + 3]!) / 4, x[i]!);
  return made.map((value, i) => value + i + 1);
};

describe('warploom stream', function () {
  this.timeout(60_000);
  let folder: string;
  const at = (name: string) => join(folder, name);
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-stream-'));
    await writeFile(at('smooth.str'), smooth);
    await writeFile(at('wrong.str'), 'int->int filter F { work push 1 pop 1 { push(popp() + undefined_name); } }\n');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('run: reads tables and readers from beside the program', async () => {
    await writeFile(at('taps.txt'), '1.5 2.5 3');
    await writeFile(at('in.bin'), new Uint8Array(Float32Array.of(1, 2, 3).buffer));
    await writeFile(at('beside.str'), `float->float filter T { float[3] t = init_array_1D_float("taps.txt", 3); work pop 1 push 1 { push(pop() * t[1]); } }
      void->void pipeline Main { add FileReader<float>("in.bin"); add T; add float->void filter { work pop 1 { println(pop()); } }; }`);
    const { code, out, err } = await warploom('run', at('beside.str'), '--items', '4');
    deepStrictEqual([code, out], [0, '2.5\n5\n7.5\n2.5\n'], err);
    match(err, /^done by wasm in [\d.e-]+ s, [\d.]+ s with translation$/m);
    await rm(at('taps.txt'));
    const without = await warploom('run', at('beside.str'), '--items', '4');
    ok(without.code !== 0);
    match(without.err, /there is no file 'taps\.txt'/);
  });

  it('run: tells what the program wrote itself', async () => {
    await writeFile(at('writes.str'), `void->void pipeline Main { add void->int filter { int n; work push 1 { push(n++); } }; add FileWriter<int>("${at('w.raw')}"); }`);
    const { code, err } = await warploom('run', at('writes.str'), '--items', '5');
    equal(code, 0, err);
    match(err, /^20 bytes in .*w\.raw by wasm in /m);
    deepStrictEqual([...new Int32Array(new Uint8Array(await readFile(at('w.raw'))).buffer)], [0, 1, 2, 3, 4]);
  });

  it('run: with values for the parameters of the program', async () => {
    await writeFile(at('given.str'), `void->void pipeline P(int n, float[] w, boolean up) { add void->float filter { int i; work push 1 { push(i * n + w[1]); if (up) i++; } };
      add float->void filter { work pop 1 { println(pop()); } }; }`);
    const given = await warploom('run', at('given.str'), '--param', 'n=3', '--param', 'w=[1, 0.5]', '--param', 'up=true', '--items', '3');
    equal(given.out, '0.5\n3.5\n6.5\n', given.err);
    const missing = await warploom('run', at('given.str'), '--param', 'n=3', '--items', '3');
    equal(missing.code, 1);
    match(missing.err, /S0516.*'w'[^]*--param w=/);
    for (const bad of ['n', '=3', 'n=x', 'm=3']) {
      equal((await warploom('run', at('given.str'), '--param', bad, '--param', 'w=[1, 2]', '--param', 'up=false', ...(bad === 'm=3' ? ['--param', 'n=1'] : []))).code, 2);
    }
  });

  it('check: finds nothing, or everything with line, column and code', async () => {
    const good = await warploom('check', at('smooth.str'), '--main', 'Main');
    deepStrictEqual([good.code, good.out], [0, '0 errors, 0 warnings\n'], good.err);
    const bad = await warploom('check', at('wrong.str'));
    equal(bad.code, 1);
    match(bad.err, /wrong\.str:1:\d+: error S\d{4}: .*popp/);
    match(bad.err, /\^/);
    const json = await warploom('check', at('wrong.str'), '--json');
    const found = JSON.parse(json.out) as { code: string; line: number; column: number }[];
    ok(found.length >= 2 && found.every(({ code, line }) => /^S\d{4}$/.test(code) && line === 1), json.out);
  });

  it('graph: as text and as a picture', async () => {
    const text = await warploom('graph', at('smooth.str'), '--main', 'Main');
    equal(text.code, 0, text.err);
    match(text.out, /Mean/);
    equal((await warploom('graph', at('smooth.str'), '--main', 'Main', '-o', at('graph.svg'))).code, 0);
    const svg = await readFile(at('graph.svg'), 'utf8');
    for (const what of ['Mean', 'Counter', 'identity', 'duplicate', 'pop 1, peek 4, push 1']) ok(svg.includes(what), what);
    equal((svg.match(/marker-end/g) ?? []).length, 5);
    const places = [...svg.matchAll(/<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)" rx/g)].map((m) => m.slice(1).map(Number));
    equal(places.length, 5);
    for (const [i, a] of places.entries()) for (const b of places.slice(i + 1)) {
      ok(a[0]! + a[2]! <= b[0]! || b[0]! + b[2]! <= a[0]! || a[1]! + a[3]! <= b[1]! || b[1]! + b[3]! <= a[1]!, 'boxes lie over each other');
    }
    equal((await warploom('graph', at('smooth.str'), '--main', 'Main', '-o', at('graph.jpg'))).code, 2);
  });

  it('schedule: a table, and a picture of one launch', async () => {
    await writeFile(at('costs.json'), '{"Counter": 5, "Mean": 1}');
    const { code, out, err } = await warploom('schedule', at('smooth.str'), '--main', 'Main', '--cores', '2', '--costs', at('costs.json'),
      '--gantt', at('gantt.svg'));
    equal(code, 0, err);
    match(out, /Mean +1 +0 +1\.00/);
    match(out, /Counter +2 +0 +5\.00 .* yes/);
    match(out, /5 actors, 5 channels; 6 firings/);
    match(out, /bound of/);
    const gantt = await readFile(at('gantt.svg'), 'utf8');
    match(gantt, /Counter, firings 0 to \d+ of Counter/);
    match(gantt, />smooth\.str on 2 cores<\/text>/);
    match(gantt, />time \(µs\); a launch takes [\d.]+ µs<\/text>/);
    for (const [, tick] of gantt.matchAll(/text-anchor="middle">([\d.]+)<\/text>/g)) match(tick!, /^0$|^0?\.?0*[1-9]?\d*(0|[2468]|5)?$/);
    await writeFile(at('costs.json'), '{"Missing": 5}');
    const bad = await warploom('schedule', at('smooth.str'), '--main', 'Main', '--costs', at('costs.json'));
    equal(bad.code, 2);
    match(bad.err, /no node Missing/);
  });

  it('profile: times that schedule takes', async () => {
    const { code, out, err } = await warploom('profile', at('smooth.str'), '--main', 'Main', '-o', at('measured.json'));
    equal(code, 0, err);
    match(out, /Counter +[\d.e-]+ +2 +[\d.]+/);
    match(out, /µs a steady state on one core \(wasm/);
    equal(err, '');
    match((await warploom('profile', at('smooth.str'), '--main', 'Main', '--backend', 'js')).err, /^note: .*'js' is called 'wasm'/m);
    const times = JSON.parse(await readFile(at('measured.json'), 'utf8')) as Record<string, number>;
    ok(times['Mean']! > 0 && times['Counter']! > 0);
    equal((await warploom('schedule', at('smooth.str'), '--main', 'Main', '--costs', at('measured.json'))).code, 0);
    equal((await warploom('schedule', at('smooth.str'), '--main', 'Main', '--costs', 'measured')).code, 0);
    await writeFile(at('table.str'), 'int->int filter Table { int[8] t; work push 1 pop 1 { push(t[pop()]); } } int->int pipeline Main { add Table; }');
    await writeFile(at('low.txt'), '1 2 3 4 5 6 7 0 1 2\n');
    for (const [command, ...flags] of [['profile'], ['schedule', '--costs', 'measured']] as const) {
      const without = await warploom(command, at('table.str'), '--main', 'Main', ...flags);
      equal(without.code, 2, without.err);
      match(without.err, /input: expected items on which the program does not fault, received none, and on made-up ones it faults: index \d+/);
      const { code: fine, err: said } = await warploom(command, at('table.str'), '--main', 'Main', ...flags, '--input', at('low.txt'));
      equal(fine, 0, said);
    }
    const bad = await warploom('profile', at('smooth.str'), '--main', 'Main', '--backend', 'interpret');
    equal(bad.code, 2);
    match(bad.err, /wasm, cpp, cuda or simt/);
  });

  it('profile on a device: Algorithm 1 as a table, and as a file that compileForDevice takes', async function () {
    if (!hasBackend('simt')) {
      skipCases('simt: not in this build');
      this.skip();
    }
    await writeFile(at('means.str'), smooth.replace('add Counter;', ''));
    const profile = (...argv: string[]) => warploom('profile', at('means.str'), '--main', 'Main', '--backend', 'simt', ...argv);
    const { code, out, err } = await profile('--layout', 'warp', '-o', at('means.json'));
    equal(code, 0, err);
    const rows = out.split('\n').filter((line) => line.startsWith('Mean '));
    equal(rows.length, 1, out);
    const times = [...rows[0]!.matchAll(/ ([\d.]+)(\*?)/g)].slice(1).map(([, time, star]) => [Number(time), star!] as const);
    equal(times.length, 6, out);
    const least = Math.min(...times.map(([time]) => time));
    for (const [time, star] of times) if (time > least) equal(star, '', out);
    ok(times.some(([time, star]) => time === least && star === '*'), out);
    match(out, /^µs of 3072 firings on each of \d+ multiprocessors/m);
    match(out, /^Algorithm 2 chooses at most 255 registers and instances of [\d, ]+ threads/m);
    // Null stands for Infinity.
    const made = JSON.parse(await readFile(at('means.json'), 'utf8'), (_, value: unknown) => value ?? Infinity) as DeviceProfile;
    deepStrictEqual([made.kind, made.mode, made.layout, made.table.threads], ['gpu', 'swp', 'warp', [128, 256, 384, 512, 768, 1024]]);
    const { graph } = await elaborate(await readFile(at('means.str'), 'utf8'), { main: 'Main' });
    await using device = await openDevice({ backend: 'simt' });
    using compiled = await compileForDevice(graph, { device, mode: 'swp', layout: 'warp', coarsening: 1, profile: made });
    const input = Float32Array.from({ length: 1000 }, (_, i) => i % 97);
    deepStrictEqual((await compiled.run(input)).output, Float32Array.from((await run(graph, { input, backend: 'interpret' })).output));
    match((await profile('--layout', 'warp')).out, /, measured before/);
    for (const [argv, said] of [
      [['--mode', 'fused'], /--mode takes swp or swpnc here/], [['--layout', 'grid'], /--layout takes block or warp/],
      [['--mode', 'swpnc', '--layout', 'warp'], /--layout is for --mode swp/], [['--input', at('in.txt')], /--input is not for/],
      [['--backend', 'wasm', '--mode', 'swp'], /--mode requires --backend cuda/],
      [['--backend', 'cpp', '--layout', 'warp'], /--layout requires --backend cuda/],
    ] as const) {
      const bad = await profile(...argv);
      equal(bad.code, 2, bad.err);
      match(bad.err, said);
    }
    const asCosts = await warploom('schedule', at('means.str'), '--main', 'Main', '--costs', at('means.json'));
    equal(asCosts.code, 2);
    match(asCosts.err, /is a profile of a device, and costs are those of cores/);
    const state = await warploom('profile', at('smooth.str'), '--main', 'Main', '--backend', 'simt');
    equal(state.code, 2);
    match(state.err, /state/);
    if (!hasBackend('cuda')) {
      const none = await profile('--backend', 'cuda');
      equal(none.code, 3, none.err);
    }
    const tooLong = await profile('--mode', 'swpnc', '--timeout', '0.001');
    equal(tooLong.code, 1, tooLong.err);
  });

  it('run: text, .npy, WAV and raw words in and out', async () => {
    const x = Array.from({ length: 50 }, (_, i) => Math.round(20 * Math.sin(i)) / 32);
    const wanted = Float32Array.from(expected(x));
    await writeFile(at('in.txt'), x.join(' '));
    await writeFile(at('in.npy'), formatNpy({ type: 'float32', shape: [50], data: Float32Array.from(x) }));
    await writeFile(at('in.raw'), new Uint8Array(Float32Array.from(x).buffer));
    await writeFile(at('in.wav'), formatWav(x, 8000));
    for (const ending of ['txt', 'npy', 'raw'] as const) {
      const { code, err } = await warploom('run', at('smooth.str'), '--main', 'Main', '--input', at(`in.${ending}`), '--output', at(`out.${ending}`));
      equal(code, 0, err);
      match(err, /items in .*: [\d.e+]+ per second by wasm in [\d.e-]+ s, [\d.]+ s with translation$/m);
      match(err, /94 items/);
    }
    deepStrictEqual(Float32Array.from((await readFile(at('out.txt'), 'utf8')).trim().split('\n'), Number), wanted);
    deepStrictEqual(parseNpy(await readFile(at('out.npy'))).data, wanted);
    const raw = await readFile(at('out.raw'));
    deepStrictEqual(new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length)), wanted);
    equal((await warploom('run', at('smooth.str'), '--main', 'Main', '--input', at('in.wav'), '--output', at('out.wav'), '--items', '20')).code, 0);
    const sound = parseWav(await readFile(at('out.wav')), 'out.wav');
    deepStrictEqual([sound.rate, sound.numbers.length], [8000, 20]);
  });

  it('run: by a mode of a device, or on the CPU with a note', async () => {
    const x = Array.from({ length: 9000 }, (_, i) => (i % 64) / 32);
    await writeFile(at('long.txt'), x.join(' '));
    for (const [backend, mode] of [['cuda', 'swp'], ['simt', 'swp'], ['simt', 'gpu'], ['simt', 'synergistic']] as const) {
      const { code, err } = await warploom('run', at('smooth.str'), '--main', 'Main', '--input', at('long.txt'), '--output', at('mode.txt'),
        '--backend', backend, '--mode', mode);
      equal(code, 0, err);
      match(err, new RegExp(`by ${backend} in|note: the program ran on the CPU`));
      deepStrictEqual(Float32Array.from((await readFile(at('mode.txt'), 'utf8')).trim().split('\n'), Number), Float32Array.from(expected(x)));
    }
  });

  it('tune: times layouts on a device, and keeps the fastest', async function () {
    if (!hasBackend('simt')) {
      skipCases('simt: not in this build');
      this.skip();
    }
    const { XDG_CACHE_HOME } = process.env;
    process.env.XDG_CACHE_HOME = folder;
    try {
      const { code, out, err } = await warploom('tune', at('smooth.str'), '--main', 'Main', '--backend', 'simt', '--seconds', '2');
      equal(code, 0, err);
      match(out, /^layout +G items\/s +of default\n/);
      match(out, /^default +[\d.e-]+ +1\.00$/m);
      match(out, /^timed on .*: \d+, skipped: \d+; the fastest layout is kept for this program and device$/m);
    } finally {
      if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
    }
    equal((await warploom('tune', at('smooth.str'), '--main', 'Main', '--backend', 'cpp')).code, 2);
    equal((await warploom('tune', at('smooth.str'), '--main', 'Main', '--seconds', '0')).code, 2);
  });

  it('run: by C++ and on threads, or says that there is no compiler', async () => {
    const x = Array.from({ length: 50 }, (_, i) => i / 4);
    await writeFile(at('in.txt'), x.join(' '));
    const argv = ['run', at('smooth.str'), '--main', 'Main', '--input', at('in.txt'), '--output', at('threads.txt'), '--threads', '2'];
    const { PATH, XDG_CACHE_HOME = '' } = process.env;
    process.env.XDG_CACHE_HOME = folder;
    const byCpp = await warploom(...argv, '--backend', 'cpp', '--fast');
    ok(byCpp.code === 0 || /no C\+\+ compiler/.test(byCpp.err), byCpp.err);
    process.env.PATH = '';
    try {
      const without = await warploom(...argv, '--backend', 'cpp');
      equal(without.code, 3);
      match(without.err, /no C\+\+ compiler.*WebAssembly/);
      equal((await warploom(...argv)).code, 0);
    } finally {
      process.env.PATH = PATH;
      process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
    }
    deepStrictEqual((await readFile(at('threads.txt'), 'utf8')).trim().split('\n').map(Number), expected(x));
    for (const [flags, what] of [[['--threads', '0'], /--threads/], [['--fast'], /--backend cpp/], [['--backend', 'gpu'], /--backend/],
      [['--mode', 'swp'], /--mode requires --backend cuda/],
      [['--mode', 'x', '--backend', 'cuda'], /--mode takes fused, swp, swpnc, serial, synergistic, gpu, cpu, not 'x'/]] as const) {
      const { code, err } = await warploom('run', at('smooth.str'), '--main', 'Main', '--input', at('in.txt'), '--output', at('none'), ...flags);
      equal(code, 2);
      match(err, what);
    }
  });

  it('refuses bad command lines and files with code 2, and writes nothing', async () => {
    for (const [argv, what] of [
      [['run', at('smooth.str'), '--main', 'Main', '--output', at('none')], /--input/], [['run', at('smooth.str'), '--main', 'Main', '--input', at('in.txt')], /--output/],
      [['dance', at('smooth.str')], /action/], [['check'], /program/], [['check', at('absent.str')], /absent/],
      [['schedule', at('smooth.str'), '--main', 'Main', '--cores', '0'], /--cores/],
      [['schedule', at('smooth.str'), '-o', at('none.svg')], /--out is for graph and profile, not for schedule: name the picture with --gantt/],
      [['check', at('smooth.str'), '--items', '3'], /--items is for run, not for check/],
    ] as const) {
      const { code, err } = await warploom(...argv);
      equal(code, 2, err);
      match(err, what);
    }
    await writeFile(at('bad.txt'), '1 2 three');
    const { code, err } = await warploom('run', at('smooth.str'), '--main', 'Main', '--input', at('bad.txt'), '--output', at('none'));
    equal(code, 2);
    match(err, /numbers.*'three'/);
    await access(at('none')).then(() => ok(false), () => undefined);
  });

  it('every action ends with the signal and after --timeout, in an endless init too, and writes nothing', async () => {
    await writeFile(at('endless.str'), `void->int filter A { int n; init { while (n >= 0) { n = (n + 1) & 255; } } work push 1 { push(n); } }
      void->void pipeline Main { add A; add int->void filter { work pop 1 { println(pop()); } }; }`);
    const steps = ['--limit', 'steps=1e13'];
    for (const [action, ...more] of [['check'], ['graph', '-o', at('never.svg')], ['schedule'], ['run', '--items', '3']] as const) {
      const stop = new AbortController();
      setTimeout(() => { stop.abort(new Error('stopped')); }, 200);
      const { code, out } = await warploomUntil(stop.signal, action, at('endless.str'), ...more, ...steps);
      deepStrictEqual([code, out], [130, ''], action);
      const late = await warploom(action, at('endless.str'), ...more, ...steps, '--timeout', '0.2');
      deepStrictEqual([late.code, late.out], [1, ''], action);
      match(late.err, /took more than [\d.]+ ms/);
    }
    await access(at('never.svg')).then(() => ok(false), () => undefined);
    equal((await warploom('check', at('smooth.str'), '--timeout', '100')).code, 0);
    equal((await warploom('check', at('smooth.str'), '--timeout', 'soon')).code, 2);
  });

  it('Ctrl-C ends an endless init', async () => {
    // Who has written into a pipe knows that its reader has begun.
    execFileSync('mkfifo', [at('ctrl-c.str')]);
    const text = `void->void pipeline Main { int k = 1; while (k > 0) { k = (k & 3) + 1; } add void->void filter { work { println("never"); } }; }`;
    const bin = fileURLToPath(new URL('../../lib/cli/bin.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', bin, 'stream', 'graph', at('ctrl-c.str'), '--limit', 'steps=1e13'], { stdio: 'pipe' });
    const ended = new Promise((resolve) => { child.on('exit', (code) => { resolve(code); }); });
    await writeFile(at('ctrl-c.str'), text);
    setTimeout(() => { child.kill('SIGINT'); }, 200);
    equal(await ended, 130);
  });

  it('WAV files of other formats', () => {
    const float = new Uint8Array(44 + 8), view = new DataView(float.buffer);
    float.set(formatWav([0, 0, 0, 0], 44_100));
    view.setUint16(20, 3, true);
    view.setUint16(34, 32, true);
    view.setFloat32(44, 0.25, true);
    view.setFloat32(48, -3, true);
    deepStrictEqual([...parseWav(float, 'x').numbers], [0.25, -3]);
    const wide = formatWav([0, 0, 0], 8000), bits = new DataView(wide.buffer);
    bits.setUint16(34, 24, true);
    wide.set([0, 0, 0xc0, 0xff, 0xff, 0x7f], 44);
    deepStrictEqual([...parseWav(wide, 'x').numbers], [-0.5, Math.fround(8388607 / 8388608)]);
  });
});
