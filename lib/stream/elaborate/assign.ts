// Targets of assignments, and assignments themselves: indices are evaluated before values, and only once.
import type { Expression, Span, Statement } from '../ast.ts';
import { Fault } from '../interpret/fault.ts';
import { isScalar, known, scalar, typeText } from '../interpret/values.ts';
import type { IrBinary, IrExpression, IrPlace, IrStatement } from '../ir.ts';
import { constant } from './fold.ts';
import type { Translation } from './translation.ts';

/** Translates an assignment target. `how`: what is done to it, for messages. */
export function place(t: Translation, e: Expression, how = 'assigned'): IrPlace {
  switch (e.kind) {
    case 'name': {
      const entity = t.find(e);
      if (entity.kind === 'variable' || (entity.kind === 'state' && entity.variable.role !== 'constant')) return t.entity(
        entity, e.span) as IrPlace;
      throw new Fault('S4026', `${e.name} is a constant here and cannot be ${how}`, e.span);
    }
    case 'index': {
      const array = place(t, e.array, how);
      const index = t.as(e.index, scalar('int'));
      if (array.type.kind !== 'array') throw new Fault('S4012', `${typeText(array.type)} has no elements`, e.span);
      const { length, element } = array.type;
      const at = known(index);
      const safe = at !== undefined && at >= 0 && at < length;
      if (at !== undefined && !safe) t.session.report(new Fault(
        'S4013', `index ${at} is outside an array of ${length}`, e.index.span), 'warning');
      return { kind: 'element', array, index, safe, type: element, span: e.span };
    }
    case 'field': {
      place(t, e.object, how);
      return t.expression(e) as IrPlace;
    }
    default: throw new Fault('S4027', 'this cannot be assigned', e.span);
  }
}

/** Whether evaluating the expression changes anything. */
function hasEffects(e: IrExpression): boolean {
  switch (e.kind) {
    case 'pop': case 'call': return true;
    case 'math': return e.name === 'random' || e.args.some(hasEffects);
    case 'element': return hasEffects(e.array) || hasEffects(e.index);
    case 'field': return hasEffects(e.object);
    case 'part': return hasEffects(e.vector);
    case 'compose': return e.parts.some(hasEffects);
    case 'peek': return hasEffects(e.index);
    case 'unary': case 'convert': return hasEffects(e.operand);
    case 'binary': return hasEffects(e.left) || hasEffects(e.right);
    case 'conditional': return hasEffects(e.condition) || hasEffects(e.then) || hasEffects(e.otherwise);
    default: return false;
  }
}

/** The target, with the indices for which `isDue` holds evaluated beforehand. */
export function steady(t: Translation, target: IrPlace, isDue: (index: IrExpression) => boolean, position = t.before.length): IrPlace {
  switch (target.kind) {
    case 'element': {
      const array = steady(t, target.array as IrPlace, isDue, position);
      return { ...target, array, index: isDue(target.index) ? t.storedAt(position, target.index, 'at') : target.index };
    }
    case 'field': return { ...target, object: steady(t, target.object as IrPlace, isDue, position) };
    case 'part': return { ...target, vector: steady(t, target.vector as IrPlace, isDue, position) };
    default: return target;
  }
}

/** Indices that a later evaluation may change. */
const mayChange = (index: IrExpression): boolean => index.kind !== 'constant' && index.kind !== 'variable';

export function assignment(t: Translation, s: Extract<Statement, { kind: 'assign' }>): IrStatement[] {
  let target = place(t, s.target);
  const { operator } = s;
  if (operator !== '=') target = steady(t, target, hasEffects);
  const mark = t.before.length;
  const operand = operator === '=' ? t.as(s.value, target.type) : t.expression(s.value);
  const after = t.before.length - mark;
  if (after > 0) target = steady(t, target, (index) => index.kind !== 'constant', mark);
  else if (hasEffects(operand)) target = steady(t, target, mayChange);
  if (operator === '=') return [{ kind: 'assign', target, value: operand, span: s.span }];
  const left = after > 0 ? t.storedAt(t.before.length - after, target, 'old') : target;
  const value = t.converted(t.binary(operator.slice(0, -1) as IrBinary, left, operand, s.span), target.type, s.span);
  return [{ kind: 'assign', target, value, span: s.span }];
}

export function increment(t: Translation, s: { target: Expression; by: 1 | -1; span: Span }): IrStatement[] {
  const target = steady(t, place(t, s.target), hasEffects);
  const one = constant(isScalar(target.type, 'float') || isScalar(target.type, 'double') ? 'float' : 'int', 1, s.span);
  const value = t.converted(t.binary(s.by > 0 ? '+' : '-', target, one, s.span), target.type, s.span);
  return [{ kind: 'assign', target, value, span: s.span }];
}
