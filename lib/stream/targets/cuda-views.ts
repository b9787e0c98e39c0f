// Permutations that take no time: the groups around a splitter, a joiner or a transposition read and write the array on its other side,
// at strided indices, in place of one that it would fill or empty.
import { elementAt, required } from '../../core/known.ts';
import {
  binary, exact, i32, load, store, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Statement,
} from '../../kernel/ir.ts';
import { linearOf } from '../../kernel/passes/linear.ts';
import { forCount } from '../../kernel/passes/slice.ts';
import { localsSetBy, mapBody, walkBody } from '../../kernel/visit.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { countsOf, kindsIn } from '../plan/layout.ts';
import { isStrided, orderOf, splitDigits, stridedOf, sumOfDigits, type Digit } from '../plan/permutations.ts';
import type { Group, ProgramPlan } from '../plan/plan.ts';
import { nodesWithState } from '../state/index.ts';
import { copiesOf } from './cuda-copies.ts';

/** How a group reads or writes a channel's items in another array. */
export interface View {
  /** The channel that has no array of its own. */
  readonly channel: number;
  /** The group, and its end of the channel among the ends of channels and streams. */
  readonly group: Group;
  readonly slot: number;
  readonly isRead: boolean;
  /** The number of the channel or stream whose array it is, and its items in a steady state. */
  readonly root: number;
  readonly items: number;
  /** Where the first iteration of a steady state begins; digits of the places in an iteration, and of the iteration's number. */
  readonly base: number;
  readonly inner: readonly Digit[];
  readonly outer: readonly Digit[];
}

export interface Views {
  readonly all: readonly View[];
  /** Channels without an array of their own. */
  readonly channels: ReadonlySet<number>;
  /** Numbers of groups that have nothing to do. */
  readonly gone: ReadonlySet<number>;
}

const none: Views = { all: [], channels: new Set(), gone: new Set() };
const found = new WeakMap<ProgramPlan, Views>();

/** The views of a plan that was lowered by {@link withViews}. */
export function viewsOf(plan: ProgramPlan): Views {
  return found.get(plan) ?? none;
}

/** The view that a group has at one of its ends, if any. */
export function viewOf(plan: ProgramPlan, group: Group, slot: number): View | undefined {
  return viewsOf(plan).all.find((view) => view.group === group && view.slot === slot);
}

/** Groups that write an array, and those that read it. */
export interface Users {
  readonly from: Group[];
  readonly to: Group[];
}

/** By the number of a channel or open end that has an array. */
export function usersOf(plan: ProgramPlan): ReadonlyMap<number, Users> {
  const { all, channels, gone } = viewsOf(plan);
  const { sdf, externals, groupOf } = plan;
  const users = new Map<number, Users>();
  const put = (id: number, group: Group, side: keyof Users): void => {
    const own = users.get(id) ?? { from: [], to: [] };
    users.set(id, own);
    if (!gone.has(group.id) && !own[side].includes(group)) own[side].push(group);
  };
  for (const { id, from, to } of sdf.channels) {
    if (channels.has(id)) continue;
    put(id, elementAt(groupOf, from), 'from');
    put(id, elementAt(groupOf, to), 'to');
  }
  for (const { id, node, isIn } of externals) put(id, elementAt(groupOf, node), isIn ? 'to' : 'from');
  for (const { root, group, isRead } of all) put(root, group, isRead ? 'to' : 'from');
  return users;
}

/** The program with views in place of permutations, where the plan asks for that. */
export function withViews(lowered: LoweredProgram): LoweredProgram {
  if (!lowered.plan.options.views) return lowered;
  const maker = new ViewMaker(lowered);
  const program = maker.program();
  found.set(lowered.plan, maker.views());
  return { ...lowered, program };
}

/** Where items of a channel stand: by number in a steady state. */
interface Location {
  readonly root: number;
  readonly items: number;
  readonly order: readonly number[];
}

class ViewMaker {
  readonly #lowered: LoweredProgram;
  readonly #plan: ProgramPlan;
  readonly #state: ReadonlySet<number>;
  #functions: ReadonlyMap<number, KernelFunction>;
  #views: readonly View[] = [];
  #channels: ReadonlySet<number> = new Set();
  #gone: ReadonlySet<number> = new Set();
  /** Functions of one iteration. */
  readonly #isOnce = new WeakSet<KernelFunction>();

