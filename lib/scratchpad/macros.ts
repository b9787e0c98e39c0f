// Uses of macros inside a kernel. A macro may compute a value and nothing else, unless it is a barrier.
import { kAnyMemory, type Effects, type Instance } from './effects.ts';
import { isBarrierText } from './model.ts';
import { Refusal } from './refusal.ts';
import type { SyntaxNode } from './syntax.ts';
import { requireAllowed, type Walker } from './walker.ts';

/** The maximum depth of nested macros. */
const kDeepest = 16;
/** Statements, assignments, addresses. */
const kEffects = /[;{}#]|[^=!<>]=(?!=)|\+\+|--|->|(?:^|[(,?:=])\s*[&*]\s*[A-Za-z_(]/;
const kWords = /^(?:asm|__asm__|return|goto|break|continue|if|for|while|do|switch|volatile|__syncthreads\w*|__syncwarp)$/;

/** Records the effects of a macro where it is used. It must not access shared arrays, assign, jump or wait. */
export function macroOf(visitor: Walker, node: SyntaxNode, name: string, instance: Instance, effects: Effects, depth = 0): void {
  const { program } = visitor.library;
  if (program.isDefined(name)) return;
  const macro = program.macros.get(name);
  if (macro?.body === undefined || depth > kDeepest) throw new Refusal('macro', node, `${name} is defined in several ways`);
  if (depth === 0 && isBarrierText(macro.body)) {
    effects.barriers.push({ node, accesses: 0 });
    return;
  }
  const text = macro.body.replace(/"(?:\\.|[^"\\])*"/g, ' ');
  if (kEffects.test(text)) throw new Refusal('macro', node, `${name} does more than compute a value`);
  for (const match of text.matchAll(/(?<![.\w])[A-Za-z_]\w*/g)) {
    const word = match[0];
    if (macro.parameters?.includes(word) === true) continue;
    if (kWords.test(word)) throw new Refusal('macro', node, `${name} holds ${word}`);
    requireAllowed(word, node);
    if (program.macros.has(word)) macroOf(visitor, node, word, instance, effects, depth + 1);
    else wordOf(visitor, node, name, word, instance, effects);
  }
}

function wordOf(visitor: Walker, node: SyntaxNode, name: string, word: string, instance: Instance, effects: Effects): void {
  const { program } = visitor.library;
  for (const sym of instance.model.scopes.syms) {
    if (sym.name !== word) continue;
    if (visitor.isShared(sym, instance)) throw new Refusal('macro', node, `${name} touches the shared array ${word}`);
    effects.variable(sym, 'r');
    if (sym.pointer) effects.memory.push({ base: kAnyMemory, mode: 'r' });
  }
  if (program.functions.has(word)) throw new Refusal('macro', node, `${name} calls ${word}`);
  if (program.globals.has(word)) effects.memory.push({ base: `global ${word}`, mode: 'r' });
}
