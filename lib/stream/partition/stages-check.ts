// An independent check of stage plans: follows an iteration of each channel from its producer through its operations to its consumer, and
// shares nothing with the code that makes plans.
import { elementAt } from '../../core/known.ts';
import { requireCount } from '../../core/checks.ts';
import type { SdfChannel } from '../sdf.ts';
import { requireCounts, requireFields, requireSizes } from '../require.ts';
import { checkStageProblem, type StageBuffer, type StagePlan, type StageProblem } from './stages.ts';

/** Any iteration late enough that what stood on the channels in the beginning is gone. */
const kLate = 1e6;

function checkPlan(plan: StagePlan, { graph }: StageProblem): void {
  requireFields('plan', plan, 'stages of actors and operations', ['operations', 'buffers']);
  requireCounts('plan.stages', plan.stages, graph.actors.length);
  for (const [i, operation] of plan.operations.entries()) {
    requireFields(`plan.operations[${i}]`, operation, 'an operation with channel, kind and stage');
    requireCount(operation.stage, `plan.operations[${i}].stage`, Number.MIN_SAFE_INTEGER);
  }
  for (const [i, ring] of plan.buffers.entries()) {
    requireFields(`plan.buffers[${i}]`, ring, 'a ring with slots and bytes');
    for (const name of ['written', 'read', 'slots', 'bytes'] as const) {
      requireCount(ring[name], `plan.buffers[${i}].${name}`, Number.MIN_SAFE_INTEGER);
    }
  }
  requireSizes('plan', [plan.hostBytes, plan.deviceBytes, plan.depth]);
}

/** One channel, walked from its producer on. */
class Walk {
  readonly problems: string[] = [];
  private readonly rings: StageBuffer[];
  private readonly id: number;
  private readonly size: number;
  /** Where data stands, in which layout, and the stage that wrote it. */
  private isOnGpu: boolean;
  private isShuffled: boolean;
  private at: number;

  constructor(channel: SdfChannel, items: number, plan: StagePlan, isOnGpu: boolean, isShuffled: boolean) {
    this.id = channel.id;
    this.size = items * channel.bytesPerItem;
    this.rings = plan.buffers.filter(({ channel: of }) => of === channel.id);
    [this.isOnGpu, this.isShuffled, this.at] = [isOnGpu, isShuffled, elementAt(plan.stages, channel.from)];
  }

  say(message: string): void {
    this.problems.push(`channel ${this.id}: ${message}`);
  }

  /** Data is read in stage `read`: by iteration j of the reader, iterations j − earliest to j − latest of the producer. */
  readRing(read: number, earliest: number, latest: number, who: string): void {
    const ring = this.rings.shift();
    const late = read + latest <= this.at;
    if (late) this.say(`${who} in stage ${read} follows stage ${this.at}`);
    if (!ring) return this.say(`nothing holds what ${who} reads`);
    if (ring.onGpu !== this.isOnGpu || ring.isShuffled !== this.isShuffled || ring.written !== this.at || ring.read !== read) {
      this.say(`the buffer that ${who} reads is another than was written`);
    }
    // Iteration j + slots is written in launch j + slots + at, which must come after the last reading of iteration j.
    const isTooFew = !(ring.slots + this.at > earliest + read) || ring.slots < Math.max(1, earliest);
    if (isTooFew) this.say(`${ring.slots} slots are too few for ${who}`);
    if (ring.bytes !== ring.slots * this.size) this.say(`${ring.bytes} bytes for ${ring.slots} slots of ${this.size}`);
  }

  operate({ kind, stage }: StagePlan['operations'][number]): void {
    this.readRing(stage, 0, 0, kind);
    this.at = stage;
    const needsGpu = kind !== 'toGpu';
    if (this.isOnGpu !== needsGpu) this.say(`${kind} of data that is ${needsGpu ? 'not ' : ''}on the GPU`);
    if (kind === 'toGpu' || kind === 'toCpu') this.isOnGpu = kind === 'toGpu';
    else this.isShuffled = kind === 'shuffle';
  }

  end(isOnGpu: boolean, isShuffled: boolean): void {
    if (this.isOnGpu !== isOnGpu) this.say('data ends on the wrong side');
    if (this.isShuffled !== isShuffled) this.say('data ends in the wrong layout');
    if (this.rings.length > 0) this.say(`${this.rings.length} buffers that nobody reads`);
  }
}

/** Returns the problems of a stage plan; empty if there are none. */
export function validateStages(problem: StageProblem, plan: StagePlan): string[] {
  checkStageProblem(problem);
  checkPlan(plan, problem);
  const { graph, repetitions, onGpu, tokens } = problem;
  const problems: string[] = [];
  const itemsOf = ({ from, push }: SdfChannel): number => push * elementAt(repetitions, from);
  const leftOn = (channel: SdfChannel): number => tokens?.[channel.id] ?? channel.tokens;
  const parts = (channel: SdfChannel): boolean =>
    channel.peek > channel.pop || (leftOn(channel) > 0 && !Number.isInteger(leftOn(channel) / itemsOf(channel)));
  const shuffles = (actor: number): boolean => onGpu[actor] === true && graph.actors[actor]?.stateful !== true
    && !graph.channels.some((each) => each.to === actor && parts(each));
  for (const channel of graph.channels) {
    const { id, from, to, pop, peek } = channel;
    const items = itemsOf(channel);
    const walk = new Walk(channel, items, plan, onGpu[from] === true, shuffles(from));
    for (const operation of plan.operations) if (operation.channel === id) walk.operate(operation);
    const firstItem = kLate * items - leftOn(channel);
    const earliest = items > 0 ? kLate - Math.floor(firstItem / items) : 0;
    const latest = items > 0 ? kLate - Math.floor((firstItem + items + peek - pop - 1) / items) : 0;
    walk.readRing(elementAt(plan.stages, to), earliest, latest, 'the consumer');
    walk.end(onGpu[to] === true, shuffles(to));
    problems.push(...walk.problems);
  }
  for (const [name, side] of [['hostBytes', false], ['deviceBytes', true]] as const) {
    const bytes = plan.buffers.reduce((sum, ring) => sum + (ring.onGpu === side ? ring.bytes : 0), 0);
    if (bytes !== plan[name]) problems.push(`${name} is ${plan[name]}, the buffers take ${bytes}`);
  }
  const depth = 1 + Math.max(0, ...plan.stages);
  if (plan.depth !== depth) problems.push(`depth ${plan.depth} of ${depth} launches`);
  return problems;
}
