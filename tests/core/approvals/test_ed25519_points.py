"""A public key that anybody could sign for is refused when keys are loaded (RFC 8032 section 5.1)."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from aioc_opa.core.approvals.ed25519_points import _D, _P, _SMALL_ORDER, public_key_problem


def double(x: int, y: int) -> tuple[int, int]:
    """RFC 8032 section 5.1.4, in affine coordinates."""
    product = _D * x * x * y * y
    return 2 * x * y * pow(1 + product, -1, _P) % _P, (y * y + x * x) * pow(1 - product, -1, _P) % _P


def point(y: int) -> tuple[int, int] | None:
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    root = pow(square, (_P + 3) // 8, _P)
    for x in (root, root * pow(2, (_P - 1) // 4, _P) % _P):
        if x * x % _P == square:
            return x, y
    return None


def encoded(y: int, sign: int = 0) -> bytes:
    return (y | sign << 255).to_bytes(32, "little")


def test_the_table_is_all_points_whose_order_divides_8() -> None:
    for y in _SMALL_ORDER:
        found = point(y)
        assert found is not None
        for _ in range(3):
            found = double(*found)
        assert found == (0, 1)
    # Of order 8 are the points whose double has y = 0, so x² = -y² there: with the curve's equation, d y⁴ = 1 - 2 y².
    eighth = [y for y in _SMALL_ORDER if y not in {0, 1, _P - 1}]
    assert len(eighth) == 2
    assert all((_D * y**4 + 2 * y**2 - 1) % _P == 0 for y in eighth)


@pytest.mark.parametrize("y", sorted(_SMALL_ORDER))
@pytest.mark.parametrize("sign", [0, 1])
def test_points_of_small_order_are_refused(y: int, sign: int) -> None:
    assert "small order" in (public_key_problem(encoded(y, sign)) or "")


def test_for_such_a_key_anybody_can_sign_anything_which_is_why() -> None:
    identity = encoded(1)
    signature = identity + bytes(32)  # R = the neutral point, S = 0
    Ed25519PublicKey.from_public_bytes(identity).verify(signature, b"any message at all")


@pytest.mark.parametrize("y", [_P, _P + 1, _P + 3, 2**255 - 1])
def test_an_encoding_that_is_not_canonical_is_refused(y: int) -> None:
    assert "canonical" in (public_key_problem(encoded(y)) or "")


def test_what_is_no_point_is_refused() -> None:
    refused = [y for y in range(2, 60) if "no point" in (public_key_problem(encoded(y)) or "")]
    assert refused == [y for y in range(2, 60) if point(y) is None]
    assert refused


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_another_length_is_refused(size: int) -> None:
    assert "32 bytes" in (public_key_problem(bytes(size)) or "")


def test_real_keys_pass() -> None:
    for seed in range(64):
        key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        assert public_key_problem(key.public_key().public_bytes_raw()) is None
