// `static` sections: evaluated when one of their names is first used.
import type { StaticDeclaration } from '../ast.ts';
import type { NameSymbol } from '../front/checked.ts';
import { Fault } from '../interpret/fault.ts';
import { zero } from '../interpret/values.ts';
import type { StateVariable } from '../ir.ts';
import { Runner } from './runner.ts';
import type { Entity, Session } from './session.ts';

/** The value of a name of a static section; other names have no value outside of streams. */
export function staticEntity(session: Session, symbol: NameSymbol): Entity | undefined {
  if (symbol.kind !== 'static') return undefined;
  return session.static(symbol, (into) => evaluateSection(session, symbol.owner, into));
}

function evaluateSection(session: Session, section: StaticDeclaration, into: Map<NameSymbol, Entity>): void {
  const { checked } = session;
  const runner = new Runner(session, (symbol) => staticEntity(session, symbol));
  const variables: [NameSymbol, StateVariable][] = [];
  for (const field of section.fields) {
    const symbol = checked.symbolOfDeclaration(field);
    if (symbol.type.kind === 'string') {
      const text = field.value === undefined ? '' : runner.text(field.value);
      if (text === undefined) throw new Fault('S4005', 'a string can only be printed or name a file', field.span);
      into.set(symbol, { kind: 'text', text });
      runner.scope.set(symbol, { kind: 'text', text });
      continue;
    }
    const type = runner.typeOf(symbol.type, field.span);
    const variable: StateVariable = { name: runner.translator.namer.unique(field.name), type, initial: { type, numbers: [] },
      role: 'state' };
    const value = field.value === undefined ? zero(type) : runner.evaluate(field.value, type).value;
    runner.bindField(symbol, variable);
    runner.setField(variable, value);
    variables.push([symbol, variable]);
  }
  if (section.init !== undefined) runner.execute(section.init.body);
  for (const [symbol, variable] of variables) into.set(symbol, { kind: 'constant', data: runner.field(variable), name: symbol.name });
}
