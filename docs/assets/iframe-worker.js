// The search runs in a worker, and browsers start no worker for a page that is opened from the disk. On such pages this
// class stands in for it: the worker's script runs in a hidden frame of the page.
"use strict";

class DiskWorker extends EventTarget {
  constructor(url) {
    super();
    this.onmessage = null;
    this.onerror = null;
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    inside.postMessage = (data) => this.answer(data);
    this.loaded = new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${script.src} cannot be loaded`));
      inside.document.body.append(script);
    });
    this.loaded.catch((error) => this.onerror?.(new ErrorEvent("error", { error, message: error.message })));
  }

  answer(data) {
    const event = new MessageEvent("message", { data: structuredClone(data) });
    this.dispatchEvent(event);
    this.onmessage?.(event);
  }

  postMessage(data) {
    const inside = this.frame.contentWindow;
    this.loaded.then(
      () => inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) })),
      () => {}, // the constructor tells of it
    );
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = DiskWorker;
