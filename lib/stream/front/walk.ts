// Traversals of the tree: statements in statements, expressions in both, creators of a composite.
import type { Creator, Expression, Statement, StreamDeclaration } from '../ast.ts';

/** Expressions directly inside an expression, in the order of evaluation. */
export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case 'index': return [node.array, node.index];
    case 'field': return [node.object];
    case 'call': return node.args;
    case 'peek': return [node.index];
    case 'unary': case 'cast': return [node.operand];
    case 'increment': return [node.target];
    case 'binary': return [node.left, node.right];
    case 'conditional': return [node.condition, node.then, node.otherwise];
    case 'array-literal': return node.elements;
    default: return [];
  }
}

/** Statements directly inside a statement. */
export function partsOf(node: Statement): readonly Statement[] {
  switch (node.kind) {
    case 'block': return node.statements;
    case 'if': return node.otherwise === undefined ? [node.then] : [node.then, node.otherwise];
    case 'while': case 'do': return [node.body];
    case 'for': return [node.initial, node.step, node.body].filter((part) => part !== undefined);
    default: return [];
  }
}

/** Calls `visit` for a statement and all inside it. */
export function eachStatement(node: Statement, visit: (statement: Statement) => void): void {
  visit(node);
  for (const part of partsOf(node)) eachStatement(part, visit);
}

/** Expressions directly in a statement, in the order of evaluation. */
export function ownExpressions(node: Statement): readonly Expression[] {
  switch (node.kind) {
    case 'declare': return node.variables.flatMap(({ value }) => value ?? []);
    case 'assign': return [node.target, node.value];
    case 'increment': return [node.target];
    case 'expression': case 'push': case 'enqueue': return [node.value];
    case 'if': case 'while': case 'do': return [node.condition];
    case 'for': return node.condition === undefined ? [] : [node.condition];
    case 'return': return node.value === undefined ? [] : [node.value];
    case 'message': return node.args;
    default: return [];
  }
}

/** Creators of a composite and of the anonymous streams in it. */
export function creatorsOf(stream: StreamDeclaration): Creator[] {
  const found: Creator[] = [];
  const visit = (composite: StreamDeclaration) => {
    if (composite.kind === 'filter') return;
    eachStatement(composite.body, (statement) => {
      if (statement.kind !== 'add' && statement.kind !== 'body' && statement.kind !== 'loop') return;
      found.push(statement.creator);
      if (statement.creator.kind === 'anonymous') visit(statement.creator.stream);
    });
  };
  visit(stream);
  return found;
}
