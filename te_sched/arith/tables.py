"""The rewrite rules by operator (`rules` explains the notation).

Rules of an operator are tried in order. `INDEX` rules hold for scalar int32 and int64, `VECTOR`
rules for vectors of any type, `LOGIC` rules for bools. Tests check all of them by brute force.
"""

from __future__ import annotations

from te_sched.arith.rules import RuleTable

_ADD = """
    (x - y) + y -> x
    x + (y - x) -> y
    (x - y) + (y - z) => x - z
    (x - y) + (z - x) => z - y
    dual min(x, y - z) + z -> min(x + z, y)
    dual min(x - z, y) + z -> min(x, y + z)
    min(x, y + z * c1) + z * c2 -> min(x + z * c2, y) if c1 == -c2
    dual min(x, y) + [max(x, y)] => x + y
    dual min(x, y + c1) + c2 -> min(x + c2, y) if c1 == -c2
    dual min(x + c1, y) + c2 -> min(x, y + c2) if c1 == -c2
    x + x => x * 2
    [x * y] + x => x * (y + 1) if not constant(x)
    x + [y * x] => x * (y + 1)
    [x * y] + x * z => x * (y + z)
    [x * y] + z * x => x * (y + z)
    x // 2 + x % 2 -> (x + 1) // 2
    [[x // y * y] + x % y] -> x
    (x % c1 + c2) // c1 + x // c1 -> (x + c2) // c1 if c1 > 0
    dual x + min(y, z) => min(y, z) + x if not extremum(x)
    (x + c1) + c2 -> x + (c1 + c2)
    (x + c1) + y => (x + y) + c1
    (0 - x) + c1 -> c1 - x
    c1 + (c2 - x) -> (c2 - x) + c1
    x + (c1 - y) => (x - y) + c1
    (c1 - x) + y => (y - x) + c1 if not constant(y)
    x + [c1 + y] => (x + y) + c1
    (x - c1) + y => (x + y) - c1
"""

_SUB = """
    (x + y) - y -> x
    (x + y) - x -> y
    x - [y + x] => 0 - y
    select(b, x, y) - select(b, z, w) => select(b, x - z, y - w)
    select(b, x, y) - y -> select(b, x - y, 0)
    select(b, x, y) - x -> select(b, 0, y - x)
    # A term that one side of min or max has as well is taken out of both.
    dual min(x, y) - min(y, x) -> 0
    dual min(x, y) - x => min(0, y - x)
    dual min(x, y) - y => min(x - y, 0)
    dual min([x + y], z) - x => min(y, z - x)
    dual min(z, [x + y]) - x => min(z - x, y)
    dual x - min([x + y], z) => max(0 - y, x - z)
    dual x - min(z, [x + y]) => max(x - z, 0 - y)
    0 - x * c1 -> x * -c1
    dual x - min(x, y) => max(0, x - y)
    dual y - min(x, y) => max(y - x, 0)
    x - x -> 0
    [x * y] - x => x * (y - 1) if not constant(x)
    # Not visited again: a product round it takes the constant out.
    y * x - x -> x * (y - 1) if constant(x)
    x - [y * x] => x * (1 - y)
    [x * y] - x * z => x * (y - z)
    [x * y] - z * x => x * (y - z)
    (x + y) - [x + z] => y - z
    (y + x) - [z + x] => y - z
    x - x // c1 * c1 -> x % c1 if c1 != 0
    x // c1 * c1 - x -> 0 - x % c1 if c1 != 0
    x * c2 - x // c1 * c3 -> x % c1 * c2 if c1 != 0 and c3 == c1 * c2
    x // c1 * c3 - x * c2 -> x % c1 * -c2 if c1 != 0 and c3 == c1 * c2
    x - (x + y) // c1 * c1 -> (x + y) % c1 - y if c1 != 0
    x - (x - y) // c1 * c1 -> (x - y) % c1 + y if c1 != 0
    (x + y) // c1 * c1 - x -> y - (x + y) % c1 if c1 != 0
    (x - y) // c1 * c1 - x -> 0 - (x - y) % c1 - y if c1 != 0
    x * c2 - (x + y) // c1 * c3 => ((x + y) % c1 - y) * c2 if c1 != 0 and c3 == c1 * c2
    x * c2 - (x - y) // c1 * c3 => ((x - y) % c1 + y) * c2 if c1 != 0 and c3 == c1 * c2
    (x + y) // c1 * c3 - x * c2 => (y - (x + y) % c1) * c2 if c1 != 0 and c3 == c1 * c2
    (x - y) // c1 * c3 - x * c2 => (0 - (x - y) % c1 - y) * c2 if c1 != 0 and c3 == c1 * c2
    (x + c1) // 2 - x // 2 => x % 2 + c1 // 2 if c1 % 2 == 1
    x // 2 - (x + c1) // 2 -> x % 2 * -1 + -(c1 // 2) if c1 % 2 == 1
    (x + c1) // c2 - x // c2 => (x % c2 + c1) // c2 if c2 > 0
    (x + c1) // c3 - (x + c2) // c3 => ((x + c2 % c3) % c3 + (c1 - c2)) // c3 if c3 > 0
    c1 - (x + c2) => (-c2 - x) + c1
    x - (y + c1) => (x - y) + -c1
    x - (c1 - y) => (x + y) + -c1
    (x + c1) - y => (x - y) + c1
    x - (y - z) => (x + z) - y
    x * c1 - y * c2 => (x + y) * c1 if c2 == -c1
    x - y * c1 => x + y * -c1
    x - c1 => x + -c1
"""

