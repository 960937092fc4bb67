import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardable.errors import DataError
from rewardable.tasks.countdown import canonical
from rewardable.tasks.countdown.parse import parse


def read(text):
    """The tree of a text, by the parser's postfix order."""
    stack = []
    for token in parse(text).postfix:
        if isinstance(token, int):
            stack.append(token)
        else:
            right, left = stack.pop(), stack.pop()
            stack.append((token, left, right))
    return stack[0]


def rewrite(tree, rng):
    """An equivalent tree: random identities of + - * / at random places."""
    if isinstance(tree, int):
        return tree
    op, a, b = tree[0], rewrite(tree[1], rng), rewrite(tree[2], rng)
    choices = [(op, a, b)]
    if op in "+*":
        choices.append((op, b, a))
    if isinstance(b, tuple):
        o, c, d = b
        same = {"+": "+-", "-": "+-", "*": "*/", "/": "*/"}[op]
        if o in same:
            plus = same[0]
            outer = o if op == plus else (same[1] if o == plus else plus)
            choices.append((outer, (op, a, c), d))
        if op == "-" and o == "-":
            choices.append(("+", a, ("-", d, c)))
        if op in "*/" and o == "-" and isinstance(a, tuple) and a[0] == "-":
            choices.append((op, ("-", a[2], a[1]), ("-", d, c)))
        if op == "+" and o == "-":
            choices.append(("-", a, ("-", d, c)))
    if isinstance(a, tuple) and a[0] in {"+": "+-", "-": "+-", "*": "*/", "/": "*/"}[op]:
        o, c, d = a
        choices.append((o, (op, c, b), d))
    return rng.choice(choices)


@st.composite
def random_tree(draw):
    nodes = list(range(draw(st.integers(2, 6))))
    rng = random.Random(draw(st.integers(0, 2**32)))
    rng.shuffle(nodes)
    while len(nodes) > 1:
        a, b = nodes.pop(rng.randrange(len(nodes))), nodes.pop(rng.randrange(len(nodes)))
        nodes.append((rng.choice("+-*/"), a, b))
    return nodes[0]


NUMBERS = [3, 5, 7, 11, 13, 17]


@given(random_tree(), st.integers(0, 2**32))
def test_equivalent_rewritings_share_the_canonical_text(brute, tree, seed):
    rng = random.Random(seed)
    other = tree
    for _ in range(8):
        other = rewrite(other, rng)
    assert brute.orbit(tree, NUMBERS) == brute.orbit(other, NUMBERS)
    assert canonical(brute.text(tree, NUMBERS)) == canonical(brute.text(other, NUMBERS))


@given(random_tree(), random_tree(), st.sampled_from([NUMBERS, [4, 4, 7, 7, 7, 9]]))
def test_canonical_texts_are_equal_exactly_when_the_functions_are(brute, a, b, numbers):
    same = brute.orbit(a, numbers) & brute.orbit(b, numbers)
    is_equal = canonical(brute.text(a, numbers)) == canonical(brute.text(b, numbers))
    assert bool(same) == is_equal


@pytest.mark.parametrize(
    "numbers", [[2, 3, 5], [4, 4, 9], [4, 4, 4], [2, 3, 5, 7], [4, 4, 9, 9], [4, 4, 4, 9]]
)
def test_canonical_texts_are_the_orbits_of_equal_numbers(brute, numbers):
    """Exhaustive: every expression of these numbers, grouped both ways."""
    orbit_of, text_of = {}, {}
    for tree in brute.trees(tuple(range(len(numbers)))):
        text = canonical(brute.text(tree, numbers))
        point = brute.value(tree, lambda i: Fraction(10**6 + 7919 * i * i + i, 13))
        orbit = orbit_of.get(point) or orbit_of.setdefault(point, brute.orbit(tree, numbers))
        assert text_of.setdefault(orbit, text) == text
    assert len(set(text_of.values())) == len(text_of)


@given(random_tree(), st.sampled_from([NUMBERS, [4, 4, 7, 7, 7, 9], [6] * 6]))
def test_canonical_text_is_an_expression_of_its_solution(brute, tree, numbers):
    text = canonical(brute.text(tree, numbers))
    assert canonical(text) == text
    assert sorted(parse(text).literals) == sorted(parse(brute.text(tree, numbers)).literals)
    value = brute.value(tree, lambda i: Fraction(numbers[i]))
    if value is not None:
        assert parse(text).results()[-1] == value


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("9-(4-7)", "9-4+7"),
        ("(1-2)*(3-4)", "(2-1)*(4-3)"),
        ("1/(2/3)", "3*1/2"),
        ("(1-2)*3+(4-5)*6", "(4-5)*6-(2-1)*3"),
        ("(4-9+9-4)*7", "(9-4+4-9)*7"),
    ],
)
def test_named_identities(left, right):
    assert canonical(left) == canonical(right)


@pytest.mark.parametrize(
    ("left", "right"), [("4*1", "4/1"), ("2+2", "2*2"), ("(1-2)*3", "(2-1)*3")]
)
def test_equal_values_are_not_enough(left, right):
    assert canonical(left) != canonical(right)


def test_unreadable_text_is_a_data_error():
    with pytest.raises(DataError, match="power"):
        canonical("2**3")
