// Ciphers, hashes and random generators: whole numbers that wrap.
import { createHash } from 'node:crypto';
import { blocks, upTo, whole, type App } from './app.ts';

const rc4Source = `
int->int pipeline Main {
  int[5] key = { 0x4b, 0x65, 0x79, 0x21, 0x07 };
  add Rc4(5, key);
}
int->int filter Rc4(int n, int[n] key) {
  int[256] S;
  int i, j;
  void swap(int a, int b) { int t = S[a]; S[a] = S[b]; S[b] = t; }
  init {
    for (i = 0; i < 256; i++) S[i] = i;
    j = 0;
    for (i = 0; i < 256; i++) {
      j = (j + S[i] + key[i % n]) & 255;
      swap(i, j);
    }
    i = 0; j = 0;
  }
  work pop 1 push 1 {
    i = (i + 1) & 0xFF;
    j = (j + S[i]) & 0xFF;
    swap(i, j);
    push(pop() ^ S[(S[i] + S[j]) & 255]);
  }
}
`;

function rc4(bytes: readonly number[]): number[] {
  const s = upTo(256), key = [0x4b, 0x65, 0x79, 0x21, 7];
  for (let i = 0, j = 0; i < 256; ++i) {
    j = (j + s[i]! + key[i % 5]!) % 256;
    [s[i], s[j]] = [s[j]!, s[i]!];
  }
  let i = 0, j = 0;
  return bytes.map((b) => {
    i = (i + 1) % 256;
    j = (j + s[i]!) % 256;
    [s[i], s[j]] = [s[j]!, s[i]!];
    return b ^ s[(s[i]! + s[j]!) % 256]!;
  });
}

const serpentSource = `
/* A cipher in the manner of Serpent: four words a block, rounds of boxes and of a linear mixing; made for this test */
static {
  int ROUNDS = 6;
  int PHI = 0x9E3779B9;
  int[2][16] BOX = {
    { 3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12 },
    { 15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4 }
  };
}
int->int pipeline Main { add Serpent(0x01234567); }
int->int pipeline Serpent(int key) {
  for (int round = 0; round < ROUNDS; round++) {
    add AddKey(round, key);
    add splitjoin {
      // one branch for each eight columns of bits
      split duplicate;
      for (int part = 0; part < 4; part++) add Boxes(round % 2, part);
      join roundrobin(4);
    };
    add Merge(4);
    if (round < ROUNDS - 1) add Mix();
    else add AddKey(ROUNDS, key);
  }
}
int->int filter AddKey(int round, int key) {
  int[4] k;
  init {
    int state = key;
    for (int i = 0; i < 4 * (round + 1); i++) {
      state = rotate(state ^ PHI ^ i, 11);
      k[i % 4] = state;
    }
  }
  int rotate(int x, int n) {
    int low = (x >> (32 - n)) & ((1 << n) - 1);
    return (x << n) | low;
  }
  work pop 4 push 4 { for (int i = 0; i < 4; i++) push(pop() ^ k[i]); }
}
int->int filter Boxes(int which, int part) {
  work pop 4 push 4 {
    int[4] out;
    int[4] in_;
    for (int i = 0; i < 4; i++) { in_[i] = pop(); out[i] = 0; }
    for (int b = 8 * part; b < 8 * (part + 1); b++) {
      int nibble = 0;
      for (int i = 0; i < 4; i++) nibble += ((in_[i] >> b) & 1) << i;
      nibble = BOX[which][nibble];
      for (int i = 0; i < 4; i++) out[i] = out[i] | (((nibble >> i) & 1) << b);
    }
    for (int i = 0; i < 4; i++) push(out[i]);
  }
}
int->int filter Merge(int parts) {
  work pop 4 * parts push 4 {
    for (int i = 0; i < 4; i++) {
      int v = 0;
      for (int p = 0; p < parts; p++) v = v | peek(4 * p + i);
      push(v);
    }
    for (int i = 0; i < 4 * parts; i++) pop();
  }
}
int->int filter Mix {
  int left(int x, int n) { return (x << n) | ((x >> (32 - n)) & ~(0xFFFFFFFF << n)); }
  work pop 4 push 4 {
    int x0 = left(pop(), 13), x1 = pop(), x2 = left(pop(), 3), x3 = pop();
    x1 = left(x1 ^ x0 ^ x2, 1);
    x3 = left(x3 ^ x2 ^ (x0 << 3), 7);
    push(left(x0 ^ x1 ^ x3, 5)); push(x1);
    push(left(x2 ^ x3 ^ (x1 << 7), 22)); push(x3);
  }
}
`;

