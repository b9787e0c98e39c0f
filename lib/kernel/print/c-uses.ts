// What the functions of a program use, for printers of the C family.
import { required } from '../../core/known.ts';
import type { Buffer, Program } from '../ir.ts';
import { walkBody } from '../visit.ts';

/** A language, by which buffers its functions take as pointers. */
interface Language {
  isParameter(buffer: Buffer): boolean;
}

/** What functions use besides their own locals: buffers passed as pointers, and whether they can trap. */
export interface Uses {
  readonly buffers: ReadonlySet<Buffer>;
  readonly traps: boolean;
}

/** By name of a function; found once for each program and language. */
export function usesOf(program: Program, family: Language): ReadonlyMap<string, Uses> {
  const known = usesByProgram.get(program) ?? new Map<Language, ReadonlyMap<string, Uses>>();
  usesByProgram.set(program, known);
  const uses = known.get(family) ?? findUses(program, family);
  known.set(family, uses);
  return uses;
}

const usesByProgram = new WeakMap<Program, Map<Language, ReadonlyMap<string, Uses>>>();

function findUses({ functions, buffers }: Program, family: Language): ReadonlyMap<string, Uses> {
  const found = new Map<string, Uses>();
  const order = new Map(buffers.map((buffer, i) => [buffer, i]));
  for (const f of functions) {
    const used = new Set<Buffer>();
    let traps = false;
    walkBody(f.body, {
      expression: (e) => { if (e.kind === 'load') used.add(e.buffer); },
      statement: (s) => {
        if (s.kind === 'store' || s.kind === 'fill') used.add(s.buffer);
        else if (s.kind === 'copy') used.add(s.to).add(s.from);
        else if (s.kind === 'trap' || s.kind === 'guard') traps = true;
        else if (s.kind === 'call') {
          const inner = found.get(s.callee);
          for (const buffer of inner?.buffers ?? []) used.add(buffer);
          traps ||= inner?.traps === true;
        }
      },
    });
    const given = [...used].filter((buffer) => order.has(buffer) && family.isParameter(buffer));
    found.set(f.name, { buffers: new Set(given.sort((a, b) => required(order.get(a)) - required(order.get(b)))), traps });
  }
  return found;
}
