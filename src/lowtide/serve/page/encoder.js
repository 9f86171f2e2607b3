// Rows to codes, as lowtide's RandomFeatures (on the Hadamard layout) and LearnedFeatures make them: equal bit by bit.
//
// All arithmetic is float32: a sum or product of two float32 numbers, computed as a double and rounded to float32 (by
// Math.fround, or by storing into a Float32Array), is the float32 result. The order of the operations is that of the
// compiled op: signs, strides D/2 .. 2; rotations of neighbors, strides 2 .. D/2; signs, strides D/2 .. 1.

const TYPES = { float32: Float32Array, uint8: Uint8Array, int64: BigInt64Array };
// 1.5 * 2^52: adding and subtracting it rounds a double of moderate size to a whole number, ties to even.
const ROUNDER = 6755399441055744;
// From 2^23 on every float32 is a whole number.
const WHOLE = 8388608;
// The part "encoder" in the version that is understood here.
const ENCODER_VERSION = 4;
// The kind of encoder whose levels have bits of their own.
const FIELDS = "LearnedFeatures";
// cos((k + 1/2) / 256 turns), k = 0 .. 63, as the compiled core has them; read from the end they are the sines.
// prettier-ignore
const COSINES = Float32Array.of(
  0.9999247, 0.99932235, 0.9981181, 0.9963126, 0.993907, 0.99090266, 0.9873014, 0.9831055,
  0.9783174, 0.97293997, 0.96697646, 0.9604305, 0.953306, 0.9456073, 0.937339, 0.9285061,
  0.9191139, 0.909168, 0.8986745, 0.88763964, 0.8760701, 0.86397284, 0.8513552, 0.8382247,
  0.8245893, 0.81045717, 0.7958369, 0.7807372, 0.76516724, 0.7491364, 0.7326543, 0.71573085,
  0.69837624, 0.680601, 0.6624158, 0.64383155, 0.6248595, 0.60551107, 0.58579785, 0.5657318,
  0.545325, 0.52458966, 0.50353837, 0.48218378, 0.46053872, 0.43861625, 0.41642955, 0.39399204,
  0.3713172, 0.34841868, 0.3253103, 0.30200595, 0.2785197, 0.25486565, 0.2310581, 0.20711137,
  0.18303989, 0.15885815, 0.1345807, 0.110222206, 0.08579731, 0.061320737, 0.036807224, 0.012271538,
);

// The array of an entry of the server's description: base64, little-endian.
export function arrayOf(entry) {
  const Type = TYPES[entry.dtype];
  if (!Type) throw new Error(`an array must be float32, uint8 or int64, got ${entry.dtype}`);
  const bytes = Uint8Array.from(atob(entry.data), (character) => character.charCodeAt(0));
  return new Type(bytes.buffer);
}

// Why a description cannot be encoded here, or null when it can.
export function obstacle(description) {
  if (!description || !description.row_bytes) return "it has no coded side";
  const isKnown = ([name, { version }]) => name === "encoder" && version === ENCODER_VERSION;
  const unknown = Object.entries(description.parts).find((part) => !isKnown(part));
  if (unknown) return `its part ${unknown[0]} of version ${unknown[1].version} is not known here`;
  if (description.kind === FIELDS) {
    const { measure } = description.parts.encoder.spec;
    return measure === "rows" ? null : "its measurements are those of a kernel";
  }
  // A metric that is a matrix makes one of any layout.
  if (!description.parts.encoder.arrays["projection.signs"]) return "its frequencies are not on the Hadamard layout";
  if (!description.quantizer || description.quantizer.op !== "encode") return "its levels are not steps of the phase";
  return null;
}

// What encodes rows as a description says.
export function encoderOf(description) {
  return description && description.kind === FIELDS ? new FieldEncoder(description) : new Encoder(description);
}

