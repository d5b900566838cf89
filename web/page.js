// The page: sends the user's input to the library, and draws the answer.

import { coloursOf } from "./colours.js";
import { Controls } from "./controls.js";
import { opened } from "./file.js";
import { ask, load } from "./library.js";
import { named, Picture } from "./picture.js";
import { MOST_AXES, PRESETS, axesOf, textOf } from "./presets.js";
import { Texts } from "./texts.js";
import { Track } from "./track.js";
import { thumbnail } from "./thumbnail.js";

const at = (id) => document.getElementById(id);
// The whole state, which is stored in the address. `stage` 0 is the whole chain at once; `by` -1 colours by the order.
const state = { chain: "", axes: [], dtype: "f32", by: -1, stage: 0, others: {}, column_major: false };
let answer = null;

const picture = new Picture(at("picture"), readout);
const controls = new Controls(state, (isNewShape) => changed({ isNewShape }));
const track = new Track((stage) => { state.stage = stage; shown(true); kept(); });
const texts = new Texts();

function question(of = state) {
  const { axes, chain, dtype, others, column_major } = of;
  return { chain, dtype, others, column_major, shape: axes.map((axis) => axis.size), names: axes.map((axis) => axis.name) };
}

/** Asks the library again, and shows its answer or its error. The last picture stays behind an error. */
function changed({ animated = false, isNewShape = false } = {}) {
  const answered = ask(question());
  controls.update(answered, isNewShape);
  const isError = "error" in answered;
  document.body.classList.toggle("stale", isError);
  if (!isError) {
    answer = answered;
    if (state.by >= (answer.inputs[0]?.shape.length ?? 0)) state.by = -1;
    if (state.stage > answer.stages.length) state.stage = 0;
    track.update(answer);
    texts.update(answer);
    colours();
    shown(animated);
  }
  kept();
}

/** Shows the chosen stage; stage 0 is the whole chain at once. */
function shown(animated) {
  const { stages, inputs } = answer;
  const step = stages[(state.stage || stages.length) - 1];
  const result = { name: "y", shape: step?.shape ?? [], names: step?.names ?? [] };
  track.choose(state.stage);
  sides(inputs, result);
  if (!step?.sources) {
    picture.show(null, false);
    const count = Math.max(...inputs.map((input) => input.shape.reduce(product, 1)), result.shape.reduce(product, 1));
    at("readout").textContent = `${count.toLocaleString("en")} elements are too many to draw one by one; the plan is below. Make the sizes smaller to see them.`;
    return;
  }
  const shapes = inputs.map((input) => input.shape);
  picture.show({
    shapes,
    shape: result.shape,
    names: [inputs[0].names, result.names],
    sources: step.sources,
    from: state.stage > 1 ? "before" : "source",
    colours: coloured(shapes, state.by),
  }, animated);
}

const product = (all, size) => all * size;

let palette = { key: "" };

/** The colours of the source, which seldom change. */
function coloured(shapes, by) {
  const key = `${by} ${shapes.join(" ")} ${shapes.length}`;
  if (palette.key !== key) palette = { key, ...newColours(shapes, by) };
  return palette;
}

function newColours(shapes, by) {
  if (shapes.length === 1) return coloursOf(shapes[0], by);
  // A hue for each tensor.
  const counts = shapes.map((shape) => shape.reduce(product, 1));
  const each = counts.map((count, tensor) => {
    const all = coloursOf([shapes.length, count], 0);
    return { fills: all.fills.slice(tensor * count, (tensor + 1) * count), light: [...all.light.slice(tensor * count, (tensor + 1) * count)] };
  });
  return { fills: each.flatMap((one) => one.fills), light: each.flatMap((one) => one.light) };
}

function sides(inputs, result) {
  const whole = state.stage === 0 || state.stage === answer.stages.length;
  at("result").querySelector("h2").textContent = whole ? "Result" : `After stage ${state.stage}`;
  for (const [id, tensors] of [["source", inputs], ["result", [result]]]) {
    const lines = tensors.map(({ name, shape, names }) => {
      const rank = shape.length;
      const arrow = (axis) => (axis === rank - 1 ? " →" : axis === rank - 2 ? " ↓" : "");
      const parts = shape.map((size, axis) => `${names[axis] ? `${names[axis]} ` : ""}${size}${arrow(axis)}`);
      return `${tensors.length > 1 ? `${name}: ` : ""}${parts.join(" · ") || "a single element"}`;
    });
    at(id).querySelector(".named").textContent = lines.join("; ");
    at(id).querySelector(".tensor").setAttribute("aria-label", `${id}, ${tensors.map(({ shape }) => `shape ${shape.join(" by ")}`).join("; ")}: the arrow keys go from element to element`);
  }
}

/** Describes the lit element and its partners in words. */
function readout(lit) {
  const place = at("readout");
  if (!lit || !answer) {
    place.textContent = answer?.stages.at(-1)?.sources ? "Point at an element, or press Tab and the arrow keys." : "";
    return;
  }
  const { inputs, stages, width } = answer;
  const step = stages[(state.stage || stages.length) - 1];
  const result = { shape: step.shape, names: step.names };
  const to = lit.results.slice(0, 3).map((element) => {
    const { index, byte } = named(result, element, width);
    return `y${index} byte ${byte}`;
  });
  const more = lit.results.length > 3 ? ` and ${lit.results.length - 3} more` : "";
  let from = "a constant";
  if (lit.source >= 0) {
    const input = inputs.findLast((one) => lit.source >= one.base);
    const { index, byte } = named(input, lit.source - input.base, width);
    from = `${input.name}${index} byte ${byte}`;
  }
  place.replaceChildren(...pair("from", from), " → ", ...pair("to", to.length ? to.join(", ") + more : "dropped"));
  place.dataset.source = lit.source;
  place.dataset.results = lit.results.join(",");
}

