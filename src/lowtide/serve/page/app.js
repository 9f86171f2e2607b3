// The page: what is loaded, a row to give, its code, and the server's answer to the code.
import { Refusal, Server } from "./api.js";
import { bars, bitmap, element, noBits } from "./charts.js";
import { Encoder, obstacle } from "./encoder.js";
import { Input } from "./inputs.js";
import { packCodes, packRow } from "./wire.js";

const byId = (id) => document.getElementById(id);
const grouped = (n) => n.toLocaleString("en-US");

const server = new Server();
const input = new Input((row) => ask(row), say);
let models = [];
let model = null;
let encoder = null;
// At most one question is under way; the newest row waits for its answer, rows between are dropped.
let busy = false;
let waiting;

function say(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}

// While something is asked for, the stages say so: to a screen reader, and to whoever waits for an answer.
async function guarded(work) {
  byId("stages").setAttribute("aria-busy", "true");
  try {
    await work();
    return true;
  } catch (error) {
    const needsKey = error instanceof Refusal && error.status === 401;
    byId("key-form").hidden = !needsKey;
    say(needsKey && !server.key ? "This server wants an API key." : error.message);
    return false;
  } finally {
    byId("stages").setAttribute("aria-busy", String(waiting !== undefined));
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
      .map(({ name, n_rows, model: by }) => `Database ${name}: ${grouped(n_rows)} rows coded by ${by}.`)
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
  model = chosen;
  encoder = null;
  const description = model.encoder ? await server.encoder(model.name) : null;
  const codes = model.accepts.includes("codes");
  const reason = codes ? obstacle(description) : "the model does not take codes";
  if (!reason) encoder = new Encoder(description);
  byId("code-note").textContent = encoder
    ? `Each square is a bit, made in this browser: ${grouped(encoder.nLevels)} levels of ${encoder.bits} bit${encoder.bits > 1 ? "s" : ""}.`
    : `The row itself is sent: ${reason}.`;
  byId("tagline").textContent = encoder ? "The row stays here. A few bits go to the server." : "The row goes to the server.";
  forget();
  input.show(model, description);
}

function forget() {
  noBits(byId("bits"));
  byId("answer").textContent = "\u00a0";
  for (const id of ["scores", "bytes"]) byId(id).replaceChildren();
  byId("answer-note").textContent = byId("timing").textContent = "";
}

async function ask(row) {
  waiting = row;
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

async function answer(row) {
  const begin = performance.now();
  const code = encoder?.encode(row);
  const message = encoder ? packCodes(encoder, [code]) : packRow(row);
  const encoded = performance.now();
  if (encoder) bitmap(byId("bits"), code, encoder.nLevels * encoder.storedBits);
  const returns = model.task === "classification" ? ["scores", "probabilities"] : [];
  const result = await server.predict(model.name, message, { coded: Boolean(encoder), returns });
  const ended = performance.now();
  say("");
  showBytes(message.length, row.length);
  showAnswer(result);
  byId("timing").textContent =
    `Made in ${(encoded - begin).toFixed(1)} ms, answered in ${(ended - encoded).toFixed(1)} ms.`;
}

function showBytes(sent, nNumbers) {
  const raw = 4 * nNumbers;
  const most = Math.max(sent, raw);
  const lines = [{ name: "sent", share: sent / most, text: grouped(sent), best: true }];
  lines.push({ name: "row as float32", share: raw / most, text: grouped(raw) });
  if (input.image) lines.push({ name: "one byte a pixel", share: nNumbers / most, text: grouped(nNumbers) });
  bars(byId("bytes"), lines);
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
  if (chosen) guarded(() => choose(chosen));
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  server.key = byId("key").value.trim();
  start();
});

start();
