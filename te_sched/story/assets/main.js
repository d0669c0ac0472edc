// Starts the page when it has been read.

const narrow = matchMedia("(max-width: 50rem)");
if (narrow.matches) document.querySelector("nav details").open = false;

watchSteps();
watchStages();
showAddress();

unpackTexts().then((texts) => {
  if (texts === null) {
    announce("This browser cannot unpack the texts of the page; a newer one can.");
    return;
  }
  table = texts;
  fill(pages[current]);
  document.documentElement.classList.add("ready");
});

// Loops that are folded would be missing on paper.
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll(":is(nav, .nest) details")) details.open = true;
});
