// Digital links: coding, interleaving, multiplexing by Fourier transform, framing.
import { blocks, upTo, whole, type App } from './app.ts';

const ofdmSource = `
/* A transmitter in the manner of 802.11a, with a scrambler,
   a convolutional coder, an interleaver and an inverse Fourier transform */
bit->complex pipeline Main {
	int carriers = 16;
	add Scramble(0x5D);
	add Encode();
	add Interleave(4, 8);
	add Map();
	add Inverse(carriers);
	add Prefix(carriers, 4);
}

bit->bit filter Scramble(int seed) {
	bit[7] reg;
	init {
		for (int i = 0; i < 7; i++)
			reg[i] = (bit) ((seed >> i) & 1);
	}
	work pop 1 push 1 {
		bit feedback = reg[6] ^ reg[3];
		for (int i = 6; i > 0; i--) reg[i] = reg[i-1];
		reg[0] = feedback;
		push(pop() ^ feedback);
	}
}

/* rate 1/2, constraint length 7, generators 133 and 171 (octal) */
bit->bit filter Encode() {
	prework push 12 pop 0 peek 6 {
		for (int n = 0; n < 6; n++) { code(n, 0x5B); code(n, 0x79); }
	}
	void code(int last, int taps) {
		bit b = 0;
		for (int i = 0; i <= last; i++)
			if (((taps >> i) & 1) == 1) b = b ^ peek(last - i);
		push(b);
	}
	work push 2 pop 1 peek 7 {
		code(6, 0x5B);
		code(6, 0x79);
		pop();
	}
}

bit->bit splitjoin Interleave(int rows, int columns) {
	split roundrobin(1);
	for (int i = 0; i < columns; i++) add Identity<bit>;
	join roundrobin(rows);
}

bit->complex filter Map {
	float[4] level = { -3, -1, 3, 1 };
	work push 1 pop 4 {
		int i = peek(0) << 1 | peek(1);
		int q = (peek(2) << 1) + peek(3);
		complex c;
		c.real = level[i] / sqrt(10);
		c.imag = level[q] / sqrt(10.0);
		push(c);
		for (int k = 0; k < 4; k++) pop();
	}
}

/* decimation in time */
complex->complex pipeline Inverse(int n) {
	if (n == 1) { add Identity<complex>(); }
	else {
		add complex->complex splitjoin {
			split roundrobin(1);
			add Inverse(n / 2);
			add Inverse(n / 2);
			join roundrobin(n / 2);
		};
		add Combine(n);
	}
}
complex->complex filter Combine(int n) {
	complex[n/2] twiddle;
	init {
		for (int k = 0; k < n / 2; k++) twiddle[k] = exp(2i * (pi * k / n));
	}
	work pop n push n {
		complex[n] out;
		for (int k = 0; k < n / 2; k++) {
			complex t = twiddle[k] * peek(k + n / 2);
			out[k] = (peek(k) + t) / 2;
			out[k + n / 2] = (peek(k) - t) / 2;
		}
		for (int k = 0; k < n; k++) { pop(); push(out[k]); }
	}
}
complex->complex filter Prefix(int n, int guard) {
	work pop n push n + guard {
		for (int i = n - guard; i < n; i++) push(peek(i));
		for (int i = 0; i < n; i++) push(pop());
	}
}
`;

const parity = (x: number): number => { let p = 0; for (let y = x; y > 0; y >>= 1) p ^= y & 1; return p; };

