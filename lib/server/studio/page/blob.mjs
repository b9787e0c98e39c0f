// Files of results as addresses, which pictures need: their requests carry no token.
import { getBlob } from './api.mjs';
import { useEffect, useState } from './ui.mjs';

/**
 * A file of results as an address that pictures can have.
 * @param {string} path
 */
export function useBlob(path) {
  const [state, setState] = useState(/** @type {{ url?: string, error?: unknown }} */ ({}));
  useEffect(() => {
    let isOver = false;
    /** @type {string | undefined} */
    let url;
    getBlob(path).then((blob) => {
      if (isOver) return;
      url = URL.createObjectURL(blob);
      setState({ url });
    }, (error) => { if (!isOver) setState({ error }); });
    return () => { isOver = true; if (url !== undefined) URL.revokeObjectURL(url); };
  }, [path]);
  return state;
}
