// Root hooks of every mocha run (.mocharc.json). A process that runs several files (`npm test`) loads modules of support/ only once, so
// these hooks do what must be done after each file's tests. (.mocharc.json also has --no-experimental-require-module: mocha would otherwise
// `require` test files where Node allows it, tsx would turn their imports into CommonJS, and modules loaded by `import()` would exist
// twice.)
'use strict';
// fast-check draws the same cases in every run, so that a change, and not chance, decides whether the tests pass. Others:
// WARPLOOM_TEST_SEED=2 npm test
const kSeed = Number(process.env.WARPLOOM_TEST_SEED ?? 1);

const kAfterTests = Symbol.for('warploom.test.after');

exports.mochaHooks = {
  // Tests import fast-check as an ES module, which has settings of its own.
  async beforeAll() {
    (await import('fast-check')).configureGlobal({ seed: kSeed });
  },
  async afterAll() {
    for (const end of globalThis[kAfterTests] ?? []) await end();
  },
};
