// Sound and speech.
import { blocks, signal, sum, upTo, type App } from './app.ts';

const vocoderSource = `
/* a phase vocoder: magnitudes and phases of a sliding transform, phases unwrapped and scaled, and back */
float->float pipeline Main {
  int window = 16;
  int hop = 4;
  float stretch = 1.5;
  add Analysis(window, hop);
  add Polar(window / 2 + 1);
  add float->float splitjoin {
    int channels = window / 2 + 1;
    split roundrobin(1, 1);
    add Identity<float>();            // magnitudes
    add splitjoin {
      split roundrobin(1);
      for (int k = 0; k < channels; k++) add pipeline {
        add Unwrap();
        add Difference();
        add float->float filter { work pop 1 push 1 { push(pop() * stretch); } }
        add Sum();
      };
      join roundrobin(1);
    }
    join roundrobin(1, 1);
  };
  add Synthesis(window, hop);
}
float->float filter Analysis(int n, int hop) {
  float[n] shape;
  init { for (int i = 0; i < n; i++) shape[i] = 0.5 - 0.5 * cos(2 * pi * i / n); }
  work pop hop push n + 2 peek n {
    for (int k = 0; k <= n / 2; k++) {
      float re = 0, im = 0;
      for (int i = 0; i < n; i++) {
        re += shape[i] * peek(i) * cos(2 * pi * k * i / n);
        im -= shape[i] * peek(i) * sin(2 * pi * k * i / n);
      }
      push(re);
      push(k % (n / 2) == 0 ? 0 : im);
    }
    for (int i = 0; i < hop; i++) pop();
  }
}
float->float filter Polar(int channels) {
  work pop 2 push 2 {
    float x = pop();
    float y = pop();
    push(sqrt(x*x + y*y));
    push(x == 0 && y == 0 ? 0 : atan2(y, x));
  }
}
float->float filter Unwrap() {
  float last, turns;
  init { last = 0f; turns = 0f; }
  work pop 1 push 1 {
    float phase = pop();
    float delta = phase - last;
    last = phase;
    while (delta > pi) { delta -= 2 * pi; turns--; }
    while (delta < -pi) { delta += 2 * pi; turns++; }
    push(phase + 2 * pi * turns);
  }
}
float->float filter Difference() {
  prework push 1 pop 0 peek 1 { push(peek(0)); }
  work push 1 pop 1 peek 2 { push(peek(1) - peek(0)); pop(); }
}
float->float filter Sum() { float total = 0; work push 1 pop 1 { total += pop(); push(total); } }
float->float filter Synthesis(int n, int hop) {
  work pop n + 2 push hop {
    for (int i = 0; i < hop; i++) {
      float s = 0;
      for (int k = 0; k <= n / 2; k++) s += peek(2 * k) * cos(peek(2 * k + 1) + 2 * pi * k * i / n) * (k == 0 || k == n / 2 ? 1 : 2);
      push(s / n);
    }
    for (int i = 0; i < n + 2; i++) pop();
  }
}
`;

function vocoder(x: readonly number[]): number[] {
  const last = new Array<number>(9).fill(0), turns = new Array<number>(9).fill(0), first: number[] = [];
  return upTo(Math.floor((x.length - 16) / 4) + 1).flatMap((frame) => {
    const bands = upTo(9).map((k) => {
      const part = (f: (x: number) => number) => sum(16, (i) => (0.5 - 0.5 * Math.cos(2 * Math.PI * i / 16)) * x[4 * frame + i]! * f(2 * Math.PI * k * i / 16));
      const re = part(Math.cos), im = k % 8 === 0 ? 0 : -part(Math.sin), phase = Math.atan2(im, re);
      const delta = phase - last[k]!;
      last[k] = phase;
      if (delta > Math.PI) turns[k]! -= 1;
      if (delta < -Math.PI) turns[k]! += 1;
      const whole = phase + 2 * Math.PI * turns[k]!;
      first[k] ??= whole;
      return [Math.hypot(re, im), 1.5 * whole] as const;
    });
    return upTo(4).map((i) => sum(9, (k) => bands[k]![0] * Math.cos(bands[k]![1] + 2 * Math.PI * k * i / 16) * (k % 8 === 0 ? 1 : 2)) / 16);
  });
}

