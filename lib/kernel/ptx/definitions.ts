// What the registers of a PTX function hold: which definitions may reach an instruction, and what is the same whenever a thread comes
// there, because it depends only on numbers of the thread and of the block, parameters and constants.
import { elementAt } from '../../core/known.ts';
import { followers } from './blocks.ts';
import { namesIn, type Instruction, type PtxFunction } from './module.ts';

/** Instructions that give the same for the same operands. */
export const pure = new Set(('mov add sub mul mad mad24 mul24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi bmsk szext'
  + ' dp4a dp2a addc subc madc set setp selp slct and or xor not cnot lop3 shf shl shr prmt cvt cvta fma rcp sqrt rsqrt sin cos lg2 ex2'
  + ' tanh testp copysign isspacep').split(' '));
const constant = /^(?:-?(?:\d+|0[xX][\da-fA-F]+)U?|0[fFdD][\da-fA-F]+|%(?:tid|ntid|ctaid|nctaid)\.[xyz]|%laneid)$/;

/** Definitions in a function. `defs`: the names that each instruction defines. */
export class Definitions {
  /** Instructions that may come directly before each. */
  readonly before: number[][];
  readonly #defs = new Map<string, number[]>();
  readonly #known = new Map<number, number | undefined>();
  readonly #numbers = new Map<string, number>();
  readonly #fn: PtxFunction;
  readonly #parameters: ReadonlySet<string>;

  constructor(fn: PtxFunction, defs: readonly (readonly string[])[]) {
    this.#fn = fn;
    this.#parameters = new Set(namesIn(fn.header));
    this.before = defs.map(() => []);
    for (const each of fn.instructions) for (const next of followers(fn, each).next) this.before[next]?.push(each.index);
    defs.forEach((names, at) => { for (const name of names) this.#defs.set(name, [...this.#defs.get(name) ?? [], at]); });
  }

  instruction(at: number): Instruction {
    return elementAt(this.#fn.instructions, at);
  }

  /** Definitions of a name that the end of some instructions may see, within `inside`; `isOpen`: others may reach too. */
  reaching(name: string, from: readonly number[], inside?: ReadonlySet<number>): { defs: number[]; isOpen: boolean } {
    const all = new Set(this.#defs.get(name));
    const defs: number[] = [];
    let isOpen = from.length === 0;
    const seen = new Set<number>();
    const stack = [...from];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      if (inside?.has(at) === false) isOpen = true;
      else if (all.has(at)) defs.push(at);
      else {
        if (at === 0) isOpen = true;
        stack.push(...elementAt(this.before, at));
      }
    }
    return { defs, isOpen };
  }

  /** Names that a definition is computed from, if it gives the same for the same; undefined if it does not. */
  sources(at: number): readonly string[] | undefined {
    const { opcode, operands, guard } = this.instruction(at);
    const [head = '', space = ''] = opcode;
    if (guard !== undefined || !/^[\w$%]+$/.test(operands[0] ?? '')) return undefined;
    if (head === 'ld' && space === 'param') return namesIn(operands[1] ?? '').every((name) => this.#parameters.has(name)) ? [] : undefined;
    if (!pure.has(head) || /^(?:addc|subc|madc)$/.test(head) || opcode.includes('cc')) return undefined;
    const names = operands.slice(1);
    return names.every((name) => constant.test(name) || /^[%A-Za-z_$][\w$]*$/.test(name)) ? names : undefined;
  }

  #number(text: string): number {
    const known = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, known);
    return known;
  }

  /** A number for what an operand of an instruction holds whenever a thread comes there; undefined if that may change. */
  value(name: string, at: number, from: readonly number[] = elementAt(this.before, at)): number | undefined {
    if (constant.test(name)) return this.#number(name);
    const all = this.#defs.get(name);
    if (all === undefined) return name.startsWith('%') ? undefined : this.#number(name);
    const { defs, isOpen } = all.length === 1 ? { defs: all, isOpen: false } : this.reaching(name, from);
    const [def] = defs;
    return defs.length !== 1 || isOpen || def === undefined || !this.isSameScope(def, at) ? undefined : this.#result(def);
  }

  /** Names in inner braces may be others. */
  isSameScope(a: number, b: number): boolean {
    return this.instruction(a).scopes[0] === this.instruction(b).scopes[0];
  }

  #result(at: number): number | undefined {
    if (this.#known.has(at)) return this.#known.get(at);
    this.#known.set(at, undefined); // what depends on itself changes
    const values = this.sources(at)?.map((name) => this.value(name, at));
    const { opcode, operands } = this.instruction(at);
    const found = values?.every((each) => each !== undefined) !== true ? undefined
      : opcode[0] === 'mov' ? values[0]
        : this.#number(`${opcode.join('.')} ${values.join(' ')} ${values.length === 0 ? operands.slice(1).join(' ') : ''}`);
    this.#known.set(at, found);
    return found;
  }
}
