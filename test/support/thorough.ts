// How far tests over many cases go. CI has minutes for everything, so it takes a part of the cases; WARPLOOM_THOROUGH=1 takes all.

/** Whether all cases are wanted. */
export const isThorough = process.env['WARPLOOM_THOROUGH'] === '1';

/** How many cases a test goes through: `usual` in CI, `all` with WARPLOOM_THOROUGH=1. */
export const casesOf = (usual: number, all: number): number => (isThorough ? all : usual);
