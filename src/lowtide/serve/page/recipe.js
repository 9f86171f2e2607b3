// What a row of a table goes through before it is encoded: the server's recipe, computed in double as Python does.

const LARGEST = 3.4028234663852886e38; // of float32, of which features are made
const OPERATIONS = {
  fill: (x, value) => (Number.isNaN(x) ? value : x),
  subtract: (x, value) => x - value,
  divide: (x, value) => x / value,
  multiply: (x, value) => x * value,
  add: (x, value) => x + value,
  clip: (x, low, high) => Math.min(Math.max(x, low), high),
};

export class Recipe {
  // The description as the server gives it; without one, numbers are taken as they are.
  constructor(description, nFeatures) {
    const count = Array.from({ length: nFeatures ?? 0 }, (_, i) => i);
    const plain = { columns: count.map(String), categories: [], sources: count.map((i) => ["number", i]), steps: [] };
    const { columns, categories, sources, steps } = description ?? plain;
    for (const [op] of steps) if (!OPERATIONS[op]) throw new Error(`a recipe has a step ${op} that is not known here`);
    Object.assign(this, { columns, categories, sources, steps });
  }

  // The categories to choose from in a column, null for a column of numbers.
  choices(column) {
    return this.categories.find((known) => known.column === column)?.values ?? null;
  }

  // Whether a number may be missing: every feature that is made of it is filled.
  isFilled(column) {
    const features = this.featuresOf(column);
    return features.length > 0 && features.every((i) => this.argument("fill", i) !== null);
  }

  // The mean of a column of numbers where it is known, else 0.
  startValue(column) {
    const [feature] = this.featuresOf(column);
    return this.argument("subtract", feature) ?? this.argument("fill", feature) ?? 0;
  }

  featuresOf(column) {
    return this.sources.flatMap(([kind, at], i) => (kind === "number" && at === column ? [i] : []));
  }

  argument(operation, feature) {
    return this.steps.find(([op, values]) => op === operation && values[feature] !== null)?.[1][feature] ?? null;
  }

  // The row that an encoder takes, of values in the order of the columns: numbers, categories, null for what is missing.
  row(values) {
    const places = this.categories.map((known) => this.place(known, values[known.column]));
    let row = this.sources.map(([kind, at, first, second]) => {
      if (kind === "number") return this.number(values[at], at);
      const { index, absent } = places[at];
      if (kind === "indicator") return index === first ? 1 : 0;
      return (absent ? second : index < 0 ? first : index) ?? NaN;
    });
    for (const [op, ...lists] of this.steps) {
      const apply = OPERATIONS[op];
      row = row.map((x, i) => (lists[0][i] === null ? x : apply(x, ...lists.map((list) => list[i]))));
    }
    const wrong = row.findIndex((x) => !(Math.abs(x) <= LARGEST));
    if (wrong >= 0) throw new Error(`column ${this.columns[this.columnOf(wrong)]} must hold a finite number`);
    return row;
  }

  columnOf(feature) {
    const [kind, at] = this.sources[feature];
    return kind === "number" ? at : this.categories[at].column;
  }

  number(value, column) {
    if (value === null || value === undefined) return NaN;
    const number = typeof value === "boolean" ? Number(value) : value;
    if (typeof number === "number" && Math.abs(number) !== Infinity) return number;
    throw new Error(`column ${this.columns[column]} must hold a finite number`);
  }

  // The place of a cell among categories, -1 for none of them, and whether it holds nothing.
  place({ column, values, unknown, as_text: asText, missing }, value) {
    let cell = value === undefined || Number.isNaN(value) ? null : value;
    if (asText) cell = cell === null ? "" : String(cell).trim();
    else cell ??= missing;
    const index = values.findIndex((known) => comparable(known) === comparable(cell));
    if (index < 0 && unknown === "error") throw new Error(`column ${this.columns[column]} must hold one of ${values.join(", ")}`);
    return { index, absent: cell === null };
  }
}

// A truth value equals the numbers 1 and 0.
function comparable(cell) {
  return typeof cell === "boolean" ? Number(cell) : cell;
}
