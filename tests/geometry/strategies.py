"""What Hypothesis draws for tests of coordinates."""

from hypothesis import strategies as st


@st.composite
def reshapes(draw: st.DrawFn, most: int = 5) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw two shapes of one size: the same prime factors, grouped in two ways."""
    factors: list[int] = draw(st.lists(st.sampled_from([1, 2, 2, 3, 5]), max_size=most))

    n = 2 * len(factors)
    joined: list[bool] = draw(st.lists(st.booleans(), min_size=n, max_size=n))

    def grouped() -> tuple[int, ...]:
        shape: list[int] = []
        for k in factors:
            if shape and joined.pop():
                shape[-1] *= k
            else:
                shape.append(k)
        return tuple(shape)

    return grouped(), grouped()
