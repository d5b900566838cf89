// A dropped file: its tensors, or the graph of a model. It is read in this browser.

import { ask } from "./library.js";
import { readable } from "./track.js";

/** The bytes that are read from the start of a file, for its header. Of a model, up to four times as many are read. */
const MOST_BYTES = 64 << 20;
const MOST_TENSORS = 200;

function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Shows the content of a file, and calls `picked` with the first tensor, and with each tensor that the user chooses. */
export async function opened(file, place, picked) {
  const isModel = /\.onnx$/i.test(file.name);
  const bytes = new Uint8Array(await file.slice(0, isModel ? 4 * MOST_BYTES : MOST_BYTES).arrayBuffer());
  const answer = ask({ file: file.name, bytes: file.size }, bytes);
  const close = made("button", { type: "button", className: "quiet", textContent: "Close" });
  close.addEventListener("click", () => { place.hidden = true; });
  const bar = made("div", { className: "bar" }, made("h2", { textContent: file.name }), made("span", { className: "hint", textContent: readable(file.size) }), close);
  place.hidden = false;
  if ("error" in answer) {
    place.replaceChildren(bar, made("pre", { className: "wrong", textContent: answer.error }));
    return;
  }
  if (answer.format === "onnx") {
    place.replaceChildren(bar, ...model(answer));
    return;
  }
  const buttons = answer.tensors.slice(0, MOST_TENSORS).map((tensor, which) => {
    const order = tensor.column_major ? ", column-major" : "";
    const button = made("button", { type: "button" }, made("strong", { textContent: tensor.name }), made("span", { textContent: ` ${tensor.stored} [${tensor.shape.join(", ")}]${order} ${readable(tensor.bytes)}` }));
    button.addEventListener("click", () => {
      buttons.forEach((each, other) => each.setAttribute("aria-pressed", other === which));
      picked(tensor);
    });
    return button;
  });
  const left_out = answer.tensors.length - buttons.length;
  const notes = [...(left_out > 0 ? [`and ${left_out} more`] : []), ...answer.unreadable.slice(0, 20)];
  place.replaceChildren(bar, made("div", { className: "tensors" }, ...buttons), ...notes.map((text) => made("p", { className: "hint", textContent: text })));
  buttons[0]?.click();
}

function model({ listing, plan, nodes, parts, others }) {
  const text = (title, content) => [made("h3", { textContent: title }), made("pre", { textContent: content, tabIndex: 0 })];
  if (listing) return [...text("Graph", listing), ...text("Plan", plan)];
  const moving = parts.length ? parts.join("\n") : "no node only moves elements";
  return [...text(`Parts that only move elements, of ${nodes} nodes`, moving), ...text("Nodes that compute", others.join(", "))];
}
