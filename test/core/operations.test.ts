import { strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { addon } from '../../lib/core/binding.ts';

const script: any = await import(new URL('../../scripts/generate-operations.mjs', import.meta.url).href);

describe('operations.gen.ts', () => {
  it("is what the addon's metadata gives (node scripts/generate-operations.mjs)", () => {
    strictEqual(readFileSync(script.kGenerated, 'utf8'), script.textOf(addon().operations()));
  });

  it('breaks long lists into lines', () => {
    const choices = Array.from({ length: 12 }, (_, i) => `a-choice-with-a-name-${i}`);
    const text: string = script.textOf({
      'a.b': { fields: [{ name: 'n', kind: 'integer' }, { name: 'how', kind: 'choice', choices }], report: [{ name: 'how', kind: 'choice', choices }] },
    });
    strictEqual(Math.max(...text.split('\n').map((line) => line.length)) <= 120, true);
    strictEqual(JSON.stringify(/how: (\[[^\]]*\])/.exec(text)![1]!.match(/[a-z][\w-]*\d+/g)), JSON.stringify(choices));
  });
});
