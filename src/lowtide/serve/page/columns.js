// From what a person gives to the row that an encoder takes: numbers first, (x - mean) / scale, then 0 or 1 a category.

export class Columns {
  constructor(description, nFeatures) {
    const { names = null, mean = [], scale = [], categories = {} } = description ?? {};
    this.categories = categories;
    this.names = names ?? Array.from({ length: nFeatures }, (_, i) => String(i));
    this.numeric = this.names.filter((name) => !(name in categories));
    this.mean = mean;
    this.scale = scale;
  }

  // The row of values by name.
  row(values) {
    const numbers = this.numeric.map((name) => Number(values.get(name)));
    const chosen = Object.entries(this.categories).flatMap(([name, known]) =>
      known.map((text) => (values.get(name) === text ? 1 : 0)),
    );
    return [...this.scaled(numbers), ...chosen];
  }

  // The row of numbers in the order of the columns, where there are no categories.
  scaled(numbers) {
    if (!this.scale.length) return numbers;
    return numbers.map((x, i) => (x - this.mean[i]) / this.scale[i]);
  }
}
