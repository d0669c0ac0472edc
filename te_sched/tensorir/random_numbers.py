"""The random numbers of sampling primitives: the same seed makes TVM's decisions.

The generator is Park and Miller's minimal standard with the multiplier 48271, which C++ has as
`std::minstd_rand`; TVM documents it for `support::LinearCongruentialEngine`. How its numbers become
decisions is what the GNU C++ library makes of them, compared with decisions of TVM 0.19. Must not
know any primitive.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

MODULUS = 2**31 - 1
_MULTIPLIER = 48271
_FORK_MULTIPLIER, _FORK_MODULUS = 32767, 1999999973


class RandomNumbers:
    """A generator of random numbers.

    Parameters
    ----------
    seed : from 1 to 2**31 - 1; None draws one.
    """

    __slots__ = ("state",)

    def __init__(self, seed: int | None = None) -> None:
        self.state = (random.randrange(1, MODULUS) if seed is None else seed % MODULUS) or 1

    def next(self) -> int:
        """A number from 1 to 2**31 - 2."""
        self.state = self.state * _MULTIPLIER % MODULUS
        return self.state

    def fork(self) -> int:
        """A seed for another generator."""
        return self.next() * _FORK_MULTIPLIER % _FORK_MODULUS or 1

    def below(self, count: int) -> int:
        """A number from 0 to `count` - 1, each as likely."""
        scale = (MODULUS - 2) // count
        while True:
            number = self.next() - 1
            if number < count * scale:
                return number // scale

    def weighted(self, weights: Sequence[float]) -> int:
        """The place of one of several weights, as likely as it is large."""
        if len(weights) == 1:
            return 0
        low, high = self.next() - 1, self.next() - 1
        size = MODULUS - 1
        total = sum(weights)
        sums = list(accumulate([weight / total for weight in weights]))
        return min(bisect_left(sums, (low + high * size) / (size * size)), len(weights) - 1)

    def places(self, count: int, wanted: int) -> list[int]:
        """Different numbers from 0 to `count` - 1, each set of `wanted` of them as likely."""
        if wanted == 2:
            first, second = self.below(count), self.below(count - 1)
            return [first, second + (second >= first)]
        order = list(range(count))
        for position in range(wanted):
            other = position + self.below(count - position)
            order[position], order[other] = order[other], order[position]
        return order[:wanted]

    def factors(self, exponents: dict[int, int], count: int) -> list[int]:
        """Factors whose product has prime factors with some exponents; each choice as likely."""
        factors = [1] * count
        for prime, exponent in exponents.items():
            if exponent == 1 and count > 2:
                factors[self.below(count)] *= prime
                continue
            dividers = sorted(self.places(exponent + count - 1, count - 1))
            ends = [-1, *dividers, exponent + count - 1]
            for position, (before, after) in enumerate(pairwise(ends)):
                factors[position] *= prime ** (after - before - 1)
        return factors
