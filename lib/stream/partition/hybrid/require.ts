// What a hybrid plan must be for its check to read it at all.
import { describeValue } from '../../../core/arrays.ts';
import { choice, requireCount, truth } from '../../../core/checks.ts';
import { refusal } from '../../../core/errors.ts';
import { elementAt } from '../../../core/known.ts';
import { ScheduleError } from '../../schedule/error.ts';
import { requireCounts, requireFields, requireList, requireRateGraph, requireSizes } from '../../require.ts';
import type { Contracted } from '../loops.ts';
import type { HybridPlan, HybridProblem, HybridSlice } from './types.ts';

/** Most firings, instances and items in rings of a plan that is checked. */
const kMost = 2 ** 26;

const kinds = choice(['toGpu', 'toCpu', 'shuffle', 'deshuffle']);
const sliceKinds = choice(['actor', 'operation']);

function requireSlices(name: string, programs: readonly (readonly HybridSlice[])[]): void {
  requireList(name, programs, 'a list of slices for each processor');
  for (const [at, slices] of programs.entries()) {
    requireList(`${name}[${at}]`, slices, 'slices of instances');
    for (const [i, slice] of slices.entries()) {
      const path = `${name}[${at}][${i}]`;
      requireFields(path, slice, 'an actor or operation with its instances');
      sliceKinds(slice.kind, `${path}.kind`);
      requireCount(slice.id, `${path}.id`, 0);
      requireCount(slice.from, `${path}.from`, 0, kMost);
      requireCount(slice.count, `${path}.count`, 1, kMost);
    }
  }
}

function requireContracted({ graph, members, channels }: Contracted, given: number): void {
  requireRateGraph(graph);
  const count = graph.actors.length;
  if (members.length !== count) throw refusal('plan.contracted.members', `${count} lists`, `${members.length}`);
  members.forEach((list, id) => {
    const name = `plan.contracted.members[${id}]`;
    requireList(name, list, 'actors with firings');
    if (list.length === 0) throw refusal(name, 'actors with firings', 'an empty list');
    list.forEach((member, at) => {
      requireFields(`${name}[${at}]`, member, 'an actor with firings');
      requireCount(member.actor, `${name}[${at}].actor`, 0, given - 1);
      requireCount(member.firings, `${name}[${at}].firings`, 1, kMost);
    });
  });
  requireCounts('plan.contracted.channels', channels, graph.channels.length);
  graph.channels.forEach((channel, id) => {
    const name = `plan.contracted.graph.channels[${id}]`;
    for (const rate of ['push', 'pop', 'peek', 'tokens'] as const) requireCount(channel[rate], `${name}.${rate}`, 0);
  });
}

function requireParts({ operations, buffers, contracted: { graph } }: HybridPlan): void {
  for (const [i, operation] of operations.entries()) {
    const name = `plan.operations[${i}]`;
    requireFields(name, operation, 'an operation with channel, kind and stage');
    kinds(operation.kind, `${name}.kind`);
    requireCount(operation.channel, `${name}.channel`, 0, graph.channels.length - 1);
    requireCount(operation.stage, `${name}.stage`, 0, kMost);
    requireCount(operation.instances, `${name}.instances`, 0, kMost);
  }
  for (const [i, ring] of buffers.entries()) {
    const name = `plan.buffers[${i}]`;
    requireFields(name, ring, 'a ring with slots');
    requireCount(ring.channel, `${name}.channel`, 0, graph.channels.length - 1);
    requireCount(ring.slots, `${name}.slots`, 1, kMost);
    for (const flag of ['onGpu', 'isShuffled'] as const) truth(ring[flag], `${name}.${flag}`);
    requireSizes(name, [ring.written, ring.read, ring.bytes]);
  }
}

/** Throws {@link ScheduleError} (`limit`) for plans whose items are too many to be followed. */
function requireFollowable({ repetitions, stages, buffers, contracted: { graph } }: HybridPlan): void {
  const items = graph.channels.map(({ from, push }) => push * elementAt(repetitions, from));
  const held = buffers.reduce((sum, { channel, slots }) => sum + slots * elementAt(items, channel), 0);
  const old = graph.channels.reduce((sum, { tokens }) => sum + tokens, 0);
  const touched = graph.channels.reduce((sum, { to, peek }) => sum + peek * elementAt(repetitions, to), 0);
  const firings = repetitions.reduce((sum, count) => sum + count, 0);
  const size = held + old + touched + firings + Math.max(0, ...stages);
  if (size > kMost) throw new ScheduleError('limit', `the check would follow ${size} items, at most ${kMost}: check shorter iterations`);
}

/** Throws {@link ArgumentError} for what is no plan, {@link ScheduleError} (`limit`) for one that is too large to be checked. */
export function requirePlan(plan: HybridPlan, { graph: given }: HybridProblem): void {
  requireFields('plan', plan, 'a plan, as stream.planHybrid gives it', ['operations', 'buffers', 'cores', 'multiprocessors', 'onGpu']);
  requireFields('plan.contracted', plan.contracted, 'a graph with contracted loops', ['members', 'channels']);
  requireContracted(plan.contracted, given.actors.length);
  const actors = plan.contracted.graph.actors.length;
  for (const name of ['repetitions', 'firings'] as const) requireCounts(`plan.${name}`, plan[name], actors, 1);
  requireCounts('plan.stages', plan.stages, actors);
  if (plan.onGpu.length !== actors) throw refusal('plan.onGpu', `${actors} places`, describeValue(plan.onGpu));
  for (const name of ['steadyStates', 'width', 'shuffleItems', 'depth'] as const) requireCount(plan[name], `plan.${name}`, 1);
  requireSizes('plan', [plan.interval, plan.partitionInterval, plan.bound, plan.hostBytes, plan.deviceBytes]);
  requireFields('plan.load', plan.load, 'loads of cores, multiprocessors and transfers', ['cores', 'multiprocessors']);
  requireSizes('plan.load', [...plan.load.cores, ...plan.load.multiprocessors, plan.load.toCpu, plan.load.toGpu]);
  requireSlices('plan.cores', plan.cores);
  requireSlices('plan.multiprocessors', plan.multiprocessors);
  requireParts(plan);
  requireFollowable(plan);
}