_MUL = """
    (x + c1) * c2 => x * c2 + c1 * c2
    (x * c1) * c2 -> x * (c1 * c2)
    [min(x, y) * max(x, y)] -> x * y
    c1 * x => x * c1
    x * (c1 * y) => (x * y) * c1
    x * ((y + z) * c1) => (x * (y + z)) * c1
    x * ((y - z) * c1) => (x * (y - z)) * c1
    x * (y * c1 + c1) => (x * (y + 1)) * c1
    (x - y) * c1 => (y - x) * -c1 if c1 < 0
"""

_FLOORDIV = """
    x // c1 // c2 => x // (c1 * c2) if c1 > 0 and c2 > 0
    (x // c1 + c2) // c3 -> (x + c1 * c2) // (c1 * c3) if c1 > 0 and c3 > 0
    (x % 2 + 1) // 2 -> x % 2
    x // -1 -> x * -1
    (x * c1) // c2 => x * (c1 // c2) if c2 > 0 and c1 % c2 == 0
    (x * c1) // c2 -> x // (c2 // c1) if c1 > 0 and c2 % c1 == 0
    x // x -> 1 if not zero(x)
    (x * c1) // x -> c1 if not zero(x)
    (x * c1 + y) // c2 => x * (c1 // c2) + y // c2 if c2 != 0 and c1 % c2 == 0
    (x * c1 + y + z) // c2 -> x // (c2 // c1)
        if c1 > 0 and c2 > 0 and c2 % c1 == 0 and low(y) + low(z) >= 0 and high(y) + high(z) < c1
    (x * c1 + y + z) // c2 => x * (c1 // c2) + (y + z) // c2 if c2 > 0 and c1 % c2 == 0
    (x * c1) // c2 -> x * (c1 // c2) + c3
        if c2 > 0 and (c3 := low(x) * (c1 % c2) // c2) == high(x) * (c1 % c2) // c2
    (x * c1 + c3) // c2 -> x * (c1 // c2) + c4
        if c2 > 0 and (c4 := (low(x) * (c1 % c2) + c3) // c2) == (high(x) * (c1 % c2) + c3) // c2
    (x * c1 + y) // c2 -> x // (c2 // c1)
        if c1 > 0 and c2 > 0 and c2 % c1 == 0 and low(y) >= 0 and high(y) < c1
    (x * c1 - y) // c2 => x * (c1 // c2) + (0 - y) // c2 if c2 > 0 and c1 % c2 == 0
    (y + x * c1) // c2 => y // c2 + x * (c1 // c2) if c2 > 0 and c1 % c2 == 0
    dual min(x * c1, y) // c2 => min(x * (c1 // c2), y // c2) if c2 > 0 and c1 % c2 == 0
    dual min(y, x * c1) // c2 => min(y // c2, x * (c1 // c2)) if c2 > 0 and c1 % c2 == 0
    (x + c1) // c2 => x // c2 + c1 // c2 if c2 > 0 and c1 % c2 == 0
    [x * y] // y -> x if not zero(y)
    ([x * z] + y) // z => x + y // z if low(z) >= 0
    (y + [x * z]) // z => y // z + x if low(z) >= 0
"""

_TRUNCDIV = """
    truncdiv(truncdiv(x, c1), c2) -> truncdiv(x, c1 * c2) if c1 > 0 and c2 > 0
    truncdiv(x * c1, c2) -> x * (c1 // c2) if c2 > 0 and c1 % c2 == 0
    truncdiv(x * c1, c2) -> truncdiv(x, c2 // c1) if c1 > 0 and c2 > 0 and c2 % c1 == 0
    truncdiv(x * c1 + y, c2) => x * (c1 // c2) + truncdiv(y, c2)
        if c1 > 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0 and low(y) >= 0
    truncdiv(x + c1, c2) => truncdiv(x, c2) + c1 // c2
        if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0
"""