  constructor(lowered: LoweredProgram) {
    this.#lowered = lowered;
    this.#plan = lowered.plan;
    this.#state = new Set(nodesWithState(lowered.plan));
    this.#functions = new Map(lowered.plan.groups.map(({ id }) =>
      [id, required(lowered.program.functions.find(({ name }) => name === `group_${id}`))]));
  }

  views(): Views {
    return { all: this.#views, channels: this.#channels, gone: this.#gone };
  }

  program(): LoweredProgram['program'] {
    const { program } = this.#lowered;
    const movers = this.#plan.groups.filter((group) => this.#isMover(group));
    // Each is followed by those that it hands its place on to.
    for (const group of movers) if (!this.#isJoining(group)) this.#replace(group, true, this.#ownLocation(group, true));
    for (const group of movers.toReversed()) if (this.#isJoining(group)) this.#replace(group, false, this.#ownLocation(group, false));
    const made = new Map([...this.#functions.values()].map((f) => [f.name, f]));
    return { ...program, functions: program.functions.map((f) => made.get(f.name) ?? f) };
  }

  #nodeOf({ steps }: Group) {
    return elementAt(this.#plan.graph.nodes, elementAt(steps, 0).actor);
  }

  #isMover(group: Group): boolean {
    const { steady } = this.#plan;
    const [step] = group.steps;
    if (group.steps.length > 1 || group.isLoop || step === undefined) return false;
    const node = this.#nodeOf(group);
    return (this.#plan.firings.get(step.actor)?.codes.length ?? 1) === 1 && isStrided(node, elementAt(steady.repetitions, step.actor))
      && [...node.inputs, ...node.outputs].every((channel) => channel === undefined || this.#isPlain(channel));
  }

  /** Joiners are replaced by what their inputs write, and filters whose output is the program's. */
  #isJoining(group: Group): boolean {
    const { inputs, outputs } = this.#nodeOf(group);
    return inputs.length > 1 || (inputs.length === 1 && outputs.length === 1 && outputs[0] === undefined);
  }

  /** Channels with an array of single scalars, none of which stay there. */
  #isPlain(channel: number): boolean {
    const { graph, storage, steady } = this.#plan;
    const copies = copiesOf(this.#plan);
    return storage[channel] === 'block' && steady.residual[channel] === 0 && isSingle(elementAt(graph.channels, channel).type)
      && !copies.has(channel) && ![...copies.values()].includes(channel);
  }

  /** The array at the one input or output of a permutation. */
  #ownLocation(group: Group, isInput: boolean): Location | undefined {
    const node = this.#nodeOf(group);
    const [channel] = isInput ? node.inputs : node.outputs;
    const { rates, externals, steady } = this.#plan;
    if (channel !== undefined) {
      const items = elementAt(rates, channel);
      return this.#channels.has(channel) ? undefined : { root: channel, items, order: Array.from({ length: items }, (_, i) => i) };
    }
    const external = externals.find(({ kind, node: of }) => of === node.id && kind === (isInput ? 'input' : 'output'));
    if (external === undefined || external.later.beyond > 0 || !isSingle(external.type)) return undefined;
    const items = external.later.items * elementAt(steady.repetitions, node.id);
    return { root: external.id, items, order: Array.from({ length: items }, (_, i) => i) };
  }

  /** Lets the groups at a permutation's other channels do without it: for a splitter, those that can; for a joiner, all or none. */
  #replace(group: Group, isInput: boolean, at: Location | undefined): boolean {
    if (at === undefined || this.#gone.has(group.id)) return false;
    const before = [this.#functions, this.#views, this.#channels, this.#gone] as const;
    const node = this.#nodeOf(group);
    const firings = elementAt(this.#plan.steady.repetitions, node.id);
    const others = isInput ? node.outputs : node.inputs;
    const left = others.filter((channel, port) => channel === undefined || !this.#view(channel, isInput, {
      ...at, order: orderOf(node, { port, isInput, firings }).map((place) => elementAt(at.order, place)),
    }));
    const f = required(this.#functions.get(group.id));
    if (left.length === 0) {
      this.#gone = new Set([...this.#gone, group.id]);
      this.#put(group, { ...f, body: [], buffers: [] });
    } else if (isInput) {
      const isGone = ({ name }: Buffer): boolean => [...this.#channels].some((channel) => name === `c${channel}${name.slice(-1)}`);
      this.#put(group, { ...f, body: mapBody(f.body, { statement: (s) => (s.kind === 'store' && isGone(s.buffer) ? [] : s) }) });
    } else [this.#functions, this.#views, this.#channels, this.#gone] = before;
    return left.length === 0;
  }

  #put(group: Group, f: KernelFunction): void {
    this.#functions = new Map([...this.#functions, [group.id, f]]);
  }

  /** Lets the group at a channel's other end use the array of `at`. */
  #view(channel: number, isRead: boolean, at: Location): boolean {
    const { sdf, groupOf } = this.#plan;
    const { from, to } = elementAt(sdf.channels, channel);
    const group = elementAt(groupOf, isRead ? to : from);
    // Another permutation of this kind hands the place on.
    const isHandedOn = this.#isMover(group) && this.#isJoining(group) !== isRead && this.#replace(group, isRead, at);
    if (!isHandedOn) {
      const view = this.#viewOf(channel, group, isRead, at);
      const f = view && this.#throughView(required(this.#functions.get(group.id)), view);
      if (view === undefined || f === undefined) return false;
      this.#put(group, f);
      this.#views = [...this.#views, view];
    }
    this.#channels = new Set([...this.#channels, channel]);
    return true;
  }

  #viewOf(channel: number, group: Group, isRead: boolean, { root, items, order }: Location): View | undefined {
    if (group.isLoop || (!isRead && group.steps.some(({ actor }) => this.#state.has(actor))) || this.#gone.has(group.id)) return undefined;
    const strided = stridedOf(order);
    const digits = strided && splitDigits(strided.digits, order.length / group.iterations);
    const slot = 2 * channel + (isRead ? 0 : 1);
    return strided && digits && { channel, group, slot, isRead, root, items, base: strided.base, ...digits };
  }

  /** One iteration of a group whose accesses to a channel are to the other array; undefined where its code has others than by index. */
  #throughView(f: KernelFunction, view: View): KernelFunction | undefined {
    const { program, system: { ix } } = this.#lowered;
    const one = this.#isOnce.has(f) ? f : { ...forCount(program, f, ix, 1, 0), parameters: f.parameters };
    this.#isOnce.add(one);
    const { graph: { channels } } = this.#plan;
    const kind = required(kindsIn(countsOf(elementAt(channels, view.channel).type))[0]);
    const named = (wanted: string): Buffer | undefined => program.buffers.find(({ name }) => name === wanted);
    const [buffer, other] = [named(`c${view.channel}${kind}`), named(`${view.root < channels.length ? 'c' : 'x'}${view.root}${kind}`)];
    if (buffer === undefined || other === undefined) return undefined;
    const made = new Redirection(ix, view, buffer, other).body(one.body);
    if (made === undefined) return undefined;
    const through = { ...one, body: made };
    this.#isOnce.add(through);
    return through;
  }

}

function isSingle(type: Parameters<typeof countsOf>[0]): boolean {
  const counts = countsOf(type);
  const [kind, ...others] = kindsIn(counts);
  return kind !== undefined && others.length === 0 && counts[kind] === 1;
}

/** Accesses to one array as accesses to another. */
class Redirection {
  readonly #ix: Buffer;
  readonly #view: View;
  readonly #from: Buffer;
  readonly #to: Buffer;
  /** Locals that hold where the iteration begins. */
  readonly #begins = new Set<Local>();
  #isPossible = true;

  constructor(ix: Buffer, view: View, from: Buffer, to: Buffer) {
    this.#ix = ix;
    this.#view = view;
    this.#from = from;
    this.#to = to;
  }

  body(body: Body): Body | undefined {
    const sets = new Map<Local, number>();
    walkBody(body, { statement: (s) => { for (const local of localsSetBy(s)) sets.set(local, (sets.get(local) ?? 0) + 1); } });
    for (const s of body) if (s.kind === 'set' && sets.get(s.local) === 1 && this.#isBegin(s.value)) this.#begins.add(s.local);
    const made = mapBody(body, {
      expression: (e) => {
        if (e.kind !== 'load' || e.buffer !== this.#from) return e;
        const { index, offset } = this.#placed(e.index, e.offset);
        return { ...load(this.#to, index, offset), type: e.type };
      },
      statement: (s): Statement | Body => {
        if (s.kind === 'store' && s.buffer === this.#from) {
          const { index, offset } = this.#placed(s.index, s.offset);
          return store(this.#to, index, s.value, offset);
        }
        if ((s.kind === 'copy' && (s.to === this.#from || s.from === this.#from)) || (s.kind === 'fill' && s.buffer === this.#from)) {
          this.#isPossible = false;
        }
        return s;
      },
    });
    return this.#isPossible ? made : undefined;
  }

  #isBegin(e: Expression): boolean {
    if (e.kind === 'get') return this.#begins.has(e.local);
    return e.kind === 'load' && e.buffer === this.#ix && (valueOf(e.index) ?? NaN) + e.offset === this.#view.slot;
  }

  #placed(index: Expression, offset: number): { readonly index: Expression; readonly offset: number } {
    const { terms, constant } = linearOf(index);
    const begins = terms.filter(({ of }) => this.#isBegin(of));
    const rest = terms.filter(({ of }) => !this.#isBegin(of));
    const [begin] = begins;
    if (begins.length !== 1 || begin?.factor !== 1) {
      this.#isPossible = false;
      return { index, offset };
    }
    const { inner } = this.#view;
    if (rest.length === 0) {
      const place = sumOfDigits(inner, constant + offset);
      return place < 0 ? { index: exact('add', begin.of, i32(place)), offset: 0 } : { index: begin.of, offset: place };
    }
    const sum = rest.reduce<Expression>((all, { of, factor }) =>
      exact('add', all, factor === 1 ? of : exact('mul', of, i32(factor))), i32(constant + offset));
    return { index: exact('add', begin.of, placeOf(inner, sum)), offset: 0 };
  }
}

/** The place of item number `number`, which is not negative, by its digits. */
function placeOf(digits: readonly Digit[], number: Expression): Expression {
  let place: Expression | undefined, rest = number;
  digits.forEach(({ count, step }, i) => {
    const isLast = i === digits.length - 1;
    const bits = Math.log2(count), isPower = Number.isInteger(bits);
    const digit = isLast ? rest : isPower ? binary('band', rest, i32(count - 1)) : binary('rem', rest, i32(count));
    const own = exact('mul', digit, i32(step));
    place = place === undefined ? own : exact('add', place, own);
    if (!isLast) rest = isPower ? binary('shr', rest, i32(bits)) : binary('div', rest, i32(count));
  });
  return place ?? i32(0);
}
