// Targets of assignments.
import { fieldOf } from '../plan/layout.ts';
import type { IrExpression } from '../ir.ts';
import type { Context } from './context.ts';
import { fieldPlace, index, movedPlace } from './expression.ts';
import { known, placeOfBinding, plus, sizeOfType, type Binding, type Place } from './value.ts';

/** Locates the target of an assignment: a variable or part of one, or a place in memory. */
export function locate(c: Context, target: IrExpression): Binding | Place {
  switch (target.kind) {
    case 'variable': case 'state': return whole(c.binding(target.variable));
    case 'element': return elementOf(c, target);
    case 'field': {
      const outer = locate(c, target.object);
      if (isInMemory(outer)) return fieldPlace(outer, target.object.type, target.field).place;
      return { ...outer, skip: outer.skip + fieldOf(target.object.type, target.field).at, type: target.type };
    }
    case 'part': {
      const outer = locate(c, target.vector);
      if (isInMemory(outer)) return { ...outer, at: { ...outer.at, f: plus(outer.at.f, target.part) } };
      return { ...outer, skip: outer.skip + target.part, type: target.type };
    }
    default: throw new Error('this is no place');
  }
}

export function isInMemory(found: Binding | Place): found is Place {
  return 'isPlace' in found;
}

/** The place of a binding that is in memory; otherwise the binding itself. */
function whole(binding: Binding): Binding | Place {
  return binding.storage.slots === undefined ? placeOfBinding(binding) : binding;
}

function elementOf(c: Context, target: Extract<IrExpression, { kind: 'element' }>): Binding | Place {
  const outer = locate(c, target.array);
  const at = index(c, target);
  if (isInMemory(outer)) return movedPlace(c, outer, at, target.type);
  // Evaluating the index may have moved it to memory.
  if (outer.storage.slots === undefined) return movedPlace(c, placeOfBinding(outer), at, target.type);
  const size = sizeOfType(target.type);
  const x = known(at);
  if (x !== undefined && (x + 1) * size <= sizeOfType(outer.type)) return { ...outer, skip: outer.skip + x * size, type: target.type };
  c.toMemory(outer);
  return movedPlace(c, placeOfBinding(outer), at, target.type);
}
