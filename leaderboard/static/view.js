// The table as it stands, rows filtered and sorted and columns chosen, as a file; the columns are those of the whole.

const MISSING = ["—", ""];

export function save(board, kind) {
  const heads = [...board.querySelectorAll("thead th")].filter((head) => !head.hidden);
  const rows = [...board.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
  const records = rows.map((row) => Object.assign({}, ...heads.map((head) => read(row.cells[head.dataset.index], head))));
  const text = kind === "csv" ? csv(records, heads) : `${JSON.stringify(records, null, 1)}\n`;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }));
  link.download = `${board.dataset.board}.${kind}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

// An estimate is four columns, like in the files of whole tables; what is missing is null, never nought.
function columns(head) {
  const key = head.dataset.key;
  return ["k-stat", "k-heat"].some((kind) => head.classList.contains(kind)) ? ["", "_low", "_high", "_n"].map((end) => key + end) : [key];
}

function read(cell, head) {
  const names = columns(head);
  const number = (value) => (value === undefined ? null : Number(value));
  if (!("numeric" in head.dataset)) return { [names[0]]: words(cell) };
  const { value, low, high, n } = cell.dataset;
  return Object.fromEntries(names.map((name, index) => [name, number([value, low, high, n][index])]));
}

function words(cell) {
  const text = (cell.querySelector("bdi") ?? cell).textContent.replace(/\s+/g, " ").trim();
  return MISSING.includes(text) ? null : text;
}

function csv(records, heads) {
  const names = heads.flatMap(columns);
  const line = (values) => `${values.map(field).join(",")}\n`;
  return line(names) + records.map((record) => line(names.map((name) => record[name]))).join("");
}

// A spreadsheet must not take a name for a formula.
function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^\s*[=+\-@]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
