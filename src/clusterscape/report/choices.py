"""What a person decides while looking at a report: kept in a file that the other commands read."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from clusterscape._core.atomic import write_bytes
from clusterscape.combine.result import ResultMixin
from clusterscape.combine.transfer import LabelTransfer
from clusterscape.report.alternatives import aligned_with
from clusterscape.semisupervised import suggest_queries

_LONGEST = 200  # characters of a name
_MOST = 100_000  # points marked, and pairs


class ChoicesError(ValueError):
    """A file, or a message of the page, that holds no valid choices.

    Examples
    --------
    >>> from clusterscape.report import Choices, ChoicesError
    >>> try:
    ...     Choices.of({"names": {"0": 3}})
    ... except ChoicesError as error:
    ...     print(error)
    choices: the name of cluster '0' must be text of at most 200 characters.
    """


@dataclass(frozen=True)
class Choices:
    """A clustering that was taken, names and unions of its clusters, marked points, and pairs.

    Parameters
    ----------
    partition : int
        Number of the clustering taken: 0 for the answer, i + 1 for partition i of the ensemble.
    names : mapping of str to str
        Names of clusters, by their numbers.
    merged : sequence of sequences of int
        Clusters that are one.
    marked : sequence of str
        Ids of points.
    must_link, cannot_link : sequences of pairs of str
        Ids of points that belong together, or do not.

    See Also
    --------
    write : The page on which they are made, when it is served by ``clusterscape explore``.

    Examples
    --------
    >>> from clusterscape.report import Choices
    >>> chosen = Choices(names={"0": "red"}, merged=[[0, 2]])
    >>> chosen.applied([0, 1, 2, -1])
    array([ 0,  1,  0, -1])
    >>> chosen.named([0, 1, -1])
    ['red', '1', '-1']
    """

    partition: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    merged: Sequence[Sequence[int]] = ()
    marked: Sequence[str] = ()
    must_link: Sequence[Sequence[str]] = ()
    cannot_link: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, given: Any) -> Choices:
        """Check plain values, as a file holds them.

        Parameters
        ----------
        given : mapping
            The fields by their names; those that are absent are empty.

        Returns
        -------
        Choices

        Raises
        ------
        ChoicesError
            Names the first value that cannot be.
        """
        if not isinstance(given, Mapping):
            raise ChoicesError("choices: must be a mapping of names to values.")
        unknown = sorted(set(map(str, given)) - set(cls.__dataclass_fields__))
        if unknown:
            raise ChoicesError(f"choices: {unknown[0]!r} is not known.")
        made = cls(**given)
        if not _is_count(made.partition):
            raise ChoicesError("choices: partition must be an integer, 0 or more.")
        if not isinstance(made.names, Mapping):
            raise ChoicesError("choices: names must be a mapping of clusters to names.")
        for cluster, name in made.names.items():
            if not str(cluster).isdecimal() or not _is_text(name):
                raise ChoicesError(
                    f"choices: the name of cluster {cluster!r} must be text of at most {_LONGEST} "
                    "characters."
                )
        _check_lists("merged", made.merged, _is_count, least=2)
        _check_lists("marked", [made.marked], _is_text, least=0)
        for kind in ("must_link", "cannot_link"):
            _check_lists(kind, getattr(made, kind), _is_text, least=2, most=2)
        both = {frozenset(p) for p in made.must_link} & {frozenset(p) for p in made.cannot_link}
        if both:
            pair = " and ".join(sorted(next(iter(both))))
            raise ChoicesError(f"choices: {pair} cannot belong together and apart.")
        return made

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Choices:
        """Read a file that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Choices
        """
        try:
            with open(path, encoding="utf8") as handle:
                given = json.load(handle)
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
            raise ChoicesError(f"{os.fspath(path)} is no file of choices: not JSON.") from None
        return cls.of(given)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the choices as JSON; the file is replaced whole.

        Parameters
        ----------
        path : str or path
            The file.
        """
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2, sort_keys=True)
        write_bytes(path, f"{text}\n".encode())

    def applied(self, labels: Any) -> np.ndarray:
        """Return labels in which merged clusters have the smallest of their numbers.

        Parameters
        ----------
        labels : (n,) array
            Clusters; negative ones stay.

        Returns
        -------
        (n,) array
        """
        found = np.array(labels)
        for group in self.merged:
            found[np.isin(found, list(group))] = min(group)
        return found

    def applied_to(self, model: Any) -> ChosenClustering:
        """Return the clustering that was taken, with its clusters merged and named.

        Parameters
        ----------
        model : estimator
            Fitted, with ``labels_`` and ``ensemble_``: the result on which the choices were made.

        Returns
        -------
        ChosenClustering
            With ``labels_`` (numbered from 0 without gaps), ``confidence_`` (the votes of the
            ensemble for these clusters), ``names_`` and all else that a result has.
        """
        return ChosenClustering(self).fit(model)

    def taken(self, ensemble: Any, answer: Any) -> np.ndarray:
        """Return the labels of the clustering that was taken, numbered like the answer's.

        Parameters
        ----------
        ensemble : Ensemble
            The clusterings of the run.
        answer : (n,) array
            The labels of its answer.

        Returns
        -------
        (n,) array
        """
        labels = np.asarray(answer)
        if self.partition == 0:
            return labels.copy()
        if self.partition > ensemble.n_partitions:
            raise ValueError(
                f"the choices take clustering {self.partition}, but the run has "
                f"{ensemble.n_partitions}; give the choices of this run."
            )
        return aligned_with(labels, ensemble.labels[:, self.partition - 1])

    def links(self, ids: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs that belong together, and those that do not, as positions of points.

        Parameters
        ----------
        ids : iterable
            Ids of all points, in the order of the data.

        Returns
        -------
        must_link, cannot_link : (m, 2) arrays
        """
        place = {str(name): row for row, name in enumerate(ids)}
        found = []
        for pairs in (self.must_link, self.cannot_link):
            absent = next((name for pair in pairs for name in pair if name not in place), None)
            if absent is not None:
                raise ChoicesError(
                    f"choices: there is no point {absent!r}; give the table on which they were "
                    "made, with its column of ids."
                )
            rows = [[place[name] for name in pair] for pair in pairs]
            found.append(np.array(rows, dtype=np.int64).reshape(-1, 2))
        return found[0], found[1]

    def named(self, labels: Any) -> list[str]:
        """Return the names of clusters, or their numbers where they have none.

        Parameters
        ----------
        labels : (n,) array
            Clusters.

        Returns
        -------
        list of str
        """
        return [str(self.names.get(str(int(c)), int(c))) for c in np.asarray(labels)]


class ChosenClustering(ResultMixin, BaseEstimator):
    """The clustering that a person took from a result, in the shape of a result.

    Parameters
    ----------
    choices : Choices
        What was chosen.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered from 0 without gaps.
    names_ : dict of int to str
        Names of the clusters that have one.
    model_ : estimator
        The result that it was taken from.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices

    def fit(self, model: Any, y: Any = None) -> Self:
        """Apply the choices to a fitted result; ``y`` is ignored."""
        chosen = self.choices
        merged = chosen.applied(chosen.taken(model.ensemble_, model.labels_))
        kept = np.unique(merged[merged >= 0])
        self.labels_ = np.where(merged >= 0, np.searchsorted(kept, merged), merged)
        self.n_clusters_ = int(kept.size)
        self.ensemble_ = model.ensemble_
        self.structure_ = getattr(model, "structure_", None)
        self.chosen_from_ = chosen.partition
        self.model_ = model
        given = {i: chosen.names.get(str(c)) for i, c in enumerate(kept)}
        self.names_ = {i: name for i, name in given.items() if name}
        return self

    def called(self, labels: Any) -> list[str]:
        """Return the names of clusters, or their numbers where they have none."""
        return [self.names_.get(int(c), str(int(c))) for c in np.asarray(labels)]

    def predict_frame(self, X: Any) -> pd.DataFrame:
        """Return label, confidence and second best of new points, as the model's own method."""
        if not hasattr(self.model_, "transfer_"):
            raise ValueError(
                f"{type(self.model_).__name__} does not say how its members place new points, so "
                "that choices cannot be applied to them; leave the choices out."
            )
        other = copy.copy(self.model_)
        other.transfer_ = LabelTransfer.of(
            self.ensemble_, self.labels_, comparable=self.model_.transfer_.comparable
        )
        frame: pd.DataFrame = other.predict_frame(X)
        return frame


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST


def _check_lists(name: str, lists: Any, allowed: Any, *, least: int, most: int = _MOST) -> None:
    fits = isinstance(lists, (list, tuple)) and len(lists) <= _MOST
    fits = fits and all(
        isinstance(one, (list, tuple)) and least <= len(one) <= most and all(map(allowed, one))
        for one in lists
    )
    if not fits:
        raise ChoicesError(f"choices: {name} must hold lists of the right kind and length.")


def questions_of(model: Any, *, n: int = 12) -> list[list[str]]:
    """Return ids of pairs of points to ask about: those whose answers tell most.

    See :func:`~clusterscape.semisupervised.suggest_queries`; none where there is one cluster.
    """
    if model.n_clusters_ < 2:
        return []
    asked = suggest_queries(model.ensemble_, model.labels_, n)
    ids = [point_id(name) for name in model.to_frame().index]
    return [[ids[a], ids[b]] for a, b in zip(asked["first"], asked["second"], strict=True)]


def point_id(value: Any) -> str:
    """Return the id of a point as text, one of several parts too."""
    return " / ".join(map(str, value)) if isinstance(value, tuple) else str(value)
