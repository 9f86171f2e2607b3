// Messages to the server: codes or rows behind a head of 32 bytes, and a checksum after them. All little-endian.

export const CODES_TYPE = "application/vnd.lowtide.codes; v=1";
export const ROWS_TYPE = "application/vnd.lowtide.rows; v=1";

const HEAD_BYTES = 32;
const VERSION = 1;

// Codes of one encoder, each a Uint8Array of `encoder.rowBytes`.
export function packCodes(encoder, codes) {
  const message = new Uint8Array(HEAD_BYTES + encoder.rowBytes * codes.length + 4);
  const view = new DataView(message.buffer);
  head(message, "LTWC", encoder.bits, encoder.fingerprint);
  view.setUint32(24, encoder.nLevels, true);
  view.setUint32(28, codes.length, true);
  codes.forEach((code, i) => message.set(code, HEAD_BYTES + i * encoder.rowBytes));
  return seal(message);
}

// One row of raw numbers, as float32: for encoders that do not run in a browser.
export function packRow(row) {
  const message = new Uint8Array(HEAD_BYTES + 4 * row.length + 4);
  const view = new DataView(message.buffer);
  head(message, "LTWR", 0, "");
  view.setUint32(24, row.length, true);
  view.setUint32(28, 1, true);
  Array.from(row).forEach((value, i) => view.setFloat32(HEAD_BYTES + 4 * i, value, true));
  return seal(message);
}

function head(message, magic, fifth, fingerprint) {
  for (let i = 0; i < 4; ++i) message[i] = magic.charCodeAt(i);
  message[4] = VERSION;
  message[5] = fifth;
  for (let i = 0; i < fingerprint.length / 2; ++i) message[8 + i] = parseInt(fingerprint.slice(2 * i, 2 * i + 2), 16);
}

function seal(message) {
  const end = message.length - 4;
  new DataView(message.buffer).setUint32(end, crc32c(message.subarray(0, end)), true);
  return message;
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
