// Public functions of `stream` refuse wrong arguments by name, before anything else.
import assert from 'node:assert/strict';
import { ArgumentError } from '../../../lib/core/errors.ts';
import * as stream from '../../../lib/stream/index.ts';
import { graphOf } from '../support.ts';

const graph = graphOf('int->int filter F { work pop 1 push 1 { push(pop()); } }');
const sdf = stream.toSdf(graph);
const steady = stream.steadyState(sdf);
type Call = (...args: never[]) => unknown;

/** Functions, arguments that are right, and the name of the argument behind them. */
const calls: readonly (readonly [Call, readonly unknown[], string])[] = [
  [stream.parse, [], 'source'], [stream.check, [], 'source'], [stream.elaborate, [], 'source'], [stream.run, [], 'graph'], [stream.interpret, [], 'graph'],
  [stream.toSdf, [], 'graph'], [stream.describeGraph, [], 'graph'], [stream.estimateCosts, [], 'graph'], [stream.graphSvg, [], 'graph'], [stream.profile, [], 'graph'],
  [stream.repetitions, [], 'graph'], [stream.steadyState, [], 'graph'], [stream.initFirings, [], 'graph'], [stream.initFirings, [sdf], 'rates'],
  [stream.singleAppearanceSchedule, [], 'graph'], [stream.singleAppearanceSchedule, [sdf], 'steady'], [stream.pushSchedule, [], 'graph'], [stream.pushSchedule, [sdf], 'steady'],
  [stream.validateSchedule, [], 'graph'], [stream.validateSchedule, [sdf], 'schedule'],
  [stream.ganttSvg, [], 'graph'], [stream.ganttSvg, [sdf], 'bars'], [stream.assignToCores, [], 'graph'],
  [stream.assignToCores, [sdf], 'steady'], [stream.assignToCores, [sdf, steady, {}], 'options'],
  [stream.selectConfiguration, [sdf], 'table'], [stream.planHybrid, [], 'problem'],
  [stream.partitionTasks, [], 'problem'], [stream.partitionTasksByIlp, [], 'problem'], [stream.schedulePipeline, [], 'problem'], [stream.pipelineByIlp, [], 'problem'],
  [stream.filter, [], 'options'], [stream.fromSource, [], 'options'], [stream.splitJoin, [], 'options'], [stream.feedbackLoop, [], 'options'],
];

describe('wrong arguments of public functions', () => {
  for (const [call, right, argument] of calls) {
    it(`${call.name}: ${argument}`, async () => {
      for (const wrong of [undefined, null, 42, 'graph']) {
        if (argument === 'source' && typeof wrong === 'string') continue;
        await assert.rejects(async () => call(...[...right, wrong] as never[]), (error: unknown) => {
          assert.ok(error instanceof ArgumentError, `${String(wrong)}: ${String(error)}`);
          assert.equal(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
          assert.equal(error.argument, argument);
          return true;
        });
      }
    });
  }
});
