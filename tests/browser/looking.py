"""Inspection of a page in a browser: contrasts, highlighted texts."""

from __future__ import annotations

# The contrast of all visible texts, as [contrast, text], the least first; of long listings only the
# beginning.
_CONTRASTS = """() => {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
    return {r, g, b, a};
  };
  const over = (top, under) => {
    const mix = (x, y) => x * top.a + y * (1 - top.a);
    return {r: mix(top.r, under.r), g: mix(top.g, under.g), b: mix(top.b, under.b), a: 1};
  };
  const light = ({r, g, b}) => {
    const part = (x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const canvas = parse(getComputedStyle(document.body).backgroundColor);
  const known = new Map([[document.body, {ground: canvas, opacity: 1}]]);
  const around = (element) => {
    if (!known.has(element)) {
      const {ground, opacity} = around(element.parentElement);
      const style = getComputedStyle(element);
      const own = parse(style.backgroundColor);
      known.set(element, {ground: over(own, ground), opacity: opacity * style.opacity});
    }
    return known.get(element);
  };
  const shown = (element) =>
    !element.closest("script, style, title, .announce, .l:nth-child(n + 40)")
    && element.checkVisibility({visibilityProperty: true});
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !shown(element)) continue;
    const style = getComputedStyle(element);
    const color = parse(element instanceof SVGElement ? style.fill : style.color);
    const {ground, opacity} = around(element);
    const seen = over({...color, a: color.a * opacity}, ground);
    const [low, high] = [light(seen), light(ground)].sort((x, y) => x - y);
    found.push([(high + 0.05) / (low + 0.05), text.slice(0, 40)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""


def contrasts(page, below=22.0):
    """The texts with less contrast, as [contrast, text]; WCAG AA requires 4.5."""
    return [one for one in page.evaluate(_CONTRASTS) if one[0] < below]


def marked(page, pane):
    """The highlighted texts of a pane."""
    return page.locator(f".current {pane} :is(.l, .row)").evaluate_all(
        "all => all.filter(it => getComputedStyle(it).boxShadow !== 'none')"
        ".map(it => it.textContent.trim())"
    )
