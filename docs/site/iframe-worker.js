// Browsers start no Web Worker on a page that was opened from a file, and the search of the site is one.
// There, a hidden frame runs the worker's script in place of a thread.
"use strict";

class FrameWorker extends EventTarget {
  #frame = document.createElement("iframe");
  #loaded;

  constructor(url) {
    super();
    this.onmessage = this.onerror = null;
    this.#loaded = new Promise((resolve) => this.#frame.addEventListener("load", resolve));
    this.#frame.hidden = true;
    const address = new URL(url, location.href).href;
    // Its first script asks for the functions that the worker's own script expects.
    FrameWorker.waiting.push((scope) => this.#equip(scope));
    this.#frame.srcdoc = `<body><script>parent.equipWorker(self)</script>
      <script src="${address}"></script></body>`;
    document.body.append(this.#frame);
  }

  #equip(scope) {
    scope.postMessage = (data) => {
      const copy = structuredClone(data); // of this page, as one from a thread would be
      setTimeout(() => this.#tell("message", new MessageEvent("message", { data: copy })));
    };
    scope.importScripts = (...urls) =>
      urls.reduce((before, url) => before.then(() => addScript(scope.document, url)), Promise.resolve());
    scope.addEventListener("error", ({ message, error }) =>
      this.#tell("error", new ErrorEvent("error", { message, error })),
    );
  }

  #tell(type, event) {
    this.dispatchEvent(event);
    this[`on${type}`]?.(event);
  }

  postMessage(data) {
    const copy = structuredClone(data);
    this.#loaded.then(() => {
      const scope = this.#frame.contentWindow;
      scope?.dispatchEvent(new scope.MessageEvent("message", { data: copy }));
    });
  }

  terminate() {
    this.#frame.remove();
  }

  static waiting = [];
}

function addScript(page, url) {
  return new Promise((resolve, reject) => {
    const script = page.createElement("script");
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    script.src = url;
    page.body.append(script);
  });
}

if (location.protocol === "file:") {
  // Called by the first script of each frame, in the order in which the frames were made.
  window.equipWorker = (scope) => FrameWorker.waiting.shift()(scope);
  window.Worker = FrameWorker;
}
