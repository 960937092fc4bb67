"""What equals what, and what does not: each trap in both directions."""

import pytest

from rewardable.errors import BoundaryError
from rewardable.tasks.math.compare import Comparison, share
from rewardable.tasks.math.helper import Budget
from rewardable.tasks.math.reading import read
from rewardable.tasks.math.size import is_oversized
from rewardable.tasks.math.values import Several, canonical


def same(gold, answer, **options):
    left = read(gold)
    right = read(answer, grouped=not isinstance(left, Several))
    return Comparison(**options).same(left, right)


EQUAL = [
    ("(3, \\frac{\\pi}{2})", r"\left( 3, \dfrac{\pi}{2} \right)"),
    ("11111111100", r"11,\! 111,\! 111,\! 100"),
    ("1{,}000", "1000"),
    ("9/4", "2 1/4"),
    ("-3/2", r"-1\frac{1}{2}"),
    (r"\pm 9", "-9, 9"),
    (r"1 \pm \sqrt{19}", r"1-\sqrt{19} \text{ or } 1+\sqrt{19}"),
    (r"\{1\pm\sqrt{5},-2\}", r"\{-2, 1+\sqrt5, 1-\sqrt5\}"),
    ("(0,9) \\cup (9,36)", r"(9,36)\cup(0,9)"),
    (r"x \in [-2,7]", r"-2 \le x \le 7"),
    ("x > 5", r"(5, \infty)"),
    (r"\text{Evelyn}", "evelyn"),
    (r"\text{(C)}", "C"),
    (r"15\mbox{ cm}^2", "15"),
    (r"\frac{270}7\text{ degrees}", r"\frac{270}{7}"),
    ("90^\\circ", "90"),
    (r"\$32,\!348", "32348"),
    ("4.5e33", r"4.5 \times 10^{33}"),
    ("1/3", "0.333333"),
    ("204_5", "204_{5}"),
    ("204_5", "204"),
    ("f(x)=2x", "2x"),
    ("k=1", "1"),
    ("p=5,q=2;p=7,q=2", "(7,2),(5,2)"),
    ("(p,q)=(3,2)", "(3,2)"),
    ("64, 125", "64,125"),
    (r"\frac{\sqrt{3}}{3}", r"\frac{\sqrt{3}}{3} \approx 0.577"),
    ("62.5%", "62.5%"),
    (r"\frac{100!}{2^{50}}", r"\frac{100!}{2^{50}}"),
    (r"2^{1009}", r"2 \cdot 2^{1008}"),
    ("27", "3^3"),
    ("3", r"\log_2 8"),
    ("3\\sqrt{13}", r"\sqrt{117}"),
    ("y = 2x + 3", "y-2x=3"),
]
DIFFERENT = [
    ("[0,1)", "(0,1]"),
    ("(1,2)", "[1,2]"),
    ("(1,2)", r"\{1,2\}"),
    ("(3,1)", "(1,3)"),
    ("(2,100)", "2100"),
    ("3,7", "37"),
    ("1234", "12,34"),
    ("10", "4 10/3"),
    ("9", r"\pm 9"),
    (r"\pm 9", "9"),
    ("64 and 125", "125"),
    ("5", r"5 \text{ or more}"),
    ("1-\\frac{1}{\\mathrm{e}}", "1+\\frac{1}{\\mathrm{e}}"),
    ("204_5", "204_6"),
    ("1e-8", "3e-8"),
    (r"\sqrt{2}\cdot 10^{-20}", r"\sqrt{3}\cdot 10^{-20}"),
    ("6m", "6"),
    (r"\text{odd}", "dod"),
    ("12:00", "1:00"),
    ("x", "-x"),
    ("f(x)", "f(y)"),
    ("10 \\text{ cm}", "10 \\text{ m}"),
    ("7", "7^{7^{7^{7^{7}}}}"),
    ("10^{10^{10^{10}}}", "10^{10}"),
    ("2x+z=1", "1"),
    ("3", "3^2"),
    ("x=5", "y=5"),
    ("0", "0.0000001"),
    (r"\pi", r"\frac{22}{7}"),
    ("12", r"\text{12 or 13}"),
    ("5", r"x=5 \text{ or } x=-5"),
    ("5", ""),
]


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_equal(gold, answer):
    assert same(gold, answer)


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_different(gold, answer):
    assert not same(gold, answer)


def test_percent_and_tolerance_are_settings():
    assert same("0.35", r"35\%")
    assert not same("35", r"35\%")
    assert same("35", r"35\%", percent="either")
    assert not same("10", "10.04")
    assert same("10", "10.04", tolerance=read("0.1").value)


def test_no_time_left_is_no_verdict():
    with pytest.raises(BoundaryError, match="timeout"):
        same(r"\sqrt{2}", r"2^{1/2}", budget=Budget(0.0))


def test_share_counts_each_value_once():
    gold, plain = read("1, 2, 3"), Comparison()
    assert share(gold, read("1, 2"), plain) == pytest.approx(2 / 3)
    assert share(gold, read("1, 1, 1"), plain) == pytest.approx(1 / 3)
    assert share(gold, read("1, 2, 3, 4, 5, 6"), plain) == 0.5
    assert share(read("1"), read("1"), plain) == 1.0
    assert share(read("1"), read("2"), plain) == 0.0


def test_canonical_texts_meet():
    pairs = [("0.50", r"\frac{1}{2}"), ("7, 3", "3, 7"), (r"35\%", "0.35"), ("( 1 , 2)", "(1,2)")]
    for left, right in pairs:
        assert canonical(read(left)) == canonical(read(right))


@pytest.mark.parametrize(
    ("text", "oversized"),
    [
        ("7^{7^{7}}", True),
        ("2011^{2010^{2009}}", True),
        ("(10^{9})!", True),
        ("((5!)!)!", True),
        ("100000!", True),
        (r"\sum_{k=1}^{10^{9}} k", True),
        ("9^{99999}", True),
        ("2^{1009}", False),
        (r"\frac{100!}{2^{50}}", False),
        ("x^{2n+1}", False),
        (r"\binom{2n}{n}", False),
        ("e^{e^{x}}", False),
    ],
)
def test_sizes(text, oversized):
    assert is_oversized(text) == oversized