const left = (x: number, n: number): number => (x << n) | (x >>> (32 - n));

function serpent(words: readonly number[]): number[] {
  const boxes = [[3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12], [15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4]];
  const keys: number[] = [];
  for (let i = 0; i < 28; ++i) keys.push(left((keys[i - 1] ?? 0x01234567) ^ 0x9e3779b9 ^ i, 11));
  return blocks(words, 4, (block) => {
    let x = [...block];
    for (let round = 0; round < 6; ++round) {
      x = x.map((w, i) => w ^ keys[4 * round + i]!);
      const out = [0, 0, 0, 0];
      for (let b = 0; b < 32; ++b) {
        const nibble = boxes[round % 2]![x.reduce((all, w, i) => all | ((w >>> b) & 1) << i, 0)]!;
        out.forEach((_, i) => { out[i]! |= ((nibble >> i) & 1) << b; });
      }
      x = out;
      if (round < 5) {
        x[0] = left(x[0]!, 13);
        x[2] = left(x[2]!, 3);
        x[1] = left(x[1]! ^ x[0] ^ x[2], 1);
        x[3] = left(x[3]! ^ x[2] ^ (x[0] << 3), 7);
        x[0] = left(x[0] ^ x[1] ^ x[3], 5);
        x[2] = left(x[2] ^ x[3] ^ (x[1] << 7), 22);
      } else x = x.map((w, i) => w ^ keys[24 + i]!);
    }
    return x;
  });
}

const shaSource = `
/* SHA-1 of one block of 16 words, as a chain of steps that carry words along */
int->int pipeline Main { add Expand; for (int t = 0; t < 4; t++) add Rounds(t); add Finish; }
helper Words {
  int rotl(int x, int n) { return (x << n) | lsr(x, 32 - n); }
  int lsr(int x, int n) { return n == 0 ? x : (x >> n) & (0x7fffffff >> (n - 1)); }
}
int->int filter Expand {
  work pop 16 push 85 {
    int[80] w;
    for (int t = 0; t < 80; t++) {
      if (t < 16) w[t] = pop();
      else w[t] = rotl(w[t-3] ^ w[t-8] ^ w[t-14] ^ w[t-16], 1);
    }
    push(0x67452301); push(0xEFCDAB89); push(0x98BADCFE); push(0x10325476); push(0xC3D2E1F0);
    for (int t = 0; t < 80; t++) push(w[t]);
  }
}
int->int filter Rounds(int stage) {
  int k;
  init {
    switch_(stage);
  }
  void switch_(int s) {
    if (s == 0) k = 0x5A827999;
    else if (s == 1) k = 0x6ED9EBA1;
    else if (s == 2) { k = 0x8F1BBCDC; }
    else k = 0xCA62C1D6;
  }
  int f(int b, int c, int d) {
    if (stage == 0) return (b & c) | ((~b) & d);
    if (stage == 2) return (b & c) | (b & d) | (c & d);
    return b ^ c ^ d;
  }
  work pop 85 - 20 * stage push 65 - 20 * stage {
    int a = pop(), b = pop(), c = pop(), d = pop(), e = pop();
    for (int i = 0; i < 20; i++) {
      int temp = rotl(a, 5) + f(b, c, d) + e + k + pop();
      e = d; d = c; c = Words.rotl(b, 30); b = a; a = temp;
    }
    push(a); push(b); push(c); push(d); push(e);
    for (int i = 20 * (stage + 1); i < 80; i++) push(pop());
  }
}
int->int filter Finish {
  int[5] h = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  work pop 5 push 5 { for (int i = 0; i < 5; i++) push(pop() + h[i]); }
}
`;