export class Encoder {
  constructor(description) {
    const reason = obstacle(description);
    if (reason) throw new Error(`this encoder cannot run here: ${reason}`);
    this.fingerprint = description.fingerprint;
    this.side = description.side;
    this.bits = description.bits;
    this.storedBits = description.stored_bits;
    this.nLevels = description.n_levels;
    this.nFeatures = description.n_features;
    this.rowBytes = description.row_bytes;
    this.nBits = this.nLevels * this.storedBits;
    const { arrays } = description.parts.encoder;
    this.minus = arrayOf(arrays["projection.signs"]);
    this.angles = arrayOf(arrays["projection.angles"]);
    this.scale = arrayOf(arrays["projection.scale"]);
    this.offset = arrayOf(arrays.offset);
    this.rule = levelRule(description.quantizer);
    this.dimension = blockSize(this.nFeatures);
    this.factors = arrays.metric ? arrayOf(arrays.metric) : null;
    this.blocks = outputsOf(arrays["projection.places"], this.scale.length, this.dimension);
    this.v = new Float32Array(this.dimension);
  }

  // The code of a row of numbers, as bytes of a message.
  encode(row) {
    if (row.length !== this.nFeatures) throw new Error(`a row must have ${this.nFeatures} numbers, got ${row.length}`);
    const x = Float32Array.from(row, (value, i) => (this.factors ? Math.fround(value) * this.factors[i] : value));
    const code = new Uint8Array(this.rowBytes);
    const { blocks, scale, offset, rule } = this;
    let level = 0;
    let frequency = 0;
    for (let block = 0; block < blocks.length; ++block) {
      this.project(x, block);
      // What is not finite has spread to every output: one look is enough.
      if (!Number.isFinite(this.v[0])) throw new Error("a row must hold finite numbers of a moderate size");
      for (const output of blocks[block]) {
        const t = Math.fround(Math.fround(this.v[output] * scale[frequency]) + offset[frequency]);
        for (let k = 0; k < rule.shifts.length && level < this.nLevels; ++k) {
          put(code, level++, this.storedBits, rule.level(Math.fround(t + rule.shifts[k])));
        }
        ++frequency;
      }
    }
    return code;
  }

  // v = H S3 G R G S1 x, G being H without its stage of stride 1, of one of the blocks that there are.
  project(x, block) {
    const { v, dimension, minus, angles } = this;
    const start = (block * dimension) / 4;
    v.fill(0);
    v.set(x);
    flip(v, minus, start);
    for (let h = dimension / 2; h >= 2; h /= 2) stage(v, h);
    rotate(v, angles, (block * dimension) / 2);
    for (let h = 2; h < dimension; h *= 2) stage(v, h);
    flip(v, minus, start + dimension / 8);
    for (let h = dimension / 2; h >= 1; h /= 2) stage(v, h);
  }
}

// Which outputs of each block are frequencies: the first n of all blocks, or those at kept places, of the blocks that
// hold one.
function outputsOf(entry, n, dimension) {
  const places = entry ? Array.from(arrayOf(entry), Number) : Array.from({ length: n }, (_, i) => i);
  const blocks = new Map();
  for (const place of places) {
    const number = Math.floor(place / dimension);
    if (!blocks.has(number)) blocks.set(number, []);
    blocks.get(number).push(place % dimension);
  }
  return [...blocks.values()];
}

// Sums of products in learned directions, rounded by borders of their own to levels with bits of their own.
export class FieldEncoder {
  constructor(description) {
    const reason = obstacle(description);
    if (reason) throw new Error(`this encoder cannot run here: ${reason}`);
    this.fingerprint = description.fingerprint;
    this.side = description.side;
    this.bits = 0; // that all levels have: none
    this.nLevels = description.n_levels;
    this.nFeatures = description.n_features;
    this.rowBytes = description.row_bytes;
    const { arrays } = description.parts.encoder;
    this.matrix = arrayOf(arrays["measures.matrix"]);
    this.center = arrayOf(arrays["measures.center"]);
    this.widths = arrayOf(arrays["steps.bits"]);
    this.borders = arrayOf(arrays["steps.borders"]);
    this.nBits = this.widths.reduce((sum, width) => sum + width, 0);
  }