function ofdm(bits: readonly number[]): number[] {
  let register = 0x5d, window = 0;
  const coded = bits.flatMap((b) => {
    const feedback = (register >> 6 & 1) ^ (register >> 3 & 1);
    register = (register << 1 | feedback) & 127;
    window = (window << 1 | (b ^ feedback)) & 127;
    return [parity(window & 0x5b), parity(window & 0x79)];
  });
  const mixed = blocks(coded, 32, (x) => upTo(32).map((i) => x[(i % 4) * 8 + Math.floor(i / 4)]!));
  const points = blocks(mixed, 4, ([a, b, c, d]) => [[-3, -1, 3, 1][2 * a! + b!]!, [-3, -1, 3, 1][2 * c! + d!]!]);
  return blocks(points, 32, (p) => {
    const times = upTo(16).map((t) => {
      let [re, im] = [0, 0];
      for (let k = 0; k < 16; ++k) {
        const angle = 2 * Math.PI * k * t / 16;
        re += p[2 * k]! * Math.cos(angle) - p[2 * k + 1]! * Math.sin(angle);
        im += p[2 * k]! * Math.sin(angle) + p[2 * k + 1]! * Math.cos(angle);
      }
      return [re / 16 / Math.sqrt(10), im / 16 / Math.sqrt(10)];
    });
    return [...times.slice(12), ...times].flat();
  });
}

const viterbiSource = `
struct Path {
	int metric;
	int[24] bits;
}

/* hard decisions, K = 3, generators 7 and 5; blocks of length bits that end in two zeros */
int->int filter Viterbi(int length) {
	int states = 4;
	Path[4] old;
	Path[4] now;

	int expected(int state, int input) {
		int whole = (input << 2) + state;
		int a = 0, b = 0;
		for (int i = 0; i < 3; i++) {
			a = a ^ ((whole >> i) & 1);
			if (i != 1) b = b ^ ((whole >> i) & 1);
		}
		return (a << 1) | b;
	}

	work pop 2 * length push length {
		for (int s = 0; s < states; s++) old[s].metric = (s == 0) ? 0 : 1000;
		for (int t = 0; t < length; t++) {
			int heard = pop() * 2;
			heard += pop();
			for (int s = 0; s < states; s++) now[s].metric = 100000;
			for (int s = 0; s < states; s++) {
				for (int input = 0; input < 2; input++) {
					int next = ((input << 2) + s) >> 1;
					int wrong = expected(s, input) ^ heard;
					int cost = old[s].metric + (wrong & 1) + (wrong >> 1);
					if (cost < now[next].metric) {
						now[next] = old[s];
						now[next].metric = cost;
						now[next].bits[t] = input;
					}
				}
			}
			old = now;
		}
		for (int t = 0; t < length; t++) push(old[0].bits[t]);
	}
}

int->int filter Encoder(int length) {
	work pop length push 2 * length {
		int s1 = 0;
		int s2 = 0;
		for (int t = 0; t < length; t++) {
			int x = t < length - 2 ? peek(t) : 0;
			push(x ^ s1 ^ s2);
			push(x ^ s2);
			s2 = s1; s1 = x;
		}
		for (int t = 0; t < length; t++) pop();
	}
}
int->int filter Flip(int every) {
	int n = 0;
	work pop 1 push 1 {
		n++;
		if (n == every) { push(1 - pop()); n = 0; }
		else push(pop());
	}
}
int->int pipeline Main {
	int L = 24;
	add Encoder(L);
	add Flip(13);
	add Viterbi(L);
}
`;

const crcSource = `
static {
	int[256] table;
	int POLY = 0xEDB88320;
	init {
		for (int n = 0; n < 256; n++) {
			int c = n;
			for (int k = 0; k < 8; k++) {
				if (c & 1) c = POLY ^ ((c >> 1) & 0x7FFFFFFF);
				else c = (c >> 1) & 0x7FFFFFFF;
			}
			table[n] = c;
		}
	}
}
/* three checksums over the same bytes, side by side */
int->int splitjoin Main {
	split duplicate;
	add Crc(32);
	add Adler(32);
	add Bits(32);
	join roundrobin(1, 1, 2);
}
int->int filter Crc(int n) {
	work pop n push 1 {
		int crc = 0xFFFFFFFF;
		for (int i = 0; i < n; i++) {
			int index = (crc ^ pop()) & 0xff;
			crc = table[index] ^ ((crc >> 8) & 0x00ffffff);
		}
		push(~crc);
	}
}
int->int filter Adler(int n) {
	work pop n push 1 {
		int a = 1;
		int b = 0;
		while (n > 0 && a >= 0) {
			int i;
			for (i = 0; i < n; i++) { a = (a + pop()) % 65521; b = (b + a) % 65521; }
			break;
		}
		push(b * 65536 + a);
	}
}
/* bits of bytes, low one first, then ones and the longest run */
int->int pipeline Bits(int n) {
	add int->bit filter {
		work pop 1 push 8 {
			int byte = pop();
			for (int i = 0; i < 8; i++) { push((bit)(byte & 1)); byte >>= 1; }
		}
	}
	add bit->int filter {
		work pop 8*n push 2 {
			int ones, run, longest;
			ones = 0; run = 0; longest = 0;
			for (int i = 0; i < 8*n; i++) {
				bit b = pop();
				ones += b;
				if (b == 1) { run++; longest = max(run, longest); } else run = 0;
			}
			push(ones);
			push(longest);
		}
	}
}
`;

