"""What is on one side only, of two collections in which the same thing may occur more than once."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

T = TypeVar("T")


def left_over(before: Iterable[T], after: Iterable[T], identity: Callable[[T], Hashable]) -> tuple[list[T], list[T]]:
    """What of `before` is not in `after`, and the other way round, by `identity`, in their orders."""
    old, new = list(before), list(after)
    kept = Counter(map(identity, old)) & Counter(map(identity, new))
    return _without(old, kept, identity), _without(new, kept, identity)


def paired(
    removed: Iterable[T], added: Iterable[T], *keys: Callable[[T], Hashable]
) -> Iterator[tuple[T | None, T | None]]:
    """Pairs of those that have a key in common, the first key first, in their orders; then those without a partner.

    Args:
        removed: the left ones.
        added: the right ones.
        keys: of each; a fresh object pairs with nothing.
    """
    left, right = list(removed), list(added)
    for key in keys:
        waiting: defaultdict[Hashable, deque[T]] = defaultdict(deque)
        for new in right:
            waiting[key(new)].append(new)
        rest = []
        for old in left:
            partners = waiting[key(old)]
            if partners:
                yield old, partners.popleft()
            else:
                rest.append(old)
        left, right = rest, [new for partners in waiting.values() for new in partners]
    yield from ((old, None) for old in left)
    yield from ((None, new) for new in right)


def _without(items: Iterable[T], kept: Counter[Hashable], identity: Callable[[T], Hashable]) -> list[T]:
    left = Counter(kept)
    found = []
    for item in items:
        if left[identity(item)]:
            left[identity(item)] -= 1
        else:
            found.append(item)
    return found
