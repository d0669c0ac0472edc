// Tabs as the WAI-ARIA pattern has them: one stop for the Tab key, arrows between them.

const chosenTabs = new Map(); // by group: the name of the tab last chosen, kept from step to step

/** Make tabs of the panels of a group, where there are several. */
function makeTabs(group) {
  const panels = [...group.querySelectorAll(":scope > .panel")];
  const names = panels.map((panel) => panel.dataset.tab);
  if (panels.length > 1 && group.querySelector("[role=tablist]") === null) {
    const list = document.createElement("div");
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-labelledby", group.previousElementSibling.id);
    for (const panel of panels) list.append(makeTab(group, panel));
    list.addEventListener("keydown", (event) => moveInTabs(event, list));
    group.prepend(list);
  }
  const chosen = chosenTabs.get(group.dataset.group);
  chooseTab(group, names.includes(chosen) ? chosen : names[0]);
}

function makeTab(group, panel) {
  const tab = document.createElement("button");
  const name = panel.dataset.tab;
  panel.id = `${group.id}-${name}`;
  tab.id = `${panel.id}-tab`;
  tab.type = "button";
  tab.textContent = panel.dataset.title;
  tab.dataset.name = name;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", panel.id);
  tab.addEventListener("click", () => {
    chosenTabs.set(group.dataset.group, name);
    chooseTab(group, name);
  });
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", tab.id);
  return tab;
}

function chooseTab(group, name) {
  for (const tab of group.querySelectorAll("[role=tab]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.name === name));
    tab.tabIndex = tab.dataset.name === name ? 0 : -1;
  }
  for (const panel of group.querySelectorAll(":scope > .panel")) {
    panel.hidden = panel.dataset.tab !== name;
  }
}

function moveInTabs(event, list) {
  const tabs = [...list.children];
  const at = tabs.indexOf(document.activeElement);
  const to = {
    ArrowRight: (at + 1) % tabs.length,
    ArrowLeft: (at + tabs.length - 1) % tabs.length,
    Home: 0,
    End: tabs.length - 1,
  }[event.key];
  if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  tabs[to].focus();
  tabs[to].click();
}
