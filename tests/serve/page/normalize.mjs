// Reads {drawing: {width, height, values}, to: {width, height, fit}} from stdin; writes the normalized image as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { normalized } = await import(pathToFileURL(`${process.argv[2]}/drawing.js`));
const { drawing, to } = JSON.parse(readFileSync(0, "utf8"));
const image = normalized(drawing, to);
process.stdout.write(JSON.stringify(image && Array.from(image.values)));
