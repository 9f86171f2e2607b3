// A pad to draw on, and the drawing as the image that a model of digits was trained on.

export class Pad {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.last = null;
    this.pen = 0.08; // width of a line, as a share of the pad
    canvas.addEventListener("pointerdown", (event) => this.start(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => this.stop());
    canvas.addEventListener("keydown", (event) => {
      if (event.key === "Delete" || event.key === "Backspace") this.clear();
    });
    this.wipe();
  }

  clear() {
    this.wipe();
    this.changed();
  }

  wipe() {
    this.context.fillStyle = "#000";
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  // Brightness of the drawing, 0 to 1, row by row.
  image() {
    const { width, height } = this.canvas;
    const pixels = this.context.getImageData(0, 0, width, height).data;
    const values = Float64Array.from({ length: width * height }, (_, i) => pixels[4 * i] / 255);
    return { width, height, values };
  }

  show(image) {
    this.wipe();
    paint(this.context, image, this.canvas.width, this.canvas.height);
  }

  start(event) {
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.place(event);
    this.line(this.last);
  }

  move(event) {
    if (!this.last) return;
    for (const part of event.getCoalescedEvents?.() ?? [event]) this.line(this.place(part));
  }

  stop() {
    if (!this.last) return;
    this.last = null;
    this.changed();
  }

  line(to) {
    const { context } = this;
    context.strokeStyle = "#fff";
    context.lineWidth = this.pen * this.canvas.width;
    context.lineCap = context.lineJoin = "round";
    context.beginPath();
    context.moveTo(this.last.x, this.last.y);
    context.lineTo(to.x, to.y);
    context.stroke();
    this.last = to;
    this.changed();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  }
}

// The drawing as a small image: its box scaled to `fit` pixels, then its center of mass, or without a margin its box,
// moved to the middle. So MNIST was made with 20 of 28 pixels; scikit-learn's digits fill all 8. Null when empty.
export function normalized(drawing, { width, height, fit }) {
  const box = inkBox(drawing);
  if (!box) return null;
  const scale = fit / Math.max(box.right - box.left, box.bottom - box.top);
  const middle = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
  let image = resampled(drawing, { width, height, scale, from: middle });
  if (fit < Math.min(width, height)) {
    const mass = centerOfMass(image);
    const from = { x: middle.x + (mass.x - width / 2) / scale, y: middle.y + (mass.y - height / 2) / scale };
    image = resampled(drawing, { width, height, scale, from });
  }
  return image;
}

function inkBox({ width, height, values }) {
  let left = width, right = 0, top = height, bottom = 0;
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      if (values[y * width + x] < 0.1) continue;
      left = Math.min(left, x);
      right = Math.max(right, x + 1);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y + 1);
    }
  }
  return right > left ? { left, right, top, bottom } : null;
}

// Mean brightness of the square that each small pixel covers, the place `from` in the middle.
function resampled(drawing, { width, height, scale, from }) {
  const values = new Float64Array(width * height);
  const side = 1 / scale;
  for (let y = 0; y < height; ++y) {
    const top = from.y + (y - height / 2) * side;
    for (let x = 0; x < width; ++x) {
      values[y * width + x] = meanOver(drawing, from.x + (x - width / 2) * side, top, side);
    }
  }
  return { width, height, values };
}

function meanOver({ width, height, values }, left, top, side) {
  let sum = 0;
  for (let y = Math.max(0, Math.floor(top)); y < Math.min(height, top + side); ++y) {
    const rows = Math.min(y + 1, top + side) - Math.max(y, top);
    for (let x = Math.max(0, Math.floor(left)); x < Math.min(width, left + side); ++x) {
      sum += rows * (Math.min(x + 1, left + side) - Math.max(x, left)) * values[y * width + x];
    }
  }
  return sum / (side * side);
}

function centerOfMass({ width, height, values }) {
  let mass = 0, x = 0, y = 0;
  for (let i = 0; i < width * height; ++i) {
    mass += values[i];
    x += values[i] * ((i % width) + 0.5);
    y += values[i] * (Math.floor(i / width) + 0.5);
  }
  return { x: x / mass, y: y / mass };
}

// Paints an image of brightness 0 to 1, scaled to a size with hard edges.
export function paint(context, { width, height, values }, toWidth, toHeight) {
  for (let i = 0; i < width * height; ++i) {
    const level = Math.round(255 * Math.min(1, Math.max(0, values[i])));
    context.fillStyle = `rgb(${level} ${level} ${level})`;
    const x = i % width, y = Math.floor(i / width);
    const left = Math.round((x * toWidth) / width), top = Math.round((y * toHeight) / height);
    const right = Math.round(((x + 1) * toWidth) / width), bottom = Math.round(((y + 1) * toHeight) / height);
    context.fillRect(left, top, right - left, bottom - top);
  }
}
