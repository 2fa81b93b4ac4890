// Sorting and filtering of tables that are already there. State lives in the address, so that a view can be shared.

// Before anything is looked at, since filters and searches go by the words that stand there.
if ("root" in document.documentElement.dataset) await (await import("./speak.js")).speak();

const boards = [...document.querySelectorAll("[data-board]")].filter((board) => board.querySelector("tbody"));
for (const board of boards) enhance(board);

const pick = document.querySelector("[data-compare]");
if (pick) (await import("./compare.js")).start(pick, enhance);

function enhance(board) {
  const parameters = new URLSearchParams(location.search);
  const prefix = board === boards[0] ? "" : `${board.dataset.board}.`;
  const body = board.querySelector("tbody");
  const original = [...body.rows];
  const texts = new Map(original.map((row) => [row, textOf(row)]));
  const heads = [...board.querySelectorAll("thead th")];
  const form = board.querySelector("form");
  const hidden = new Set((parameters.get(`${prefix}hide`) ?? "").split(",").filter(Boolean));
  const state = { sort: parameters.get(`${prefix}sort`) ?? "", dir: parameters.get(`${prefix}dir`) ?? "" };

  heads.forEach((head, index) => {
    const title = head.querySelector("span");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...title.childNodes);
    title.replaceWith(button);
    button.addEventListener("click", () => {
      state.dir = state.sort === head.dataset.key ? turned(state.dir) : first(head);
      state.sort = state.dir ? head.dataset.key : "";
      sort();
      remember();
    });
    head.dataset.index = index;
  });

  if (form) {
    chooser(form.querySelector(".choose"));
    for (const field of form.elements) {
      if (field.name) field.value = parameters.get(prefix + field.name) ?? "";
      // A choice that this table does not have leaves the field blank and everything hidden; better to show all.
      if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = "";
    }
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      filter();
      remember();
    });
    filter();
  }
  sort();
  files();
  sideways();

  // What is shown, as a file; written when somebody asks for it.
  function files() {
    const place = board.querySelector(".downloads") ?? board.querySelector(".tools").appendChild(document.createElement("p"));
    place.className = "downloads";
    place.append(place.hasChildNodes() ? " · " : "", `${document.body.dataset.view}:`);
    for (const kind of ["csv", "json"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind.toUpperCase();
      button.addEventListener("click", async () => (await import("./view.js")).save(board, kind));
      place.append(" ", button);
    }
  }

  // Columns are told by their key, so that a shared address survives new ones; the first column always stays.
  function chooser(place) {
    if (!place) return;
    if (heads.length < 4) return void place.remove();
    heads.slice(1).forEach((head) => {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = !hidden.has(head.dataset.key);
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(head.dataset.key);
        else hidden.add(head.dataset.key);
        columns();
        remember();
      });
      label.append(box, ` ${head.querySelector("button").textContent}`);
      place.querySelector("div").append(label);
    });
    columns();
  }

  function columns() {
    for (const head of heads) head.hidden = hidden.has(head.dataset.key);
    for (const row of original) for (const head of heads) row.cells[head.dataset.index].hidden = head.hidden;
  }

  function first(head) {
    return "numeric" in head.dataset ? "desc" : "asc";
  }

  function turned(direction) {
    return direction === "desc" ? "asc" : "desc";
  }

  function sort() {
    const head = heads.find((candidate) => candidate.dataset.key === state.sort);
    for (const other of heads) other.removeAttribute("aria-sort");
    if (!head) return void body.append(...original);
    if (state.dir !== "asc" && state.dir !== "desc") state.dir = first(head);
    head.setAttribute("aria-sort", state.dir === "asc" ? "ascending" : "descending");
    const sign = state.dir === "asc" ? 1 : -1;
    const numeric = "numeric" in head.dataset;
    const keyed = original.map((row, place) => ({ row, place, key: keyOf(row.cells[head.dataset.index], numeric) }));
    keyed.sort((a, b) => {
      // Blanks stay last whichever way the rest is turned.
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      const order = numeric ? a.key - b.key : a.key.localeCompare(b.key, "en", { numeric: true });
      return sign * order || a.place - b.place;
    });
    body.append(...keyed.map(({ row }) => row));
  }

  function textOf(row) {
    return row.textContent.replace(/\s+/g, " ").trim();
  }

  function keyOf(cell, numeric) {
    if (numeric) return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    const text = (cell.querySelector("bdi") ?? cell).textContent.trim();
    return text === "" || text === "—" ? null : text;
  }

  function filter() {
    const field = form.elements.q;
    const matches = matcher(field);
    let shown = 0;
    for (const row of original) {
      const chosen = [...form.querySelectorAll("select")].every(
        (select) => !select.value || row.dataset[select.name] === select.value,
      );
      row.hidden = !(chosen && matches(texts.get(row)));
      shown += !row.hidden;
    }
    const output = form.querySelector("output");
    const rows = original.length === 1 ? output.dataset.row : output.dataset.rows;
    output.textContent = shown === original.length ? `${shown} ${rows}` : `${shown} / ${original.length} ${rows}`;
  }

  function matcher(field) {
    const wanted = field.value.trim();
    field.removeAttribute("aria-invalid");
    broken(field, "");
    const pattern = /^\/(.+?)\/?$/.exec(wanted);
    if (!pattern) return (text) => text.toLowerCase().includes(wanted.toLowerCase());
    try {
      const expression = new RegExp(pattern[1], "i");
      return (text) => expression.test(text);
    } catch {
      field.setAttribute("aria-invalid", "true");
      broken(field, document.body.dataset.broken);
      return () => true;
    }
  }

  // Beside the field, since nothing else tells a pattern that cannot be read from one that all rows match.
  function broken(field, text) {
    const place = field.parentElement.querySelector(".broken") ?? field.parentElement.appendChild(document.createElement("span"));
    place.className = "broken";
    place.setAttribute("role", "status");
    place.textContent = text;
  }

  // Phones hide the bar by which a table is moved sideways; said in words while there is more than is seen.
  function sideways() {
    const scroll = board.querySelector(".scroll");
    const words = document.createElement("p");
    words.className = "sideways";
    words.textContent = `⇄ ${document.body.dataset.sideways}`;
    scroll.before(words);
    new ResizeObserver(() => (words.hidden = scroll.scrollWidth <= scroll.clientWidth)).observe(scroll.firstElementChild);
  }

  function remember() {
    const address = new URL(location.href);
    const put = (key, value) => (value ? address.searchParams.set(prefix + key, value) : address.searchParams.delete(prefix + key));
    put("sort", state.sort);
    put("dir", state.sort && state.dir);
    put("hide", heads.map((head) => head.dataset.key).filter((key) => hidden.has(key)).join(","));
    if (form) for (const field of form.elements) if (field.name) put(field.name, field.value.trim());
    history.replaceState(null, "", address);
  }
}

// Commands are there to be copied; where the browser does not let a page write to the clipboard, no button appears.
if (navigator.clipboard) {
  for (const command of document.querySelectorAll("pre.command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "⧉";
    button.setAttribute("aria-label", document.body.dataset.copy);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.textContent.trim());
      button.textContent = "✓";
    });
    command.before(button);
  }
}
