// Rows to codes, as lowtide's RandomFeatures makes them on the Hadamard layout: equal bit by bit.
//
// All arithmetic is float32: a sum or product of two float32 numbers, computed as a double and rounded to float32 (by
// Math.fround, or by storing into a Float32Array), is the float32 result. The order of the additions is that of the
// compiled op: signs, strides D/2 .. 1; signs, strides 1 .. D/2; signs, strides D/2 .. 1.

const TYPES = { float32: Float32Array, uint8: Uint8Array };
// 1.5 * 2^52: adding and subtracting it rounds a double of moderate size to a whole number, ties to even.
const ROUNDER = 6755399441055744;
// From 2^23 on every float32 is a whole number.
const WHOLE = 8388608;

// The array of an entry of the server's description: base64, little-endian.
export function arrayOf(entry) {
  const Type = TYPES[entry.dtype];
  if (!Type) throw new Error(`an array must be float32 or uint8, got ${entry.dtype}`);
  const bytes = Uint8Array.from(atob(entry.data), (character) => character.charCodeAt(0));
  return new Type(bytes.buffer);
}

// Why a description cannot be encoded here, or null when it can.
export function obstacle(description) {
  if (!description || !description.row_bytes) return "it has no coded side";
  const unknown = Object.entries(description.parts).find(([name, { version }]) => name !== "encoder" || version !== 1);
  if (unknown) return `its part ${unknown[0]} of version ${unknown[1].version} is not known here`;
  if (description.projection !== "Hadamard") return "its frequencies are not on the Hadamard layout";
  if (!description.quantizer || description.quantizer.op !== "encode") return "its levels are not steps of the phase";
  return null;
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
    const { arrays } = description.parts.encoder;
    this.minus = arrayOf(arrays["projection.signs"]);
    this.scale = arrayOf(arrays["projection.scale"]);
    this.offset = arrayOf(arrays.offset);
    this.rule = levelRule(description.quantizer);
    this.dimension = blockSize(this.nFeatures);
    this.v = new Float32Array(this.dimension);
  }

  // The code of a row of numbers, as bytes of a message.
  encode(row) {
    if (row.length !== this.nFeatures) throw new Error(`a row must have ${this.nFeatures} numbers, got ${row.length}`);
    const x = Float32Array.from(row);
    const code = new Uint8Array(this.rowBytes);
    const { dimension, scale, offset, rule } = this;
    let level = 0;
    for (let first = 0; first < scale.length; first += dimension) {
      this.project(x, (3 * first) / 8);
      // What is not finite has spread to every output: one look is enough.
      if (!Number.isFinite(this.v[0])) throw new Error("a row must hold finite numbers of a moderate size");
      const last = Math.min(dimension, scale.length - first);
      for (let i = 0; i < last; ++i) {
        const t = Math.fround(Math.fround(this.v[i] * scale[first + i]) + offset[first + i]);
        for (let k = 0; k < rule.shifts.length && level < this.nLevels; ++k) {
          put(code, level++, this.storedBits, rule.level(Math.fround(t + rule.shifts[k])));
        }
      }
    }
    return code;
  }

  // v = H S3 H S2 H S1 x, the signs from byte `start` on.
  project(x, start) {
    const { v, dimension, minus } = this;
    v.fill(0);
    v.set(x);
    flip(v, minus, start);
    for (let h = dimension / 2; h >= 1; h /= 2) stage(v, h);
    flip(v, minus, start + dimension / 8);
    for (let h = 1; h < dimension; h *= 2) stage(v, h);
    flip(v, minus, start + dimension / 4);
    for (let h = dimension / 2; h >= 1; h /= 2) stage(v, h);
  }
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
  const bit = index * bits;
  code[bit >> 3] |= level << (bit & 7);
  if ((bit & 7) + bits > 8) code[(bit >> 3) + 1] |= level >> (8 - (bit & 7));
}
