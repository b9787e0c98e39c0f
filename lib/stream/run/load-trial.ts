// In a file of its own: in files with `using` declarations, tsc 6.0 does not rename what dynamic imports name (.ts to .js).

/** The module that times layouts, loaded when it is first needed. */
export const loadTrial = (): Promise<typeof import('./trial.ts')> => import('./trial.ts');
