// A constant, so that importing the package reads no file and bundles know it too; test/core/entries.test.ts compares it.
/** Version of this package, as in its package.json. */
export const version = '0.1.0';
