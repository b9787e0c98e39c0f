// Root hooks of every mocha run (.mocharc.json). A process that runs several files (`npm test`) loads modules of support/ once,
// so what they do after a file's tests goes by way of these. (--no-experimental-require-module beside them: mocha would `require` test files
// where Node lets it, and tsx would make CommonJS of what they import, so that modules behind `import()` were there a second time.)
'use strict';

const kAfterTests = Symbol.for('warploom.test.after');

exports.mochaHooks = {
  async afterAll() {
    for (const end of globalThis[kAfterTests] ?? []) await end();
  },
};
