// Follows an argument of a function through lib and counts the files through which it passes. The walk follows the calls in the source:
// into each function that receives the argument, once, and back. These count as the argument: the value under any name, objects created
// with it as a part, and the results of calls that receive it. A stay is a part of the walk within one file; a room is a file with at least
// one stay; a return is a stay in a room that has been visited before. Calls through variables that hold functions are not followed. Files
// that only assert that a value exists (known.ts of lib/core) or phrase an error about it (arrays.ts, checks.ts, errors.ts) do not count as
// rooms: they return what they receive, or throw, and nobody follows an argument there.
// node scripts/stays.mjs [FILE FUNCTION PARAMETER] [--root FOLDER] [--without REGEXP] [--list]; default: the graph of stream.run
import { join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { root } from './list-sources.mjs';

/** Removes an option and its value from the words, and returns the value. */
function take(words, option) {
  const at = words.indexOf(option);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}

class Walk {
  /** Files in the order of the stays. */
  stays = [];
  /** Functions, with the positions of the parameters that received the argument. */
  functions = new Map();

  constructor(folder, isRoom) {
    const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile);
    const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
    this.folder = folder;
    this.isRoom = isRoom;
    this.program = ts.createProgram(fileNames, options);
    this.checker = this.program.getTypeChecker();
  }

  start(path, name, parameter) {
    const file = this.program.getSourceFile(join(this.folder, path));
    const found = file?.statements.find((each) => ts.isFunctionDeclaration(each) && each.name?.text === name && each.body);
    if (found === undefined) throw new Error(`no function ${name} in ${path}`);
    this.visit(found, found.parameters.flatMap((each, at) => (each.name.getText() === parameter ? [at] : [])));
  }

  pathOf(node) {
    return relative(this.folder, node.getSourceFile().fileName);
  }

  enter(node) {
    const path = this.pathOf(node);
    if (this.stays.at(-1) !== path) this.stays.push(path);
  }

  /** Walks through a function that receives the argument in some of its parameters. */
  visit(f, places) {
    const known = this.functions.get(f);
    if (known !== undefined && places.every((at) => known.has(at))) return;
    if (known === undefined) this.enter(f);
    this.functions.set(f, new Set([...known ?? [], ...places]));
    const held = new Set();
    for (const at of places) this.hold(f.parameters[Math.min(at, f.parameters.length - 1)]?.name, held);
    this.body(f.body, held);
  }

  /** Records names that denote the argument. */
  hold(name, held) {
    if (name === undefined || ts.isOmittedExpression(name)) return;
    if (ts.isIdentifier(name)) held.add(this.checker.getSymbolAtLocation(name));
    else for (const element of name.elements) this.hold(element.name, held);
  }

  isHeld(e, held) {
    const is = (part) => this.isHeld(part, held);
    if (ts.isIdentifier(e)) return held.has(this.checker.getSymbolAtLocation(e));
    if (ts.isCallExpression(e)) return e.arguments.some(is);
    if (ts.isConditionalExpression(e)) return is(e.whenTrue) || is(e.whenFalse);
    if (ts.isBinaryExpression(e)) return e.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken && (is(e.left) || is(e.right));
    if (ts.isArrayLiteralExpression(e)) return e.elements.some(is);
    if (ts.isObjectLiteralExpression(e)) return e.properties.some((each) => this.isHeldIn(each, held));
    const isWrapped = ts.isParenthesizedExpression(e) || ts.isAsExpression(e) || ts.isNonNullExpression(e) || ts.isAwaitExpression(e)
      || ts.isSpreadElement(e);
    return isWrapped && is(e.expression);
  }

  isHeldIn(property, held) {
    if (ts.isShorthandPropertyAssignment(property)) return held.has(this.checker.getShorthandAssignmentValueSymbol(property));
    if (ts.isSpreadAssignment(property)) return this.isHeld(property.expression, held);
    return ts.isPropertyAssignment(property) && this.isHeld(property.initializer, held);
  }

  body(node, held) {
    ts.forEachChild(node, (part) => this.body(part, held));
    if (ts.isVariableDeclaration(node) && node.initializer && this.isHeld(node.initializer, held)) this.hold(node.name, held);
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) this.call(node, held);
  }

  call(node, held) {
    const places = (node.arguments ?? []).flatMap((argument, at) => (this.isHeld(argument, held) ? [at] : []));
    const target = places.length === 0 ? undefined : this.checker.getResolvedSignature(node)?.declaration;
    if (target?.body === undefined || !this.isRoom(this.pathOf(target))) return;
    this.visit(target, places);
    this.enter(node);
  }
}

const words = process.argv.slice(2);
const folder = resolve(take(words, '--root') ?? root);
const without = new RegExp(take(words, '--without') ?? '^$');
const [path = 'lib/stream/run/index.ts', name = 'run', parameter = 'graph'] = words.filter((word) => word !== '--list');
const assertions = /^lib\/core\/(arrays|checks|errors|known)\.ts$/;
const walk = new Walk(folder, (file) => file.startsWith('lib/') && !assertions.test(file) && !without.test(file));
walk.start(path, name, parameter);
const { stays, functions } = walk;
const rooms = new Set(stays).size;
if (words.includes('--list')) console.log(stays.join('\n'));
const returns = stays.length - rooms;
console.log(`${parameter} of ${name}: ${stays.length} stays in ${rooms} rooms, ${returns} returns, ${functions.size} functions`);
