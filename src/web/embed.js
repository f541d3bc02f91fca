// <megatron-memory config="#v1;m=llama3-8b@1" view="bar" theme="auto" fields="tp,pp" readonly height="240">
//   what shows without scripts, and until the calculator is there: a picture, a link
// </megatron-memory>
(() => {
  if (customElements.get("megatron-memory")) return;
  const own = document.currentScript ?? document.querySelector('script[src*="embed.js"]');
  const home = new URL("./", own?.src || location.href);
  const dark = ["dark", "slate", "coal", "navy", "ayu"];
  const light = ["light", "default", "rust"];

  // What the page around says about its colors; "auto" leaves it to the reader's system.
  const surroundings = () => {
    for (const { className, dataset } of [document.documentElement, document.body]) {
      const words = [dataset.theme, dataset.bsTheme, dataset.mdColorScheme, ...className.split(/\s+/)];
      if (words.some((word) => dark.includes(word))) return "dark";
      if (words.some((word) => light.includes(word))) return "light";
    }
    return "auto";
  };

  const near = new IntersectionObserver(
    (entries) => entries.forEach(({ isIntersecting, target }) => isIntersecting && target.open()),
    { rootMargin: "400px" },
  );

  class MegatronMemory extends HTMLElement {
    static observedAttributes = ["config", "theme", "view", "fields", "readonly", "src", "isolated"];

    connectedCallback() {
      if (getComputedStyle(this).display === "inline") this.style.display = "block";
      near.observe(this);
    }

    disconnectedCallback() {
      near.unobserve(this);
      this.close();
    }

    attributeChangedCallback(name, before, now) {
      if (!this.frame || before === now) return;
      if (name === "config") this.post("setConfig", { hash: this.hash });
      else if (name === "theme") this.sync();
      else this.close(), this.open();
    }

    get hash() {
      return (this.getAttribute("config") ?? "").replace(/^[^#]*#?/, "#");
    }

    get theme() {
      const theme = this.getAttribute("theme") ?? "auto";
      return theme === "auto" ? surroundings() : theme;
    }

    // Asks for a "change" event with the current result.
    getResult() {
      this.post("getResult");
    }

    open() {
      near.unobserve(this);
      if (this.frame) return;
      const url = new URL("embed.html", new URL(this.getAttribute("src") ?? "", home));
      url.searchParams.set("view", this.getAttribute("view") ?? "compact");
      if (this.hasAttribute("fields")) url.searchParams.set("fields", this.getAttribute("fields"));
      if (this.hasAttribute("readonly")) url.searchParams.set("readonly", "1");
      url.searchParams.set("theme", this.theme);
      url.hash = this.hash;

      const frame = (this.frame = document.createElement("iframe"));
      frame.title = this.getAttribute("label") ?? "GPU memory of a Megatron training job";
      frame.referrerPolicy = "no-referrer";
      frame.allow = "clipboard-write";
      frame.sandbox = "allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads";
      // Frames of no origin work as well, but browsers keep no cache for them: each would load everything for itself.
      const isolated = this.hasAttribute("isolated");
      if (!isolated) frame.sandbox.add("allow-same-origin");
      this.target = isolated ? "*" : url.origin;
      frame.style.cssText = "display:block;width:100%;border:0;height:0";
      frame.src = url;

      const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
      root.replaceChildren(frame, this.placeholder());
      this.listening = new AbortController();
      addEventListener("message", (event) => this.take(event), { signal: this.listening.signal });
      this.watch = new MutationObserver(() => this.sync());
      for (const node of [document.documentElement, document.body]) this.watch.observe(node, { attributes: true });
      // Before that the frame is an empty page of another origin. Its script, which listens, is there by then.
      frame.onload = () => {
        this.loaded = true;
        this.post("init", { hash: this.hash, theme: (this.shown = this.theme), locale: document.documentElement.lang });
      };
    }

    // What shows until the calculator is there: the children, or, without any, the picture of a preset, which its host has.
    placeholder() {
      const slot = document.createElement("slot");
      const preset = /^#v1;m=([a-z0-9.-]+)(@\d+)?$/.exec(this.hash)?.[1];
      if (preset && !this.hasChildNodes()) {
        const picture = new Image();
        picture.onerror = () => picture.remove();
        picture.alt = this.getAttribute("label") ?? "";
        picture.style.cssText = "display:block;width:100%";
        picture.src = new URL(`pictures/${preset}.svg`, new URL(this.getAttribute("src") ?? "", home));
        slot.append(picture);
      }
      return slot;
    }

    close() {
      this.listening?.abort();
      this.watch?.disconnect();
      this.frame = this.loaded = undefined;
      this.shadowRoot?.replaceChildren(document.createElement("slot"));
    }

    post(type, content) {
      if (this.loaded) this.frame.contentWindow?.postMessage({ mm: 1, type, ...content }, this.target);
    }

    sync() {
      if (this.theme !== this.shown) this.post("setTheme", { theme: (this.shown = this.theme) });
    }

    take({ source, data }) {
      if (source !== this.frame?.contentWindow || data?.mm !== 1) return;
      const { type, height, hash, totals, message } = data;
      if (type === "ready") {
        this.shadowRoot.querySelector("slot")?.remove();
        if (this.frame.style.height === "0px") this.frame.style.height = `${parseInt(this.getAttribute("height")) || 240}px`;
      } else if (type === "resize" && Number.isFinite(height)) {
        // Once a frame at most, whatever comes in.
        this.painting ??= requestAnimationFrame(() => {
          this.painting = undefined;
          if (this.frame) this.frame.style.height = `${Math.min(Math.max(this.wanted, 120), 4000)}px`;
        });
        this.wanted = height;
      } else if (type === "change" && typeof hash === "string") {
        this.dispatchEvent(new CustomEvent("change", { detail: { hash, totals } }));
      } else if (type === "error") {
        this.close();
        this.dispatchEvent(new CustomEvent("error", { detail: String(message) }));
      }
    }
  }
  customElements.define("megatron-memory", MegatronMemory);
})();
