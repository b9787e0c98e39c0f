// Radar, beams, carriers and their filters.
import { blocks, signal, sum, upTo, type App } from './app.ts';

const radarChannels = 4, radarBeams = 3, radarTaps = 6;

/** Echo of channel c at time t: real and imaginary parts. */
const echo = (c: number, t: number): [number, number] => [Math.cos(0.3 * t + 0.7 * c), Math.sin(0.3 * t + 0.7 * c) * (t % 7 === 3 ? 3 : 1)];

function radar(count: number): number[] {
  const fir = (c: number, n: number, taps: number, step: number, from: (k: number) => [number, number]): [number, number] => {
    let [re, im] = [0, 0];
    for (let i = 0; i < taps; ++i) {
      const w = [Math.cos(0.1 * i) / (i + 1), Math.sin(0.1 * i * (c + 1)) / (i + 1)];
      const [a, b] = from(n * step + i);
      re += a * w[0]! - b * w[1]!;
      im += a * w[1]! + b * w[0]!;
    }
    return [re, im];
  };
  return upTo(count).flatMap((n) => {
    const samples = upTo(radarChannels).map((c) => fir(c, n, radarTaps, 2, (k) => echo(c, k)));
    return upTo(radarBeams).map((b) => {
      let [re, im] = [0, 0];
      samples.forEach(([x, y], c) => {
        const angle = 2 * Math.PI * b * c / radarChannels;
        re += x * Math.cos(angle) - y * Math.sin(angle);
        im += x * Math.sin(angle) + y * Math.cos(angle);
      });
      return Math.sqrt(re * re + im * im);
    });
  });
}

const radarSource = `
/*
 * radar.str: the front end of a radar
 */
void->void pipeline Radar()
{
    int numChannels = 4;
    int numBeams = 3;
    int numTaps = 6;

    add void->float splitjoin {
        split roundrobin(0);
        for (int i = 0; i < numChannels; i++) {
            add void->float pipeline {
                add Echo(i);
                add ComplexFIR(numTaps, i, 2);
            };
        }
        join roundrobin(2);
    };
    add float->float splitjoin {
        split duplicate;
        for(int b=0; b<numBeams; b++) {
            add float->float pipeline {
                add Beamform(b, numChannels);
                add Magnitude();
            };
        };
        join roundrobin;
    };
    add Show;
}

void->float filter Echo(int channel)
{
    int t;
    init { t = 0; }
    work push 2 {
        float phase = 0.3*t + 0.7*channel;
        push(cos(phase));
        if (t % 7 == 3)
            push(3 * sin(phase));
        else
            push(sin(phase));
        t++;
    }
}

// interleaved real and imaginary parts
float->float filter ComplexFIR(int taps, int channel, int decimation)
{
    float[taps] re;
    float[taps] im;

    init {
        int i;
        for (i = 0; i < taps; i++) {
            re[i] = cos(0.1*i) / ((float)i + 1);
            im[i] = sin(0.1*i*(channel+1)) / (i + 1.0f);
        }
    }

    work push 2 pop 2*decimation peek 2*taps {
        float sumRe = 0.0;
        float sumIm = 0.0;
        int k;
        for (k = 0; k < 2*taps; k += 2) {
            sumRe += peek(k)*re[k/2] - peek(k+1)*im[k/2];
            sumIm += peek(k)*im[k/2] + peek(k+1)*re[k/2];
        }
        for (k = 0; k < 2*decimation; k++) pop();
        push(sumRe);
        push(sumIm);
    }
}

float->float filter Beamform(int beam, int channels)
{
    float[channels] wr, wi;
    init {
        for (int c = 0; c < channels; c++) {
            float angle = 2*pi*beam*c/channels;
            wr[c] = cos(angle);
            wi[c] = sin(angle);
        }
    }
    work pop 2*channels push 2 {
        float sr = 0;
        float si = 0;
        for (int c = 0; c < channels; c++) {
            float x = pop();
            float y = pop();
            sr += x*wr[c] - y*wi[c];
            si += x*wi[c] + y*wr[c];
        }
        push(sr); push(si);
    }
}

float->float filter Magnitude()
{
    work pop 2 push 1 { push(mag(pop(), pop())); }
    float mag(float real, float imag) { return sqrt(real*real + imag*imag); }
}

float->void filter Show { work pop 1 { println(pop()); } }
`;