_TRUNCMOD = """
    truncmod(x * c1, c2) -> 0 if c2 != 0 and c1 % c2 == 0
    truncmod(x * c1 + y, c2) => truncmod(y, c2)
        if c1 > 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0 and low(y) >= 0
    truncmod(x + c1, c2) -> truncmod(x, c2)
        if c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0
"""

_FLOORMOD = """
    (x * c1) % c2 -> 0 if c2 != 0 and c1 % c2 == 0
    (x * c1 + y) % c2 => y % c2 if c2 > 0 and c1 % c2 == 0
    (x * c1 + y) % c2 -> x % (c2 // c1) * c1 + y
        if c1 > 0 and c2 > 0 and c2 % c1 == 0 and low(y) >= 0 and high(y) < c1
    (x * c1 + y) % c2 => (x * (c1 % c2) + y) % c2 if c2 > 0 and (c1 >= c2 or c1 < 0)
    (x + c1) % c2 -> x % c2 if c2 > 0 and c1 % c2 == 0
    (x + c1) % c2 -> (x + c1 % c2) % c2 if c2 > 0 and (c1 >= c2 or c1 < 0)
    (x * c1) % c2 => x * (c1 % c2) % c2 if c2 > 0 and (c1 >= c2 or c1 < 0)
    (x - y * c1) % c2 => (x + y * (-c1 % c2)) % c2 if c2 > 0 and c1 % c2 != 0
    (x + y * c1) % c2 => x % c2 if c2 > 0 and c1 % c2 == 0
    (x - y * c1) % c2 => x % c2 if c2 > 0 and c1 % c2 == 0
    (x + y * c1) % c2 => (x + y * (c1 % c2)) % c2 if c2 > 0 and (c1 >= c2 or c1 < 0)
    [x * y] % y -> 0 if not zero(y)
    ([x * y] + z) % y -> z % y if low(y) >= 0
    (z + [x * y]) % y -> z % y if low(y) >= 0
"""

_EXTREMUM = """
    dual min(x + c1, x + c2) -> x + min(c1, c2)
    dual min(x + c1, x) -> x + min(c1, 0)
    dual min(x, x + c1) -> x + min(0, c1)
    dual min(c1 - x, c2 - x) -> min(c1, c2) - x
    # x is between the multiple below and the multiple above.
    [min((x + c2) // c1 * c1, x)] -> x if c1 > 0 and c2 == c1 - 1
    [max((x + c2) // c1 * c1, x)] -> (x + c2) // c1 * c1 if c1 > 0 and c2 == c1 - 1
    [min(x // c1 * c1, x)] -> x // c1 * c1 if c1 > 0
    [max(x // c1 * c1, x)] -> x if c1 > 0
    dual min(max(x, y), [min(x, y)]) -> min(x, y)
    dual min(min(x, y), [max(x, y)]) -> min(x, y)
    dual [min([max(x, y)], x)] -> x
    dual min(min(x, y), x) -> min(x, y)
    dual min(min(x, y), y) -> min(x, y)
    dual min(x, min(x, y)) -> min(x, y)
    dual min(y, min(x, y)) -> min(x, y)
    dual min(min(min(x, y), z), y) -> min(min(x, y), z)
    dual min(min(min(min(x, y), z), w), y) -> min(min(min(x, y), z), w)
    dual min(min(min(min(min(x, y), z), w), v), y) -> min(min(min(min(x, y), z), w), v)
    dual min([max(x, y)], [max(x, z)]) -> max(min(y, z), x)
    dual min([min(x, y)], [min(x, z)]) => min(min(y, z), x)
    dual min([x + y], [x + z]) => min(y, z) + x
    dual min(x - y, x - z) -> x - max(y, z)
    dual min(y - x, z - x) -> min(y, z) - x
    dual min(min(x, c1), c2) -> min(x, min(c1, c2))
    dual min(min(x, c1), y) => min(min(x, y), c1)
    dual min(max(x, c1), c2) -> c2 if max(c1, c2) == c1
    dual min(x // c1, y // c1) -> min(x, y) // c1 if c1 > 0
    dual min(x // c1, y // c1) -> max(x, y) // c1 if c1 < 0
    dual min(x * c1, y * c1) -> min(x, y) * c1 if c1 > 0
    dual min(x * c1, y * c1) -> max(x, y) * c1 if c1 < 0
    dual min(x * c1, c2) -> min(x, c2 // c1) * c1 if c1 > 0 and c2 % c1 == 0
    dual min(x * c1, c2) -> max(x, c2 // c1) * c1 if c1 < 0 and c2 % c1 == 0
    dual min(c1 - x, c2) -> c1 - max(x, c1 - c2) if c2 != 0
"""

