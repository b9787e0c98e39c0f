// Messages between filters, rates of all kinds, prints.
import { whole, type App } from './app.ts';

const hoppingSource = `
/* A receiver that hops to another frequency when it hears the sign to: the message travels against the stream */
void->void pipeline Hopping {
  portal<Tune> tuner;
  add Transmitter(3);
  add Tune(1) to tuner;
  add Detect(tuner, 2);
  add Show();
}
void->int filter Transmitter(int period) {
  int t = 0;
  work push 1 {
    push(t * 10 + (t % period == 0 ? 1 : 0));
    t++;
  }
}
int->int filter Tune(int start) {
  int frequency;
  init { frequency = start; }
  work pop 1 push 1 { push(pop() * 100 + frequency); }
  handler setFrequency(int f) { frequency = f; }
}
int->int filter Detect(portal<Tune> p, int delay) {
  work pop 1 push 1 {
    int x = pop();
    if (x / 100 % 10 == 1) p.setFrequency(x % 100 + 1) [delay : delay];
    push(x);
  }
}
int->void filter Show() { work pop 1 { println(pop()); } }
`;

/** A sign in firing t, heard then, takes effect behind the receiver's firing t + 2. */
function hopping(count: number): number[] {
  const out: number[] = [], due = new Map<number, number>();
  let frequency = 1;
  for (let t = 0; t < count; ++t) {
    frequency = due.get(t) ?? frequency;
    const sign = t % 3 === 0;
    out.push((t * 10 + Number(sign)) * 100 + frequency);
    if (sign) due.set(t + 3, frequency + 1);
  }
  return out;
}

const volumeSource = `
/* one knob for all channels: messages downstream to several receivers, and one without latency */
int->int pipeline Main {
  portal<Volume> knob;
  add Knob(knob);
  add int->int splitjoin {
    split roundrobin(2);
    for (int i = 0; i < 3; i++) { add Volume(i) to knob; }
    join roundrobin(2);
  };
}
int->int filter Knob(portal<Volume> p) {
  work pop 1 push 1 {
    int x = pop();
    if (x < 0) { p.turn(-x, x % 2 == 0) [0:0]; }
    push(x);
  }
}
int->int filter Volume(int channel) {
  int gain = 1;
  boolean invert;
  void note(int g) { gain = g; }
  handler void turn(int g, boolean flip) { note(g); invert = flip; }
  work pop 2 push 2 {
    for (int i = 0; i < 2; i++) push(pop() * gain * (invert ? -1 : 1));
  }
}
`;

/** The splitter takes six items in a firing, so a channel's firing depends on all of them: messages sent up to the last of the six count. */
const volume = (x: readonly number[]): number[] => x.map((v, n) => {
  const last = x.slice(0, n - n % 6 + 6).filter((y) => y < 0).at(-1);
  return last === undefined ? v : v * -last * (last % 2 === 0 ? -1 : 1);
});

const runsSource = `
// runs of equal numbers, as pairs and spelt out again; rates are known only at run time
int->int pipeline Main { add Pairs(); add Spell(); add Split3; }
int->int filter Pairs {
  int last, run;
  prework pop 1 push 0 { last = pop(); run = 1; }
  work pop 1 push [0, 2] {
    int x = pop();
    if (x == last) run++;
    else { push(run); push(last); last = x; run = 1; }
  }
}
int->int filter Spell { work pop 2 push * { int n = pop(); int x = pop(); while (n-- > 0) push(x); } }
int->int filter Split3 { work pop [1, 2, *] push 1 { int n = 1, x = pop(); while (x > 2) { x = pop(); n++; } push(n * 10 + x); } }
`;

function runs(x: readonly number[]): number[] {
  // The last run never ends.
  let end = x.length;
  while (x[end - 1] === x.at(-1)) --end;
  const out: number[] = [];
  let n = 0;
  for (const v of x.slice(0, end)) {
    ++n;
    if (v > 2) continue;
    out.push(n * 10 + v);
    n = 0;
  }
  return out;
}

const reportSource = `
/* a report with print and println, and all sorts of statements in work()
 */
void->int filter Numbers(int n) {
	int[n] squares;
	int i;

	init {
		for (i = 0; i < n; ++i) squares[i] = i * i;
		i = 0;
	};

	work push 1 {
		push(squares[i]);
		i = (i + 1) % n;
	};
};

int->float filter Statistics(int n) {
	work pop n push 2 {
		float mean = 0.0, var = 0.0;
		int k;
		for (k = 0; k < n; k++) mean += (float) peek(k);
		mean /= n;
		for (k = 0; k < n; k++) { float d = peek(k) - mean; var += d * d; }
		push(mean);
		push(sqrt(var / (n - 1)));
		while (k-- > 0) pop();
	}
}

float->void filter Report {
	int line = 0;
	work pop 2 {
		float mean = pop(); float deviation = pop();
		line++;
		if (line == 1) println("line mean deviation"); else if (line > 3) { ; } else {}
		print(line);
		print(" ");
		print(mean + " ");
		println((int) (deviation * 100) / 100.0);
	}
}

void->void pipeline Report_ { add Numbers(10); add Statistics(5); add Report; };
`;

const hopped = whole(240, 1000, 41).map((x) => (x < 30 ? -1 - x % 5 : x)), repeated = whole(80, 4, 42).flatMap((x, i) => new Array<number>(1 + i % 3).fill(x));

export const control: readonly App[] = [
  { name: 'a receiver that hops by messages against the stream', source: hoppingSource, expected: hopping(30), interpreted: true },
  { name: 'a knob for several channels', source: volumeSource, input: hopped, expected: volume(hopped), interpreted: true },
  { name: 'runs as pairs and spelt out', source: runsSource, input: repeated, expected: runs(repeated), interpreted: true },
];
export const report = { source: reportSource, printed: ['line mean deviation', '1 6 6.59', '2 51 22.21', '3 6 6.59', '4 51 22.21'] };
