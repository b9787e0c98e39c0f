// Names with their units, and numbers as titles show them.

/** Units by name: of fields, of the axes x, y and z, and of the time t. */
export type Units = Readonly<Record<string, string>>;

const unitOf = (name: string, units: Units): string => (Object.hasOwn(units, name) ? units[name] ?? '' : '');

/** A name with its unit, as the title of an axis: 'x (m)'. */
export function titled(name: string, units: Units): string {
  const unit = unitOf(name, units);
  return unit === '' ? name : `${name} (${unit})`;
}

/** Units as a series of snapshots names them, whose time is called `time`. */
export function seriesUnits(units: Units = {}): Units {
  const time = unitOf('t', units);
  return time === '' ? units : { ...units, time };
}

/** A number with at most six digits. */
export const rounded = (value: number): string => String(Number(value.toPrecision(6)));

/** A time with its unit: 't = 0.5 s'. */
export function atTime(time: number, units: Units): string {
  const unit = unitOf('t', units);
  return `t = ${rounded(time)}${unit === '' ? '' : ` ${unit}`}`;
}
