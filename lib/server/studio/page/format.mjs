// Numbers for people.

/**
 * A number with at most four digits that count, without a row of zeros.
 * @param {number} value
 * @param {number} [digits]
 */
export function numberText(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'not a number' : value > 0 ? '∞' : '−∞';
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString('en').replace('-', '−');
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? powerText(value, digits) : String(Number(value.toPrecision(digits)));
  return text.replace('-', '−');
}

/** @param {number} value @param {number} digits */
function powerText(value, digits) {
  const [mantissa = '0', exponent = '0'] = value.toExponential(digits - 1).split('e');
  const raised = String(Number(exponent)).replace(/./g, (sign) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(sign)] ?? '⁻');
  return `${Number(mantissa)}·10${raised}`;
}

/** @param {number} bytes */
export function bytesText(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes, unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}

/** @param {number} seconds */
export function secondsText(seconds) {
  if (!Number.isFinite(seconds)) return 'unknown';
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

/** Words of a name: peakFactor → peak factor, ssimBefore → SSIM before. @param {string} name */
export const nameText = (name) => name.replace(/([a-z\d])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`).replace(/[_-]/g, ' ')
  .replace(/\b(psnr|ssim|ncc)\b/g, (word) => word.toUpperCase());

/** @param {string} date */
export const timeText = (date) => new Date(date).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
