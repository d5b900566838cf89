// The plan, and the chain in other languages, to copy.

const at = (id) => document.getElementById(id);

export class Texts {
  constructor() {
    this.language = "Python";
    document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(at(button.dataset.copies).textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(at(button.dataset.copies));
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    }));
    at("languages").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const tabs = [...at("languages").children];
      const next = tabs[(tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true") + step + tabs.length) % tabs.length];
      this.show(next.textContent);
      next.focus();
    });
  }

  update({ plan, snippets }) {
    at("plan").replaceChildren(...plan.split("\n").flatMap((line) => [coloured(line), "\n"]));
    this.snippets = Object.fromEntries(Object.entries(snippets).filter(([, text]) => text));
    const names = Object.keys(this.snippets);
    const shown = [...at("languages").children].map((tab) => tab.textContent);
    if (shown.join() !== names.join()) {
      at("languages").replaceChildren(...names.map((name) => {
        const tab = Object.assign(document.createElement("button"), { type: "button", role: "tab", textContent: name, id: `tab-${name}` });
        tab.setAttribute("aria-controls", "code");
        tab.addEventListener("click", () => this.show(name));
        return tab;
      }));
    }
    this.show(names.includes(this.language) ? this.language : names[0]);
  }

  show(language) {
    this.language = language;
    for (const tab of at("languages").children) {
      const isShown = tab.textContent === language;
      tab.setAttribute("aria-selected", isShown);
      tab.tabIndex = isShown ? 0 : -1;
    }
    at("code").setAttribute("aria-labelledby", `tab-${language}`);
    at("code").textContent = this.snippets[language];
  }
}

/** A line of the plan; titles stand out. */
function coloured(line) {
  const isTitle = /^(\S.*over memory|pass \d+.*|index map|move|plan|\d+ moves?, .*|from .*)$/.test(line);
  if (!isTitle) return line;
  return Object.assign(document.createElement("b"), { textContent: line });
}
