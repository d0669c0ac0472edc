// One step at a time: buttons, arrow keys, links, and the address `#step-3`.

const pages = [...document.querySelectorAll("main > .page")];
const links = [...document.querySelectorAll("nav a")];
const last = pages.length - 1;
let current = -1;
let table = null; // of texts, once they are unpacked

/** Announce a text to screen readers. */
function announce(text) {
  document.getElementById("announce").textContent = text;
}

/** Show a page, with the panes scrolled as they were on the one before. */
function show(index) {
  if (index === current) return;
  const positions = current < 0 ? [] : scrollPositions(pages[current]);
  current = index;
  const page = pages[index];
  for (const one of pages) one.classList.toggle("current", one === page);
  markLink(links.findIndex((link) => link.hash === `#${page.id}`));
  setMove("previous", index > 0);
  setMove("next", index < last);
  document.getElementById("position").textContent = page.dataset.position;
  fill(page);
  for (const [place, top, left] of positions) {
    page.querySelector(place)?.scrollTo({ top, left, behavior: "instant" });
  }
  for (const chip of document.querySelectorAll(".chips button")) {
    chip.hidden = Number(chip.dataset.born) > Number(page.dataset.step ?? last);
  }
}

/** Mark the link of the page that is shown, and scroll the list to it where the list scrolls. */
function markLink(index) {
  for (const link of links) link.removeAttribute("aria-current");
  const link = links[index];
  link.setAttribute("aria-current", "step");
  const list = link.closest("nav");
  const [place, around] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  const below = place.bottom - Math.min(around.bottom, window.innerHeight);
  if (place.top < around.top) list.scrollTop -= around.top - place.top;
  else if (below > 0) list.scrollTop += Math.ceil(below);
}

function setMove(id, possible) {
  document.getElementById(id).setAttribute("aria-disabled", String(!possible));
}

function fill(page) {
  if (table !== null && page.dataset.step) fillTexts(page, table);
  for (const group of page.querySelectorAll(".group")) makeTabs(group);
}

/** Where the panes of a page stand: [selector, top, left]; of the hidden ones nothing is known. */
function scrollPositions(page) {
  const shown = page.querySelectorAll(".panel:not([hidden]) > .scroll, .nest, .changes > .scroll");
  return [...shown].map((pane) => {
    const parent = pane.parentElement;
    const around = parent.dataset.tab ? `[data-tab="${parent.dataset.tab}"]` : `.${parent.classList[1]}`;
    return [`${around} > .scroll`, pane.scrollTop, pane.scrollLeft];
  });
}

/** Go to a page: it becomes the address, and is read out. */
function go(index) {
  if (index < 0 || index > last || index === current) return;
  show(index);
  const page = pages[index];
  announce(`${page.dataset.position}: ${page.querySelector("h2").textContent}`);
  try {
    history.pushState(null, "", `${location.href.split("#")[0]}#${page.id}`);
  } catch {
    // a page inside of another one may have no address of its own
  }
}

/** Show what the address names: a page, or what is on one; without a name, the first page. */
function showAddress() {
  const name = location.hash.slice(1);
  const target = document.getElementById(name);
  const page = target?.closest(".page") ?? pages[name ? Math.max(current, 0) : 0];
  show(pages.indexOf(page));
  if (target === null || target === page || !page.contains(target)) return;
  for (const one of page.querySelectorAll(".asked")) one.classList.remove("asked");
  target.classList.add("asked");
  target.scrollIntoView({ block: "center" });
}

/** Whether a key pressed at an element means something else there than another step. */
function usesArrows(element) {
  const scroll = element.closest(".scroll, .picture, .wide");
  const scrolls = scroll !== null && scroll.scrollWidth > scroll.clientWidth + 1;
  return scrolls || element.closest("[role=tablist], input, textarea, select") !== null;
}

function watchSteps() {
  document.getElementById("previous").addEventListener("click", () => go(current - 1));
  document.getElementById("next").addEventListener("click", () => go(current + 1));
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.defaultPrevented || usesArrows(event.target)) return;
    event.preventDefault();
    go(current + step);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#step-'], nav a");
    const index = link ? pages.findIndex((page) => `#${page.id}` === link.hash) : -1;
    if (index < 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(index);
    pages[index].querySelector("h2").focus({ preventScroll: true });
    if (!links.includes(link)) window.scrollTo({ top: 0, behavior: "instant" });
  });
  window.addEventListener("hashchange", showAddress);
  window.addEventListener("popstate", showAddress);
}
