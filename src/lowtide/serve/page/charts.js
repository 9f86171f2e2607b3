// What the page shows of numbers: bars, bits and curves. Texts are set as texts: nothing is read as markup.

export function element(name, content = "", attributes = {}) {
  const made = document.createElement(name);
  if (typeof content === "string") made.textContent = content;
  else made.append(...content);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// Bars in a list: {name, share 0..1, text, best}. Elements are kept, so that they move instead of blinking.
export function bars(list, entries) {
  while (list.children.length > entries.length) list.lastElementChild.remove();
  entries.forEach((entry, i) => {
    const line = list.children[i] ?? list.appendChild(emptyBar());
    const [name, track, value] = line.children;
    line.className = entry.best ? "best" : "";
    name.textContent = entry.name;
    track.firstElementChild.firstElementChild.style.width = `${(100 * Math.min(1, Math.max(0, entry.share))).toFixed(2)}%`;
    value.textContent = entry.text;
  });
}

function emptyBar() {
  const track = element("div", [element("div", "", { class: "fill" })], { class: "track", "aria-hidden": "true" });
  return element("div", [element("dt"), element("dd", [track]), element("dd", "", { class: "value" })]);
}

// The bits of a code as squares, in the order of the message.
export function bitmap(canvas, code, nBits) {
  const side = Math.ceil(Math.sqrt(nBits));
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  context.clearRect(0, 0, side, side);
  context.fillStyle = style.getPropertyValue("--accent");
  let set = 0;
  for (let i = 0; i < nBits; ++i) {
    if (!((code[i >> 3] >> (i & 7)) & 1)) continue;
    context.fillRect(i % side, Math.floor(i / side), 1, 1);
    ++set;
  }
  canvas.setAttribute("aria-label", `The ${nBits} bits of the code, ${set} of them set`);
}

export function noBits(canvas) {
  canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
  canvas.setAttribute("aria-label", "No code yet");
}

// A curve through numbers, as an SVG of its own scale.
export function curve(numbers) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 100 40");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const low = Math.min(...numbers), high = Math.max(...numbers);
  const points = numbers.map((value, i) => {
    const x = (100 * i) / Math.max(1, numbers.length - 1);
    return `${x.toFixed(2)},${(38 - (36 * (value - low)) / (high - low || 1)).toFixed(2)}`;
  });
  const line = document.createElementNS(space, "polyline");
  for (const [key, value] of Object.entries({
    points: points.join(" "), fill: "none", stroke: "currentColor", "stroke-width": "1.5", "vector-effect": "non-scaling-stroke",
  })) line.setAttribute(key, value);
  svg.append(line);
  return svg;
}
