// Rates that are known only when a filter fires: small programs, with outputs worked out in plain JavaScript.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { run } from '../../../lib/stream/run/index.ts';
import { graphOf } from '../support.ts';

const input = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5];
const filter = (body: string, rates: string, more = ''): string => `int->int filter F { ${more} work ${rates} { ${body} } }`;
const copies = input.flatMap((x) => Array.from({ length: x % 4 }, () => x));

/** Items by how many stand before them: 3 1 4 1 is a block of three. */
function blocks(): number[][] {
  const found: number[][] = [];
  for (let at = 0; at + input[at]! < input.length; at += input[at]! + 1) found.push(input.slice(at + 1, at + 1 + input[at]!));
  return found;
}

const programs: Readonly<Record<string, readonly [source: string, output: readonly number[]]>> = {
  'an item, so many times': [filter('int x = pop(); for (int i = 0; i < x % 4; i++) push(x);', 'pop 1 push [0, 3]'), copies],
  'without a bound': [filter('int x = pop(); for (int i = 0; i < x % 4; i++) push(x);', 'pop 1 push *'), copies],
  'some items dropped': [filter('int x = pop(); if (x > 4) push(x);', 'pop 1 push [0, 1]'), input.filter((x) => x > 4)],
  'as many taken as the first says': [filter('int n = pop(); int s = 0; for (int i = 0; i < n; i++) s += pop(); push(s);', 'pop * push 1'),
    blocks().map((block) => block.reduce((sum, x) => sum + x, 0))],
  'both at once': [filter('int n = pop(); for (int i = 0; i < n; i++) push(pop() * n);', 'pop [1, 10] push *'), blocks().flatMap((block) => block.map((x) => x * block.length))],
  'by state': [filter('n = (n + 1) % 3; int x = pop(); for (int i = 0; i < n; i++) push(x + i);', 'pop 1 push [0, 2]', 'int n;'),
    input.flatMap((x, k) => Array.from({ length: (k + 1) % 3 }, (_, i) => x + i))],
  'one behind the other': [`int->int filter Copy { work pop 1 push * { int x = pop(); for (int i = 0; i < x % 4; i++) push(x); } }
    int->int filter Odd { work pop 1 push [0, 1] { int x = pop(); if (x % 2 == 1) push(x); } } int->int pipeline P { add Copy; add Odd; }`, copies.filter((x) => x % 2 === 1)],
  'before a filter that takes pairs': [`int->int filter Big { work pop 1 push [0, 1] { int x = pop(); if (x > 3) push(x); } }
    int->int filter Pair { work pop 2 push 1 { push(pop() * 10 + pop()); } } int->int pipeline P { add Big; add Pair; }`,
  input.filter((x) => x > 3).flatMap((x, i, all) => (i % 2 === 0 && i + 1 < all.length ? [x * 10 + all[i + 1]!] : []))],
  'before a window': [`int->int filter Big { work pop 1 push [0, 1] { int x = pop(); if (x > 3) push(x); } }
    int->int filter Step { work pop 1 push 1 peek 2 { push(peek(1) - peek(0)); pop(); } } int->int pipeline P { add Big; add Step; }`,
  input.filter((x) => x > 3).flatMap((x, i, all) => (i + 1 < all.length ? [all[i + 1]! - x] : []))],
  'in a branch': [`int->int filter Swap { work pop [2, 2] push [2, 2] { int x = pop(); push(pop()); push(x); } }
    int->int splitjoin P { split roundrobin(2); add Swap; add Identity<int>; join roundrobin(2); }`,
  Array.from({ length: input.length / 4 }, (_, i) => input.slice(4 * i, 4 * i + 4)).flatMap(([a, b, c, d]) => [b!, a!, c!, d!])],
  'looked at as far as the first item says': [filter('int n = peek(0) % 4; int s = 0; for (int i = 0; i <= n; i++) s += peek(i); push(s); pop();', 'pop 1 push 1 peek *'),
    // Up to the first item that says more than there are.
    input.slice(0, input.findIndex((x, i) => i + x % 4 >= input.length)).map((x, i) => input.slice(i, i + x % 4 + 1).reduce((sum, y) => sum + y, 0))],
};

describe('dynamic rates', () => {
  for (const [name, [source, output]] of Object.entries(programs)) {
    it(name, async () => {
      const graph = graphOf(source);
      assert.deepEqual(interpretSync(graph, { input }).output, output);
      const found = await run(graph, { input });
      assert.deepEqual([Array.from(found.output), found.backend], [output, 'interpret']);
    });
  }
});
