"""Places of boxes and edges."""

from __future__ import annotations

from te_sched.views.layers import place


def test_points_keep_long_edges_away_from_boxes():
    placed = place([(10, 10)] * 4, [[], [0], [1], [0, 2]])
    _, y = placed.corners[1]
    through = [part.end[1] for part in placed.segments if part.reader is None]
    assert len(through) == 2
    assert all(not y <= height <= y + 10 for height in through[:1])


def test_readers_are_in_later_columns():
    corners = place([(10, 10)] * 3, [[], [0], [0, 1]]).corners
    assert corners[0][0] < corners[1][0] < corners[2][0]


def test_boxes_of_one_column_are_apart():
    (x, top), (other, bottom), _ = place([(10, 10)] * 3, [[], [], [0, 1]]).corners
    assert x == other
    assert abs(top - bottom) >= 10
