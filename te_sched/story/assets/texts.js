// The texts of the page: one table of lines, packed, of which each text names its own.

/** The table and the texts of every step, or null where the browser cannot unpack them. */
async function unpackTexts() {
  if (!("DecompressionStream" in window)) return null;
  const packed = atob(document.getElementById("texts").textContent);
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

/** The lines of a text as HTML: its `runs` are [first, count, first, count, ...] of the table, its
 *  `numbers` for each line those of the compiled program. */
function linesOf(table, { runs, numbers = [] }) {
  const parts = [];
  for (let at = 0; at < runs.length; at += 2) {
    for (let index = runs[at]; index < runs[at] + runs[at + 1]; index += 1) {
      const stages = table.sets[table.of[index]];
      const lines = numbers[parts.length];
      const marks = (stages && ` data-s="${stages}"`) + (lines ? ` data-l="${lines}"` : "");
      parts.push(`<span class="l"${marks}>${table.lines[index]}</span>`);
    }
  }
  return parts.join("");
}

/** Add the texts of a step to its panes, once, and its figures. */
function fillTexts(page, table) {
  const figures = page.querySelector(".more .wide");
  if (figures?.childElementCount === 0) figures.innerHTML = table.figures[page.dataset.step];
  for (const text of table.texts[page.dataset.step] ?? []) {
    const group = page.querySelector(`.group[data-group="${text.group}"]`);
    if (group.querySelector(`[data-tab="${text.name}"]`) === null) {
      group.append(makePanel(page, text, linesOf(table, text)));
    }
  }
}

function makePanel(page, text, html) {
  const panel = document.createElement("section");
  panel.className = "panel";
  panel.dataset.tab = text.name;
  panel.dataset.title = text.title;
  const code = panel.appendChild(document.createElement("pre"));
  code.className = "scroll code";
  code.tabIndex = 0;
  code.setAttribute("role", "group");
  code.setAttribute("aria-label", `${text.title}, step ${page.dataset.step}`);
  code.innerHTML = html;
  if (text.note) {
    const note = panel.appendChild(document.createElement("p"));
    note.className = "note";
    note.textContent = text.note;
  }
  return panel;
}
