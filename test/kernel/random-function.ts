// Random functions of x and y, as text.

/**
 * The text of a function: variables, arrays, conditions, loops that end early, inner functions, several returns. It returns two numbers.
 * `withMath`: with functions that the library computes itself, in other last bits than JavaScript's.
 */
export function randomFunction(draw: () => number, withMath = false): string {
  const pick = <T>(...of: readonly T[]): T => of[draw() % of.length]!;
  let names = 0;
  // A function either replaces arrays or assigns their elements.
  const replaces = draw() % 2 === 0;
  const condition = (depth: number, known: readonly string[]): string => depth > 0 && draw() % 4 === 0
    ? `(${condition(depth - 1, known)} ${pick('&&', '||')} ${pick('', '!')}(${condition(depth - 1, known)}))`
    : `${number(depth - 1, known)} ${pick('<', '<=', '>', '>=', '===', '!==')} ${number(depth - 1, known)}`;
  const number = (depth: number, known: readonly string[]): string => {
    if (depth <= 0) return draw() % 3 > 0 ? pick(...known) : pick('0', '1', '0.5', '2', '1e3', '3.25', 'Math.PI');
    switch (draw() % (withMath ? 9 : 8)) {
      case 8: return `Math.${pick('sin', 'exp', 'log', 'atan', 'tanh')}(${number(depth - 1, known)})`;
      case 0: return `(${condition(depth, known)} ? ${number(depth - 1, known)} : ${number(depth - 1, known)})`;
      case 1: return `Math.${pick('abs', 'floor', 'ceil', 'round', 'trunc', 'sign', 'sqrt')}(${number(depth - 1, known)})`;
      case 2: return `Math.${pick('min', 'max')}(${number(depth - 1, known)}, ${number(depth - 1, known)})`;
      case 3: return `(-${number(depth - 1, known)})`;
      case 4: return `f0(${number(depth - 1, known)}, ${number(depth - 1, known)})`;
      default: return `(${number(depth - 1, known)} ${pick('+', '-', '*', '/', '%')} ${number(depth - 1, known)})`;
    }
  };
  const statements = (depth: number, known: readonly string[], variables: readonly string[], loop: boolean): string => {
    const [names0, own] = [[...known], [...variables]];
    let text = '';
    for (let left = 1 + draw() % 4; left > 0; --left) {
      const name = `v${names++}`;
      const kind = draw() % (depth > 0 ? 16 : 4);
      switch (kind) {
        case 11: case 12: case 13: case 14: case 15: text += inOtherStyles(kind - 11, name, { names: names0, own, loop, depth }); break;
        case 0: text += `let ${name} = ${number(2, names0)}; `; names0.push(name); own.push(name); break;
        case 1: text += `${replaces ? 'let' : 'const'} ${name} = [${number(1, names0)}, ${number(1, names0)}]; `;
          names0.push(`${name}[0]`, `${name}[1]`);
          if (!replaces) own.push(`${name}[${draw() % 2}]`);
          else text += `${name} = [${name}[1], ${number(1, names0)}]; `;
          break;
        case 2: case 3: if (own.length > 0) text += `${pick(...own)} ${pick('=', '+=', '-=', '*=')} ${number(2, names0)}; `; break;
        case 4: text += `if (${condition(1, names0)}) { ${statements(depth - 1, names0, own, loop)} } ${pick('', `else { ${statements(depth - 1, names0, own, loop)} }`)} `; break;
        case 5: text += `for (let ${name} = ${pick('0', '2')}; ${name} < ${pick('3', '5', depth === 1 ? '300' : '4')}; ${name} += ${pick('1', '2')}) `
          + `{ ${statements(depth - 1, [...names0, name], own, true)} } `; break;
        case 6: text += `if (${condition(1, names0)}) ${loop ? pick('break', 'continue') : `return [${number(1, names0)}, 1]`}; `; break;
        case 7: text += `let ${name} = ${pick('0', '3')}; ${pick(`while (${name} < 4)`, `for (; ${name} < 4;)`)} `
          + `{ ${statements(depth - 1, [...names0, name], own, false)} ${name}${pick('++', ' += 2')}; } `; names0.push(name); break;
        case 8: text += `let ${name}; ${condition(1, names0)} ? (${name} = ${number(1, names0)}) : ${name} = ${number(1, names0)}; `; names0.push(name); own.push(name); break;
        case 9: text += `switch (${number(1, names0)}) { case 0: ${statements(0, names0, own, false)} break; `
          + `case 1: case 2: ${statements(0, names0, own, false)} break; default: ${statements(0, names0, own, false)} } `; break;
        default: text += `if (${condition(1, names0)}) return [${number(1, names0)}, ${number(1, names0)}]; `;
      }
    }
    return text;
  };
  const inOtherStyles = otherStyles({ pick, number, condition, statements, replaces });
  return `(x, y) => { const f0 = (a, b = 2 * a) => ${pick('a - b', 'a * b + 1', '{ if (a > b) return a; return b / 2; }')}; `
    + `${statements(3, ['x', 'y'], [], false)} return [${number(2, ['x', 'y'])}, x]; }`;
}

interface Styles {
  readonly pick: <T>(...of: readonly T[]) => T;
  readonly number: (depth: number, known: readonly string[]) => string;
  readonly condition: (depth: number, known: readonly string[]) => string;
  readonly statements: (depth: number, known: readonly string[], variables: readonly string[], loop: boolean) => string;
  readonly replaces: boolean;
}

interface Place {
  readonly names: string[];
  readonly own: string[];
  readonly loop: boolean;
  readonly depth: number;
}

/** Statements as older code, minifiers and others write them: `var`, arrays that are replaced, assignments inside of expressions. */
function otherStyles({ pick, number, condition, statements, replaces }: Styles) {
  return (kind: number, name: string, { names, own, loop, depth }: Place): string => {
    const [a, b, test] = [number(1, names), number(1, names), condition(1, names)];
    switch (kind) {
      case 0:
        names.push(name);
        own.push(name);
        return `var ${name} = ${a}; ${depth > 1 ? `if (${test}) { var ${name} = ${b}; }` : `var ${name} = ${name} + 1;`} `;
      case 1: {
        const body = statements(0, [...names, name], own, false);
        names.push(name, `u${name}`);
        return `for (var ${name} = 0, n${name} = 2; ${name} < n${name}; ++${name}) { ${body} var u${name} = ${a}; } `;
      }
      case 2:
        names.push(`${name}.a`, `${name}.b[0]`, `c${name}.a`, `c${name}.b[0]`);
        return `${replaces ? 'let' : 'const'} ${name} = { a: ${a}, b: [${b}] }; const c${name} = ${name}; `
          + (replaces ? `if (${test}) ${name} = { a: ${name}.b[0], b: [${name}.a] }; ` : `${name}.a += ${a}; ${name}.b[0] = ${name}.a; `);
      case 3: {
        const other = `${condition(0, names)}) ? 1 : +${name}; `;
        names.push(`c${name}`);
        return `let ${name} = void 0; if (${test}) ${name} = ${condition(1, names.slice(0, -1))}; else ${name} = !1; `
          + `const c${name} = ${name} === (${other}`;
      }
      default: {
        if (own.length === 0) return '';
        const assigned = (): string => `(${pick(...own)} ${pick('=', '+=', '*=')} ${number(1, names)})`;
        const text = `const ${name} = ${number(0, names)} - ${assigned()} * ${number(0, names)}; `
          + `if (${pick(...own)}++, ${assigned()} > ${pick(...own)}) { ${statements(0, names, own, loop)} } `;
        names.push(name);
        return text;
      }
    }
  };
}
