"use strict";
// What a copy button takes of a session is what one would type: without prompts, and without what was answered.
(() => {
  const START = { ">>> ": ["...", ">>>"], "$ ": [] };
  const typed = (text) => {
    const lines = text.split("\n");
    const start = Object.keys(START).find((prompt) => lines.some((line) => line.startsWith(prompt)));
    if (!start) return null;
    const kept = [];
    let inside = false;
    for (const line of lines) {
      const further = START[start].find((prompt) => line === prompt || line.startsWith(`${prompt} `));
      if (line.startsWith(start)) {
        inside = true;
        kept.push(line.slice(start.length));
      } else if (inside && further) {
        kept.push(line.slice(further.length + 1));
      } else {
        inside = false;
      }
    }
    return kept.join("\n");
  };
  // Before the theme's own listener, which takes this text where there is one.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-clipboard-target]");
    const code = button && document.querySelector(button.dataset.clipboardTarget);
    const text = code && typed(code.innerText);
    if (text) button.dataset.clipboardText = text;
  }, true);
})();
