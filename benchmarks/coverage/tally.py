"""Counts of hits and tries of every cell, their lines in a results file, and the rule."""

from __future__ import annotations

import json

import numpy as np

GOAL = 0.94
CALLS_GOAL = 0.95
ONE_SIDED_1 = 2.326


def goal_of(cell):
    """Return the share of replicates in which a cell must hold."""
    return CALLS_GOAL if cell.startswith("no false") else GOAL


def below_goal(hits, tries, goal):
    """Return whether ``hits`` of ``tries`` contradict the goal at one-sided 1 %.

    At 2,000 replicates that is a share below 0.9276 for the goal 0.94, and below 0.9387 for 0.95.
    """
    return hits + ONE_SIDED_1 * np.sqrt(tries * goal * (1 - goal)) < goal * tries


class Tally:
    """Hits, tries, summed widths and missing intervals of the cells of one scenario."""

    def __init__(self):
        self.cells = {}

    def add(self, cell, low, high, truth):
        """Note whether [low, high] holds the truth, in every column if there are several."""
        low, high, truth = (np.atleast_1d(x).astype(float) for x in (low, high, truth))
        if np.isnan(low).any() or np.isnan(high).any():
            self._sum(cell, 0, 0, 0.0, 1)
            return
        hit = ((low <= truth + 1e-9) & (truth <= high + 1e-9)).all()
        self.count(cell, hit, float((high - low).mean()))

    def each(self, cell, low_P, high_P, truth_P):
        """Note the intervals of single prompts: every prompt is one try."""
        hit = (low_P <= truth_P + 1e-9) & (truth_P <= high_P + 1e-9)
        width = np.minimum(high_P, 1e3) - low_P
        self._sum(cell, int(hit.sum()), hit.size, float(width.sum()), 0)

    def count(self, cell, hit, width=0.0):
        """Note a hit (1), a miss (0) or a share between them."""
        self._sum(cell, float(hit), 1, width, 0)

    def merge(self, cells):
        for cell, numbers in cells.items():
            self._sum(cell, *numbers)

    def _sum(self, cell, *numbers):
        old = self.cells.get(cell, (0, 0, 0.0, 0))
        self.cells[cell] = tuple(a + b for a, b in zip(old, numbers, strict=True))


class Results:
    """A file with one JSON line for each finished chunk: an interrupted run goes on from it."""

    def __init__(self, path, seed):
        self._path, self._seed = path, seed
        self._lines = {}
        if path.is_file():
            for text in path.read_text(encoding="utf-8").splitlines():
                line = json.loads(text)
                if line["seed"] == seed:
                    self._lines[line["scenario"], line["group"], line["chunk"]] = line

    def __contains__(self, place):
        return place in self._lines

    def write(self, place, replicates, cells, code):
        scenario, group, chunk = place
        line = {"scenario": scenario, "group": group, "chunk": chunk, "seed": self._seed}
        line |= {"replicates": replicates, "code": code, "cells": cells}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._lines[place] = line

    def of(self, scenario, groups):
        """Return the tally of a scenario, and the digests of the code that made it."""
        tally, codes = Tally(), set()
        for (name, group, _), line in sorted(self._lines.items()):
            if name == scenario and group in groups:
                tally.merge(line["cells"])
                codes.add(line["code"])
        return tally, codes
