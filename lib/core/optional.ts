// Packages that users install only where they need them. Bundlers forgive an absent one only where its `import` stands in a `try` block.
import { UnavailableError } from './errors.ts';

/**
 * The error for optional packages that could not be imported: with the command that installs them, or with what keeps installed ones from
 * loading.
 * @param need what needs them, as a sentence without its end
 */
export function missingPackages(error: unknown, need: string, names: string): UnavailableError {
  const { code, message = String(error) } = error as { readonly code?: string; readonly message?: string };
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  const why = isMissing ? '' : ` (installed, but not loading: ${message.split('\n')[0]})`;
  return new UnavailableError(`${need}${why}: npm install ${names}`, { cause: error });
}
