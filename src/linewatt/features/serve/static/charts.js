// SPDX-License-Identifier: Apache-2.0
// Charts that answer. A figure is the report's static SVG until a reader points at it or moves to it by key;
// then the same specification is drawn by Vega-Lite in its place: values where one points, a trial's findings
// and page, a part of the time. Without this script every figure and table is there as in the report.
"use strict";
(() => {
  const bundle = document.currentScript.dataset.bundle;
  const about = JSON.parse(document.querySelector(".about-trials")?.textContent || "null");
  let loading;

  function library() {
    loading ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.type = "module";
      script.src = bundle;
      script.onload = () => done(globalThis.linewattCharts);
      script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  }

  // What stands at a point ------------------------------------------------------------------------------

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);

  function line(text, kind) {
    const one = document.createElement("div");
    if (kind) one.className = kind;
    one.textContent = text;
    tip.append(one);
  }

  function trialOf(datum) {
    const said = datum?.trial;
    if (typeof said === "number") return said;
    const match = /^trial (\d+)/.exec(said || "");
    return match ? Number(match[1]) : null;
  }

  const leads = (datum) => Boolean(datum?.result) || trialOf(datum) !== null;

  const number = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });

  function tell(datum, values, x, y) {
    const trial = trialOf(datum);
    tip.replaceChildren();
    if (datum.result) line(datum.result, "lead");
    else if (trial !== null) line(`Trial ${trial}`, "lead");
    else if (datum.kind === "mean" && Number.isFinite(datum.high)) line("Mean of the trials", "lead");
    if (datum.doubtful) line("Doubtful: findings concern it", "warn");
    for (const [name, value] of Object.entries(values || {})) {
      if (!(trial !== null && name === "Trial") && value !== "") line(`${name}: ${value}`);
    }
    if (Number.isFinite(datum.change)) line(`95 % CI: ${number(datum.low)} to ${number(datum.high)}`);
    else if (datum.part && datum.kind === undefined && datum.text) line(datum.text);
    if (datum.kind === "mean" && Number.isFinite(datum.high)) line(`SD: ± ${number(datum.high - datum.value)}`);
    if (Number.isFinite(datum.least)) line(`Least and greatest: ${number(datum.least)} to ${number(datum.greatest)}`);
    const findings = (about && trial !== null && about.findings[trial]) || [];
    if (findings.length) line(`Findings: ${findings.join(", ")}`, "warn");
    const others = trial === null ? [] : beneath(x, y).filter((one) => one !== trial);
    if (others.length) line(`At the same place: trial${others.length > 1 ? "s" : ""} ${others.join(", ")}`);
    const theirs = [...new Set(others.flatMap((one) => about?.findings[one] || []))];
    if (theirs.length) line(`Findings there: ${theirs.join(", ")}`, "warn");
    if (about && trial !== null) line("Click or Enter: its figures and raw files", "hint");
    if (datum.result) line("Click or Enter: the result", "hint");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 14, innerWidth - box.width - 8);
    const top = y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  }

  // Trials whose points lie at a place: alike ones cover each other, and keys lead to each
  function beneath(x, y) {
    const trials = document.elementsFromPoint(x, y).map((one) => trialOf(itemOf(one)?.datum));
    return [...new Set(trials.filter((one) => one !== null))].sort((a, b) => a - b);
  }

  const hide = () => { tip.hidden = true; };

  function visit(datum) {
    const trial = trialOf(datum);
    if (datum?.result) location.assign(`/results/${encodeURIComponent(datum.result)}`);
    else if (about && trial !== null) location.assign(about.trials + trial);
  }

  // One figure ------------------------------------------------------------------------------------------

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.holder = figure.querySelector(".scroll");
      this.spec = JSON.parse(figure.querySelector("script.spec").textContent);
      this.span = this.spec.usermeta?.span;
      this.shown = null;
      this.at = -1;
      const wake = () => this.wake();
      this.holder.addEventListener("pointerenter", wake, { once: true });
      this.holder.addEventListener("focus", wake, { once: true });
      this.holder.addEventListener("keydown", (event) => this.key(event));
      this.holder.addEventListener("blur", hide);
      this.holder.addEventListener("pointerleave", hide);
      if (this.span) this.controls();
    }

    wake() {
      this.awake ??= this.draw(this.spec);
      return this.awake;
    }

    async draw(spec) {
      try {
        const embed = await library();
        const place = document.createElement("div");
        const before = this.holder.querySelector("svg");
        await embed(place, structuredClone(spec), {
          ast: true, renderer: "svg", actions: false, defaultStyle: false, mode: "vega-lite", logLevel: 1,
          tooltip: (_, event, item, value) => {
            if (value === null || value === undefined || value === "") hide();
            else tell(item.datum, value, event.clientX, event.clientY);
          },
        });
        const svg = place.querySelector("svg");
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", this.figure.querySelector("h3").textContent);
        svg.setAttribute("font-family", "sans-serif");
        before.replaceWith(svg);
        this.figure.dataset.live = "";
        this.at = -1;
        svg.addEventListener("click", (event) => {
          const item = itemOf(event.target);
          if (item?.tooltip && !this.dragged) visit(item.datum);
        });
        if (this.span) this.brush(svg);
      } catch (error) {
        console.error("linewatt: the chart stays as it is:", error);
      }
    }

    // By keys: from trial to trial, Enter opens one
    points() {
      const every = [...this.holder.querySelectorAll("path")].filter((one) => leads(itemOf(one)?.datum) && itemOf(one).mark.marktype === "symbol");
      const place = (one) => one.getBoundingClientRect();
      return every.sort((a, b) => place(a).x - place(b).x || (trialOf(itemOf(a).datum) ?? 0) - (trialOf(itemOf(b).datum) ?? 0));
    }

    async key(event) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.target !== this.holder) return;
      if (event.key === "Escape") { this.at = -1; hide(); return; }
      if (event.key !== "Enter" && !step) return;
      await this.wake();
      const points = this.points();
      if (!points.length) return;
      if (event.key === "Enter") { if (this.at >= 0) visit(itemOf(points[this.at]).datum); return; }
      event.preventDefault();
      this.at = Math.min(points.length - 1, Math.max(0, this.at + step));
      const item = itemOf(points[this.at]);
      const box = points[this.at].getBoundingClientRect();
      tell(item.datum, item.tooltip, box.x + box.width / 2, box.y + box.height / 2);
    }

    // A part of the time: by dragging over it, or by its two ends as numbers
    controls() {
      const form = document.createElement("form");
      form.className = "span";
      const field = (name, value) => {
        const label = document.createElement("label");
        const input = document.createElement("input");
        Object.assign(input, { type: "number", step: "any", value: Number(value.toPrecision(4)), name });
        label.append(`${name} `, input);
        form.append(label);
        return input;
      };
      const button = (text, kind) => {
        const one = document.createElement("button");
        Object.assign(one, { type: kind, textContent: text });
        form.append(one);
        return one;
      };
      this.from = field("From", this.span[0]);
      this.to = field("to", this.span[1]);
      button("Show", "submit");
      button("All of it", "button").addEventListener("click", () => this.zoom(...this.span));
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.zoom(Number(this.from.value), Number(this.to.value));
      });
      this.holder.after(form);
    }

    async zoom(from, to) {
      const low = Math.max(this.span[0], Math.min(from, to));
      const high = Math.min(this.span[1], Math.max(from, to));
      if (!(high > low)) return;
      this.shown = [low, high];
      this.from.value = Number(low.toPrecision(4));
      this.to.value = Number(high.toPrecision(4));
      await this.wake();
      const whole = low === this.span[0] && high === this.span[1];
      await this.draw(whole ? this.spec : part(structuredClone(this.spec), [low, high]));
    }

    brush(svg) {
      svg.addEventListener("pointerdown", (event) => {
        const panel = panelAt(svg, event.clientX, event.clientY);
        if (!panel || event.button !== 0) return;
        event.preventDefault();
        const shade = document.createElement("div");
        shade.className = "brush";
        document.body.append(shade);
        const begin = event.clientX;
        this.dragged = false;
        const ends = (now) => [begin, now].map((x) => Math.min(panel.right, Math.max(panel.left, x))).sort((a, b) => a - b);
        const drag = (one) => {
          const [left, right] = ends(one.clientX);
          Object.assign(shade.style, { left: `${left}px`, width: `${right - left}px`, top: `${panel.top}px`, height: `${panel.height}px` });
        };
        const stop = (one) => {
          removeEventListener("pointermove", drag);
          removeEventListener("pointerup", stop);
          removeEventListener("pointercancel", stop);
          shade.remove();
          const [left, right] = ends(one.clientX);
          if (one.type !== "pointerup" || right - left < 5) return;
          this.dragged = true; // the click that follows opens nothing
          const [low, high] = this.shown || this.span;
          const at = (x) => low + ((x - panel.left) / panel.width) * (high - low);
          this.zoom(at(left), at(right));
        };
        addEventListener("pointermove", drag);
        addEventListener("pointerup", stop);
        addEventListener("pointercancel", stop);
      });
      svg.addEventListener("dblclick", () => this.zoom(...this.span));
    }
  }

  const itemOf = (element) => {
    const item = element?.__data__;
    return Array.isArray(item) ? item[0] : item;
  };

  // The panel that a place is in: the smallest ground of a group there
  function panelAt(svg, x, y) {
    const boxes = [...svg.querySelectorAll("path.background")].map((one) => one.getBoundingClientRect());
    const inside = boxes.filter((box) => box.width > 20 && box.height > 20 && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom);
    return inside.sort((a, b) => a.width * a.height - b.width * b.height)[0];
  }

  // The specification with another domain along x; names at the ends of lines become a legend
  function part(view, domain) {
    if (Array.isArray(view)) return view.filter((one) => !isText(one)).map((one) => part(one, domain));
    if (view === null || typeof view !== "object") return view;
    for (const [name, value] of Object.entries(view)) {
      if (name !== "data" && name !== "transform") view[name] = part(value, domain);
    }
    if (view.encoding?.x?.scale?.domain) view.encoding.x.scale.domain = domain;
    for (const channel of ["color", "strokeDash", "shape"]) {
      const one = view.encoding?.[channel];
      if (one?.field && one.legend === null) one.legend = { title: null };
    }
    if (view.mark) view.mark = { ...(typeof view.mark === "string" ? { type: view.mark } : view.mark), clip: true };
    return view;
  }

  const isText = (view) => view?.mark?.type === "text" || view?.mark?.x2Offset !== undefined;

  const charts = [...document.querySelectorAll("figure")].filter((one) => one.querySelector("script.spec"));
  for (const figure of charts) new Chart(figure);
  if (charts.length) (window.requestIdleCallback || setTimeout)(() => library().catch(() => undefined));
})();
