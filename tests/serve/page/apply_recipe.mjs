// Reads {recipe, rows} from stdin; writes the rows that an encoder takes as float64, or the reason of a refusal.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Recipe } = await import(pathToFileURL(`${process.argv[2]}/recipe.js`));
const { recipe, rows } = JSON.parse(readFileSync(0, "utf8"));
const made = new Recipe(recipe);
const numbers = Float64Array.from(rows.flatMap((row) => made.row(row)));
process.stdout.write(new Uint8Array(numbers.buffer));
