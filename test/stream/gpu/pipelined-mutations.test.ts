// Schedules and texts of chapter 3 with one thing wrong give wrong output: the tests that compare bits would see it.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import type { StreamGraph } from '../../../lib/stream/index.ts';
import type { PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import type { DeviceSchedule } from '../../../lib/stream/run/gpu-lists.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { changed } from './pipelined.ts';
import { deviceBackends, firstState, inputItems } from './support.ts';

/** Three filters in a row, whose rates differ, so that an iteration has several instances. */
const plain = graphOf('int->int filter A { work pop 3 push 2 { int a = pop(); int b = pop(); push(a * 3 + pop()); push(b - a); } } '
  + 'int->int filter B { work pop 1 push 3 { int a = pop(); push(a); push(a * a); push(a + 7); } } '
  + 'int->int filter C { work pop 2 push 1 { push(pop() * 5 - pop()); } } int->int pipeline Main { add A; add B; add C; }');
/** The same with windows, so that channels stay in the order of the stream. */
const peeking = graphOf('int->int filter A { work pop 2 push 2 peek 5 { push(peek(4) * 3 + peek(0)); push(peek(3) - peek(1)); pop(); pop(); } } '
  + 'int->int filter B { work pop 1 push 3 { int a = pop(); push(a); push(a * a); push(a + 7); } } '
  + 'int->int filter C { work pop 4 push 1 peek 8 { push(peek(7) * 5 - pop()); pop(); pop(); pop(); } } '
  + 'int->int pipeline Main { add A; add B; add C; }');

/** A loop whose delay is shorter than an instance, and state behind it. */
const ordered = graphOf('int->int filter A { work pop 2 push 1 { int a = pop(); push(a * 3 + pop()); } } '
  + 'int->int filter B { int s; work pop 1 push 1 { s = (s ^ (s << 3)) + pop(); push(s); } } int->int pipeline Main { add feedbackloop {'
  + 'join roundrobin(1, 1); body A; loop Identity<int>; split duplicate; enqueue 5; enqueue 6; enqueue 7; }; add B; }');

const swp: PipelineOptions = { mode: 'swp', width: 32, threads: 64, coarsening: 2, processors: 3 };
const swpnc: PipelineOptions = { mode: 'swpnc', threads: 64, coarsening: 2, processors: 3 };
const serial: PipelineOptions = { ...swp, mode: 'serial' };

const head = 9, endWords = 5, slotsAt = 2, tokensAt = 3;

/** Places in the lists at which entries begin. */
function entriesOf({ lists, listWords }: DeviceSchedule): number[] {
  const found: number[] = [];
  for (let list = 0; list < lists.length; list += listWords) for (let at = list; lists[at]! > 0; at += lists[at]!) found.push(at);
  return found;
}

/** A schedule whose words are changed. */
const edited = (edit: (lists: Int32Array, entries: readonly number[], schedule: DeviceSchedule) => void) =>
  (schedule: DeviceSchedule): DeviceSchedule => {
    const lists = schedule.lists.slice();
    edit(lists, entriesOf(schedule), schedule);
    assert.notDeepEqual(lists, schedule.lists, 'nothing was changed');
    return { ...schedule, lists };
  };

/** Entries of the latest stage; there must be several stages. */
function latest(lists: Int32Array, entries: readonly number[]): number[] {
  const stage = Math.max(...entries.map((at) => lists[at + 3]!));
  assert.ok(stage > 1, 'there are several stages');
  return entries.filter((at) => lists[at + 3] === stage);
}

const everySlot = (slots: (now: number) => number) => edited((lists, entries) => {
  for (const at of entries) for (let end = at + head; end < at + lists[at]!; end += endWords) lists[end + slotsAt] = slots(lists[end + slotsAt]!);
});

const mutations: Readonly<Record<string, readonly [StreamGraph, PipelineOptions, Parameters<typeof changed>[3]]>> = {
  'a stage too early: the predicate': [plain, swp, { schedule: edited((lists, entries) => {
    for (const at of latest(lists, entries)) lists[at + 3] = 0;
  }) }],
  'a stage too late': [plain, swp, { schedule: edited((lists, entries) => { for (const at of entries.slice(0, 2)) lists[at + 3]! += 9; }) }],
  'no epilogue': [plain, swp, { schedule: (schedule) => ({ ...schedule, stages: 1 }) }],
  'rings that do not rotate': [plain, swp, { schedule: everySlot(() => 1) }],
  'rings of one iteration too few': [peeking, swpnc, { schedule: everySlot((now) => Math.max(1, now - 1)) }],
  'rings where filters follow each other': [peeking, serial, { schedule: everySlot(() => 1) }],
  'an instance too few': [plain, swp, { schedule: edited((lists, entries) => { --lists[entries.at(-1)! + 5]!; }) }],
  'an instance that is made twice': [plain, swp, { schedule: edited((lists, entries) => {
    const at = entries.find((each) => lists[each + 4]! > 0)!;
    --lists[at + 4]!;
  }) }],
  'items that stood on a channel forgotten': [peeking, swpnc, { schedule: edited((lists, entries) => {
    for (const at of entries) for (let end = at + head; end < at + lists[at]!; end += endWords) lists[end + tokensAt] = 0;
  }) }],
  'the code of another filter': [plain, swp, { schedule: edited((lists, entries) => {
    const [a, b] = [0, 1].map((code) => entries.find((at) => lists[at + 1] === code)!) as [number, number];
    [lists[a + 1], lists[b + 1]] = [lists[b + 1]!, lists[a + 1]!];
  }) }],
  'columns of another width': [plain, swp, { text: (source) => source.replace('e0.column<32>', 'e0.column<64>') }],
  'items of a column side by side': [plain, swp, { text: (source) => source.replaceAll(' * 32', ' * 1').replace(/\[32\]/g, '[1]') }],
  'a window that is one item short': [peeking, swpnc, { text: (source) => source.replace(/load<(.*?>), (\d+)>/g, (_, spread, window) =>
    `load<${spread}, ${Number(window) - 1}>`) }],
  'gaps at one end only': [peeking, { ...swp, threads: 32 }, { text: (source) => source.replace('Spread<2>', 'Spread<31>') }],
  'instances of a loop in another order': [ordered, swp, { text: (source) => source.replaceAll(
    'int instance = work.first(); instance < last; ++instance', 'int instance = last - 1; instance >= work.first(); --instance') }],
  'a way back that is one item shorter': [ordered, swp, { text: (source) => source.replace(/(int w\d+ = )3;/, '$12;') }],
  'a loop that begins at the same place in every instance': [ordered, serial, { text: (source) => source.replace(
    /e(\d+)\.wrapped\(e\d+\.place\(instance, threads\)\)/g, 'e$1.wrapped(e$1.place(0, threads))') }],
  'state that is not there at the start': [ordered, swpnc, { schedule: (schedule) => ({ ...schedule, kept: [] }) }],
  'what stands in a loop one place off': [ordered, swp, { schedule: (schedule) =>
    ({ ...schedule, kept: schedule.kept.map((part) => (part.ring === undefined ? part : { ...part, at: part.at + 1 })) }) }],
  'the joiner of a loop after its body': [ordered, serial, { text: (source) => source.replace(
    /( +c0i\[[^\n]*= c3i\[[^\n]*\n)((?:.*\n)*?)( +c3i\[)/, '$2$1$3') }],
  'a shuffle of another width': [plain, swp, { text: (source) => source.replace('take<32', 'take<64') }],
};

async function isRight(device: Device, graph: StreamGraph, options: PipelineOptions, how: Parameters<typeof changed>[3]): Promise<boolean> {
  using compiled = await changed(device, graph, options, how);
  const items = inputItems(compiled, firstState(compiled) + 4 * compiled.schedule.states + 3);
  const input = Int32Array.from({ length: items }, (_, i) => Math.imul(i, 2654435761) >>> 20);
  const { output } = await compiled.run(input, {});
  const expected = compiledWasm(graph).run(input, {}).output;
  return expected.length === output.length && expected.every((each, i) => each === output[i]);
}

describe('mutations of the schedules of chapter 3', function () {
  this.timeout(120_000);

  eachBackend((_, opened) => {
    it('unchanged programs are right', async () => {
      for (const graph of [plain, peeking, ordered]) {
        for (const options of [swp, swpnc, serial]) assert.ok(await isRight(await opened(), graph, options, {}), JSON.stringify(options));
      }
    });

    for (const [name, [graph, options, how]] of Object.entries(mutations)) {
      it(name, async () => assert.ok(!await isRight(await opened(), graph, options, how), 'nobody noticed'));
    }
  }, { backends: deviceBackends, cases: 1 + Object.keys(mutations).length });
});
