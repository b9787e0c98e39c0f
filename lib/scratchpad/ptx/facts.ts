// What single PTX instructions do: registers, memory, barriers.
import { elementAt } from '../../core/known.ts';
import { cutBlocks } from '../../kernel/ptx/blocks.ts';
import { namesIn, type Instruction, type PtxFunction, type PtxModule } from '../../kernel/ptx/module.ts';

/** What an instruction reads and writes. */
export interface Facts {
  readonly defs: readonly string[];
  /** Names whose values it uses, without those in addresses; its guard is not among them. */
  readonly uses: readonly string[];
  /** Names in its memory operands. */
  readonly addresses: readonly string[];
  /** How it accesses memory: r read, w write, rw both; '' if it does not, '?' if it is not known. */
  readonly memory: '' | 'r' | 'w' | 'rw' | '?';
  /** What it means for the threads of the block. */
  readonly kind: Kind;
}

/**
 * `barrier`: of the whole block. `wait`: may wait for other threads without being one (named and partial barriers, transaction barriers,
 * clusters). `fetch`: an asynchronous copy; `land`: waits for all of them, `landed`: for some. `call`: of a function that may contain
 * barriers or leave; `harmless`: of another one.
 */
export type Kind = 'plain' | 'barrier' | 'guarded' | 'wait' | 'fetch' | 'land' | 'landed' | 'call' | 'harmless';

/** What calls of the functions of a module mean; functions that are not in it are taken to do anything. */
export type Callees = ReadonlyMap<string, Kind>;

const base = (name: string): string => name.replace(/^(%?[\w$]+)\.[xyzw]$/, '$1');

/** Whether the barriers of a function with number 0 are all of the whole block: no other use, no variable number. */
export function hasPlainBarriers(fn: PtxFunction): boolean {
  return fn.instructions.every((each) => {
    if (!/^bar(?:rier)?$/.test(elementAt(each.opcode, 0)) || /warp|cluster/.test(each.opcode.join('.'))) return true;
    const operands = each.opcode.includes('red') ? each.operands.slice(1) : each.operands;
    const number = operands[0] ?? '';
    if (!/^\d+$/.test(number)) return false;
    return Number(number) > 0 || isWholeBarrier(each);
  });
}

/** `bar.sync 0` and its other spellings, without a number of threads: all threads of the block. */
function isWholeBarrier({ opcode, operands }: Instruction): boolean {
  const spelled = opcode.filter((part) => part !== 'cta' && part !== 'aligned').join('.');
  if (/^bar(?:rier)?\.sync$/.test(spelled)) return operands.length === 1 && operands[0] === '0';
  return /^bar(?:rier)?\.red\./.test(spelled) && operands.length === 3 && operands[1] === '0';
}

const calledIn = ({ operands }: Instruction): string => operands.find((operand) => /^[\w$]+$/.test(operand)) ?? '';

/** Judges the functions of a module by their bodies. */
export function calleesOf({ functions }: PtxModule): Callees {
  const known = new Map<string, Kind>(['vprintf', 'malloc', 'free'].map((name) => [name, 'harmless']));
  for (let before = -1; before !== known.size;) {
    before = known.size;
    for (const fn of functions) {
      if (fn.isEntry || known.has(fn.name)) continue;
      const isKnown = fn.instructions.every((each) => !/^(?:bar|barrier|exit|trap|brx)$/.test(elementAt(each.opcode, 0))
        && (each.opcode[0] !== 'call' || known.has(calledIn(each))));
      if (!isKnown) continue;
      const waits = cutBlocks(fn).loops.length > 0 || fn.instructions.some((each) => each.opcode[0] === 'mbarrier'
        || (each.opcode[0] === 'call' && known.get(calledIn(each)) === 'wait'));
      known.set(fn.name, waits ? 'wait' : 'harmless');
    }
  }
  return known;
}

function kindOf(each: Instruction, callees: Callees): Kind {
  const [head = '', second = '', third = ''] = each.opcode;
  if (head === 'bar' || head === 'barrier') {
    if (each.opcode.includes('warp')) return 'plain';
    if (!isWholeBarrier(each)) return 'wait';
    return each.guard === undefined ? 'barrier' : 'guarded';
  }
  if (head === 'cp' && second === 'async') {
    if (third === 'wait_all' || (third === 'wait_group' && each.operands[0] === '0')) return each.guard === undefined ? 'land' : 'landed';
    if (third === 'wait_group') return 'landed';
    return /^c[ag]$/.test(third) ? 'fetch' : third === 'commit_group' ? 'plain' : 'wait';
  }
  if (head === 'call') return callees.get(calledIn(each)) ?? 'call';
  return /^(?:mbarrier|wgmma|tcgen05|griddepcontrol|nanosleep)$/.test(head) ? 'wait' : 'plain';
}

function memoryOf({ opcode, operands }: Instruction): Facts['memory'] {
  const [head = '', second = ''] = opcode;
  if (head === 'ld' || head === 'ldu' || head === 'ldmatrix') return 'r';
  if (head === 'st' || head === 'stmatrix') return 'w';
  if (head === 'wmma' && (second === 'load' || second === 'store')) return second === 'load' ? 'r' : 'w';
  if (head === 'atom' || head === 'red') return 'rw';
  if (head === 'cp' && second === 'async' && /^c[ag]$/.test(opcode[2] ?? '')) return 'w';
  if (head === 'tex' || head === 'tld4' || head === 'prefetch' || head === 'prefetchu') return '';
  return operands.some((operand) => operand.startsWith('[')) ? '?' : '';
}

/** Reads one instruction. */
export function factsOf(each: Instruction, callees: Callees): Facts {
  const [head = ''] = each.opcode;
  const memory = memoryOf(each);
  const isSink = /^(?:bra|brx|nanosleep|setmaxnreg|st|red|stmatrix|wgmma|ret|exit)$/.test(head)
    || (/^bar(?:rier)?$/.test(head) && !each.opcode.includes('red')) || (head === 'wmma' && each.opcode[1] === 'store');
  const defs: string[] = [];
  const uses: string[] = [];
  const addresses: string[] = [];
  each.operands.forEach((operand, at) => {
    const names = namesIn(operand).map(base);
    if (operand.startsWith('[')) addresses.push(...names);
    else if (at === 0 && !isSink && (head !== 'call' || operand.startsWith('('))) defs.push(...names);
    else uses.push(...names);
  });
  return { defs, uses, addresses, memory, kind: kindOf(each, callees) };
}