const reverbSource = `
/* Schroeder's reverberator: combs side by side, all-passes one after the other */
float->float feedbackloop Comb(int delay, float gain) {
    join roundrobin(1, 1);
    body float->float filter {
        work push 2 pop 2 {
            float dry = pop();
            float wet = pop();
            push(wet);
            push(dry + gain * wet);
        }
    };
    loop Identity<float>;
    split roundrobin(1, 1);
    int i;
    for (i = 0; i < delay; i++)
        enqueue 0.0;
}
float->float feedbackloop AllPass(int delay, float gain) {
    join roundrobin(1, 1);
    body AllPassStep(gain);
    loop float->float pipeline { add Identity<float>; add Identity<float>; }
    split roundrobin(1, 1);
    for (int i = 0; i < delay; ++i) enqueue(0);
}
float->float filter AllPassStep(float gain) {
    work push 2 pop 2 {
        float x = peek(0), old = peek(1);
        float v = x + gain * old;
        push(old - gain * v);
        push(v);
        pop(); pop();
    }
}
float->float filter Mix(int n) { work pop n push 1 { float s = 0; for (int i = 0; i < n; i++) s += pop(); push(s / n); } }
float->float pipeline Reverb {
    float[3] gains = { 0.7, 0.6f, .5 };
    add splitjoin {
        split duplicate;
        for (int i = 0; i < 3; i++) add Comb(5 + 2 * i + (i > 1 ? 1 : 0), gains[i]);
        join roundrobin;
    };
    add Mix(3);
    add AllPass(3, 0.5); add AllPass(2, -0.25);
}
`;

function reverb(x: readonly number[]): number[] {
  const combs = [[5, 0.7], [7, 0.6], [10, 0.5]].map(([delay, gain]) => {
    const v: number[] = [];
    return x.map((dry, n) => {
      const wet = v[n - delay!] ?? 0;
      v.push(dry + gain! * wet);
      return wet;
    });
  });
  const pass = (input: readonly number[], delay: number, gain: number): number[] => {
    const v: number[] = [];
    return input.map((dry, n) => {
      const old = v[n - delay] ?? 0;
      v.push(dry + gain * old);
      return old - gain * v[n]!;
    });
  };
  return pass(pass(x.map((_, n) => sum(3, (i) => combs[i]![n]!) / 3), 3, 0.5), 2, -0.25);
}

const lmsSource = `
/* Adaptive echo canceller: far end and near end interleaved; out come the error and the step that was taken */
float->float filter Cancel(int N, float mu) {
  float[N] weights, history;
  int head = 0;

  float estimate() {
    float y = 0;
    for (int i = 0; i < N; i++) y += weights[i] * history[(head + i) % N];
    return y;
  }
  void adapt(float step) {
    for (int i = 0; i < N; i++)
      weights[i] += step * history[(head + i) % N];
  }
  work pop 2 push 2 {
    head = head == 0 ? N - 1 : head - 1;
    history[head] = pop();
    float near = pop();
    float energy = 0.01;
    for (int i = 0; i < N; i++) energy += history[i] * history[i];
    float error = near - estimate();
    adapt(mu * error / energy);
    push(error);
    push(mu * error / energy);
  }
}
float->float filter Room(int N) {
  float[N] h;
  init { h[0] = 0.5; for (int i = 1; i < N; i++) h[i] = h[i - 1] * -0.5; }
  work pop 1 push 2 peek N {
    float s = 0;
    for (int i = 0; i < N; i++) s += h[i] * peek(N - 1 - i);
    push(peek(N - 1));
    push(s);
    pop();
  }
}
float->float pipeline Main { add Room(4); add Cancel(4, 0.5); }
`;