const beamSource = `
struct Detection {
  float power;
  int beam;
  boolean hit;
}

complex->complex filter Steer(int elements, float angle) {
  complex[elements] w;
  init {
    for (int i = 0; i < elements; i++) {
      w[i].real = cos(pi * i * sin(angle));
      w[i].imag = -sin(pi * i * sin(angle));
    }
  }
  work pop elements push 1 {
    complex acc = 0;
    for (int i = 0; i < elements; i++) acc += pop() * w[i];
    push(acc / elements);
  }
}

complex->Detection filter Detect(int beam, float threshold) {
  work pop 1 push 1 {
    complex c = pop();
    Detection d;
    d.power = c.real * c.real + c.imag * c.imag;
    d.beam = beam;
    d.hit = d.power > threshold;
    push(d);
  }
}

Detection->float filter Strongest(int beams) {
  work pop beams push 3 {
    Detection best = peek(0);
    int hits = best.hit ? 1 : 0;
    pop();
    for (int i = 1; i < beams; i++) {
      Detection next = pop();
      if (next.hit) hits++;
      if (next.power > best.power) best = next;
    }
    push(best.beam);
    push(best.power);
    push(hits);
  }
}

complex->Detection splitjoin Beams(int elements, int beams) {
  split duplicate();
  for (int b = 0; b < beams; b++) {
    float angle = -1.0 + 2.0 * b / (beams - 1);
    add pipeline { add Steer(elements, angle); add Detect(b, 0.5); };
  }
  join roundrobin(1);
}

float->complex filter Pack { work pop 2 push 1 { complex c; c.real = pop(); c.imag = pop(); push(c); } }

float->float pipeline Main {
  add Pack();
  add Beams(8, 5);
  add Strongest(5);
}
`;

/** Elements of an array that a wave from somewhere reaches, with noise. */
const wave = upTo(40).flatMap((t) => {
  const angle = -1 + (t % 5) / 2;
  return upTo(8).flatMap((i) => [Math.cos(Math.PI * i * Math.sin(angle) + t), Math.sin(Math.PI * i * Math.sin(angle) + t)].map(Math.fround));
});

const beams = blocks(wave, 16, (x) => {
  const powers = upTo(5).map((b) => {
    const angle = -1 + 2 * b / 4;
    const part = (of: (re: number, im: number, c: number, s: number) => number) => sum(8, (i) => (
      of(x[2 * i]!, x[2 * i + 1]!, Math.cos(Math.PI * i * Math.sin(angle)), -Math.sin(Math.PI * i * Math.sin(angle))))) / 8;
    return part((a, b2, c, s) => a * c - b2 * s) ** 2 + part((a, b2, c, s) => a * s + b2 * c) ** 2;
  });
  const best = powers.indexOf(Math.max(...powers));
  return [best, powers[best]!, powers.filter((p) => p > 0.5).length];
});

const amSource = `
/* Amplitude modulation, a channel, and an envelope detector with gain control */
float->float pipeline AM {
  float rate = 8000.0f, carrier = 1000.0f;
  int taps = 17;
  add Modulate(carrier / rate, 0.5);
  add Rectify;
  add LowPass(taps, 0.1, 0);
  add Gain(0.9f);
}
float->float stateful filter Modulate(float step, float depth) {
  float phase = 0;
  work push 1 pop 1 {
    push((1 + depth * pop()) * sin(2 * pi * phase));
    phase += step;
    if (phase >= 1) phase -= 1;
  }
}
float->float filter Rectify { work pop 1 push 1 { float x = pop(); push(x < 0 ? -x : x); } }
float->float filter LowPass(int taps, float cutoff, int decimation) {
  float[taps] coeff;
  init {
    int i; float total = 0;
    for (i = 0; i < taps; i++) {
      int m = i - taps / 2;
      if (m == 0) coeff[i] = 2 * cutoff;
      else coeff[i] = sin(2 * pi * cutoff * m) / (pi * m);
      coeff[i] *= 0.54 + 0.46 * cos(2 * pi * m / (taps - 1));
      total += coeff[i];
    }
    for (i = 0; i < taps; i++) coeff[i] /= total;
  }
  work push 1 pop 1 + decimation peek taps {
    float s = 0;
    for (int i = 0; i < taps; i++) { s += peek(i) * coeff[i]; }
    push(s);
    for (int i = 0; i <= decimation; i++) pop();
  }
}
float->float filter Gain(float keep) {
  float level;
  prework push 0 pop 4 { level = 0; for (int i = 0; i < 4; i++) level += pop() / 4; }
  work push 1 pop 1 {
    float x = pop();
    level = keep * level + (1 - keep) * abs(x);
    push(x / max(level, 1e-5f));
  }
}
`;

