"""Colors of views."""

import pytest

from te_sched.views.theme import _COLORS, colors


@pytest.mark.parametrize("name", _COLORS)
def test_colors_can_be_read(name):
    if name == "line":  # no text
        return
    for color, page in zip(_COLORS[name], ("#ffffff", "#1e1e1e"), strict=True):
        light, dark = sorted((luminance(color), luminance(page)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
    assert f"--te-{name}:" in colors(".x")


def luminance(color):
    """Relative luminance, as WCAG defines it."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_each_color_has_a_variable_for_light_and_for_dark_pages():
    text = colors(".x")
    for name, (light, dark) in _COLORS.items():
        assert text.count(f"--te-{name}:{light}") == 2
        assert text.count(f"--te-{name}:{dark}") == 2


def test_themes_of_pages_win_over_the_system():
    text = colors(".x")
    assert text.index("prefers-color-scheme") < text.index('[data-jp-theme-light="true"]')
