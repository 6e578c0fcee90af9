// SPDX-License-Identifier: Apache-2.0
// Keeps the page of a running campaign up to date. All words come from the server; clocks and the chart are ours.
"use strict";
(() => {
  const root = document.getElementById("live");
  const at = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 640, HEIGHT = 180, LEFT = 92, BOTTOM = 26, TOP = 10, RIGHT = 8;
  const MOST_ROWS = 50, HIDDEN_MS = 10000, SILENT_MS = 5000, FEWEST_S = 1;
  const UP_TO_DATE = "Kept up to date.";
  let stream = null, over = false, hiding = null;
  let clock = null;  // what head said last, and when
  let isLast = false;  // whether the values shown are those of the last trial
  let toldAt = null;  // when it was told last what is now, if that is shown
  let points = [], span = 300, scale = { top_bps: null, top: "", half: "" };

  const write = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };
  const show = (id, yes) => { at(id).hidden = !yes; };
  const make = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  function duration(seconds) {
    const s = Math.max(0, Math.round(seconds)), two = (n) => String(n).padStart(2, "0");
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
    const minutes = Math.round(s / 60);
    if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
    const hours = Math.round(s / 3600);
    return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
  }

  function tick() {
    if (!clock || over) return;
    if (toldAt !== null && performance.now() - toldAt > SILENT_MS) {  // what was told then is not of now
      showNow(null);
      write("connection", "The run has told nothing for a while.");
    }
    const since = (performance.now() - clock.at) / 1000, head = clock.head;
    if (head.elapsed_s !== null) write("elapsed", duration(head.elapsed_s + since));
    const left = head.left_s === null ? -1 : head.left_s - since;
    if (isLast) draw();
    write("left", left < 0 ? "–" : (head.at_most ? "at most " : "") + duration(left));
  }

  function showHead(head) {
    clock = { head, at: performance.now() };
    at("ratio").value = head.ratio === null ? 0 : head.ratio;
    write("progress", head.progress || "not begun");
    write("what", head.what);
    write("stopping", head.stopping || "");
    show("stopping", Boolean(head.stopping));
    at("problems").replaceChildren(...head.problems.map((one) => make("li", one)));
    show("problems", head.problems.length > 0);
    if ((head.stopping || head.over) && at("stop")) takeAwayStop();
    tick();
  }

  function wattsOf(one, before) {
    const made = document.createDocumentFragment();
    made.append(`${before}${one.watts} ${one.scope}`);
    if (one.mark) made.append(" ", make("span", one.mark, "unmeasured"));
    return made;
  }

  function cell(name, text, className, scope) {
    const made = make(name, text, className);
    if (scope) made.scope = scope;
    return made;
  }

  function showNow(now) {
    isLast = Boolean(now && now.last);
    toldAt = now && !isLast ? performance.now() : null;
    at("now").classList.toggle("last", isLast);
    show("last", isLast);
    write("last", isLast ? `No current values; these are from the ${now.last}.` : "");
    write("cpu-title", isLast ? `CPU over one second of the ${now.last}` : "CPU over the last second");
    write("throughput", now ? now.throughput : "–");
    write("users", now && now.users ? now.users : "");
    show("cpu-table", Boolean(now && now.cpu.length));
    show("power-title", Boolean(now && now.watts.length));
    at("cpu").replaceChildren(...(now ? now.cpu : []).map((one) => {
      const row = make("tr");
      row.append(cell("th", one.host, "text", "row"), cell("td", one.role, "text"),
        cell("td", one.cpu), cell("td", one.app), cell("td", one.irq));
      return row;
    }));
    if (now && now.more) {
      const row = make("tr"), rest = cell("td", `and ${now.more} more hosts`, "text");
      rest.colSpan = 5;
      row.append(rest);
      at("cpu").append(row);
    }
    at("watts").replaceChildren(...(now ? now.watts : []).map((one) => {
      const item = make("li");
      item.append(wattsOf(one, `${one.host}: `));
      return item;
    }));
  }

  function rowOf(told) {
    const row = make("tr", null, told.findings.length ? "flagged" : "");
    const rate = cell("td", told.failed ? null : told.throughput);
    if (told.failed) rate.append(make("span", "failed", "failed"));
    else if (told.lost) rate.append(make("i", told.lost));
    const cpu = cell("td", told.failed ? told.reason : null, "text");
    if (!told.failed) cpu.append(...told.cpu.map((one) => make("i", one)));
    const power = cell("td", null, "text");
    for (const one of told.watts) {
      const line = make("i");
      line.append(wattsOf(one, `${one.host}: `));
      power.append(line);
    }
    row.append(cell("th", String(told.number), "", "row"), cell("td", told.case, "text"), rate, cpu, power,
      cell("td", told.findings.join(", "), "text"));
    return row;
  }

  function showFindings(found) {
    at("findings").replaceChildren(...found.map((one) => {
      const item = make("li");
      item.append(make("strong", one.title), `: ${one.text}`);
      return item;
    }));
    show("no-findings", found.length === 0);
  }

  function draw() {
    const now = performance.now();
    points = points.filter((one) => now - one.at <= 1000 * span);
    const shown_s = points.length ? Math.max(FEWEST_S, (now - points[0].at) / 1000) : span;
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    const add = (name, attributes, text) => {
      const made = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text) made.textContent = text;
      svg.append(made);
    };
    const right = WIDTH - RIGHT, low = HEIGHT - BOTTOM, middle = (TOP + low) / 2;
    add("rect", { class: "frame", x: LEFT, y: TOP, width: right - LEFT, height: low - TOP });
    add("line", { class: "grid", x1: LEFT, x2: right, y1: middle, y2: middle });
    add("text", { x: LEFT, y: HEIGHT - 6 }, `${duration(shown_s)} ago`);
    add("text", { x: right, y: HEIGHT - 6, "text-anchor": "end" }, "now");
    if (scale.top_bps) {
      add("text", { x: LEFT - 6, y: TOP + 10, "text-anchor": "end" }, scale.top);
      add("text", { x: LEFT - 6, y: middle + 4, "text-anchor": "end" }, scale.half);
      add("text", { x: LEFT - 6, y: low, "text-anchor": "end" }, "0");
      let path = "", before = null;
      for (const one of points) {
        if (one.bps === null) { before = null; continue; }
        const x = right - (now - one.at) / 1000 / shown_s * (right - LEFT);
        const y = low - Math.min(1, one.bps / scale.top_bps) * (low - TOP);
        const goesOn = before !== null && one.at - before < 5000;  // a gap is a gap
        path += `${goesOn ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
        if (!goesOn) path += "h0.1";
        before = one.at;
      }
      if (path) add("path", { class: "course", d: path });
      const last = points.findLast((one) => one.bps !== null);
      if (isLast && last) {  // no load since: not a measured course
        const x = right - (now - last.at) / 1000 / shown_s * (right - LEFT);
        const y = low - Math.min(1, last.bps / scale.top_bps) * (low - TOP);
        add("path", { class: "last", d: `M${x.toFixed(1)} ${y.toFixed(1)}H${right}` });
      }
    }
    at("chart").replaceChildren(svg);
  }

  function change(told) {
    write("connection", UP_TO_DATE);
    showHead(told.head);
    showNow(told.now);
    if (told.point) {
      points.push({ at: performance.now(), bps: told.point.bps });
      scale = told.point;
    }
    if (told.point || isLast) draw();
    if (told.row) {
      at("rows").prepend(rowOf(told.row));
      while (at("rows").rows.length > MOST_ROWS) at("rows").lastElementChild.remove();
      write("chart-said", told.chart_said);
    }
    if (told.findings) showFindings(told.findings);
    if (told.said) write("outcome", told.said);
  }

  function whole(told) {
    showHead(told.head);
    showNow(told.now);
    showFindings(told.findings);
    at("rows").replaceChildren(...told.rows.map(rowOf).reverse());
    const now = performance.now();
    span = told.chart.seconds;
    points = told.chart.points.map(([ago, bps]) => ({ at: now - 1000 * ago, bps }));
    scale = told.chart;
    write("chart-said", told.chart.said);
    draw();
    write("connection", UP_TO_DATE);
  }

  function takeAwayStop() {
    const dialog = at("stop-dialog");
    if (dialog.open) dialog.close();
    at("stop").remove();
  }

  function closed(told) {
    over = true;
    disconnect();
    write("connection", "");
    write("what", "");
    write("closed-text", told.text);
    at("closed").classList.add(told.good ? "fine" : "caveat");
    const link = at("closed-result");
    if (told.result) { link.href = told.result; link.hidden = false; }
    show("closed", true);
    show("stopping", false);
    showNow(null);
    write("left", "–");
    if (at("stop")) takeAwayStop();
    write("outcome", told.text);
  }

  function disconnect() {
    if (stream) stream.close();
    stream = null;
  }

  function connect() {
    if (stream || over) return;
    stream = new EventSource(root.dataset.events);
    const on = (name, take) => stream.addEventListener(name, (event) => take(JSON.parse(event.data)));
    on("whole", whole);
    on("change", change);
    on("closed", closed);
    on("refused", (told) => { disconnect(); write("connection", told.text); });
    stream.addEventListener("error", () => {
      if (stream && stream.readyState === EventSource.CLOSED) {
        disconnect();
        write("connection", "The server does not answer; load this page again.");
      } else if (stream) {
        write("connection", "The connection was lost; trying again …");
      }
    });
  }

  // A browser opens six connections to a server at most: pages that nobody sees keep none.
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(disconnect, HIDDEN_MS);
    else connect();
  });
  const ask = at("stop-ask");
  if (ask) {
    const dialog = at("stop-dialog");
    ask.setAttribute("role", "button");
    ask.setAttribute("aria-haspopup", "dialog");
    ask.addEventListener("click", (event) => { event.preventDefault(); dialog.showModal(); });
    ask.addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); dialog.showModal(); }
    });
    at("stop-not").addEventListener("click", () => dialog.close());
    const form = dialog.querySelector("form");
    form.addEventListener("submit", async (event) => {  // without leaving the page that tells how it ends
      event.preventDefault();
      dialog.close();
      try {
        const body = new URLSearchParams(new FormData(form));
        const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
        if (answer.type !== "opaqueredirect" && !over) form.submit();
      } catch {
        write("connection", "The server does not answer; load this page again.");
      }
    });
  }
  setInterval(tick, 1000);
  draw();
  connect();
})();
