// The Data Encryption Standard by FIPS 46 with any number of rounds, on lists of bits with the most significant first.

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Places from 1 to 61, a character each. */
const places = (text: string): number[] => [...text].map((each) => digits.indexOf(each));
const pick = (bits: readonly number[], table: readonly number[]): number[] => table.map((place) => bits[place - 1]!);

const boxes = [
  'e4d12fb83a6c59070f74e2d1a6cb953841e8d62bfc973a50fc8249175b3ea06d', 'f18e6b34972dc05a3d47f28ec01a69b50e7ba4d158c6932fd8a13f42b67c05e9',
  'a09e63f51dc7b428d709346a285ecbf1d6498f30b12c5ae71ad069874fe3b52c', '7de3069a1285bc4fd8b56f03472c1ae9a690cb7df13e52843f06a1d8945bc72e',
  '2c417ab6853fd0e9eb2c47d150fa3986421bad78f9c5630eb8c71e2d6f09a453', 'c1af92680d34e75baf427c9561de0b389ef528c3704a1db6432c95fabe17608d',
  '4b2ef08d3c975a61d0b7491ae35c2f8614bdc37eaf6805926bd814a7950fe23c', 'd2846fb1a93e50c71fd8a374c56b0e927b419ce206adf35821e74a8dfc90356b',
];
const permutation = places('g7kltcsh1fnq5iva28oewr39jdu6mb4p');
const subkeyChoice = places('ehbo153sf6lanjc4q8g7rkd2FQvBLTuEPJxMINDUyRKGOAtw');
const rotations = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
/** The initial permutation goes down the columns: the even ones first, from the last row up. */
const initial = Array.from({ length: 64 }, (_, i) => (i < 32 ? 58 + 2 * (i >> 3) : 57 + 2 * ((i >> 3) - 4)) - 8 * (i & 7));

/** The key's columns from the last row up: 1, 2, 3 and the half of 4 below; 7, 6, 5 and the other half of 4. */
function keyHalves(key: readonly number[]): [number[], number[]] {
  const column = (c: number, rows: readonly number[]) => rows.map((row) => key[8 * row + c]!);
  const all = [7, 6, 5, 4, 3, 2, 1, 0];
  return [
    [...column(0, all), ...column(1, all), ...column(2, all), ...column(3, all.slice(0, 4))],
    [...column(6, all), ...column(5, all), ...column(4, all), ...column(3, all.slice(4))],
  ];
}

function cipherFunction(right: readonly number[], subkey: readonly number[]): number[] {
  const found = boxes.flatMap((box, b) => {
    const six = [0, 1, 2, 3, 4, 5].map((i) => right[(4 * b + i + 31) % 32]! ^ subkey[6 * b + i]!);
    const row = 2 * six[0]! + six[5]!;
    const value = Number.parseInt(box[16 * row + Number.parseInt(six.slice(1, 5).join(''), 2)]!, 16);
    return [3, 2, 1, 0].map((i) => (value >> i) & 1);
  });
  return pick(found, permutation);
}

/** Encrypts 64 bits with a key of 64 bits. */
export function encrypt(block: readonly number[], key: readonly number[], rounds: number): number[] {
  const start = pick(block, initial);
  let [left, right] = [start.slice(0, 32), start.slice(32)];
  const [c, d] = keyHalves(key);
  for (let round = 0, turns = 0; round < rounds; ++round) {
    turns += rotations[round]!;
    const turned = [c, d].flatMap((half) => [...half.slice(turns % 28), ...half.slice(0, turns % 28)]);
    const f = cipherFunction(right, pick(turned, subkeyChoice));
    [left, right] = [right, left.map((bit, i) => bit ^ f[i]!)];
  }
  const end = [...right, ...left];
  const result = new Array<number>(64);
  for (const [i, place] of initial.entries()) result[place - 1] = end[i]!;
  return result;
}
