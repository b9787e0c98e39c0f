// Mocha's readable report, and a short JSON report (reporter option `output`) with counts and failures.
'use strict';
const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

const { EVENT_RUN_END, EVENT_TEST_FAIL } = Mocha.Runner.constants;

module.exports = class extends Mocha.reporters.Dot {
  constructor(runner, options) {
    super(runner, options);
    const failures = [];
    runner.on(EVENT_TEST_FAIL, (test, error) => failures.push({ title: test.fullTitle(), message: error.message }));
    runner.once(EVENT_RUN_END, () => {
      const { passes, failures: failed, pending } = this.stats;
      const output = options?.reporterOptions?.output ?? options?.reporterOption?.output;
      if (output) writeFileSync(output, JSON.stringify({ passed: passes, failed, skipped: pending, failures }));
    });
  }
};
