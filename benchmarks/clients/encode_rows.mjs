// Reads a description's length and text, then float32 rows, from stdin; writes one message of all codes to stdout.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const page = process.argv[2];
const { encoderOf } = await import(pathToFileURL(`${page}/encoder.js`));
const { packCodes } = await import(pathToFileURL(`${page}/wire.js`));

const sent = readFileSync(0);
const length = sent.readUInt32LE(0);
const encoder = encoderOf(JSON.parse(sent.toString("utf8", 4, 4 + length)));
const bytes = new Uint8Array(sent.subarray(4 + length));
const rows = new Float32Array(bytes.buffer);
const codes = [];
for (let at = 0; at < rows.length; at += encoder.nFeatures) {
  codes.push(encoder.encode(rows.subarray(at, at + encoder.nFeatures)));
}
const message = packCodes(encoder, codes);
process.stdout.write(message);
