// Draws the source and the result, lets their elements travel, and lights an element and its partners.

import { elementAt, indexOf, layoutOf } from "./geometry.js";

const LABELS = 16;
const MOVE_MS = 620;
const MOST_LINKS = 12;
const SVG = "http://www.w3.org/2000/svg";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const eased = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2);

/** A tensor on one side: layouts of one or more shapes, one below the other, as one list of cells. */
function placed(shapes, box) {
  const layouts = shapes.map((shape) => layoutOf(shape, box.width, box.height / shapes.length - LABELS));
  const count = layouts.reduce((sum, layout) => sum + layout.count, 0);
  const place = { count, x: new Float32Array(count), y: new Float32Array(count), size: new Float32Array(count), panels: [], layouts, shapes };
  let start = 0;
  layouts.forEach((layout, at) => {
    const [left, top] = [box.left, box.top + (at * box.height) / shapes.length + LABELS];
    for (let element = 0; element < layout.count; element++) {
      place.x[start + element] = layout.x[element] + left;
      place.y[start + element] = layout.y[element] + top;
    }
    place.size.fill(layout.cell, start, start + layout.count);
    place.panels.push(...layout.panels.map((panel) => ({ ...panel, x: panel.x + left, y: panel.y + top, of: at })));
    Object.assign(layout, { start, left, top });
    start += layout.count;
  });
  return place;
}