function checksums(bytes: readonly number[]): number[] {
  return blocks(bytes, 32, (block) => {
    let crc = 0xffffffff, a = 1, b = 0;
    for (const byte of block) {
      crc ^= byte;
      for (let k = 0; k < 8; ++k) crc = (crc & 1 ? 0xedb88320 : 0) ^ (crc >>> 1);
      a = (a + byte) % 65521;
      b = (b + a) % 65521;
    }
    const bits = block.map((byte) => [...byte.toString(2).padStart(8, '0')].reverse().join('')).join('');
    const longest = Math.max(...bits.split('0').map((run) => run.length));
    return [~crc, (b * 65536 + a) | 0, bits.replaceAll('0', '').length, longest];
  });
}

const framingSource = `
/* a zero after five ones: how many bits come out depends on the data */
bit->bit filter Stuff {
	int ones = 0;
	work pop 1 push [1, 2] {
		bit b = pop();
		push(b);
		if (b == 1) {
			if (++ones == 5) { push(0); ones = 0; }
		}
		else ones = 0;
	}
}
bit->bit filter Unstuff {
	int ones;
	init { ones = 0; }
	work pop [1, *, 2] push 1 {
		bit b = pop();
		push(b);
		if (b == 0) ones = 0;
		else {
			ones++;
			if (ones == 5) { pop(); ones = 0; }
		}
	}
}
bit->int filter Collect(int n) { work pop n push 1 { int v = 0; for (int i = 0; i < n; i++) v = v * 2 + pop(); push(v); } }
bit->int splitjoin Main {
	split duplicate;
	add pipeline { add Stuff; add Collect(9); }
	add bit->int pipeline { add Stuff(); add Unstuff(); add Collect(8); };
	join roundrobin(8, 8);
}
`;

function framed(bits: readonly number[]): number[] {
  const stuffed: number[] = [];
  let ones = 0;
  for (const b of bits) {
    stuffed.push(b);
    ones = b === 1 ? ones + 1 : 0;
    if (ones === 5) {
      stuffed.push(0);
      ones = 0;
    }
  }
  const words = (list: readonly number[], size: number) => blocks(list, size, (x) => [Number.parseInt(x.join(''), 2)]);
  const [left, right] = [words(stuffed, 9), words(bits, 8)];
  return upTo(Math.floor(Math.min(left.length, right.length) / 8)).flatMap((i) => [...left.slice(8 * i, 8 * i + 8), ...right.slice(8 * i, 8 * i + 8)]);
}

const bits = whole(320, 2, 3), message = whole(240, 2, 4), bytes = whole(160, 256, 5), ones = whole(600, 10, 6).map((x) => Number(x < 8));
const points = ofdm(bits);

export const links: readonly App[] = [
  { name: 'an OFDM transmitter', source: ofdmSource, input: bits, expected: points, tolerance: 1e-5 },
  { name: 'a Viterbi decoder with paths as structs', source: viterbiSource, input: message,
    expected: blocks(message, 24, (x) => [...x.slice(0, 22), 0, 0]) },
  { name: 'checksums with a table of constants', source: crcSource, input: bytes, expected: checksums(bytes) },
  { name: 'bits stuffed at rates that depend on the data', source: framingSource, input: ones, expected: framed(ones), interpreted: true },
];
