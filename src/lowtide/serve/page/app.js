// The page: what is loaded, a row to give, its code, and the server's answer to the code.
import { Refusal, Server } from "./api.js";
import { bars, bitmap, element, noBits } from "./charts.js";
import { encoderOf, obstacle } from "./encoder.js";
import { Input } from "./inputs.js";
import { CODES_TYPE, ROWS_TYPE, packCodes, packRow } from "./wire.js";

const byId = (id) => document.getElementById(id);
const grouped = (n) => n.toLocaleString("en-US");

const server = new Server();
const input = new Input((values) => ask(values), say);
let models = [];
// The model that is shown, its encoder where it runs here, and the encoder's ETag: changed together.
let model = null;
let encoder = null;
let tag = null;
// The one chosen last, whose encoder may still be on its way.
let wanted = null;
// At most one question is under way; the newest row waits for its answer, rows between are dropped.
let busy = false;
let waiting;
// What is asked for of the server, a row's answer or an encoder, may begin before the other has ended.
let underWay = 0;

function say(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}

// While something is asked for, the stages say so: to a screen reader, and to whoever waits for an answer.
async function guarded(work) {
  underWay += 1;
  byId("stages").setAttribute("aria-busy", "true");
  try {
    await work();
    return true;
  } catch (error) {
    const needsKey = error instanceof Refusal && error.status === 401;
    byId("key-form").hidden = !needsKey;
    const changed = error instanceof Refusal && error.status === 409;
    if (needsKey && !server.key) say("This server wants an API key.");
    else say(changed ? "The model has changed on the server. Reload the page." : error.message);
    return false;
  } finally {
    underWay -= 1;
    byId("stages").setAttribute("aria-busy", String(underWay > 0 || waiting !== undefined));
  }
}

async function start() {
  await guarded(async () => {
    const loaded = await server.models();
    byId("key-form").hidden = true;
    say("");
    models = loaded.models;
    byId("version").textContent = loaded.lowtide;
    byId("model").replaceChildren(...models.map(({ name }) => new Option(name)));
    byId("models").replaceChildren(...models.map(modelLine));
    byId("databases").textContent = loaded.databases
      .map(({ name, n_rows, model: by }) => `Database ${name}: ${grouped(n_rows)} rows coded by ${by ?? "none of the models"}.`)
      .join(" ");
    const first = models.find((candidate) => candidate.default) ?? models[0];
    if (first) {
      byId("model").value = first.name;
      await choose(first);
    } else say("No model is loaded.");
  });
}

function modelLine({ name, kind, encoder: made, n_features: columns }) {
  const cells = made
    ? [made.kind, columns, made.n_components, made.bits ?? "float", made.row_bytes ?? 4 * made.n_components]
    : ["none", columns, "", "", ""];
  const line = element("tr", [element("th", name, { scope: "row" }), element("td", kind)]);
  for (const cell of cells) line.append(element("td", typeof cell === "number" ? grouped(cell) : cell));
  line.append(element("td", [element("code", made ? made.fingerprint.slice(0, 16) : "", made ? { title: made.fingerprint } : {})]));
  return line;
}

async function choose(chosen) {
  wanted = chosen;
  const none = { description: null, tag: null };
  const { description, tag: given } = chosen.encoder ? await server.encoder(chosen.name) : none;
  if (wanted !== chosen) return; // another was chosen meanwhile
  const reason = chosen.accepts.includes("codes") ? obstacle(description) : "the model does not take codes";
  model = chosen;
  encoder = reason ? null : encoderOf(description);
  tag = given;
  waiting = undefined; // it was for the one before
  byId("tagline").textContent = encoder
    ? `The row stays here. Its code of ${grouped(encoder.rowBytes)} bytes goes to the server.`
    : "The row goes to the server.";
  byId("code-note").textContent = encoder
    ? `Each square is a bit, made in this browser: ${grouped(encoder.nLevels)} levels of ${encoder.bits} bit${encoder.bits > 1 ? "s" : ""}.`
    : `The row itself is sent: ${reason}.`;
  forget();
  input.show(model, description);
}

function forget() {
  noBits(byId("bits"));
  byId("answer").textContent = "\u00a0";
  for (const id of ["scores", "bytes"]) byId(id).replaceChildren();
  for (const id of ["answer-note", "bytes-note", "timing"]) byId(id).textContent = "";
}

async function ask(values) {
  waiting = values;
  if (busy) return;
  busy = true;
  while (waiting !== undefined) {
    const next = waiting;
    waiting = undefined;
    if (next === null) forget();
    else await guarded(() => answer(next));
  }
  busy = false;
}

