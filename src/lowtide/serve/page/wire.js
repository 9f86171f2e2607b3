// Messages to the server: a head of 48 bytes, parts with a name and a version each, and a checksum. All little-endian.

export const CODES_TYPE = "application/vnd.lowtide.codes; v=2";
export const ROWS_TYPE = "application/vnd.lowtide.rows; v=2";

const HEAD_BYTES = 48;
const PART_BYTES = 16; // of a part's own head
const VERSION = 2;

// Codes of one encoder, each a Uint8Array of `encoder.rowBytes`.
export function packCodes(encoder, codes) {
  const levels = new Uint8Array(encoder.rowBytes * codes.length);
  codes.forEach((code, i) => levels.set(code, i * encoder.rowBytes));
  const { bits, fingerprint, side, nLevels } = encoder;
  return seal({ magic: "LTWC", detail: bits, fingerprint, side, width: nLevels, nRows: codes.length }, { LEVL: levels });
}

// One row of raw numbers, as float32: for encoders that do not run in a browser.
export function packRow(row) {
  const floats = new Uint8Array(4 * row.length);
  const view = new DataView(floats.buffer);
  Array.from(row).forEach((value, i) => view.setFloat32(4 * i, value, true));
  const none = "0".repeat(32);
  return seal({ magic: "LTWR", detail: 0, fingerprint: none, side: none, width: row.length, nRows: 1 }, { ROWS: floats });
}

// Head and parts, each of version 1, as one message.
function seal({ magic, detail, fingerprint, side, width, nRows }, parts) {
  const entries = Object.entries(parts);
  const size = entries.reduce((sum, [, content]) => sum + PART_BYTES + content.length, HEAD_BYTES);
  const message = new Uint8Array(size + 4);
  const view = new DataView(message.buffer);
  message.set([...letters(magic), VERSION, detail]);
  view.setUint16(6, entries.length, true);
  message.set(hex(fingerprint), 8);
  message.set(hex(side), 24);
  view.setUint32(40, width, true);
  view.setUint32(44, nRows, true);
  let at = HEAD_BYTES;
  for (const [name, content] of entries) {
    message.set(letters(name), at);
    view.setUint32(at + 4, 1, true);
    view.setBigUint64(at + 8, BigInt(content.length), true);
    message.set(content, at + PART_BYTES);
    at += PART_BYTES + content.length;
  }
  view.setUint32(size, crc32c(message.subarray(0, size)), true);
  return message;
}

function letters(text) {
  return Array.from(text, (letter) => letter.charCodeAt(0));
}

function hex(text) {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let i = 0; i < 8; ++i) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0x82f63b78 : 0);
  return remainder;
});

// CRC-32C (Castagnoli).
export function crc32c(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 255];
  return (crc ^ 0xffffffff) >>> 0;
}