function am(input: readonly number[]): number[] {
  const rectified = input.map((x, n) => Math.abs((1 + 0.5 * x) * Math.sin(2 * Math.PI * ((n * 0.125) % 1))));
  const raw = upTo(17).map((i) => (i === 8 ? 0.2 : Math.sin(0.2 * Math.PI * (i - 8)) / (Math.PI * (i - 8))) * (0.54 + 0.46 * Math.cos(2 * Math.PI * (i - 8) / 16)));
  const total = raw.reduce((a, b) => a + b);
  const low = upTo(input.length - 16).map((n) => sum(17, (i) => rectified[n + i]! * raw[i]!) / total);
  let level = sum(4, (i) => low[i]!) / 4;
  return low.slice(4).map((x) => {
    level = 0.9 * level + 0.1 * Math.abs(x);
    return x / Math.max(level, 1e-5);
  });
}

const tone = signal(200, 5);

const oversampleSource = `
// 1-bit style oversampling converter: up by 2 again and again, then down again
float->float pipeline Main { add Up(3); add Shape(0.25); add Down(1 << 3); }

float->float pipeline Up(int stages) {
  if (stages > 0) {
    add Expand(2);
    add Smooth(3);
    add Up(stages - 1);
  } else
    add Identity<float>;
}
float->float filter Expand(int L) {
  work push L pop 1 {
    push(pop());
    for (int i = 1; i < L; i++)
      push(0);
  }
}
float->float filter Smooth(int n) {
  work pop 1 push 1 peek n {
    float s = 0f;
    for (int i = n - 1; i >= 0; --i) s += peek(i) * (i == n / 2 ? 1.0 : 0.5);
    push(s); pop();
  }
}
/* error feedback */
float->float filter Shape(float step) {
  float error;
  init { error = 0.0; }
  work pop 1 push 1 {
    float wanted = pop() + error;
    int level = (int) floor(wanted / step + 0.5);
    error = wanted - level * step;
    push(level * step);
  }
}
float->float filter Down(int M) { work pop M push 1 { float s = 0; int i = 0; do { s += pop(); i++; } while (i < M); push(s / M); } }
`;

function oversample(input: readonly number[]): number[] {
  let x = [...input];
  for (let stage = 0; stage < 3; ++stage) {
    const wide = x.flatMap((v) => [v, 0]);
    x = upTo(wide.length - 2).map((n) => 0.5 * wide[n]! + wide[n + 1]! + 0.5 * wide[n + 2]!);
  }
  let error = 0;
  const shaped = x.map((v) => {
    const level = Math.floor((v + error) / 0.25 + 0.5);
    error = v + error - level * 0.25;
    return level * 0.25;
  });
  return blocks(shaped, 8, (block) => [sum(8, (i) => block[i]!) / 8]);
}

/** Sixteenths, so that every step is exact. */
const coarse = signal(60, 9).map((x) => Math.round(x * 16) / 16);

export const radio: readonly App[] = [
  { name: 'radar with complex filters and beams', source: radarSource, expected: radar(20), tolerance: 1e-5 },
  { name: 'beams of complex numbers and detections as structs', source: beamSource, input: wave, expected: beams, tolerance: 1e-5 },
  { name: 'amplitude modulation and an envelope detector', source: amSource, input: tone, expected: am(tone), tolerance: 2e-5 },
  { name: 'an oversampling converter', source: oversampleSource, input: coarse, expected: oversample(coarse) },
];