export class Picture {
  /** Calls `onLight` when an element is lit, with its number in the source and its numbers in the result. */
  constructor(root, onLight) {
    this.root = root;
    this.onLight = onLight;
    this.canvas = root.querySelector("canvas");
    this.links = root.querySelector("#links");
    this.sides = ["source", "result"].map((id) => root.querySelector(`#${id} .tensor`));
    this.lit = null;
    new ResizeObserver(() => this.resize()).observe(root);
    this.sides.forEach((side, which) => {
      side.addEventListener("pointermove", (event) => this.point(event, which));
      side.addEventListener("pointerdown", (event) => this.point(event, which));
      side.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.light(null));
      side.addEventListener("keydown", (event) => this.key(event, which));
      side.addEventListener("focus", () => side.matches(":focus-visible") && this.light({ which, at: this.lit?.which === which ? this.lit.at : 0 }));
      side.addEventListener("blur", () => this.light(null));
    });
  }

  /** Shows a step: the shapes of both sides, and the source of each element of the result. If `animated`, the elements travel. */
  show(step, animated) {
    const before = this.step;
    this.step = step;
    this.cursor = null;
    this.place();
    this.light(null);
    const travels = animated && step && !still.matches && step.sources.length <= 6000;
    if (travels) this.travel(step.from === "before" && before ? this.startOf(before) : null);
    else this.draw(1);
  }

  resize() {
    if (!this.step) return;
    this.place();
    this.light(this.lit);
    this.draw(1);
  }

  place() {
    const { step, canvas, root } = this;
    const outer = root.getBoundingClientRect();
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [root.clientWidth, root.clientHeight];
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    this.links.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.context = canvas.getContext("2d");
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    if (!step) return;
    const boxes = this.sides.map((side) => {
      const inner = side.getBoundingClientRect();
      return { left: inner.left - outer.left - root.clientLeft, top: inner.top - outer.top - root.clientTop, width: inner.width, height: inner.height };
    });
    this.places = [placed(step.shapes, boxes[0]), placed([step.shape], boxes[1])];
    // For each element of the source, the elements of the result that come from it.
    this.partners = Array.from({ length: this.places[0].count }, () => []);
    step.sources.forEach((source, at) => source >= 0 && this.partners[source].push(at));
  }

  /** Returns the position of each element of the new step in the previous step, which is on the same side. */
  startOf(before) {
    const box = this.places[1];
    const tensor = this.sides[1].getBoundingClientRect();
    const outer = this.root.getBoundingClientRect();
    const old = placed([before.shape], { left: tensor.left - outer.left, top: tensor.top - outer.top, width: tensor.width, height: tensor.height });
    const found = new Map();
    before.sources.forEach((source, at) => { if (!found.has(source)) found.set(source, at); });
    return { old, at: (element) => found.get(this.step.sources[element]) ?? -1, box };
  }

  travel(start) {
    const [source, result] = this.places;
    const { sources } = this.step;
    const from = start ? start.old : source;
    const first = (element) => (start ? start.at(element) : sources[element]);
    this.starts = { from, first: Int32Array.from(sources, (_, element) => first(element)), count: result.count };
    const begun = performance.now();
    cancelAnimationFrame(this.frame);
    const next = (now) => {
      const t = Math.min((now - begun) / MOVE_MS, 1);
      this.draw(t);
      if (t < 1) this.frame = requestAnimationFrame(next);
    };
    this.frame = requestAnimationFrame(next);
    this.draw(0);
  }

  draw(t) {
    if (t >= 1) cancelAnimationFrame(this.frame);
    const { context, canvas, step } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!step) return;
    const style = getComputedStyle(this.root);
    this.ink = { muted: style.getPropertyValue("--muted"), constant: style.getPropertyValue("--constant"), mono: style.getPropertyValue("--mono") };
    const [source, result] = this.places;
    this.labels(source, step.names[0]);
    this.labels(result, step.names[1]);
    for (let element = 0; element < source.count; element++) {
      context.globalAlpha = this.partners[element].length ? 1 : 0.22;
      this.cell(source.x[element], source.y[element], source.size[element], element);
    }
    for (let element = 0; element < result.count; element++) {
      let [x, y, size] = [result.x[element], result.y[element], result.size[element]];
      context.globalAlpha = 1;
      if (t < 1) {
        const { from, first } = this.starts;
        // A wave: the first elements of the result start first.
        const own = eased(Math.min(Math.max(t * 1.45 - (0.45 * element) / result.count, 0), 1));
        if (first[element] < 0) context.globalAlpha = own;
        else {
          x = from.x[first[element]] + (x - from.x[first[element]]) * own;
          y = from.y[first[element]] + (y - from.y[first[element]]) * own;
          size = from.size[first[element]] + (size - from.size[first[element]]) * own;
        }
      }
      this.cell(x, y, size, step.sources[element]);
    }
    context.globalAlpha = 1;
  }

  cell(x, y, size, source) {
    const { context, step, ink } = this;
    const gap = size >= 6 ? 1 : size >= 3 ? 0.5 : 0;
    context.fillStyle = source < 0 ? ink.constant : step.colours.fills[source];
    context.beginPath();
    if (size >= 9) context.roundRect(x, y, size - gap, size - gap, Math.min(size * 0.16, 4));
    else context.rect(x, y, size - gap, size - gap);
    context.fill();
    if (size >= 19 && source >= 0) {
      context.fillStyle = step.colours.light[source] ? "#111" : "#fff";
      context.font = `${Math.min(size * 0.4, source > 99 ? size * 0.36 : 12)}px ${ink.mono}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(source, x + (size - gap) / 2, y + size / 2);
    }
  }

  /** Writes the index of each panel above it, where there is room. */
  labels(place, names) {
    const { context, ink } = this;
    context.font = `10.5px ${ink.mono}`;
    context.fillStyle = ink.muted;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    let right = -1;
    let line = -1;
    for (const panel of place.panels) {
      const own = place.layouts[panel.of];
      if (!panel.index.length || own.cell * 0.9 < 9) continue;
      const shape = place.shapes[panel.of];
      const shown = panel.index.map((at, axis) => [at, axis]).filter(([, axis]) => shape[axis] > 1);
      const text = shown.map(([at, axis]) => (names[axis] ? `${names[axis]} ${at}` : at)).join(", ");
      const width = context.measureText(text).width;
      if (width > panel.width + own.cell * 0.8 || (panel.y === line && panel.x < right)) continue;
      context.fillText(text, panel.x, panel.y - 4);
      [right, line] = [panel.x + width + 4, panel.y];
    }
  }

  /** Lights an element of a side and its partners; with `null`, no element. */
  light(lit) {
    this.lit = lit;
    this.links.replaceChildren();
    if (!lit || !this.step || !this.places) {
      this.onLight(null);
      return;
    }
    const source = lit.which === 0 ? lit.at : this.step.sources[lit.at];
    const results = lit.which === 1 && source < 0 ? [lit.at] : this.partners[source] ?? [];
    const order = lit.which === 1 ? [lit.at, ...results.filter((at) => at !== lit.at)] : results;
    const [from, to] = this.places;
    for (const at of order.slice(0, MOST_LINKS)) {
      if (source >= 0) this.add("path", { class: "link", d: this.curve(from, source, to, at) });
    }
    if (source >= 0) this.ring(from, source, lit.which === 0);
    for (const at of order.slice(0, 400)) this.ring(to, at, lit.which === 1 && at === lit.at);
    this.onLight({ source, results: order });
  }

  add(name, attributes) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    this.links.append(element);
  }

  ring(place, at, isOwn) {
    const [size, grown] = [place.size[at], 2];
    const box = { x: place.x[at] - grown, y: place.y[at] - grown, width: size - 1 + 2 * grown, height: size - 1 + 2 * grown, rx: 4 };
    this.add("rect", { class: "halo", ...box });
    this.add("rect", { class: isOwn ? "ring own" : "ring", ...box, "data-side": place === this.places[0] ? "source" : "result", "data-at": at });
  }

  curve(from, source, to, at) {
    const [x1, y1] = [from.x[source] + from.size[source] / 2, from.y[source] + from.size[source] / 2];
    const [x2, y2] = [to.x[at] + to.size[at] / 2, to.y[at] + to.size[at] / 2];
    const isBeside = Math.abs(x2 - x1) > Math.abs(y2 - y1);
    const [dx, dy] = isBeside ? [(x2 - x1) * 0.45, 0] : [0, (y2 - y1) * 0.45];
    return `M${x1} ${y1}C${x1 + dx} ${y1 + dy} ${x2 - dx} ${y2 - dy} ${x2} ${y2}`;
  }

  point(event, which) {
    if (!this.step || !this.places) return;
    const inner = this.root.getBoundingClientRect();
    const [x, y] = [event.clientX - inner.left - this.root.clientLeft, event.clientY - inner.top - this.root.clientTop];
    for (const layout of this.places[which].layouts) {
      const at = elementAt(layout, x - layout.left, y - layout.top);
      if (at >= 0) {
        if (this.lit?.which !== which || this.lit.at !== at + layout.start) this.light({ which, at: at + layout.start });
        return;
      }
    }
    if (event.pointerType === "mouse" || event.type === "pointerdown") this.light(null);
  }

  key(event, which) {
    if (!this.step || !this.places) return;
    const place = this.places[which];
    const shape = which === 0 ? this.step.shapes[0] : this.step.shape;
    const row = shape[shape.length - 1] ?? 1;
    const panel = row * (shape.length > 1 ? shape[shape.length - 2] : 1);
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row, PageUp: -panel, PageDown: panel, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return this.light(null);
    if (!(event.key in steps) || !place.count) return;
    event.preventDefault();
    const at = (this.lit?.which === which ? this.lit.at : 0) + steps[event.key];
    if (Number.isFinite(at) && (at < 0 || at >= place.count)) return;
    this.light({ which, at: Math.min(Math.max(at, 0), place.count - 1) });
  }
}

/** Names an element: its index with the names of the axes, its number, and the byte at which it starts. */
export function named(input, element, width) {
  const index = indexOf(element, input.shape);
  const parts = index.map((at, axis) => (input.names?.[axis] ? `${input.names[axis]} ${at}` : at));
  const byte = input.strides ? index.reduce((sum, at, axis) => sum + at * input.strides[axis], 0) : element * width;
  return { index: `[${parts.join(", ")}]`, byte };
}
