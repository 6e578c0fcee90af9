// SPDX-License-Identifier: Apache-2.0
// The list without a click: it follows what is typed, goes on while results are being read, and keeps ticks
// over pages. Without this script the same is there by buttons and links.
"use strict";
(() => {
  const filters = document.getElementById("filters");
  const KEY = "linewatt-ticked";
  const AGAIN_MS = 1000;
  const TYPED_MS = 180;
  let asked = 0;
  let waiting;

  const list = () => document.getElementById("list");
  const ticked = () => new Set(JSON.parse(sessionStorage.getItem(KEY) || "[]"));
  const keep = (ids) => sessionStorage.setItem(KEY, JSON.stringify([...ids]));

  function url() {
    const given = new URLSearchParams(new FormData(filters));
    for (const [name, value] of [...given]) if (!value) given.delete(name);
    const query = given.toString();
    return query ? `/?${query}` : "/";
  }

  async function show(where) {
    const mine = ++asked;
    let text;
    try {
      text = await (await fetch(where, { headers: { accept: "text/html" } })).text();
    } catch {
      return; // the server has ended: what is shown stays
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.getElementById("list");
    if (mine !== asked || !fresh) return;
    const held = document.activeElement;
    const name = list().contains(held) ? held.value || held.getAttribute("href") : null;
    const left = list().querySelector(".scroll")?.scrollLeft ?? 0;
    if (!fillIn(fresh)) {
      list().replaceWith(fresh);
      const table = fresh.querySelector(".scroll");
      if (table) table.scrollLeft = left;
    }
    if (name && !list().contains(document.activeElement)) [...list().querySelectorAll("a, input, button")].find((one) => (one.value || one.getAttribute("href")) === name)?.focus({ preventScroll: true });
    prepare();
  }

  // The same results, some read since: only their rows change, so that the scroll position stays
  function fillIn(fresh) {
    const rows = (from) => [...from.querySelectorAll("tbody tr")];
    const idOf = (row) => row.querySelector("input")?.value ?? row.textContent;
    const shown = rows(list()), read = rows(fresh);
    const links = (from) => [...from.querySelectorAll("thead a, .pager a")].map((link) => link.href).join(" ");
    if (!shown.length || links(list()) !== links(fresh)) return false;
    if (shown.length !== read.length || shown.some((row, at) => idOf(row) !== idOf(read[at]))) return false;
    shown.forEach((row, at) => { if (row.outerHTML !== read[at].outerHTML) row.replaceWith(read[at]); });
    for (const part of [".state", ".absent"]) list().querySelector(part).replaceWith(fresh.querySelector(part));
    list().dataset.unread = fresh.dataset.unread;
    return true;
  }

  function tell() {
    const ids = ticked();
    const words = ids.size < 2 ? (ids.size ? "One is ticked: tick another." : "Tick two or more.") : `${ids.size} are ticked.`;
    const said = document.getElementById("ticked");
    if (!said) return;
    said.textContent = words;
    if (!ids.size) return;
    const none = document.createElement("button");
    none.type = "button";
    none.textContent = "Untick all";
    none.addEventListener("click", () => { keep([]); prepare(); list().querySelector("button").focus(); });
    said.append(" ", none);
  }

  function prepare() {
    const ids = ticked();
    for (const box of list().querySelectorAll("input[type=checkbox]")) {
      box.checked = ids.has(box.value);
      box.onchange = () => {
        const now = ticked();
        if (box.checked) now.add(box.value); else now.delete(box.value);
        keep(now);
        tell();
      };
    }
    list().onsubmit = () => {
      const here = new Set([...list().querySelectorAll("input[type=checkbox]")].map((box) => box.value));
      for (const id of ticked()) {
        if (here.has(id)) continue;
        const other = document.createElement("input");
        other.type = "hidden";
        other.name = "id";
        other.value = id;
        list().append(other);
      }
    };
    tell();
    clearTimeout(waiting);
    if (Number(list().dataset.unread)) waiting = setTimeout(() => show(location.href), AGAIN_MS);
  }

  function follow() {
    clearTimeout(follow.timer);
    follow.timer = setTimeout(() => { history.replaceState(null, "", url()); show(url()); }, TYPED_MS);
  }

  filters.addEventListener("input", follow);
  window.addEventListener("pageshow", prepare);
})();
