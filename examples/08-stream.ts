// Stream programs: filters with declared rates, scheduled by the compiler, run as JavaScript, and their cost measured.
import { stream } from 'warploom';

// Two moving averages side by side; their difference lets the slow wave of the input through less than the quick one.
const { graph } = await stream.elaborate(`
  float->float filter Mean(int n) {
    work push 1 pop 1 peek n {
      float sum = 0;
      for (int i = 0; i < n; i++) sum += peek(i);
      push(sum / n);
      pop();
    }
  }
  float->float filter Difference { work push 1 pop 2 { push(pop() - pop()); } }
  float->float pipeline Main {
    add splitjoin { split duplicate; add Mean(3); add Mean(24); join roundrobin; };
    add Difference;
  }
`, { main: 'Main' });
console.log(stream.describeGraph(graph));

// One period of the quick wave has 24 samples, so its long mean is 0 and the output is the short mean of the input.
const input = Float32Array.from({ length: 4800 }, (_, i) => Math.sin(2 * Math.PI * i / 24));
const { output, backend } = await stream.run(graph, { input });
let worst = 0;
for (let i = 0; i < output.length; ++i) worst = Math.max(worst, Math.abs(output[i]! - (input[i]! + input[i + 1]! + input[i + 2]!) / 3));
console.log(`run by ${backend}: ${output.length} items, largest error ${worst.toExponential(1)}`);
if (!(output.length === 4777 && worst < 1e-6)) process.exitCode = 1;

// A plan for two cores from measured times: stages of a software pipeline, its interval and a bound on what is possible.
const { microseconds } = await stream.profile(graph, { input });
const sdf = stream.toSdf(graph);
const plan = stream.assignToCores(sdf, stream.steadyState(sdf), stream.cpuCosts(sdf, microseconds), { cores: 2 });
console.log(`two cores: ${plan.multiplier} steady states take ${plan.interval.toPrecision(3)} µs, no plan less than ${
  plan.bound.toPrecision(3)} µs`);
if (!(plan.interval >= plan.bound)) process.exitCode = 1;
