// Ways to give a row: draw it, fill in its columns, paste its numbers, or pick an example.
import { curve, element } from "./charts.js";
import { normalized, Pad, paint } from "./drawing.js";
import { Recipe } from "./recipe.js";

const MOST_FIELDS = 24;
// Images that are known by their number of pixels: MNIST's, and those of scikit-learn's digits. A digit's box is scaled
// to `fit` pixels, `high` is a white pixel, and `pen` the width of a line as a share of the pad.
const KNOWN_IMAGES = {
  784: { width: 28, height: 28, fit: 20, high: 1, pen: 0.08 },
  64: { width: 8, height: 8, fit: 8, high: 16, pen: 0.15 },
};

// What a model's file says of its images, if it fits the model; else what is known.
function imageOf(said, nFeatures) {
  const fits = said && Number.isInteger(said.width) && said.width > 0 && said.width * said.height === nFeatures;
  const image = fits ? { fit: Math.min(said.width, said.height), high: 1, pen: 0.08, ...said } : KNOWN_IMAGES[nFeatures];
  return image && [image.fit, image.high, image.pen].every((value) => value > 0) ? image : null;
}

// The examples of a model's file that are rows of the model.
function examplesOf(said, nFeatures) {
  const isRow = (row) => Array.isArray(row) && row.length === nFeatures && row.every(Number.isFinite);
  return Array.isArray(said) ? said.filter((example) => isRow(example?.row)) : [];
}

const byId = (id) => document.getElementById(id);

export class Input {
  // `given(values)` is called at every change with values in the order of the columns, null when there are none.
  constructor(given, trouble) {
    this.given = given;
    this.trouble = trouble;
    this.pad = new Pad(byId("pad"), () => this.drawn());
    byId("clear").addEventListener("click", () => this.pad.clear());
    byId("range").addEventListener("change", () => this.drawn());
    byId("fields").addEventListener("input", () => this.filled());
    byId("send").addEventListener("click", () => this.pasted());
  }

  // Shows what fits a model and its encoder's description.
  show(model, description) {
    const page = model.metadata?.page ?? {};
    this.recipe = new Recipe(description?.recipe ?? model.recipe, model.n_features);
    const plain = !this.recipe.categories.length;
    this.image = plain ? imageOf(page.image, this.recipe.columns.length) : null;
    const kind = this.image ? "draw" : this.recipe.columns.length <= MOST_FIELDS || !plain ? "fields" : "paste";
    for (const id of ["draw", "fields", "paste"]) byId(id).hidden = id !== kind;
    byId("input-name").textContent = { draw: "Draw", fields: "Fill in", paste: "Paste numbers" }[kind];
    if (kind === "draw") this.prepareImage();
    if (kind === "fields") this.prepareFields();
    if (kind === "paste") byId("numbers-label").textContent = `${this.recipe.columns.length} numbers, any separator`;
    this.showExamples(plain ? examplesOf(page.examples, this.recipe.columns.length) : []);
    if (kind === "fields") this.filled();
  }

  prepareImage() {
    const { width, height, high, pen } = this.image;
    const range = byId("range");
    if (![...range.options].some((option) => Number(option.value) === high)) range.append(new Option(String(high)));
    range.value = String(high);
    Object.assign(byId("seen"), { width, height });
    this.pad.pen = pen;
    this.pad.wipe();
    this.see({ width, height, values: new Float64Array(width * height) });
  }

  prepareFields() {
    const fields = this.recipe.columns.map((name, i) => {
      const known = this.recipe.choices(i);
      const field = known ? element("select", known.map((value, at) => new Option(value ?? "(missing)", at))) : element("input");
      const start = String(Number(this.recipe.startValue(i).toPrecision(4)));
      if (!known) Object.assign(field, { type: "number", step: "any", value: start });
      field.id = `field-${i}`;
      field.name = name;
      return element("div", [element("label", name, { for: field.id }), field]);
    });
    byId("fields").replaceChildren(...fields);
  }

  drawn() {
    const { width, height, fit } = this.image;
    const image = normalized(this.pad.image(), { width, height, fit });
    this.forget();
    if (!image) {
      this.see({ width, height, values: new Float64Array(width * height) });
      this.given(null);
      return;
    }
    this.see(image);
    const high = Number(byId("range").value);
    const values = Array.from(image.values, (value) => Math.min(1, value) * high);
    this.given(high > 1 ? values.map(Math.round) : values);
  }

  see(image) {
    paint(byId("seen").getContext("2d"), image, image.width, image.height);
  }

  filled() {
    const fields = [...byId("fields").querySelectorAll("input, select")];
    this.forget();
    const values = fields.map((field, i) => {
      const known = this.recipe.choices(i);
      if (known) return known[Number(field.value)];
      if (field.value.trim() !== "") return Number(field.value);
      return this.recipe.isFilled(i) ? null : undefined; // nothing is given where a number must be
    });
    return this.given(values.includes(undefined) ? null : values);
  }

  pasted() {
    const numbers = byId("numbers").value.split(/[\s,;]+/).filter(Boolean).map(Number);
    const wanted = this.recipe.columns.length;
    this.forget();
    if (numbers.length !== wanted || !numbers.every(Number.isFinite)) {
      const got = numbers.every(Number.isFinite) ? `${numbers.length}` : "what is no number";
      this.trouble(`The model takes ${wanted} numbers, got ${got}.`);
      return this.given(null);
    }
    return this.given(numbers);
  }

  showExamples(examples) {
    byId("examples").hidden = examples.length === 0;
    const buttons = examples.map(({ name, row }) => {
      const button = element("button", [this.picture(row), element("span", String(name))], { type: "button", "aria-pressed": "false" });
      button.addEventListener("click", () => this.pick(button, row));
      return button;
    });
    byId("example-list").replaceChildren(...buttons);
  }

  picture(row) {
    if (!this.image) return curve(row);
    const { width, height, high } = this.image;
    const canvas = element("canvas", "", { width, height, "aria-hidden": "true" });
    paint(canvas.getContext("2d"), { width, height, values: row.map((value) => value / high) }, width, height);
    return canvas;
  }

  pick(button, row) {
    this.forget();
    button.setAttribute("aria-pressed", "true");
    if (this.image) {
      const { width, height, high } = this.image;
      const image = { width, height, values: row.map((value) => value / high) };
      this.pad.show(image);
      this.see(image);
    }
    this.given(row);
  }

  forget() {
    for (const button of byId("example-list").children) button.setAttribute("aria-pressed", "false");
  }
}
