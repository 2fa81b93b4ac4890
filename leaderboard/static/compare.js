// Any two models, compared in the browser: which two stands in the address, what they answered in a file for each.

import { compare } from "./paired.js";

const MINUS = "\u2212";

export function start(form, enhance) {
  const place = form.closest("section");
  const words = place.querySelector("template").content;
  const said = (key) => words.querySelector(`[data-key="${key}"]`).textContent;
  const [status, result] = [place.querySelector(".found"), place.querySelector(".result")];
  const chosen = () => [form.elements.first.value, form.elements.second.value];
  const read = reader(form.dataset.compare);

  const asked = new URLSearchParams(location.search);
  for (const name of ["first", "second"]) {
    form.elements[name].value = asked.get(name) ?? "";
    if (form.elements[name].selectedIndex < 0) form.elements[name].value = "";
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", changed);
  form.elements.swap.addEventListener("click", () => {
    [form.elements.first.value, form.elements.second.value] = chosen().reverse();
    changed();
  });
  show();

  function changed() {
    const address = new URL(location.href);
    ["first", "second"].forEach((name, index) => {
      if (chosen()[index]) address.searchParams.set(name, chosen()[index]);
      else address.searchParams.delete(name);
    });
    history.replaceState(null, "", address);
    show();
  }

  async function show() {
    const [first, second] = chosen();
    result.replaceChildren();
    status.textContent = "";
    if (!first || !second || first === second) return;
    status.textContent = said("working");
    try {
      const [draw, ...both] = await Promise.all([read(""), read(first), read(second)]);
      // Let the page say that it is at work before it is.
      await new Promise((ready) => setTimeout(ready));
      // Somebody may have chosen others while these were on their way.
      if (chosen().join("\n") !== [first, second].join("\n")) return;
      const found = compare(...both, draw);
      status.textContent = found ? "" : said("apart");
      if (found) fill(found);
    } catch {
      status.textContent = said("unread");
    }
  }

  function fill(found) {
    const names = ["first", "second"].map((name) => form.elements[name].selectedOptions[0].textContent);
    const list = element("ul", { className: "words" });
    list.append(...found.filter((one) => one.place === null).map((one) => sentence(one, names)));
    const board = words.querySelector("[data-board]").cloneNode(true);
    const body = board.querySelector("tbody");
    const blank = new Map([...body.rows].map((row) => [row.dataset.metric, row]));
    const order = (one) => [one.place === null ? "" : one.place, one.metric];
    const sorted = [...found].sort((a, b) => (order(a) < order(b) ? -1 : 1));
    body.replaceChildren(...sorted.map((one) => row(one, blank.get(english(one.metric)).cloneNode(true))));
    result.replaceChildren(list, board);
    enhance(board);
  }

  function sentence(one, [first, second]) {
    const sure = one.adjusted !== null && one.adjusted < 0.05;
    const kind = one.value === null ? "nothing" : sure ? (one.value > 0 ? "higher" : "lower") : one.detectable === null ? "few" : "same";
    const points = kind === "same" ? one.detectable : Math.abs(one.value);
    const values = {
      number: said(one.metric),
      first: element("bdi", { textContent: first }),
      second: element("bdi", { textContent: second }),
      points: inPoints(points),
      count: one.pairs.toLocaleString("en"),
      seeds: one.seeds,
    };
    const item = element("li");
    item.append(...said(kind).split(/\{(\w+)\}/).map((part, index) => (index % 2 ? values[part] : part)));
    if (sure) item.append(" ", element("span", { className: "evidence", dir: "ltr", textContent: evidence(one) }));
    return item;
  }

  // Of each metric the rows are copies of one that the page brought, so that they look like all other tables.
  function row(one, made) {
    const [difference, p, pairs, detectable] = [...made.cells].slice(2);
    made.cells[0].replaceChildren(...(one.place === null ? [said("all")] : placeName(one.place)));
    if (one.value !== null) {
      difference.dataset.value = one.value;
      const n = element("small", { className: "n", textContent: `n\u00a0${grouped(one.pairs)}` });
      const parts = [element("span", { className: "value", textContent: written(one.value) }), " ", n];
      if (one.low !== null) parts.push(whisker(one), element("small", { textContent: `[${written(one.low)}, ${written(one.high)}]` }));
      else parts.push(element("small", { className: "few", textContent: said(one.reason) }));
      difference.replaceChildren(...parts);
    }
    number(p, one.adjusted, pNumber);
    number(pairs, one.pairs, grouped);
    number(detectable, one.detectable, written);
    return made;
  }

  function placeName(code) {
    const known = words.querySelector(`[data-place="${CSS.escape(code)}"]`);
    if (!known) return [element("bdi", { textContent: code })];
    const name = element("bdi", { textContent: known.dataset.named });
    if (known.textContent === known.dataset.named) return [name];
    const own = element("small", { className: `in-${code}` });
    own.append(element("bdi", { lang: code, dir: known.dir, textContent: known.textContent }));
    return [name, own];
  }

  function english(metric) {
    return words.querySelector(`[data-key="${metric}"]`).dataset.english;
  }
}

function reader(folder) {
  const kept = new Map();
  const load = async (name) => {
    const answer = await fetch(name ? `${folder}/${encodeURIComponent(name)}.json` : `${folder}.json`);
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  };
  return (name) => kept.get(name) ?? kept.set(name, load(name).catch((error) => (kept.delete(name), Promise.reject(error)))).get(name);
}

function element(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

function number(cell, value, shown) {
  if (value === null) return;
  cell.dataset.value = value;
  cell.replaceChildren(shown(value));
}

// Halves go to the even digit, as in the tables that Python wrote; only eighths, sixteenths and so on can be halves.
function fixed(value, digits) {
  const scaled = Math.abs(value) * 10 ** digits;
  const half = scaled % 1 === 0.5 && Number.isInteger(value * 2 ** (digits + 1));
  if (!half) return value.toFixed(digits);
  const even = 2 * Math.round(scaled / 2);
  return ((Math.sign(value) * even) / 10 ** digits).toFixed(digits);
}

const grouped = (value) => value.toLocaleString("en").replaceAll(",", "\u202f");
export const signed = (value) => `${value < 0 ? MINUS : "+"}${inPoints(Math.abs(value))}`;

// To one decimal, as rates are; to one figure where that would be nought.
function inPoints(size) {
  const points = size * 100;
  if (points === 0) return "0";
  if (points >= 0.1) return fixed(points, 1);
  return String(Number(fixed(points, -Math.floor(Math.log10(points)))));
}

function written(value) {
  const shown = fixed(value, 2);
  return shown === "-0.00" ? "0.00" : shown.replace("-", MINUS);
}

function pNumber(p) {
  if (p < 0.001) return "< .001";
  const shown = fixed(p, 3);
  return shown === "1.000" ? "1" : shown.slice(1);
}

function evidence(one) {
  const bounds = one.low === null ? "" : `95 %: [${signed(one.low)}, ${signed(one.high)}]; `;
  const p = pNumber(one.adjusted);
  return `(${bounds}p ${p.startsWith("<") ? p : `= ${p}`})`;
}

function whisker({ value, low, high }) {
  const draw = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, given] of Object.entries(attributes)) made.setAttribute(name, given);
    made.append(...children);
    return made;
  };
  const x = (share) => 2 + (76 * (Math.min(Math.max(share, -1), 1) + 1)) / 2;
  return draw(
    "svg",
    { class: "whisker", viewBox: "0 0 80 8", "aria-hidden": "true" },
    draw("line", { x1: 2, x2: 78, y1: 4, y2: 4, class: "w-axis" }),
    draw("line", { x1: x(low), x2: x(high), y1: 4, y2: 4, class: "w-range" }),
    draw("circle", { cx: x(value), cy: 4, r: 2.6, class: "w-dot" }),
  );
}
