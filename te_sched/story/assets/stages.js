// Cross-highlighting: elements carry the numbers of their stages in `data-s`, the first of which
// they compute. One style rule marks all elements of a stage, those made later too. Lines and
// rows of the loop nest carry in `data-l` the lines of the compiled program that they show or were
// generated from, and as p1, p2, ... those of the step's own program.

const about = document.getElementById("about");
const highlighted = document.head.appendChild(document.createElement("style"));
let shown = null; // the number of the stage that is highlighted, as text
let pinned = null; // and of the one that stays so
const related = document.head.appendChild(document.createElement("style"));
let pinnedLines = ""; // the numbers of the lines that stay highlighted

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
  const unchanged = ":not(ins, del)"; // the others keep the colors of a change
  return `${lines}[data-s~="${stage}"] { box-shadow: inset 1px 0 var(--own-edge); }
    ${lines}[data-s~="${stage}"]${unchanged} { background: var(--part); }
    ${lines}${own}, .chips ${own} { box-shadow: inset 4px 0 var(--own-edge); }
    ${lines}${own}${unchanged}, .chips ${own} { background: var(--own); }
    @media (forced-colors: active) { ${lines}${own} { outline: 1px solid Highlight; outline-offset: -1px; } }
    .page svg g${own} rect { fill: var(--own); stroke: var(--own-edge); stroke-width: 3; }`;
}

/** Highlight the lines and rows of the same statement, by what `data-l` has. */
function highlightLines(numbers) {
  const lines = numbers.split(" ").filter(Boolean).map((number) => `[data-l~="${number}"]`);
  related.textContent = lines.length === 0 ? "" : `.page.current :is(.l, .row):is(${lines}) {
    box-shadow: inset 4px 0 var(--accent); outline: 1px solid var(--accent); outline-offset: -1px; }
    .page.current :is(.l, .row):is(${lines}):not(ins, del) { background: var(--own); }`;
}

/** Highlight what was pointed at, or what is kept. */
function highlightAt(target) {
  const [stage, numbers] = [stageAt(target), linesAt(target)];
  highlight(stage ?? pinned);
  highlightLines(stage === null && !numbers ? pinnedLines : numbers);
}

/** Keep a stage highlighted, or stop highlighting it. */
function pin(stage) {
  pinned = pinned === stage ? null : stage;
  pinnedLines = "";
  for (const chip of document.querySelectorAll(".chips button")) {
    chip.setAttribute("aria-pressed", String(chip.dataset.s === pinned));
  }
  highlight(pinned);
  highlightLines(pinnedLines);
  announce(pinned === null ? "Nothing highlighted" : `${chipOf(pinned).textContent} highlighted: ${countsOf(pinned)}`);
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

/** In all panes but the one asked from, scroll to the first line of the same statement, or else to
 *  the first that the stage computes. */
function scrollToStage(stage, from) {
  const numbers = linesAt(from).split(" ").filter(Boolean);
  for (const pane of document.querySelectorAll(".page.current .scroll")) {
    if (pane.contains(from)) continue;
    const lines = [...pane.querySelectorAll(":is(.l, .row)[data-s]")].filter(
      (line) => line.offsetParent !== null && line.dataset.s.split(" ")[0] === stage,
    );
    const same = lines.find((line) => linesAt(line).split(" ").some((one) => numbers.includes(one)));
    if (lines.length === 0) continue;
    const gap = (same ?? lines[0]).getBoundingClientRect().top - pane.getBoundingClientRect().top;
    pane.scrollTop += gap - pane.clientHeight / 4;
  }
}

/** The stage of what was pointed at, or null. */
function stageAt(target) {
  const marked = target instanceof Element ? target.closest("[data-s]") : null;
  return marked === null ? null : marked.dataset.s.split(" ")[0];
}

/** The numbers of the lines of the compiled program of what was pointed at, as text. */
function linesAt(target) {
  return (target instanceof Element ? target.closest("[data-l]")?.dataset.l : null) ?? "";
}

function watchStages() {
  const root = document.body;
  root.addEventListener("pointerover", (event) => highlightAt(event.target));
  document.documentElement.addEventListener("pointerleave", () => highlightAt(null));
  root.addEventListener("focusin", (event) => highlightAt(event.target));
  root.addEventListener("click", (event) => {
    const stage = stageAt(event.target);
    const isButton = event.target.closest("button") !== null;
    const isByKey = event.detail === 0; // which folds a loop, and no more
    if (stage === null || (isByKey && !isButton) || getSelection().type === "Range") return;
    if (isButton || stage !== pinned) pin(stage);
    if (pinned !== stage) return;
    pinnedLines = linesAt(event.target);
    highlightLines(pinnedLines);
    scrollToStage(stage, event.target);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pinned !== null) pin(pinned);
  });
}
