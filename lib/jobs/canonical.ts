// The one text of a value of JSON.

/** JSON with sorted fields, so that equal values have equal text. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, part]) => part !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, part]) => `${JSON.stringify(name)}:${canonical(part)}`).join(',')}}`;
  }
  // Values of a sweep get names before they are checked, and JSON has none of these.
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value);
  return value === undefined ? 'null' : Object.is(value, -0) ? '-0' : JSON.stringify(value);
}
