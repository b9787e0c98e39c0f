// Plans for cores and a device with one thing wrong in what executes them give wrong output: the tests that compare bits would see it.
import assert from 'node:assert/strict';
import type { HybridOperation } from '../../../lib/stream/partition/index.ts';
import type { HybridParts } from '../../../lib/stream/run/hybrid-parts.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { hybridOf, inputFor, small } from './hybrid.ts';
import { deviceBackends } from './support.ts';

/** On cores: S and D; on the device: filters with columns and with windows, so that there are transfers and shuffles both ways. */
const graph = graphOf('int->int filter A { work pop 3 push 2 { int a = pop(); int b = pop(); push(a * 3 + pop()); push(b - a); } } '
  + 'int->int filter W { work pop 1 push 1 peek 70 { push(peek(69) * 5 + peek(0)); pop(); } } '
  + 'int->int filter S { int s; work pop 1 push 1 { s = s * 3 + pop(); push(s); } } '
  + 'int->int filter B { work pop 1 push 3 { int a = pop(); push(a); push(a * a); push(a + 7); } } '
  + 'int->int filter D { int s; work pop 1 push 1 peek 5 { s = s ^ peek(4); push(s + pop()); } } '
  + 'int->int pipeline Main { add A; add W; add S; add B; add A; add W; add D; }');

const head = 9, endWords = 5, slotsAt = 2, tokensAt = 3;

/** The device's lists with changed words. */
const lists = (edit: (words: Int32Array, entries: readonly number[]) => void) => (parts: HybridParts): HybridParts => {
  const { lists: words, listWords } = parts.lists;
  const changed = words.slice();
  const entries: number[] = [];
  for (let list = 0; list < words.length; list += listWords) for (let at = list; words[at]! > 0; at += words[at]!) entries.push(at);
  edit(changed, entries);
  assert.notDeepEqual(changed, words, 'nothing was changed');
  return { ...parts, lists: { ...parts.lists, lists: changed } };
};
const everyEnd = (at: number, change: (now: number) => number) => lists((words, entries) => {
  for (const entry of entries) for (let end = entry + head; end < entry + words[entry]!; end += endWords) words[end + at] = change(words[end + at]!);
});
/** Transfers at other launches. */
const transfers = (kind: HybridOperation['kind'], by: number) => (parts: HybridParts): HybridParts => {
  assert.ok(parts.plan.operations.some((each) => each.kind === kind));
  const operations = parts.plan.operations.map((each) => (each.kind === kind ? { ...each, stage: each.stage + by } : each));
  return { ...parts, plan: { ...parts.plan, operations } };
};
const launches = (edit: (parts: HybridParts) => Partial<HybridParts['launches']>) => (parts: HybridParts): HybridParts =>
  ({ ...parts, launches: { ...parts.launches, ...edit(parts) } });

const mutations: Readonly<Record<string, (parts: HybridParts) => HybridParts>> = {
  'a stage too early on the device: the predicate': lists((words, entries) => {
    const stage = Math.max(...entries.map((at) => words[at + 3]!));
    for (const at of entries) if (words[at + 3] === stage) words[at + 3] = 0;
  }),
  'a stage too late on the device': lists((words, entries) => { for (const at of entries.slice(0, 2)) words[at + 3]! += 9; }),
  'rings of the device that do not rotate': everyEnd(slotsAt, () => 1),
  'rings of the device with an iteration too few': everyEnd(slotsAt, (now) => Math.max(1, now - 1)),
  'windows that begin behind what stood on the channel': everyEnd(tokensAt, () => 0),
  'an instance of the device too few': lists((words, entries) => { --words[entries.at(-1)! + 5]!; }),
  'transfers to the device too early': transfers('toGpu', -1),
  'transfers to the device too late': transfers('toGpu', 1),
  'transfers from the device too early': transfers('toCpu', -1),
  'transfers from the device too late': transfers('toCpu', 1),
  'no epilogue': launches(({ launches: { lastStage } }) => ({ lastStage: lastStage - 1 })),
  'a stage too early on a core': launches(({ launches: { stages } }) => ({ stages: stages.map((stage) => (stage > 0 ? stage - 1 : stage)) })),
  'rings of the host that do not rotate': launches(({ launches: { rings } }) => ({ rings: rings.map((ring) => ring && { ...ring, slots: 1 }) })),
  'a slice of a core too short': launches(({ launches: { tasks } }) => ({ tasks: tasks.map((task) => ({ ...task,
    slices: task.slices.map((slice) => ({ ...slice, count: slice.count - 1 })) })) })),
  'what stood on the channels of the device forgotten': (parts) => ({ ...parts, program: { ...parts.program, graph: { ...parts.program.graph,
    channels: parts.program.graph.channels.map((channel) => ({ ...channel, tokens: 0 })) } } }),
};

describe('mutations of plans for cores and a device', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    const onDevice = (node: number): boolean => !['S', 'D'].some((name) => graph.nodes[node]!.name.startsWith(name));
    const input = Int32Array.from({ length: 6000 }, (__, i) => (Math.imul(i, 0x9e3779b1) >>> 20) + 1);
    const expected = compiledWasm(graph).run(input).output;
    const made = async (change?: (parts: HybridParts) => HybridParts, text?: (source: string) => string) => {
      using hybrid = await hybridOf(await opened(), graph, { ...small, onDevice }, change, text);
      assert.ok(inputFor(hybrid, 4) < input.length);
      return await hybrid.run(input, {});
    };

    it('the unchanged plan is right', async () => {
      const found = await made();
      assert.deepEqual([found.note, found.output], [undefined, expected]);
    });
    for (const [name, change] of Object.entries(mutations)) {
      it(name, async function () {
        if (backend !== 'simt' && name.endsWith('device too early')) this.skip(); // a real copy can win this race

        const found = await made(change);
        assert.equal(found.note, undefined);
        assert.notDeepEqual(found.output, expected);
      });
    }
    it('shuffles that go the other way', async () => {
      const found = await made(undefined, (source) => source.replace(/reorder<32, 1, 32, false, /g, () => 'reorder<32, 1, 32, true, '));
      assert.notDeepEqual(found.output, expected);
    });
  }, { backends: deviceBackends, cases: Object.keys(mutations).length + 2 });
});
