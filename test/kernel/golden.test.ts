// A filter, and a function that calls another, through all passes and printers, in full. To renew the files after a change that was meant:
// GOLDEN=write mocha THIS_FILE.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import initialiseWabt from 'wabt';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { optimise } from '../../lib/kernel/passes/index.ts';
import { printers } from '../../lib/kernel/print/index.ts';
import { programText } from '../../lib/kernel/text.ts';
import { verify } from '../../lib/kernel/verify.ts';

const programs: Readonly<Record<string, string>> = {
  filter: `external input f32[] readonly
external output f32[]
constant taps f32[4] = (0.25, 0.5, 0.5, 0.25)
function main(n: i32) {
  var i: i32 var j: i32 var sum: f32
  for L: i = 0 to n step 1 {
    sum = f32(0)
    for M: j = 0 to 4 step 1 {
      guard lt_u(j, 4) else 1 convert.f64(j)
      sum = add(sum, mul(input[add(i, j)], taps[j]))
    }
    output[i] = sum
  }
}`,
  horner: `external x f64[] readonly
external y f64[]
global calls i32[1]
function horner(a: f64, degree: i32) -> (f64) {
  local c f64[3]
  var k: i32 var s: f64
  guard lt_u(degree, 3) else 7 convert.f64(degree)
  fill c[0] for 3
  c[0] = f64(1)
  c[1] = a
  c[2] = mul(a, a)
  s = f64(0)
  for L: k = 0 to 3 step 1 {
    if gt(k, degree) { break L }
    s = add(mul(s, a), c[k])
  }
  return (s)
}
function main(n: i32) {
  var i: i32 var r: f64
  for L: i = 0 to n step 1 {
    call r = horner(x[i], 2)
    if ne(r, r) { continue L }
    y[i] = r
    calls[0] = add(calls[0], 1)
  }
}`,
};

function check(name: string, text: string): void {
  const path = new URL(`golden/${name}`, import.meta.url);
  if (process.env.GOLDEN === 'write') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'));
}

describe('kernel: whole programs through all passes and printers', () => {
  for (const [name, text] of Object.entries(programs)) {
    it(`of ${name}`, async () => {
      const given = verify(parseProgram(text));
      const made = optimise(given, { roots: new Set(['main']), onPass: (_, program) => { verify(program); } });
      check(`${name}.kernel.txt`, programText(made));
      const module = (await initialiseWabt()).readWasm(printers.wasm(made), { readDebugNames: true });
      module.validate();
      check(`${name}.wasm.txt`, module.toText({ foldExprs: true, inlineExport: true }));
      check(`${name}.cpp.txt`, printers.cpp(optimise(given, { roots: new Set(['main']), vectors: false })));
      check(`${name}.cuda.txt`, printers.cuda(optimise(given, { roots: new Set(['main']), vectors: false })));
    });
  }
});
