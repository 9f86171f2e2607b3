// What a row of a table goes through before it is encoded: the server's recipe, computed in double as Python does.
import { BLANKS, daysOf, partOf } from "./dates.js";

const LARGEST = 3.4028234663852886e38; // of float32, of which features are made
const OPERATIONS = {
  fill: (x, value) => (Number.isNaN(x) ? value : x),
  subtract: (x, value) => x - value,
  divide: (x, value) => x / value,
  multiply: (x, value) => x * value,
  add: (x, value) => x + value,
  clip: (x, low, high) => Math.min(Math.max(x, low), high),
};

// What sources say of a column; the later says more.
const KINDS = { number: "number", missing: "number", indicator: "category", ordinal: "category", truth: "truth", date: "date" };
const ORDER = ["unused", "number", "category", "truth", "date"];
const TRUTH = { true: 1, yes: 1, t: 1, y: 1, 1: 1, false: 0, no: 0, f: 0, n: 0, 0: 0 };
const HOLDS = { number: "a finite number", truth: "true or false", date: "a date", category: "a known category" };
const WRITTEN = { ymd: "year-month-day", dmy: "day.month.year", mdy: "month/day/year" };

export class Recipe {
  // The description as the server gives it; without one, numbers are taken as they are.
  constructor(description, nFeatures) {
    const count = Array.from({ length: nFeatures ?? 0 }, (_, i) => i);
    const plain = { columns: count.map(String), categories: [], dates: [], sources: count.map((i) => ["number", i]), steps: [] };
    const { columns, categories, dates, sources, steps } = description ?? plain;
    for (const [kind] of sources) if (!KINDS[kind]) throw new Error(`a recipe has a source ${kind} that is not known here`);
    for (const [op] of steps) if (!OPERATIONS[op]) throw new Error(`a recipe has a step ${op} that is not known here`);
    Object.assign(this, { columns, categories, dates, sources, steps });
    // "number", "truth", "category", "date" or "unused", one a column.
    this.kinds = columns.map(() => ORDER[0]);
    sources.forEach(([kind], i) => {
      const column = this.columnOf(i);
      const places = [this.kinds[column], KINDS[kind]].map((name) => ORDER.indexOf(name));
      this.kinds[column] = ORDER[Math.max(...places)];
    });
  }

  // Whether all columns are plain numbers.
  get isPlain() {
    return this.kinds.every((kind) => kind === "number" || kind === "unused");
  }

  // The categories of a column.
  choices(column) {
    return this.categories.find((known) => known.column === column);
  }

  // How a column's dates are read, and whether the time of day counts.
  dateOf(column) {
    const at = this.dates.findIndex((known) => known.column === column);
    const parts = this.sources.filter(([kind, dates]) => kind === "date" && dates === at).map(([, , part]) => part);
    return { order: this.dates[at].order, withTime: parts.some((part) => part.startsWith("day_")) };
  }

  // Whether a cell may be missing: the row without it goes through.
  mayMiss(column) {
    const needed = this.sources.some(([kind, ...rest], i) => {
      if (this.columnOf(i) !== column || kind === "missing" || this.argument("fill", i) !== null) return false;
      if (kind !== "indicator" && kind !== "ordinal") return true;
      try {
        const { index, absent } = this.place(this.categories[rest[0]], null);
        return kind === "ordinal" && (absent ? rest[2] : index < 0 ? rest[1] : index) === null;
      } catch {
        return true; // a list of categories that refuses it
      }
    });
    return !needed;
  }

  // The mean of a column of numbers or dates where it is known, else null.
  startValue(column) {
    const own = (kind, at, part) => (kind === "number" && at === column) || (part === "days" && this.dates[at].column === column);
    const feature = this.sources.findIndex(([kind, at, part]) => own(kind, at, part));
    return this.argument("subtract", feature) ?? this.argument("fill", feature);
  }

  argument(operation, feature) {
    return this.steps.find(([op, values]) => op === operation && values[feature] !== null)?.[1][feature] ?? null;
  }

  // The row that an encoder takes, of values in the order of the columns: numbers, categories, null for what is missing.
  row(values) {
    const places = this.categories.map((known) => this.place(known, values[known.column]));
    const days = this.dates.map(({ column, order }) => this.days(values[column], column, order));
    let row = this.sources.map(([kind, at, first, second]) => {
      if (kind === "number") return this.number(values[at], at);
      if (kind === "truth") return this.truth(values[at], at);
      if (kind === "missing") return isNothing(values[at]) ? 1 : 0;
      if (kind === "date") return partOf(first, days[at]);
      const { index, absent } = places[at];
      if (kind === "indicator") return index === first ? 1 : 0;
      return (absent ? second : index < 0 ? first : index) ?? NaN;
    });
    for (const [op, ...lists] of this.steps) {
      const apply = OPERATIONS[op];
      row = row.map((x, i) => (lists[0][i] === null ? x : apply(x, ...lists.map((list) => list[i]))));
    }
    const wrong = row.findIndex((x) => !(Math.abs(x) <= LARGEST));
    if (wrong >= 0) throw this.refused(this.columnOf(wrong), HOLDS[this.kinds[this.columnOf(wrong)]]);
    return row;
  }

  columnOf(feature) {
    const [kind, at] = this.sources[feature];
    if (kind === "date") return this.dates[at].column;
    return kind === "indicator" || kind === "ordinal" ? this.categories[at].column : at;
  }

  refused(column, what) {
    return new Error(`column ${this.columns[column]} must hold ${what}`);
  }

  number(value, column) {
    if (value === null || value === undefined) return NaN;
    const number = typeof value === "boolean" ? Number(value) : value;
    if (typeof number === "number" && Math.abs(number) !== Infinity) return number;
    throw this.refused(column, HOLDS.number);
  }

  truth(value, column) {
    if (isNothing(value)) return NaN;
    const found = typeof value === "string" ? TRUTH[value.replace(BLANKS, "").toLowerCase()] : Number(value);
    if (found === 0 || found === 1) return found;
    throw this.refused(column, HOLDS.truth);
  }

  days(value, column, order) {
    if (isNothing(value)) return NaN;
    const days = typeof value === "string" ? daysOf(value, order) : null;
    if (days === null) throw this.refused(column, `a date, ${WRITTEN[order]}`);
    return days;
  }

  // The place of a cell among categories, -1 for none of them, and whether it holds nothing.
  place({ column, values, unknown, as_text: asText, missing }, value) {
    let cell = value === undefined || Number.isNaN(value) ? null : value;
    if (asText) cell = cell === null ? "" : asWritten(cell).trim();
    else cell ??= missing;
    const index = values.findIndex((known) => comparable(known) === comparable(cell));
    if (index < 0 && unknown === "error") throw this.refused(column, `one of ${values.join(", ")}`);
    return { index, absent: cell === null };
  }
}

// A truth value equals the numbers 1 and 0.
function comparable(cell) {
  return typeof cell === "boolean" ? Number(cell) : cell;
}

// As Python writes a cell.
function asWritten(cell) {
  return typeof cell === "boolean" ? (cell ? "True" : "False") : String(cell);
}

function isNothing(cell) {
  if (typeof cell === "string") return cell.replace(BLANKS, "") === "";
  return cell === null || cell === undefined || Number.isNaN(cell);
}
