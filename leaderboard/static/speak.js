// Pages of records are many, so they are written once, in English. Here the words of another language are put in:
// whole texts of the interface, never what a model said, nor names and codes.

export async function speak() {
  const menu = document.querySelector(".speech");
  menu.hidden = false;
  const wanted = new URLSearchParams(location.search).get("lang");
  const choice = [...menu.querySelectorAll("a")].find((link) => link.hreflang === wanted);
  if (!choice || wanted === "en") return;
  const root = new URL(document.documentElement.dataset.root, location.href);
  const language = await fetch(new URL(`words/${wanted}.json`, root)).then((answer) => (answer.ok ? answer.json() : null), () => null);
  if (!language) return;
  const { words, name, dir } = language;
  Object.assign(document.documentElement, { lang: wanted, dir });
  for (const link of menu.querySelectorAll("a")) link.removeAttribute("aria-current");
  choice.setAttribute("aria-current", "true");
  menu.querySelector("summary").textContent = name;
  for (const name of ["copy", "view", "broken", "sideways"]) document.body.dataset[name] = said(document.body.dataset[name], words);
  texts(words);
  attributes(words);
  links(root, wanted);
}

// A text that is known is said otherwise; of "this: that", each half that is known.
function said(text, words) {
  const [, before, inner, after] = /^(\s*)([^]*?)(\s*)$/.exec(text);
  const known = (part) => (Object.hasOwn(words, part) ? words[part] : part);
  const whole = known(inner);
  return before + (whole === inner ? inner.split(": ").map(known).join(": ") : whole) + after;
}

function texts(words) {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.data.trim() && !node.parentElement.closest("bdi, code, [lang]:not(html)")) {
      const other = said(node.data, words);
      if (other !== node.data) node.data = other;
    }
  }
}

function attributes(words) {
  for (const name of ["aria-label", "placeholder", "data-rows", "data-row"])
    for (const element of document.querySelectorAll(`[${name}]`)) element.setAttribute(name, said(element.getAttribute(name), words));
}

// Other pages lie in the folder of their language; those of records are told it in their address.
function links(root, wanted) {
  for (const link of document.querySelectorAll("a[href]")) {
    const aim = new URL(link.href);
    if (link.closest(".speech") || aim.origin !== root.origin || !aim.pathname.startsWith(root.pathname)) continue;
    const path = aim.pathname.slice(root.pathname.length);
    if (!path.endsWith(".html") || aim.pathname === location.pathname) continue;
    if (/^runs(\/[^/]+){3}\.html$/.test(path)) aim.searchParams.set("lang", wanted);
    else aim.pathname = `${root.pathname}${wanted}/${path}`;
    link.href = aim;
  }
}
