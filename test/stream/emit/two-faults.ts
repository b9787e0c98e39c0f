// A program in which an item goes wrong late, and one behind it early: launches come upon the second first.
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { graphOf } from '../support.ts';

/** 7 goes wrong in A (S5002), 9 in B (S5001), a launch later. */
export const twoFaults: StreamGraph = graphOf(`
  int->int filter A { work pop 1 push 1 { int x = pop(); push(x == 7 ? x / (x - 7) : x); } }
  int->int filter W(int n) { work pop 1 push 1 peek n { push(peek(0)); pop(); } }
  int->int filter B { work pop 1 push 1 { int[2] t; int x = pop(); t[x == 9 ? x : 0] = 1; push(x + t[0]); } }
  int->int filter Pack { work pop 16 push 16 { for (int i = 0; i < 16; i++) push(pop()); } }
  int->int pipeline P { add A; add W(20); add B; add W(30); add Pack; }`);

/** Input with a 9 and a 7 so many items behind it. */
export function twoFaultsInput(behind: number): Int32Array {
  const input = new Int32Array(3000).fill(1);
  input[1500] = 9;
  input[1500 + behind] = 7;
  return input;
}
