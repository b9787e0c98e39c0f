// The part of the check that concerns kills, which the pass names: each is proved anew, by a walk with the current that finds which
// registers may differ from the last time that the thread came by.
import type { Kernel } from './checker-kernel.ts';

const steady = new RegExp('^(?:mov|cvta?|add|sub|mul|mad|mul24|mad24|min|max|abs|neg|shl|shr|shf|and|or|xor|not|lop3|bfe|bfi|rem|div|setp'
  + '|selp|sad)(?!.*\\.cc)');
const numbers = /^%(?:tid|ntid|ctaid|nctaid|laneid)$/;
const longest = 3000;

/** Proves kills. */
export class Kills {
  readonly #kernel: Kernel;
  readonly #defs = new Map<string, number[]>();
  readonly #declared = new Map<string, number>();
  readonly #forms = new Map<string, string | undefined>();
  readonly #before: number[][];
  /** Statements that are instructions of the original. */
  readonly #instructions: number[];

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    const { statements } = kernel;
    this.#before = statements.map(() => []);
    statements.forEach(({ next, tokens }, at) => {
      for (const each of next) this.#before[each]?.push(at);
      for (const name of kernel.names(at).defined) this.#defs.set(name, [...this.#defs.get(name) ?? [], at]);
      if (tokens[0] !== '.reg') return;
      for (const name of tokens.slice(1)) if (/^[%\w$]+$/.test(name)) this.#declared.set(name, (this.#declared.get(name) ?? 0) + 1);
    });
    const isInstruction = ([first = '', second]: readonly string[]): boolean => second !== ':' && !first.startsWith('.');
    this.#instructions = statements.flatMap(({ tokens, isNew }, at) => !isNew && isInstruction(tokens) ? [at] : []);
  }

  /** Statements at which the old content of an array ends. */
  of(array: number): Set<number> {
    const { claim } = this.#kernel;
    const own = claim.kills.filter(({ name }) => name === claim.moved[array]?.name).map(({ at }) => this.#instructions[at] ?? -1);
    return new Set(own.filter((at) => at >= 0 && this.#isKill(1n << BigInt(array), at)));
  }

  #isKill(bit: bigint, start: number): boolean {
    const kernel = this.#kernel;
    const stops = (at: number): boolean => kernel.isBarrier(at) && kernel.statements[at]?.isNew === false;
    const region = new Set([start, ...kernel.forward([start], stops)].filter((at) => !stops(at)));
    if (region.size > longest || stops(start)) return false;
    const stores = kernel.statements.flatMap((_, at) => ((kernel.writes[at] ?? 0n) & bit) !== 0n ? [at] : []);
    for (const at of region) {
      const opcode = kernel.opcode(at);
      if (/^(?:ret|exit|trap|call|brx)\b/.test(opcode) || kernel.statements[at]?.next.length === 0) return false;
      if (/^bar/.test(opcode) && kernel.guard(at) !== undefined) return false;
      if (((kernel.reads[at] ?? 0n) & bit) !== 0n) return false;
      if (at !== start && this.#before[at]?.every((each) => region.has(each)) !== true) return false;
    }
    if (!stores.every((at) => /^st\b(?!.*(?:async|bulk))/.test(kernel.opcode(at)) && kernel.writes[at] === bit)) return false;
    // Threads that wrote must come here: no branch in between may send some of them elsewhere.
    const later = kernel.forward(stores, () => false);
    if ([...kernel.controls(start)].some((branch) => later.has(branch) && !kernel.isUniform(branch, false))) return false;
    return this.#writesAgain(stores, region, start, stops);
  }

  #writesAgain(stores: readonly number[], region: ReadonlySet<number>, start: number, stops: (at: number) => boolean): boolean {
    const loose = this.#loose(region, start);
    const isSame = (at: number): boolean => this.#isSame(at, region, loose) && !this.#isLoose(this.#place(at)?.name ?? '', at, loose);
    const isAlways = (at: number): boolean => region.has(at)
      && (at === start || ![...this.#kernel.forward([start], (each) => each === at || stops(each))].some(stops));
    const bytes = (at: number): string[] => {
      const place = this.#place(at);
      const form = place === undefined ? undefined : this.#form(place.name);
      return place === undefined || form === undefined ? [] : Array.from({ length: place.bytes }, (_, i) => `${form}+${place.offset + i}`);
    };
    const written = new Set(stores.filter((at) => region.has(at) && this.#kernel.guard(at) === undefined).flatMap((at) => {
      const side = this.#side(at);
      return isAlways(at) ? bytes(at) : side !== undefined && isAlways(side.branch) ? bytes(at).map((each) => `${each} ${side.text}`) : [];
    }));
    return stores.every((at) => {
      if (region.has(at)) return isSame(at);
      const own = bytes(at), side = this.#side(at)?.text;
      return own.length > 0 && own.every((each) => written.has(each) || (side !== undefined && written.has(`${each} ${side}`)));
    });
  }

  /** The nearest branch, if only one side of it leads to a statement and nothing else does, and when that side is taken. */
  #side(statement: number): { branch: number; text: string } | undefined {
    for (let at = statement; this.#before[at]?.length === 1;) {
      const branch = this.#before[at]?.[0] ?? 0;
      const { next = [], tokens = [] } = this.#kernel.statements[branch] ?? {};
      if (next.length > 1) {
        const guard = /^bra\b/.test(this.#kernel.opcode(branch)) ? this.#kernel.guard(branch) : undefined;
        const form = guard === undefined ? undefined : this.#form(guard);
        const [isThrough, isNegated] = [at === branch + 1, tokens[1] === '!'];
        return form === undefined ? undefined : { branch, text: `${isThrough} ${isNegated} ${form}` };
      }
      at = branch;
    }
    return undefined;
  }

  /** Where a store writes. */
  #place(at: number): { name: string; offset: number; bytes: number } | undefined {
    const tokens = this.#kernel.statements[at]?.tokens ?? [];
    const text = tokens.slice(tokens.indexOf('[') + 1, tokens.indexOf(']')).join('');
    const found = /^([%A-Za-z_$][\w$]*)(?:\+(-?\d+))?$/.exec(text);
    const type = /(?:\.v(\d))?\.[busf]x?(\d+)$/.exec(this.#kernel.opcode(at));
    if (found?.[1] === undefined || type === null) return undefined;
    return { name: found[1], offset: Number(found[2] ?? 0), bytes: Number(type[1] ?? 1) * Number(type[2]) / 8 };
  }

  #isDeclaredOnce(name: string): boolean {
    const stem = /^(.*?)\d+$/.exec(name)?.[1] ?? '';
    return (this.#declared.get(name) ?? 0) + (this.#declared.get(stem) ?? 0) <= 1;
  }

  /** What a name always is for a thread, as a formula; undefined if it may change. */
  #form(name: string): string | undefined {
    if (this.#forms.has(name)) return this.#forms.get(name);
    this.#forms.set(name, undefined);
    const defs = this.#defs.get(name);
    const [def] = defs ?? [];
    let form: string | undefined;
    if (defs === undefined) form = !name.startsWith('%') || numbers.test(name) ? name : undefined;
    else if (def !== undefined && defs.length === 1 && this.#isSteady(def) && this.#isDeclaredOnce(name)) {
      const tokens = this.#kernel.statements[def]?.tokens ?? [];
      const parts = tokens.slice(tokens.indexOf(',') + 1).map((token) => {
        const [, base = '', dimension = ''] = /^([%A-Za-z_$][\w$]*)(\.[xyz])?$/.exec(token) ?? [];
        const own = base === '' ? token : this.#form(base);
        return own === undefined ? undefined : own + dimension;
      });
      const text = parts.join(' ');
      if (!parts.includes(undefined) && text.length < 500) form = /^mov\b/.test(tokens[0] ?? '') ? text : `(${tokens[0]} ${text})`;
    }
    this.#forms.set(name, form);
    return form;
  }

  #isSteady(at: number): boolean {
    const kernel = this.#kernel;
    if (kernel.guard(at) !== undefined || kernel.names(at).defined.length !== 1) return false;
    return steady.test(kernel.opcode(at)) || (/^ld\.param\b/.test(kernel.opcode(at))
      && kernel.names(at).used.every((name) => new RegExp(`(?<![\\w$])${name.replace(/\$/g, '\\$')}(?![\\w$])`).test(kernel.header)));
  }

  /** Whether a register may hold something else at a statement than when the thread came by before. */
  #isLoose(name: string, at: number, loose: ReadonlyMap<number, ReadonlySet<string>>): boolean {
    const own = loose.get(at);
    if (own?.has(name) === true || !this.#isDeclaredOnce(name)) return true;
    const isLocal = this.#defs.get(name)?.some((def) => loose.has(def)) === true;
    return !isLocal && this.#form(name) === undefined;
  }

  /** Whether threads execute a statement in every pass or in none, as often each time. */
  #isSame(at: number, region: ReadonlySet<number>, loose: ReadonlyMap<number, ReadonlySet<string>>): boolean {
    const guards = [at, ...this.#kernel.controls(at)].filter((each) => region.has(each));
    return guards.every((each) => {
      const guard = this.#kernel.guard(each);
      return guard === undefined || !this.#isLoose(guard, each, loose);
    });
  }

  /** For every statement of the region, registers that it defines and that may be others before the statement than in the last pass. */
  #loose(region: ReadonlySet<number>, start: number): Map<number, Set<string>> {
    const kernel = this.#kernel;
    const found = new Map([...region].map((at) => [at, new Set<string>()]));
    const local = [...new Set([...region].flatMap((at) => kernel.names(at).defined))];
    for (const name of local) if (!this.#isSameAtStart(name, region, start)) found.get(start)?.add(name);
    for (let changed = true; changed;) {
      changed = false;
      for (const at of [...region].sort((a, b) => a - b)) {
        const out = new Set(found.get(at));
        const { used, defined } = kernel.names(at);
        for (const name of defined) {
          const isRight = this.#isSteady(at) && this.#isSame(at, region, found) && !used.some((each) => this.#isLoose(each, at, found));
          if (isRight) out.delete(name);
          else out.add(name);
        }
        for (const next of kernel.statements[at]?.next ?? []) {
          const set = found.get(next);
          for (const name of out) {
            if (set === undefined || set.has(name)) continue;
            set.add(name);
            changed = true;
          }
        }
      }
    }
    return found;
  }

  /** Whether a register that the region changes comes with the same value each time: from one definition, outside. */
  #isSameAtStart(name: string, region: ReadonlySet<number>, start: number): boolean {
    const stack = (this.#before[start] ?? []).filter((at) => !region.has(at));
    const seen = new Set<number>();
    const defs = new Set<number>();
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      if (this.#kernel.names(at).defined.includes(name)) defs.add(at);
      else stack.push(...this.#before[at] ?? []);
    }
    const [def] = defs;
    if (def === undefined || defs.size > 1 || !this.#isSteady(def)) return false;
    return this.#kernel.names(def).used.every((each) => this.#form(each) !== undefined);
  }
}
