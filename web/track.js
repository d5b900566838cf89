// The slider through the stages, and the bytes of each: stage by stage, and all at once.

const at = (id) => document.getElementById(id);

function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Formats a size for people. */
export function readable(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) [bytes, unit] = [bytes / 1024, unit + 1];
  return `${unit === 0 ? bytes : bytes.toPrecision(bytes < 100 ? 2 : 3).replace(/\.0$/, "")} ${bytes === 1 && unit === 0 ? "byte" : units[unit]}`;
}

export class Track {
  /** `chose(stage)` is called when the user chooses a stage; 0 is the whole chain at once. */
  constructor(chose) {
    this.chose = chose;
    this.slider = at("stage");
    this.slider.addEventListener("input", () => { this.stop(); chose(this.at(Number(this.slider.value))); });
    at("play").addEventListener("click", () => (this.timer ? this.stop() : this.play()));
  }

  /** The last place of the slider is the whole chain. */
  at(place) {
    return place > this.stages.length ? 0 : place;
  }

  update({ stages, passes, bytes }) {
    this.stop();
    this.stages = stages;
    this.slider.max = stages.length + 1;
    const moving = stages.filter((stage) => !stage.copies);
    const most = Math.max(2 * moving.reduce((sum, stage) => sum + stage.bytes, 0), 2 * bytes, 1);
    const block = (stage, text, size, title) => {
      const button = made("button", { type: "button", title, className: size ? "block" : "block free" }, made("span", { textContent: text }));
      if (size) button.style.flexBasis = `${(100 * size) / most}%`;
      button.dataset.stage = stage;
      button.addEventListener("click", () => { this.stop(); this.chose(stage); });
      return button;
    };
    const each = stages.map((stage, which) => {
      const size = stage.copies ? 0 : 2 * stage.bytes;
      return block(which + 1, stage.text, size, `${stage.text}: ${size ? `${readable(size)} read and written` : "moves no bytes"}`);
    });
    const isStill = moving.length === 0;
    const fused = block(0, isStill ? "a copy" : passes === 1 ? "one pass" : `${passes} passes`, 2 * bytes, `the whole chain: ${readable(2 * bytes)} read and written`);
    fused.classList.add("fused");
    const total = 2 * moving.reduce((sum, stage) => sum + stage.bytes, 0);
    at("lanes").replaceChildren(
      made("div", { className: "lane" }, made("span", { className: "title", textContent: "stage by stage" }), made("div", { className: "blocks" }, ...each), made("span", { className: "bytes", textContent: readable(total) })),
      made("div", { className: "lane" }, made("span", { className: "title", textContent: "fused" }), made("div", { className: "blocks" }, fused), made("span", { className: "bytes", textContent: readable(2 * bytes) })),
    );
    const counted = (count) => `${count} ${count === 1 ? "pass" : "passes"}`;
    at("saving").replaceChildren(made("strong", { textContent: `${counted(moving.length)} → ${passes}` }), ` ${readable(total)} → ${readable(2 * bytes)} read and written`);
  }

  choose(stage) {
    this.slider.value = stage || this.stages.length + 1;
    const text = stage ? `after stage ${stage} of ${this.stages.length}: ${this.stages[stage - 1].text}` : "fused: the whole chain at once";
    this.slider.setAttribute("aria-valuetext", text);
    for (const block of at("lanes").querySelectorAll(".block")) {
      const own = Number(block.dataset.stage);
      block.classList.toggle("chosen", own === stage);
      block.classList.toggle("done", stage !== 0 && own !== 0 && own <= stage);
      block.setAttribute("aria-pressed", own === stage);
    }
  }

  play() {
    let place = 1;
    at("play").lastChild.textContent = " Stop";
    const next = () => {
      this.chose(this.at(place));
      place++;
      if (place > this.stages.length + 1) return this.stop();
      this.timer = setTimeout(next, 1200);
    };
    next();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    at("play").lastChild.textContent = " Play";
  }
}
