// The fields that a user edits: the chain, the axes, the element type, lengths and indices, and shapes of other tensors.

const at = (id) => document.getElementById(id);
const TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64"];
const NUMBERS = /\b(lengths|indices)\s*=\s*\[([-\d\s,]*)\]/g;

function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

export class Controls {
  /** `changed(isNewShape)` is called after each change of `state`. */
  constructor(state, changed) {
    this.state = state;
    this.changed = changed;
    this.chain = at("chain");
    at("dtype").append(...TYPES.map((type) => new Option(type)));
    at("dtype").addEventListener("change", (event) => { state.dtype = event.target.value; changed(); });
    this.chain.addEventListener("input", () => {
      // A chain is one line, however it is pasted.
      state.chain = this.chain.value.replaceAll("\n", " ");
      changed();
    });
    this.chain.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    this.chain.addEventListener("scroll", () => { at("marks").scrollTop = this.chain.scrollTop; });
    at("question").addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows the state in all fields. */
  shown() {
    const { state } = this;
    this.chain.value = state.chain;
    if (![...at("dtype").options].some((option) => option.value === state.dtype)) at("dtype").append(new Option(state.dtype));
    at("dtype").value = state.dtype;
    this.axes();
    this.lists = null;
  }

  axes() {
    const { state } = this;
    const chips = state.axes.map((axis, which) => {
      const name = made("input", { value: axis.name, size: Math.max(axis.name.length, 1), placeholder: "–", spellcheck: false, autocapitalize: "off", className: "name" });
      name.setAttribute("aria-label", `Name of axis ${which}`);
      name.addEventListener("input", () => { axis.name = name.value.trim(); name.size = Math.max(name.value.length, 1); this.changed(); });
      const size = made("input", { type: "number", min: 0, value: axis.size, inputMode: "numeric", className: "size" });
      size.setAttribute("aria-label", `Size of axis ${which}`);
      size.addEventListener("input", () => {
        const number = Number.parseInt(size.value, 10);
        if (Number.isSafeInteger(number) && number >= 0) { axis.size = number; this.changed(); }
      });
      const remove = made("button", { type: "button", textContent: "×", className: "remove" });
      remove.setAttribute("aria-label", `Remove axis ${which}`);
      remove.addEventListener("click", () => { state.axes.splice(which, 1); this.axes(); this.changed(); });
      return made("span", { className: "axis" }, name, size, remove);
    });
    const add = made("button", { type: "button", textContent: "+", className: "add" });
    add.setAttribute("aria-label", "Add an axis");
    add.addEventListener("click", () => { state.axes.push({ name: "", size: 2 }); this.axes(); this.changed(); });
    at("axes").replaceChildren(...chips, add);
  }

  /** Shows the library's answer for the state. */
  update(answer) {
    this.numbers();
    this.others(answer);
    this.marks(answer.span);
    const verdict = at("verdict");
    this.chain.setAttribute("aria-invalid", "error" in answer);
    verdict.classList.toggle("wrong", "error" in answer);
    if ("error" in answer) {
      // The message wraps; the chain and the carets below it do not.
      const [message, ...lines] = answer.error.split("\n");
      verdict.replaceChildren(made("p", { textContent: message }), made("pre", { textContent: lines.join("\n") }));
      return;
    }
    const bracketed = (shape) => `[${shape.join(", ")}]`;
    const shape = `${answer.inputs.map((input) => bracketed(input.shape)).join(", ")} → ${bracketed(answer.stages.at(-1)?.shape ?? [])}`;
    const counted = (count, thing, plural) => `${count} ${count === 1 ? thing : plural}`;
    const made_of = `${counted(answer.stages.length, "stage", "stages")}, ${counted(answer.passes, "pass", "passes")} over memory`;
    verdict.replaceChildren(made("p", {}, made("strong", { textContent: shape }), ` ${made_of}`));
    if (answer.spelled) verdict.append(made("p", { className: "spelled" }, "the chain: ", made("code", { textContent: answer.spelled })));
  }

  /** Underlines the mistake in the chain. */
  marks(span) {
    const text = this.chain.value;
    if (!span) return at("marks").replaceChildren();
    const [start, end] = [span[0], Math.max(span[1], span[0] + 1)];
    at("marks").replaceChildren(text.slice(0, start), made("mark", { textContent: text.slice(start, end) || " " }), text.slice(end));
    at("marks").scrollTop = this.chain.scrollTop;
  }

  /** Shows a field for each length or index of the chain. */
  numbers() {
    const lists = [...this.state.chain.matchAll(NUMBERS)].map(([all, name, text]) => ({ name, numbers: text.split(",").map((part) => part.trim()).filter(Boolean), all })).filter(({ numbers }) => numbers.length > 0 && numbers.length <= 64);
    const kind = lists.map(({ name, numbers }) => `${name}${numbers.length}`).join();
    const place = at("numbers");
    place.hidden = lists.length === 0;
    if (kind === this.lists) {
      const fields = place.querySelectorAll("input");
      lists.flatMap(({ numbers }) => numbers).forEach((number, which) => { if (fields[which] !== document.activeElement) fields[which].value = number; });
      return;
    }
    this.lists = kind;
    place.replaceChildren(...lists.map(({ name, numbers }, which) => {
      const fields = numbers.map((number, entry) => {
        const field = made("input", { type: "number", value: number, inputMode: "numeric" });
        field.setAttribute("aria-label", `${name} ${entry}`);
        field.addEventListener("input", () => this.edited(which, entry, field.value));
        return field;
      });
      return made("fieldset", {}, made("legend", { textContent: name }), ...fields);
    }));
  }

  edited(list, entry, value) {
    if (!/^-?\d+$/.test(value)) return;
    let which = -1;
    this.state.chain = this.state.chain.replaceAll(NUMBERS, (all, name, text) => {
      if (++which !== list) return all;
      const numbers = text.split(",").map((part) => part.trim());
      numbers[entry] = value;
      return `${name}=[${numbers.join(", ")}]`;
    });
    this.chain.value = this.state.chain;
    this.changed();
  }

  /** Asks for the shape of each other tensor that the chain names. */
  others(answer) {
    const inputs = (answer.inputs ?? []).map((input) => input.name ?? input);
    const names = inputs.slice(inputs[0] === "x" ? 1 : 0);
    const place = at("others");
    place.hidden = names.length === 0;
    if (names.join() === this.named) return;
    this.named = names.join();
    place.replaceChildren(...names.map((name) => {
      const shape = this.state.others[name] ?? this.state.axes.map((axis) => axis.size);
      const field = made("input", { value: shape.join(", "), size: 12, inputMode: "numeric" });
      field.addEventListener("input", () => {
        const sizes = field.value.split(",").map((size) => Number.parseInt(size, 10));
        if (sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) { this.state.others[name] = sizes; this.changed(); }
      });
      return made("label", {}, `Shape of ${name} `, field);
    }));
  }
}
