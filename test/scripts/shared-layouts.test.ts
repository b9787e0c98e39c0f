// Layouts of this project's own kernels: the generated headers are what the planner gives, and wrong descriptions are refused.
import { match, ok, strictEqual, throws } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('shared layouts', () => {
  let layoutHeader: (text: string, file: string) => string;
  before(async () => {
    ({ layoutHeader } = await import(pathToFileURL(join(root, 'scripts/shared-layouts.mjs')).href) as { layoutHeader: typeof layoutHeader });
  });
  const description = {
    about: 'test', struct: 'TestLayout', parameters: ['real'], instances: [[4], [8]], points: ['a', 'b', 'c'],
    blocks: [{ name: 'first_row', bytes: [16, 'real'], live: ['a', 'a'] }, { name: 'second', bytes: [32, 'real'], live: ['b', 'c'] }],
  };
  const header = (change: object) => layoutHeader(JSON.stringify({ ...description, ...change }), 'test_layout.json');

  it('committed headers are fresh', () => {
    const files = readdirSync(join(root, 'cuda'), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('_layout.json'));
    ok(files.length >= 2);
    for (const file of files) {
      const path = join(root, 'cuda', file);
      strictEqual(readFileSync(path.replace(/json$/, 'inc'), 'utf8'), layoutHeader(readFileSync(path, 'utf8'), basename(file)), file);
    }
  });

  it('lays blocks over each other, and apart where no barrier stands', () => {
    const shared = header({});
    match(shared, /template <size_t kReal>\nstruct TestLayout;/);
    match(shared, /struct TestLayout<8> \{\n {2}static constexpr size_t kFirstRow = 0;\n {2}static constexpr size_t kSecond = 0;\n.*kBytes = 256;/);
    match(header({ conflicts: [['first_row', 'second']] }), /kBytes = 384;/);
  });

  it('refuses descriptions that make no sense', () => {
    const block = description.blocks[0]!;
    throws(() => header({ instances: [[4, 8]] }), /names every parameter/);
    throws(() => header({ blocks: [{ ...block, live: ['a', 'z'] }] }), /no point 'z'/);
    throws(() => header({ blocks: [{ ...block, bytes: ['other'] }] }), /no parameter 'other'/);
    throws(() => header({ blocks: [{ ...block, live: ['c', 'a'] }] }));
    throws(() => header({ conflicts: [['first_row', 'third']] }), /no block 'third'/);
    throws(() => header({ extra: 1 }));
    throws(() => layoutHeader('{', 'x'));
  });
});
