// Copies code with new names and with some parts replaced.
import { get, type Body, type Buffer, type Expression, type Label, type Local, type Statement } from '../ir.ts';
import { labelsLeft, mapBodies, mapExpression, mapExpressions, type Names } from '../visit.ts';

/** The replacements in a copy. */
export interface Renaming {
  /** What reads of locals become; for locals that are set, this must be a local. */
  readonly locals?: ReadonlyMap<Local, Expression>;
  readonly labels?: ReadonlyMap<Label, Label>;
  readonly buffers?: ReadonlyMap<Buffer, Buffer>;
}

export function renameExpression(e: Expression, { locals, buffers }: Renaming): Expression {
  return mapExpression(e, (part) => {
    if (part.kind === 'get') return locals?.get(part.local) ?? part;
    const buffer = part.kind === 'load' ? buffers?.get(part.buffer) : undefined;
    return buffer === undefined ? part : { ...part, buffer } as Expression;
  });
}

/** A body with all replacements made. */
export function renameBody(body: Body, renaming: Renaming): Body {
  return body.map((s) => renameStatement(s, renaming));
}

function renameStatement(s: Statement, renaming: Renaming): Statement {
  const local = (old: Local): Local => {
    const by = renaming.locals?.get(old);
    return by?.kind === 'get' ? by.local : old;
  };
  const label = (old: Label): Label => renaming.labels?.get(old) ?? old;
  const buffer = (old: Buffer): Buffer => renaming.buffers?.get(old) ?? old;
  const made = mapBodies(mapExpressions(s, (e) => renameExpression(e, renaming)), (body) => renameBody(body, renaming));
  switch (made.kind) {
    case 'set': return { ...made, local: local(made.local) };
    case 'for': return { ...made, label: label(made.label), counter: local(made.counter) };
    case 'while': case 'block': case 'break': case 'continue': return { ...made, label: label(made.label) };
    case 'call': return { ...made, results: made.results.map(local) };
    case 'store': case 'fill': return { ...made, buffer: buffer(made.buffer) };
    case 'copy': return { ...made, to: buffer(made.to), from: buffer(made.from) };
    default: return made;
  }
}

/** New locals for the given ones, as a {@link Renaming} takes them. */
export function freshLocals(locals: Iterable<Local>, names: Names): Map<Local, Expression> {
  return new Map(Array.from(locals, (local) => [local, get({ ...local, name: names.make(local.name) })]));
}

/** New labels for all labels in a body. */
export function freshLabels(body: Body, names: Names): Map<Label, Label> {
  const found = new Map<Label, Label>();
  const visit = (inner: Body): void => {
    for (const s of inner) {
      if (s.kind === 'for' || s.kind === 'while' || s.kind === 'block') found.set(s.label, { name: names.make(s.label.name) });
      mapBodies(s, (each) => {
        visit(each);
        return each;
      });
    }
  };
  visit(body);
  return found;
}

/** A copy of a body, with labels of its own. */
export function copyBody(body: Body, names: Names, locals: ReadonlyMap<Local, Expression> = new Map()): Body {
  return renameBody(body, { locals, labels: freshLabels(body, names) });
}

/** Whether a body breaks out of or continues the loop or block with this label. */
export function isLeft(body: Body, label: Label): boolean {
  return labelsLeft(body).has(label);
}
