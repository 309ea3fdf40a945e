"""Windows see what listing the places of their taps says."""

from hypothesis import given, strategies as st

from jask.geometry.window import Reach, Span, Window

SMALL = st.integers(1, 4)


@st.composite
def spans(draw: st.DrawFn, most: int) -> Span:
    """Draw an interval that is not empty."""
    first = draw(st.integers(0, most - 1))
    return first, draw(st.integers(first + 1, most))


@given(st.data(), SMALL, SMALL, SMALL, SMALL, st.integers(-3, 6), st.integers(0, 9))
def test_what_taps_of_windows_reach_is_what_lies_between_their_places(
    data: st.DataObject,
    size: int,
    stride: int,
    spread: int,
    step: int,
    low: int,
    length: int,
) -> None:
    window = Window(size=size, stride=stride, low=low, spread=spread, step=step)
    windows, taps = data.draw(spans(6)), data.draw(spans(size))
    places = [
        i * stride + t * step - low for i in range(*windows) for t in range(*taps)
    ]
    first, last = min(places), max(places)
    inside = [j for j in range(length) if first <= j * spread <= last]
    found = window.reach(length, windows, taps)
    if not inside:
        assert found is None
        return
    padding = (inside[0] * spread - first, last - inside[-1] * spread)
    assert found == Reach((inside[0], inside[-1] + 1), padding)


@given(SMALL, SMALL, st.integers(0, 3), st.integers(1, 8), spans(12))
def test_the_windows_that_touch_elements_are_those_with_a_tap_there(
    size: int, stride: int, low: int, count: int, part: Span
) -> None:
    window = Window(size=size, stride=stride, low=low)
    touching = [
        i
        for i in range(count)
        if any(i * stride + t - low in range(*part) for t in range(size))
    ]
    expected = (touching[0], touching[-1] + 1) if touching else None
    assert window.touching(count, part) == expected


def test_windows_slide_where_strides_and_spreads_are_one() -> None:
    assert Window(size=3, low=1, step=2).slides
    assert not Window(size=3, stride=2, spread=2).slides