function lms(x: readonly number[]): number[] {
  const weights = [0, 0, 0, 0];
  return upTo(x.length - 3).flatMap((n) => {
    const heard = upTo(4).map((i) => (n + 3 - i >= 3 ? x[n + 3 - i]! : 0)), room = sum(4, (i) => 0.5 * (-0.5) ** i * x[n + 3 - i]!);
    const error = room - sum(4, (i) => weights[i]! * heard[i]!), step = 0.5 * error / (0.01 + sum(4, (i) => heard[i]! ** 2));
    weights.forEach((_, i) => { weights[i]! += step * heard[i]!; });
    return [error, step];
  });
}

const speechSource = `
/* linear prediction of frames and a search for the pitch, in the manner of old speech coders */
struct Frame {
  float[6] k;      // reflection coefficients
  int lag;
  float gain;
}
float->Frame filter Analyse(int n, int order, int shortest, int longest) {
  float autocorrelation(int lag) {
    float s = 0;
    for (int i = lag; i < n; i++) s += peek(i) * peek(i - lag);
    return s;
  }
  /* Levinson and Durbin */
  Frame reflect(float[7] r) {
    Frame f;
    float[7] a, next;
    float e = r[0];
    a[0] = 1;
    for (int m = 1; m <= order; m++) {
      float acc = r[m];
      for (int i = 1; i < m; i++) acc += a[i] * r[m - i];
      float k = -acc / e;
      next = a;
      for (int i = 1; i < m; i++) next[i] = a[i] + k * a[m - i];
      next[m] = k;
      a = next;
      e *= 1 - k * k;
      f.k[m - 1] = k;
    }
    return f;
  }
  work pop n push 1 {
    float[7] r;
    for (int lag = 0; lag <= order; lag++) r[lag] = autocorrelation(lag);
    Frame f = reflect(r);
    float best = -1e30;
    for (int lag = shortest; lag <= longest; ++lag) {
      float c = autocorrelation(lag);
      if (c > best) { best = c; f.lag = lag; }
    }
    f.gain = sqrt(r[0] / n);
    for (int i = 0; i < n; i++) pop();
    push(f);
  }
}
Frame->float filter Unpack {
  work pop 1 push 8 {
    Frame f = pop();
    for (int i = 0; i < 6; i++) push(f.k[i]);
    push(f.lag); push(f.gain);
  }
}
float->float pipeline Main { add Analyse(40, 6, 8, 30); add Unpack; }
`;

function speech(x: readonly number[]): number[] {
  return blocks(x, 40, (frame) => {
    const r = (lag: number): number => sum(40 - lag, (i) => frame[i + lag]! * frame[i]!);
    // Each reflection coefficient is the last one of the predictor of its order: the normal equations, solved by elimination.
    const last = (m: number): number => {
      const rows = upTo(m).map((i) => [...upTo(m).map((j) => r(Math.abs(i - j))), -r(i + 1)]);
      rows.forEach((row, i) => rows.slice(i + 1).forEach((below) => {
        const factor = below[i]! / row[i]!;
        row.forEach((v, j) => { below[j]! -= factor * v; });
      }));
      return rows[m - 1]![m]! / rows[m - 1]![m - 1]!;
    };
    const lags = upTo(23).map((i) => r(i + 8));
    return [...upTo(6).map((m) => last(m + 1)), 8 + lags.indexOf(Math.max(...lags)), Math.sqrt(r(0) / 40)];
  });
}

