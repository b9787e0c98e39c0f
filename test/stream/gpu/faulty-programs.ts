// Programs with state of which a firing goes wrong.

/** A filter of integers in a pipeline. */
export const ints = (body: string, fields: string): string => `int->int filter F { ${fields} work ${body} } int->int pipeline Main { add F; }`;
export const one = (fields: string, body: string): string => ints(`pop 1 push 1 { int x = pop(); ${body} }`, fields);

/** Programs of which a firing goes wrong, and where in an input of zeros and ones. */
export const faulty: Readonly<Record<string, string>> = {
  'an index that a counter takes too far': one('int[20000] t = {1}; int i;', 'push(t[i] + x); i++;'),
  'an index that a sum takes too far': one('int[400] t = {9}; int s;', 's += x; push(t[s / 32]);'),
  'a division by a mode': one('int mode = 1;', 'if (x == 5) mode = 0; push(100 / mode);'),
  'a remainder by the item before': one('int last = 1;', 'int before = last; last = x + 1; push(7 % before);'),
  'an index that is only looked at while a sum wraps': one('int[4] t; int s; int u;', 's += x * 40; while (s > 63) { s -= 128; u = t[x]; } while (s < -64) s += 128; push(s);'),
  'a stage behind a fault': 'int->int filter A { int s; work pop 1 push 1 { int x = pop(); if (x == 4) s = s + 1; push(12 / (s - 3)); } } '
    + 'int->int filter B { int s; work pop 1 push 1 { s = (s + pop()) & 255; push(s); } } int->int pipeline Main { add B; add A; add B; }',
};
