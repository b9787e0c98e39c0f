// The content of data as text, so that it can be a key.

/**
 * A text that two values share only if no function of their content can tell them apart: numbers are told apart by all bits but those of
 * NaN, and objects that are shared are told apart from equal ones. Objects are taken as lists of their own enumerable fields, in order.
 * Undefined if something in it has content that fields do not show, such as a function, or if it is nested too deep or too long.
 */
export function contentOf(value: unknown): string | undefined {
  const seen = new Map<object, number>();
  let text = '';
  const add = (x: unknown): boolean => {
    switch (typeof x) {
      case 'number':
        text += Object.is(x, -0) ? '-0,' : `${x},`;
        return true;
      case 'string':
        text += `${JSON.stringify(x)},`;
        return true;
      case 'boolean': case 'undefined':
        text += `${x},`;
        return true;
      case 'object': return x === null ? addText('null,') : addObject(x);
      default: return false;
    }
  };
  const addText = (more: string): boolean => {
    text += more;
    return true;
  };
  const addObject = (x: object): boolean => {
    const number = seen.get(x);
    if (number !== undefined) return addText(`#${number},`);
    seen.set(x, seen.size);
    if (Array.isArray(x)) return addText('[') && [...x as unknown[]].every(add) && addText('],');
    if (x instanceof Int32Array || x instanceof Float32Array || x instanceof Float64Array) {
      return addText(`${x.constructor.name}[`) && x.every(add) && addText('],');
    }
    if (x instanceof Map) return addText('Map[') && [...x].flat().every(add) && addText('],');
    const prototype: unknown = Object.getPrototypeOf(x);
    if (prototype !== Object.prototype && prototype !== null) return false;
    return addText('{') && Object.entries(x).every(([name, field]) => addText(`${JSON.stringify(name)}:`) && add(field)) && addText('},');
  };
  try {
    return add(value) ? text : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined; // of the stack, or of a text's length
    throw error;
  }
}