_EQ = """
    x - c1 == c2 => x == c2 + c1
    c1 - x == c2 => x == c1 - c2
    x + c1 == c2 => x == c2 - c1
    x * y == 0 => x == 0 or y == 0
    c1 == x -> x == c1
"""

_LT = """
    [x + y] < [x + z] => y < z
    y - x < z - x => y < z
    x - y < x - z => z < y
    x < [x + z] => 0 < z
    x < x - z => z < 0
    c1 < x + c2 => c1 - c2 < x
    c1 < c2 - x => x < c2 - c1
    c1 < x - c2 => c1 + c2 < x
    x * c1 < y * c1 => x < y if c1 > 0
    x * c1 < y * c1 => y < x if c1 < 0
    min(x, y) < z => x < z or y < z
    max(x, y) < z => x < z and y < z
    z < min(x, y) => z < x and z < y
    z < max(x, y) => z < x or z < y
    x * c1 < y * c2 => x * (c1 // c3) < y * (c2 // c3) if (c3 := gcd(c1, c2)) > 1
    x * c1 + c2 < y * c3 => x * (c1 // c4) + c2 // c4 < y * (c3 // c4)
        if (c4 := gcd(c1, c2, c3)) > 1
    x * c1 < y * c2 + c3 => x * (c1 // c4) < y * (c2 // c4) + c3 // c4
        if (c4 := gcd(c1, c2, c3)) > 1
    x * c1 + y * c2 < c3 => x * (c1 // c4) + y * (c2 // c4) < c3 // c4
        if (c4 := gcd(c1, c2, c3)) > 1
    c3 < x * c1 + y * c2 => c3 // c4 < x * (c1 // c4) + y * (c2 // c4)
        if (c4 := gcd(c1, c2, c3)) > 1
    x * c1 < c2 => x < (c2 - 1) // c1 + 1 if c1 > 0
    x * c1 < c2 => c2 // c1 < x if c1 < 0
    c1 < x * c2 => c1 // c2 < x if c2 > 0
    c1 < x * c2 => x < -(-c1 // c2) if c2 < 0
    x // c1 < c2 -> x < c1 * c2 if c1 > 0
    c1 < x // c2 -> (c1 + 1) * c2 - 1 < x if c2 > 0
    x // c1 * c1 < x => 0 < x % c1 if c1 > 0
    x // c1 * c1 < x + y => 0 < x % c1 + y if c1 > 0
    x // c1 * c1 < x - y => y < x % c1 if c1 > 0
    (x + c2) // c1 * c1 < x => c2 < (x + c2) % c1 if c1 > 0
    (x + c2) // c1 * c1 + c3 < x -> False if c1 > 0 and c2 + c3 >= c1 - 1
    x // c1 * c1 + c3 < x -> False if c1 > 0 and c3 >= c1 - 1
    (x + c2) // c1 * c1 < x + c3 -> True if c1 > 0 and c3 > c2
    (x + c2) // c1 * c1 < x + y => c2 < (x + c2) % c1 + y if c1 > 0
    (x + c2) // c1 * c1 < x - y => y + c2 < (x + c2) % c1 if c1 > 0
    x + c3 < (x + c2) // c1 * c1 -> False if c1 > 0 and c3 >= c2
    x < y - c1 => x + c1 < y
    x - c1 < y => x < y + c1
    x + c1 < c2 => x < c2 - c1
    c1 - x < c2 => c1 - c2 < x
    c1 - x < y => c1 < y + x
    y < c1 - x => y + x < c1
    x + c1 < y + c2 => x < y + (c2 - c1) if c2 >= c1
    x + c1 < y + c2 => x + (c1 - c2) < y if c2 < c1
    x + c1 < y => x < y + -c1 if c1 < 0
    x < y + c1 => x + -c1 < y if c1 < 0
    # Where the left side has a constant, the rules above join it with this one first.
    x < y + 1 => x <= y if newer()
"""

_NOT = """
    not (not b) -> b
    not (x < y) -> y <= x
    not (x <= y) -> y < x
    not (x == y) -> x != y
    not (x != y) -> x == y
    not (b1 or b2) => (not b1) and (not b2)
    not (b1 and b2) => (not b1) or (not b2)
"""