  // The code of a row of numbers, as bytes of a message.
  encode(row) {
    if (row.length !== this.nFeatures) throw new Error(`a row must have ${this.nFeatures} numbers, got ${row.length}`);
    const x = Float32Array.from(row);
    const code = new Uint8Array(this.rowBytes);
    let bit = 0;
    let first = 0;
    for (let j = 0; j < this.nLevels; ++j) {
      let sum = 0;
      for (let i = 0; i < x.length; ++i) sum = fused(x[i], this.matrix[i * this.nLevels + j], sum);
      const z = Math.fround(sum - this.center[j]);
      if (!Number.isFinite(z)) throw new Error("a row must hold finite numbers of a moderate size");
      const count = 2 ** this.widths[j] - 1;
      let level = 0;
      while (level < count && this.borders[first + level] <= z) ++level;
      putBits(code, bit, this.widths[j], level);
      bit += this.widths[j];
      first += count;
    }
    return code;
  }
}

// a b + c rounded once to float32: the product of two float32 numbers is exact as a double, and the sum is rounded to
// odd there, so that rounding it to float32 is as if nothing had been rounded before.
const DOUBLE = new Float64Array(1);
const WORDS = new BigInt64Array(DOUBLE.buffer);
function fused(a, b, c) {
  const product = a * b;
  const sum = product + c;
  const other = sum - product;
  const error = product - (sum - other) + (c - other);
  if (error === 0 || !Number.isFinite(sum)) return Math.fround(sum);
  DOUBLE[0] = sum;
  if (!(WORDS[0] & 1n)) WORDS[0] += error > 0 === sum > 0 ? 1n : -1n;
  return Math.fround(DOUBLE[0]);
}

// The smallest power of two, at least 64, that holds a row.
function blockSize(n) {
  let dimension = 64;
  while (dimension < n) dimension *= 2;
  return dimension;
}

function stage(v, h) {
  for (let start = 0; start < v.length; start += 2 * h) {
    for (let i = start; i < start + h; ++i) {
      const a = v[i];
      const b = v[i + h];
      v[i] = a + b;
      v[i + h] = a - b;
    }
  }
}

// Turns each pair of neighbors by its angle k, (k + 1/2) / 256 of a turn: the upper two bits are the quarter.
function rotate(v, angles, start) {
  for (let i = 0; i < v.length; i += 2) {
    const angle = angles[start + (i >> 1)];
    const quarter = angle >> 6;
    let c = COSINES[angle & 63];
    let s = COSINES[63 - (angle & 63)];
    if (quarter & 1) [c, s] = [-s, c];
    if (quarter & 2) [c, s] = [-c, -s];
    const a = v[i];
    const b = v[i + 1];
    v[i] = Math.fround(a * c) - Math.fround(b * s);
    v[i + 1] = Math.fround(a * s) + Math.fround(b * c);
  }
}

function flip(v, minus, start) {
  for (let i = 0; i < v.length; ++i) {
    if ((minus[start + (i >> 3)] >> (i & 7)) & 1) v[i] = -v[i];
  }
}

// How a phase in turns becomes a level: even quantizers count borders at or beyond |u - rint(u)|, others those at or
// before u - floor(u); the count is looked up.
function levelRule(quantizer) {
  const shifts = arrayOf(quantizer.shifts);
  const borders = arrayOf(quantizer.borders);
  const table = arrayOf(quantizer.table);
  const level = quantizer.even
    ? (u) => {
        const f = Math.abs(u) < WHOLE ? Math.abs(u - (u + ROUNDER - ROUNDER)) : 0;
        let count = 0;
        for (let i = 0; i < borders.length; ++i) count += f <= borders[i] ? 1 : 0;
        return table[count];
      }
    : (u) => {
        const part = Math.fround(u - Math.floor(u));
        const f = part < 1 ? part : 0;
        let count = 0;
        for (let i = 0; i < borders.length; ++i) count += f >= borders[i] ? 1 : 0;
        return table[count];
      };
  return { shifts, level };
}

// Level j takes bits [jB, (j + 1)B) of a row; bit i is bit i % 8 of byte i / 8.
function put(code, index, bits, level) {
  putBits(code, index * bits, bits, level);
}

// Writes a level from a bit of a row on.
function putBits(code, bit, bits, level) {
  code[bit >> 3] |= level << (bit & 7);
  if ((bit & 7) + bits > 8) code[(bit >> 3) + 1] |= level >> (8 - (bit & 7));
}
