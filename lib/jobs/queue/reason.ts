// Errors as the text that a queue keeps of a failed item.
import { WarploomError, type ErrorCode } from '../../core/errors.ts';

/** Errors that another attempt, maybe on another machine, may not meet. */
const passing: readonly string[] = [
  'ERR_WARPLOOM_UNAVAILABLE', 'ERR_WARPLOOM_NOT_COMPILED', 'ERR_WARPLOOM_DEVICE_LOST', 'ERR_WARPLOOM_OUT_OF_MEMORY',
  'ERR_WARPLOOM_SYSTEM_FAILED', 'ERR_WARPLOOM_FILE',
];

const codeOf = (error: unknown): string => {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_WARPLOOM_') ? code : 'ERR_WARPLOOM_INTERNAL';
};

/** Whether another process is still writing to the folder. */
export const isLocked = (error: unknown): boolean => codeOf(error) === 'ERR_WARPLOOM_LOCKED';

/** Whether another attempt may succeed. */
export const mayPass = (error: unknown): boolean => passing.includes(codeOf(error));

/** The text of an error. */
export const reasonText = (error: unknown): string => `[${codeOf(error)}] ${error instanceof Error ? error.message : String(error)}`;

/** The error that a text tells of. */
export function errorOfReason(text: string, item: string): WarploomError {
  const [code, message] = /^\[(ERR_WARPLOOM_[A-Z_]+)\] (.*)$/s.exec(text)?.slice(1) ?? [];
  if (code === undefined || message === undefined) return new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `${item}: ${text}`);
  return new WarploomError(code as ErrorCode, `${item}: ${message}`);
}
