// Mocha's own report, and the duration of every test file, by which scripts/test.mjs orders them.
'use strict';
const { mkdirSync, writeFileSync } = require('node:fs');
const { dirname, relative } = require('node:path');
const Mocha = require('mocha');

const { EVENT_RUN_END, EVENT_TEST_END } = Mocha.Runner.constants;

module.exports = class extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const seconds = {};
    runner.on(EVENT_TEST_END, (test) => {
      const file = relative(process.cwd(), test.file ?? 'unknown');
      seconds[file] = (seconds[file] ?? 0) + (test.duration ?? 0) / 1000;
    });
    runner.once(EVENT_RUN_END, () => {
      const output = options.reporterOptions?.output ?? options.reporterOption?.output;
      if (!output) return;
      mkdirSync(dirname(output), { recursive: true });
      writeFileSync(output, JSON.stringify(seconds));
    });
  }
};
