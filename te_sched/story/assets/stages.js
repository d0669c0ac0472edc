// Cross-highlighting: elements carry the numbers of their stages in `data-s`, the first of which
// they compute. One style rule marks all elements of a stage, those made later too.

const about = document.getElementById("about");
const highlighted = document.head.appendChild(document.createElement("style"));
let shown = null; // the number of the stage that is highlighted, as text
let pinned = null; // and of the one that stays so

/** Highlight a stage, or none. */
function highlight(stage) {
  if (stage === shown) return;
  shown = stage;
  highlighted.textContent = stage === null ? "" : ruleOf(stage);
  const chip = stage === null ? null : chipOf(stage);
  about.hidden = chip === null;
  if (chip === null) return;
  const name = Object.assign(document.createElement("b"), { textContent: chip.textContent });
  about.replaceChildren(name, ` ${chip.dataset.about}`);
}

function ruleOf(stage) {
  const own = `:is([data-s="${stage}"], [data-s^="${stage} "])`;
  const lines = ":is(.l, .row)";
  const unchanged = ":not(ins, del)"; // the others keep the colours of a change
  return `${lines}[data-s~="${stage}"] { box-shadow: inset 1px 0 var(--own-edge); }
    ${lines}[data-s~="${stage}"]${unchanged} { background: var(--part); }
    ${lines}${own}, .chips ${own} { box-shadow: inset 4px 0 var(--own-edge); }
    ${lines}${own}${unchanged}, .chips ${own} { background: var(--own); }
    @media (forced-colors: active) { ${lines}${own} { outline: 1px solid Highlight; outline-offset: -1px; } }
    .page svg g${own} rect { fill: var(--own); stroke: var(--own-edge); stroke-width: 3; }`;
}

/** Keep a stage highlighted, or let go of the one that is. */
function pin(stage) {
  pinned = pinned === stage ? null : stage;
  for (const chip of document.querySelectorAll(".chips button")) {
    chip.setAttribute("aria-pressed", String(chip.dataset.s === pinned));
  }
  highlight(pinned);
  announce(pinned === null ? "No stage highlighted" : `${chipOf(pinned).textContent} highlighted: ${countsOf(pinned)}`);
}

function chipOf(stage) {
  return document.querySelector(`.chips [data-s="${stage}"]`);
}

/** How many lines of a stage each pane of the current step shows. */
function countsOf(stage) {
  const panes = [...document.querySelectorAll(".page.current .pane")];
  const counts = panes.map((pane) => {
    const all = [...pane.querySelectorAll(`:is(.l, .row)[data-s~="${stage}"]`)];
    const count = all.filter((one) => one.offsetParent !== null).length;
    return count ? `${count} in ${pane.querySelector("h3").textContent}` : "";
  });
  return counts.filter(Boolean).join(", ") || "nothing in this step";
}

/** In all panes but the one asked from, scroll to the first line that a stage computes. */
function scrollToStage(stage, from) {
  for (const pane of document.querySelectorAll(".page.current .scroll")) {
    if (pane.contains(from)) continue;
    const lines = [...pane.querySelectorAll(":is(.l, .row)[data-s]")].filter(
      (line) => line.offsetParent !== null && line.dataset.s.split(" ")[0] === stage,
    );
    if (lines.length === 0) continue;
    const gap = lines[0].getBoundingClientRect().top - pane.getBoundingClientRect().top;
    pane.scrollTop += gap - pane.clientHeight / 4;
  }
}

/** The stage of what was pointed at, or null. */
function stageAt(target) {
  const marked = target instanceof Element ? target.closest("[data-s]") : null;
  return marked === null ? null : marked.dataset.s.split(" ")[0];
}

function watchStages() {
  const root = document.body;
  root.addEventListener("pointerover", (event) => highlight(stageAt(event.target) ?? pinned));
  document.documentElement.addEventListener("pointerleave", () => highlight(pinned));
  root.addEventListener("focusin", (event) => highlight(stageAt(event.target) ?? pinned));
  root.addEventListener("click", (event) => {
    const stage = stageAt(event.target);
    const isButton = event.target.closest("button") !== null;
    const isByKey = event.detail === 0; // which folds a loop, and no more
    if (stage === null || (isByKey && !isButton) || getSelection().type === "Range") return;
    if (isButton || stage !== pinned) pin(stage);
    if (pinned === stage) scrollToStage(stage, event.target);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pinned !== null) pin(pinned);
  });
}
