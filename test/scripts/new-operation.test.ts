// The stamped-out operation must keep to the rules of the tree it lands in; CI compiles it once (test/package).
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('new-operation', () => {
  let copy = '';
  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), 'warploom-operation-'));
    for (const file of ['package.json', 'typedoc.json']) cpSync(join(root, file), join(copy, file));
    for (const folder of ['cuda', 'native', 'lib', 'test/device/support']) cpSync(join(root, folder), join(copy, folder), { recursive: true });
  });
  afterEach(() => rmSync(copy, { recursive: true, force: true }));

  const stamp = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/new-operation.mjs', ...args, '--root', copy], { cwd: root, encoding: 'utf8' });
  const text = (path: string) => readFileSync(join(copy, path), 'utf8');

  it('stamps an operation of a new domain and registers it', async () => {
    const done = stamp('wavelet', 'lift_step');
    strictEqual(done.status, 0, done.stderr);
    match(text('cuda/core/operations.inc'), /^WARPLOOM_OPERATION\(wavelet, lift_step, LiftStepParameters\)$/m);
    for (const table of ['native/core/parameters.h', 'test/device/support/operations.h']) {
      match(text(table), /^#include "cuda\/wavelet\/lift_step\.h"$/m);
    }
    match(text('lib/index.ts'), /^export \* as wavelet from '\.\/wavelet\/index\.ts';$/m);
    const { exports } = JSON.parse(text('package.json')) as { exports: Record<string, unknown> };
    deepStrictEqual(exports['./wavelet'], { types: './dist/wavelet/index.d.ts', default: './dist/wavelet/index.js' });
    match(text('typedoc.json'), /"lib\/wavelet\/index\.ts"/);
    const created = done.stdout.split('\n').filter((line) => line.startsWith('new')).map((line) => line.split(/\s+/)[1]!);
    ok(created.includes('test/wavelet/lift-step.test.ts'));
    for (const path of created) ok(!/@\w+@/.test(text(path)), path);
    const { breaches } = await import(pathToFileURL(join(root, 'scripts/check-layers.mjs')).href);
    const { hostParts } = await import(pathToFileURL(join(root, 'scripts/check-device.mjs')).href);
    deepStrictEqual(hostParts('cuda/wavelet/lift_step_agent.cuh', text, (path: string) => existsSync(join(copy, path))), []);
    deepStrictEqual(breaches(created.filter((path) => !path.startsWith('test/')), text), []);
  });

  it('adds to an existing domain and overwrites nothing', () => {
    strictEqual(stamp('scan', 'fold').status, 0);
    match(text('lib/scan/index.ts'), /fold\.ts/);
    const again = stamp('scan', 'fold');
    strictEqual(again.status, 1);
    match(again.stderr, /exist already/);
    strictEqual(text('cuda/core/operations.inc').match(/fold/g)!.length, 1);
  });

  it('refuses names that are not snake_case', () => {
    for (const args of [['Wave', 'x'], ['wave'], ['core', 'x'], ['wave', '../x']]) strictEqual(stamp(...args).status, 2);
    ok(!existsSync(join(copy, 'cuda/wave')));
  });
});