const equaliserSource = `
struct Biquad { float b0, b1, b2; float a1, a2; float z1, z2; }
/* bands of second order in one filter, their coefficients computed by init; levels in dB come as an array */
float->float filter Equaliser(int bands, float[bands] level, float rate) {
  Biquad[bands] q;
  init {
    float f = 100;
    for (int i = 0; i < bands; i++, f *= 4) {
      float A = pow(10, level[i] / 40.0), w = 2 * pi * f / rate;
      float alpha = sin(w) / 2, a0 = 1 + alpha / A;
      q[i].b0 = (1 + alpha * A) / a0;
      q[i].b1 = -2 * cos(w) / a0;
      q[i].b2 = (1 - alpha * A) / a0;
      q[i].a1 = q[i].b1;
      q[i].a2 = (1 - alpha / A) / a0;
      q[i].z1 = q[i].z2;
    }
  }
  work pop 1 push 1 {
    float x = pop();
    for (int i = 0; i < bands; i++) {
      Biquad s = q[i];
      float y = s.b0 * x + s.z1;
      q[i].z1 = s.b1 * x - s.a1 * y + s.z2;
      q[i].z2 = s.b2 * x - s.a2 * y;
      x = y;
    }
    push(x);
  }
}
/* power at the tones of a key pad, by Goertzel */
float->float splitjoin Tones(int n, float rate) {
  float[4] rows = { 697, 770, 852, 941 };
  split duplicate;
  for (int i = 0; i < 4; i++) add Goertzel(n, rows[i] / rate);
  join roundrobin(1, 1, 1, 1);
}
float->float filter Goertzel(int n, float f) {
  float c = 2 * cos(2 * pi * f);
  work pop n push 1 {
    float s1 = 0, s2 = 0, s;
    for (int i = 0; i < n; i++) { s = pop() + c * s1 - s2; s2 = s1; s1 = s; }
    push(s1 * s1 + s2 * s2 - c * s1 * s2);
  }
}
float->float pipeline Main {
  float[3] db; db[0] = 6; db[1] = -3.0; db[2] = 0;
  add Equaliser(3, db, 8000);
  add Tones(40, 8000f);
}
`;

function equalised(x: readonly number[]): number[] {
  let y = [...x];
  [6, -3, 0].forEach((db, i) => {
    const a = 10 ** (db / 40), w = 2 * Math.PI * 100 * 4 ** i / 8000, alpha = Math.sin(w) / 2;
    const old = y;
    const out: number[] = [];
    old.forEach((v, n) => out.push(((1 + alpha * a) * v - 2 * Math.cos(w) * (old[n - 1] ?? 0) + (1 - alpha * a) * (old[n - 2] ?? 0)
      + 2 * Math.cos(w) * (out[n - 1] ?? 0) - (1 - alpha / a) * (out[n - 2] ?? 0)) / (1 + alpha / a)));
    y = out;
  });
  return blocks(y, 40, (block) => [697, 770, 852, 941].map((f) => (
    sum(40, (i) => block[i]! * Math.cos(2 * Math.PI * f * i / 8000)) ** 2 + sum(40, (i) => block[i]! * Math.sin(2 * Math.PI * f * i / 8000)) ** 2)));
}

const sound = signal(120, 31), voice = upTo(160).map((i) => Math.fround(Math.sin(i * 2 * Math.PI / 13) + 0.5 * Math.sin(i * 0.9) + signal(160, 32)[i]! / 8));

export const audio: readonly App[] = [
  { name: 'a phase vocoder', source: vocoderSource, input: voice, expected: vocoder(voice), tolerance: 2e-5 },
  { name: 'reverberation by loops', source: reverbSource.replace('pipeline Reverb', 'pipeline Main'), input: sound, expected: reverb(sound), tolerance: 1e-6 },
  { name: 'an echo canceller that learns', source: lmsSource, input: sound, expected: lms(sound), tolerance: 1e-5 },
  { name: 'linear prediction and pitch', source: speechSource, input: voice, expected: speech(voice), tolerance: 1e-5 },
  { name: 'an equaliser of structs and tones', source: equaliserSource, input: voice, expected: equalised(voice), tolerance: 1e-5 },
];
