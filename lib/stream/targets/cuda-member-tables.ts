// Functions of one shape as one that finds its constants and tables by its number among them.
import { elementAt, required } from '../../core/known.ts';
import { exact, get, i32, load, type Body, type Buffer, type Expression, type Local, type ScalarType } from '../../kernel/ir.ts';
import { mapBody } from '../../kernel/visit.ts';

function table(element: ScalarType, values: readonly number[], tables: Buffer[]): Buffer {
  const made: Buffer = { name: `of_members_${tables.length}`, element, role: 'constant', length: values.length, initial: values };
  tables.push(made);
  return made;
}

/** The tables of all functions, one after the other. */
export function joinedTables(all: readonly Buffer[], tables: Buffer[]): { table: Buffer; row: number } {
  const row = Math.max(...all.map(({ length }) => length ?? 0));
  const values = all.flatMap(({ initial }) => Array.from({ length: row }, (_, i) => initial?.[i] ?? 0));
  return { table: table(required(all[0]).element, values, tables), row };
}

/** Where a constant stands: in a row of `row`, at `at`. */
export interface Constant { readonly table: Buffer; readonly row: number; readonly at: number }

/** Constants in which functions of one shape differ, by parameter: those of one type in one table, a row for each function. */
export function constantsOf(given: readonly Local[], args: readonly (readonly number[])[], tables: Buffer[]): ReadonlyMap<Local, Constant> {
  const found = new Map<Local, Constant>();
  for (const type of ['i32', 'f32', 'f64'] as const) {
    const own = given.flatMap((local, i) => (local.type === type ? [{ local, i }] : []));
    if (own.length === 0) continue;
    const values = args.flatMap((list) => own.map(({ i }) => elementAt(list, i)));
    const made = table(type, values, tables);
    own.forEach(({ local }, at) => found.set(local, { table: made, row: own.length, at }));
  }
  return found;
}

/** A body that reads tables and constants of the function with the number `member`. */
export function fromTables(
  body: Body, member: Local, combined: ReadonlyMap<Buffer, { readonly table: Buffer; readonly row: number }>,
  constants: ReadonlyMap<Local, Constant>,
): Body {
  const rowAt = (row: number): Expression => exact('mul', get(member), i32(row));
  return mapBody(body, {
    expression: (e) => {
      if (e.kind === 'get') {
        const constant = constants.get(e.local);
        return constant === undefined ? e : load(constant.table, rowAt(constant.row), constant.at);
      }
      if (e.kind !== 'load') return e;
      const own = combined.get(e.buffer);
      return own === undefined ? e : { ...e, buffer: own.table, index: exact('add', rowAt(own.row), e.index) };
    },
    statement: (s) => {
      const own = s.kind === 'copy' ? combined.get(s.from) : undefined;
      return s.kind !== 'copy' || own === undefined ? s : { ...s, from: own.table, fromIndex: exact('add', rowAt(own.row), s.fromIndex) };
    },
  });
}