async function answer(values) {
  const asked = model;
  if (!encoder && !asked.accepts.includes("rows")) throw new Error("This model takes nothing but codes, of an encoder that the server does not know.");
  const begin = performance.now();
  const row = input.recipe.row(values);
  const message = encoder ? coded(row) : uncoded(values);
  const encoded = performance.now();
  const returns = asked.task === "classification" ? asked.outputs.filter((name) => name !== "predictions") : [];
  const result = await server.predict(asked.name, message, returns);
  const ended = performance.now();
  if (asked !== model) return; // another is shown by now
  say("");
  showBytes(message.body.length, values);
  showAnswer(result);
  byId("timing").textContent =
    `Made in ${(encoded - begin).toFixed(1)} ms, answered in ${(ended - encoded).toFixed(1)} ms.`;
}

function coded(row) {
  const code = encoder.encode(row);
  bitmap(byId("bits"), code, encoder.nBits);
  return { body: packCodes(encoder, [code]), type: CODES_TYPE, tag };
}

// Values as they are given: the server applies the recipe; what is no number only JSON can hold.
function uncoded(values) {
  if (values.every(Number.isFinite) && input.recipe.isPlain) return { body: packRow(values), type: ROWS_TYPE };
  return { body: new TextEncoder().encode(JSON.stringify({ rows: [values] })), type: "application/json" };
}

// What was sent, against the row in two forms that need no encoder: four bytes a column, and a line of text.
function showBytes(sent, values) {
  const floats = 4 * values.length;
  const text = new TextEncoder().encode(values.map((value) => value ?? "").join(",")).length;
  const own = encoder ? encoder.rowBytes : sent;
  const lines = [
    { name: "sent", bytes: sent, best: true },
    ...(encoder ? [{ name: "of it the code", bytes: own, best: true }] : []),
    { name: "row as float32", bytes: floats },
    input.image ? { name: "one byte a pixel", bytes: values.length } : { name: "row as text", bytes: text },
  ];
  const most = Math.max(...lines.map(({ bytes }) => bytes));
  bars(byId("bytes"), lines.map((line) => ({ ...line, share: line.bytes / most, text: grouped(line.bytes) })));
  byId("bytes-note").textContent = encoder ? bytesNote(own, floats, input.image ? values.length : text) : "";
}

function bytesNote(own, floats, other) {
  const least = Math.min(floats, other);
  const head = "The rest of the message is its head, one for all rows of a request.";
  if (own <= least) return `The code is no larger than the row in either form. ${head}`;
  if (own <= floats) return `The code is no larger than the row as float32, but larger than its shortest form. ${head}`;
  const fitting = Math.floor((encoder.nLevels * floats) / own);
  return (
    `The code is larger than the row: ${grouped(own)} bytes against ${grouped(floats)}. It keeps the row here, and saves no bytes. ` +
    `Fewer components would help, at most ${grouped(fitting)} levels instead of ${grouped(encoder.nLevels)}, or sending the row itself, send="rows".`
  );
}

function showAnswer(result) {
  const [prediction] = result.predictions;
  const text = Array.isArray(prediction) ? prediction.map(short).join(", ") : short(prediction);
  byId("answer").textContent = text;
  byId("answer").classList.toggle("long", text.length > 8);
  const probabilities = result.probabilities?.[0];
  const scores = result.scores?.[0];
  if (probabilities) showScores(result.classes, probabilities, Array.isArray(scores) ? scores : null);
}

// A bar a class: its score between the lowest and the highest one; two classes share one score, and show probabilities.
function showScores(classes, probabilities, scores) {
  const low = Math.min(...(scores ?? [0]));
  const high = Math.max(...(scores ?? [1]));
  const best = probabilities.indexOf(Math.max(...probabilities));
  const entries = classes.map((name, i) => ({
    name: String(name),
    share: scores ? (scores[i] - low) / (high - low || 1) : probabilities[i],
    text: (scores ? `${scores[i].toFixed(2).replace("-", "\u2212")}   ` : "") + `${(100 * probabilities[i]).toFixed(1)}%`.padStart(6),
    best: i === best,
  }));
  bars(byId("scores"), entries);
  byId("answer-note").textContent = scores ? "Score and probability of each class." : "Probability of each class.";
}

function short(value) {
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : String(value);
}

byId("model").addEventListener("change", (event) => {
  const chosen = models.find(({ name }) => name === event.target.value);
  if (!chosen) return;
  guarded(() => choose(chosen)).then((done) => {
    if (!done && model && wanted === chosen) event.target.value = model.name;
  });
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  server.key = byId("key").value.trim();
  start();
});

start();
