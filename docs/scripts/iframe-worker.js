"use strict";
// Opened from disk, a page may not start a worker, and the search is one. A frame takes its place there: it loads the
// same script, and copies of messages are handed over as calls, later, as a worker's are. (The name tells Zensical that it need not fetch such a script.)
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      const hand = (data, to) => setTimeout((copy) => to.onmessage?.({ data: copy }), 0, structuredClone(data));
      const waiting = [];
      this.onmessage = null;
      this.onerror = null;
      this.postMessage = (data) => waiting.push(structuredClone(data));
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      const script = document.createElement("script");
      script.src = new URL(address, location.href).href;
      this.frame.srcdoc = script.outerHTML;
      this.frame.addEventListener("load", () => {
        const inside = this.frame.contentWindow;
        inside.postMessage = (data) => hand(data, this);
        this.postMessage = (data) => hand(data, inside);
        waiting.forEach(this.postMessage);
      });
      document.body.append(this.frame);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