/** Texts of up to 55 characters, each filled to the one block that the standard makes of it. */
const texts = ['abc', '', 'The quick brown fox jumps over the lazy dog', 'a'.repeat(55)];
const padded = texts.flatMap((text) => {
  const block = Buffer.alloc(64);
  block.write(text, 'latin1');
  block[text.length] = 0x80;
  block.writeUInt32BE(8 * text.length, 60);
  return upTo(16).map((i) => block.readInt32BE(4 * i));
});
const digests = texts.flatMap((text) => {
  const digest = createHash('sha1').update(text).digest();
  return upTo(5).map((i) => digest.readInt32BE(4 * i));
});

const twisterSource = `
/* MT19937: state kept in an array, tempering in a pipeline behind it */
void->int filter Twister(int seed) {
  int N = 624; int M = 397;
  int[624] mt;
  int index;
  int UPPER = 0x80000000, LOWER = 0x7fffffff;
  init {
    mt[0] = seed;
    for (index = 1; index < N; index++)
      mt[index] = 1812433253 * (mt[index-1] ^ ((mt[index-1] >> 30) & 3)) + index;
  }
  work push 1 {
    if (index >= N) {
      for (int kk = 0; kk < N; kk++) {
        int y = (mt[kk] & UPPER) | (mt[(kk+1) % N] & LOWER);
        int half = (y >> 1) & LOWER;
        mt[kk] = mt[(kk + M) % N] ^ half;
        if (y % 2 != 0) mt[kk] = mt[kk] ^ 0x9908b0df;
      }
      index = 0;
    }
    push(mt[index++]);
  }
}
int->int filter ShiftXor(int shift, int mask) {
  work pop 1 push 1 {
    int y = pop();
    if (shift > 0) y = y ^ (((y >> shift) & ((1 << (32 - shift)) - 1)) & mask);
    else y = y ^ ((y << -shift) & mask);
    push(y);
  }
}
void->void pipeline Main {
  add Twister(5489);
  add ShiftXor(11, -1);
  add ShiftXor(-7, 0x9d2c5680);
  add ShiftXor(-15, 0xefc60000);
  add ShiftXor(18, 0xffffffff);
  add int->void filter { work pop 1 { println(pop()); } };
}
`;

function twister(count: number): number[] {
  const mt = [5489];
  for (let i = 1; i < 624; ++i) mt.push((Math.imul(1812433253, mt[i - 1]! ^ (mt[i - 1]! >>> 30)) + i) >>> 0);
  return upTo(count).map((n) => {
    const at = n % 624, y = ((mt[at]! & 0x80000000) | (mt[(at + 1) % 624]! & 0x7fffffff)) >>> 0;
    mt[at] = (mt[(at + 397) % 624]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0)) >>> 0;
    let x = mt[at]!;
    x ^= x >>> 11;
    x ^= (x << 7) & 0x9d2c5680;
    x ^= (x << 15) & 0xefc60000;
    return x ^ (x >>> 18);
  });
}

const bytes = whole(100, 256, 7), words = whole(40, 2 ** 32, 8).map((x) => x | 0);

export const ciphers: readonly App[] = [
  { name: 'RC4 with a key as an array', source: rc4Source, input: bytes, expected: rc4(bytes) },
  { name: 'a block cipher of rounds with boxes by bits', source: serpentSource, input: words, expected: serpent(words) },
  { name: 'SHA-1 as a chain of rounds', source: shaSource, input: padded, expected: digests },
  { name: 'a Mersenne twister', source: twisterSource, expected: twister(700) },
];
