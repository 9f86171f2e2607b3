// Ways to give a row: draw it, fill in its columns, paste its numbers, or pick an example.
import { curve, element } from "./charts.js";
import { fieldText, written } from "./dates.js";
import { normalized, Pad, paint } from "./drawing.js";
import { Recipe } from "./recipe.js";

const MOST_FIELDS = 24;
// Of a select: no cell, and one that is none of the categories; places of categories are numbers.
const NOTHING = "nothing";
const ANOTHER = "another";
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
    const plain = this.recipe.isPlain;
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

  // A field a column that is used, by what the column holds; its label says what that is.
  prepareFields() {
    const fields = this.recipe.columns.flatMap((name, i) => {
      const kind = this.recipe.kinds[i];
      if (kind === "unused") return [];
      const mayMiss = this.recipe.mayMiss(i);
      const { field, what } = this[kind](i, mayMiss);
      Object.assign(field, { id: `field-${i}`, name });
      const label = element("label", [name, " ", element("small", what)], { for: field.id });
      return [element("div", field.type === "checkbox" ? [field, label] : [label, field], { class: kind })];
    });
    byId("fields").replaceChildren(...fields);
  }

  number(column, mayMiss) {
    const value = String(Number((this.recipe.startValue(column) ?? 0).toPrecision(4)));
    const field = Object.assign(element("input"), { type: "number", step: "any", value });
    return { field, what: mayMiss ? "number or empty" : "number" };
  }

  // One of the categories; nothing, and one that is not known, where they may be.
  category(column, mayMiss) {
    const { values, unknown } = this.recipe.choices(column);
    const options = values.map((value, at) => new Option(value === null || value === "" ? "(nothing)" : value, at));
    if (mayMiss && !values.includes(null) && !values.includes("")) options.push(new Option("(nothing)", NOTHING));
    if (unknown === "ignore") options.push(new Option("(another)", ANOTHER));
    return { field: element("select", options), what: `one of ${values.length}` };
  }

  truth(column, mayMiss) {
    if (!mayMiss) return { field: Object.assign(element("input"), { type: "checkbox" }), what: "yes or no" };
    const options = [new Option("yes", "true"), new Option("no", "false"), new Option("(nothing)", NOTHING)];
    return { field: element("select", options), what: "yes, no or nothing" };
  }

  date(column, mayMiss) {
    const { withTime } = this.recipe.dateOf(column);
    const start = this.recipe.startValue(column);
    const value = start === null ? "" : fieldText(start, withTime);
    const field = Object.assign(element("input"), { type: withTime ? "datetime-local" : "date", value, step: "any" });
    return { field, what: (withTime ? "date and time" : "date") + (mayMiss ? " or empty" : "") };
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
    this.forget();
    const values = this.recipe.columns.map((_, i) => this.cell(i, byId(`field-${i}`)));
    return this.given(values.includes(undefined) ? null : values);
  }

  // What a field holds, null for nothing; undefined where nothing is given and something must be.
  cell(column, field) {
    if (!field) return null; // the column is not used
    if (field.type === "checkbox") return field.checked;
    if (field.value === NOTHING) return null;
    const kind = this.recipe.kinds[column];
    if (kind === "truth") return field.value === "true";
    if (kind === "category") return this.chosen(column, field.value);
    if (field.value.trim() === "") return this.recipe.mayMiss(column) ? null : undefined;
    return kind === "date" ? written(field.value, this.recipe.dateOf(column).order) : Number(field.value);
  }

  // The category at a place, or a text that is none of them.
  chosen(column, place) {
    const { values } = this.recipe.choices(column);
    if (place !== ANOTHER) return values[Number(place)];
    let text = "another";
    while (values.includes(text)) text += "_";
    return text;
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