_AND = """
    b1 and (b2 and b3) => (b1 and b2) and b3
    [b and (not b)] -> False
    [x == y and x != y] -> False
    [x <= y and y < x] -> False
    [x < c1 and c2 < x] -> False if c2 + 1 >= c1
    [x < c1 and c2 <= x] -> False if c2 >= c1
    [x <= c1 and c2 < x] -> False if c2 >= c1
    [x <= c1 and c2 <= x] -> False if c2 > c1
    [x == c1 and x != c2] -> x == c1 if c1 != c2
"""

_OR = """
    b1 or (b2 or b3) => (b1 or b2) or b3
    [b or (not b)] -> True
    [x == y or x != y] -> True
    [x <= y or y < x] -> True
    [x < c1 or c2 < x] -> True if c2 < c1
    [x <= c1 or c2 < x] -> True if c2 <= c1
    [x < c1 or c2 <= x] -> True if c2 <= c1
    [x <= c1 or c2 <= x] -> True if c2 <= c1 + 1
    [x != c1 or x == c2] -> x != c1 if c1 != c2
"""

# Nested guarded values, if both guards have the same constant otherwise.
_CHOICE = """
    ite(b1, ite(b2, x, y), y) => ite(b1 and b2, x, y) if constant(y) and newer()
"""

INDEX = RuleTable(
    Add=_ADD,
    Sub=_SUB,
    Mul=_MUL,
    Div=_TRUNCDIV,
    Mod=_TRUNCMOD,
    FloorDiv=_FLOORDIV,
    FloorMod=_FLOORMOD,
    Min=_EXTREMUM,
    Max=_EXTREMUM,
    EQ=_EQ,
    LT=_LT,
)

LOGIC = RuleTable(Not=_NOT, And=_AND, Or=_OR, Call=_CHOICE)

VECTOR = RuleTable(
    Add="""
        broadcast(x, n) + broadcast(y, n) => broadcast(x + y, n)
        ramp(x, y, n) + ramp(z, w, n) => ramp(x + z, y + w, n)
        ramp(x, y, n) + broadcast(z, n) => ramp(x + z, y, n)
        broadcast(z, n) + ramp(x, y, n) => ramp(z + x, y, n)
        x + broadcast(y, n) -> x if real_zero(y) and newer()
    """,
    Sub="""
        broadcast(x, n) - broadcast(y, n) => broadcast(x - y, n)
        ramp(x, y, n) - ramp(z, w, n) => ramp(x - z, y - w, n)
        ramp(x, y, n) - broadcast(z, n) => ramp(x - z, y, n)
        broadcast(z, n) - ramp(x, y, n) => ramp(z - x, 0 - y, n)
    """,
    Mul="""
        broadcast(x, n) * broadcast(y, n) => broadcast(x * y, n)
        [ramp(x, y, n) * broadcast(z, n)] => ramp(x * z, y * z, n)
        broadcast(x, n) * y -> broadcast(x, n) if real_zero(x) and newer()
    """,
    FloorDiv="""
        broadcast(x, n) // broadcast(y, n) => broadcast(x // y, n)
        ramp(x, c1, n) // broadcast(c2, n) => ramp(x // c2, c1 // c2, n) if c2 > 0 and c1 % c2 == 0
        ramp(x, c1, n) // broadcast(c2, n) => broadcast(x // c2, n) if in_one_bin(x, c1, n, c2)
    """,
    FloorMod="""
        broadcast(x, n) % broadcast(y, n) => broadcast(x % y, n)
        ramp(x, c1, n) % broadcast(c2, n) => broadcast(x % c2, n) if c2 > 0 and c1 % c2 == 0
        ramp(x, c1, n) % broadcast(c2, n) => ramp(x % c2, c1, n) if in_one_bin(x, c1, n, c2)
    """,
    Div="truncdiv(broadcast(x, n), broadcast(y, n)) => broadcast(truncdiv(x, y), n)",
    Mod="truncmod(broadcast(x, n), broadcast(y, n)) => broadcast(truncmod(x, y), n)",
    Min="min(broadcast(x, n), broadcast(y, n)) => broadcast(min(x, y), n)",
    Max="max(broadcast(x, n), broadcast(y, n)) => broadcast(max(x, y), n)",
    EQ="broadcast(x, n) == broadcast(y, n) => broadcast(x == y, n)",
    LT="broadcast(x, n) < broadcast(y, n) => broadcast(x < y, n)",
    And="broadcast(x, n) and broadcast(y, n) => broadcast(x and y, n)",
    Or="broadcast(x, n) or broadcast(y, n) => broadcast(x or y, n)",
    Not="not broadcast(x, n) => broadcast(not x, n)",
)
