// From what a person gives to the row that an encoder takes: numbers first, (x - mean) / scale, then 0 or 1 a category.

export class Columns {
  constructor(description, nFeatures) {
    const { names = null, mean = [], scale = [], categories = {} } = description ?? {};
    this.categories = new Map(Object.entries(categories));
    this.names = names ?? Array.from({ length: nFeatures }, (_, i) => String(i));
    this.numeric = this.names.filter((name) => !this.categories.has(name));
    this.mean = mean;
    this.scale = scale;
  }

  // The row of values in the order of the columns: numbers, and texts for categories.
  row(values) {
    const numbers = values.filter((_, i) => !this.categories.has(this.names[i]));
    const chosen = [...this.categories].flatMap(([name, known]) =>
      known.map((text) => (values[this.names.indexOf(name)] === text ? 1 : 0)),
    );
    return [...this.scaled(numbers), ...chosen];
  }

  scaled(numbers) {
    if (!this.scale.length) return numbers;
    return numbers.map((x, i) => (x - this.mean[i]) / this.scale[i]);
  }
}