function pair(kind, text) {
  const element = document.createElement("span");
  element.className = kind;
  element.textContent = text;
  return [element];
}

/** Offers the axes by which the source can be coloured. */
function colours() {
  const place = at("colour");
  const { shape = [], names = [] } = answer.inputs[0] ?? {};
  const axes = shape.map((size, axis) => [axis, names[axis] || `axis ${axis}`, size]).filter(([, , size]) => size > 1);
  const all = answer.inputs.length > 1 ? [] : [[-1, "order"], ...axes];
  place.replaceChildren("Colour by", ...all.map(([axis, name]) => {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "by", checked: axis === state.by });
    input.addEventListener("change", () => { state.by = axis; shown(false); kept(); });
    label.append(input, Object.assign(document.createElement("span"), { textContent: name }));
    return label;
  }));
}

/** Keeps the state in the address. */
function kept() {
  const { chain, axes, dtype, by, stage, others, column_major } = state;
  const kept = new URLSearchParams({ chain, shape: textOf(axes), dtype });
  if (by >= 0) kept.set("by", by);
  if (stage) kept.set("stage", stage);
  if (column_major) kept.set("order", "F");
  for (const [name, shape] of Object.entries(others)) kept.append("other", `${name}=${shape.join(",")}`);
  try {
    history.replaceState(null, "", `#${kept}`);
  } catch {
    // Browsers refuse too many changes in a row; the next one succeeds.
  }
  document.querySelectorAll("#presets button").forEach((button, which) => {
    const preset = PRESETS[which];
    button.setAttribute("aria-pressed", preset.chain === chain && preset.shape === textOf(axes));
  });
}

function fromAddress() {
  const kept = new URLSearchParams(location.hash.slice(1));
  if (!kept.has("chain")) return chosen(PRESETS[0]);
  const number = (name, otherwise) => (kept.has(name) ? Number.parseInt(kept.get(name), 10) || 0 : otherwise);
  state.chain = kept.get("chain");
  state.axes = axesOf(kept.get("shape"));
  state.dtype = kept.get("dtype") ?? "f32";
  state.by = number("by", -1);
  state.stage = Math.max(number("stage", 0), 0);
  state.column_major = kept.get("order") === "F";
  state.others = Object.fromEntries(kept.getAll("other").map((other) => other.split("=")).map(([name, shape = ""]) => [name, shape.split(",", MOST_AXES).map(Number).filter(Number.isSafeInteger)]));
}

function chosen({ chain, shape, by, dtype }) {
  Object.assign(state, { chain, axes: axesOf(shape), by, dtype, stage: 0, others: {}, column_major: false });
}

function presets() {
  const items = PRESETS.map((preset) => {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    const canvas = Object.assign(document.createElement("canvas"), { width: 144, height: 72 });
    canvas.setAttribute("aria-hidden", "true");
    button.append(canvas, Object.assign(document.createElement("span"), { textContent: preset.name }));
    button.addEventListener("click", () => {
      chosen(preset);
      at("opened").hidden = true;
      controls.shown();
      changed({ animated: true, isNewShape: true });
    });
    const item = document.createElement("li");
    item.append(button);
    return [item, canvas, preset];
  });
  at("presets").replaceChildren(...items.map(([item]) => item));
  const draw = () => items.forEach(([, canvas, preset]) => {
    thumbnail(canvas, ask(question({ ...preset, axes: axesOf(preset.shape), others: {}, column_major: false })), preset.by);
  });
  kept();
  (window.requestIdleCallback ?? setTimeout)(draw);
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = at("theme");
  const set = (isDark) => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    button.setAttribute("aria-pressed", isDark);
    if (answer) picture.draw(1);
  };
  dark.addEventListener("change", () => set(dark.matches));
  button.addEventListener("click", () => set(document.documentElement.dataset.theme !== "dark"));
  set(dark.matches);
}

function files() {
  const take = async (file) => {
    const tensor = await opened(file, at("opened"), (picked) => {
      const axes = picked.shape.map((size, axis) => ({ size, name: picked.names[axis] ?? "" }));
      Object.assign(state, { axes, dtype: picked.dtype, column_major: picked.column_major, others: {}, by: -1, stage: 0 });
      // A chain for another number of axes does not fit this file.
      if ("error" in ask(question())) state.chain = axes.length > 1 ? "transpose()" : "flip(axes=[0])";
      controls.shown();
      changed({ isNewShape: true });
    });
    return tensor;
  };
  at("open").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", (event) => { if (event.target.files[0]) take(event.target.files[0]); event.target.value = ""; });
  document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  document.addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}

theme();
fromAddress();
controls.shown();
try {
  await load();
  files();
  changed({ isNewShape: true });
  presets();
  window.addEventListener("hashchange", () => { fromAddress(); controls.shown(); changed({ isNewShape: true }); });
} catch (problem) {
  at("verdict").textContent = `The library cannot be loaded: ${problem.message}. Serve this folder by web/serve.`;
}
// For web/test.py.
window.trundlePage = { picture };
document.documentElement.dataset.ready = "";
