"""The consensus methods by name; tests, documentation and the command line read them here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from clusterscape.combine.base import BaseConsensus

T = TypeVar("T", bound=type[BaseConsensus])


@dataclass(frozen=True)
class Method:
    """A consensus method: what cannot be read off its class, and what can.

    Attributes
    ----------
    name : str
        As the command line takes it.
    estimator : class
        The estimator.
    cost, memory : str
        Growth in points n, distinct rows m, partitions r, clusters K of the consensus, clusters D
        of all partitions together, landmarks or sampled points l.
    extra : str
        Extra of the package that must be installed; empty if none.
    """

    name: str
    estimator: type[BaseConsensus]
    cost: str = ""
    memory: str = ""
    extra: str = ""

    @property
    def summary(self) -> str:
        """The first line of the estimator's docstring."""
        return (self.estimator.__doc__ or "").strip().partition("\n")[0]

    @property
    def reference(self) -> str:
        """Authors and year of the source."""
        return self.estimator._source

    @property
    def soft(self) -> bool:
        """Whether soft partitions are accepted."""
        return self.estimator._accepts_soft

    @property
    def features(self) -> Literal["none", "used", "needed"]:
        """What ``fit`` does with ``features``."""
        return self.estimator._features

    @property
    def k_rule(self) -> str:
        """How the number of clusters is found when it is not given; empty if it must be given."""
        return self.estimator().k_rule()

    @property
    def needs_k(self) -> bool:
        """Whether ``n_clusters`` must be given."""
        return not self.k_rule

    @property
    def takes_k(self) -> bool:
        """Whether ``n_clusters`` can be given."""
        return "n_clusters" in self.estimator().get_params(deep=False)


METHODS: dict[str, Method] = {}


def consensus_method(
    name: str, *, cost: str = "", memory: str = "", extra: str = ""
) -> Callable[[T], T]:
    """Enter a consensus estimator in ``METHODS`` (a class decorator).

    A method that is entered can be named in :class:`~clusterscape.ConsensusClustering` and on the
    command line, and stands in their lists. ``del METHODS[name]`` takes it out again.

    Parameters
    ----------
    name : str
        The name, of lower-case letters, digits and underscores.
    cost, memory : str
        How time and memory grow; see :class:`Method`.
    extra : str
        Extra of the package that must be installed; empty if none.

    Returns
    -------
    callable
        Takes a subclass of :class:`BaseConsensus`, enters it, and returns it unchanged.

    See Also
    --------
    BaseConsensus : The class to derive from.
    clusterscape.compare.register_measure : The same for measures.

    Examples
    --------
    >>> from clusterscape.combine import METHODS, MajorityVote, consensus_method
    >>> @consensus_method("two_thirds", cost="m^2 r", memory="n r")
    ... class TwoThirds(MajorityVote):
    ...     "Link two points that two thirds of the partitions put together."
    ...
    ...     def __init__(self, threshold=2 / 3):
    ...         super().__init__(threshold=threshold)
    >>> METHODS["two_thirds"].summary
    'Link two points that two thirds of the partitions put together.'
    >>> del METHODS["two_thirds"]
    """
    if not (name.isidentifier() and name == name.lower()):
        raise ValueError(
            f"name={name!r} must be an identifier in lower case, such as 'majority_vote'."
        )

    def enter(estimator: T) -> T:
        if not (isinstance(estimator, type) and issubclass(estimator, BaseConsensus)):
            raise TypeError(
                f"consensus_method({name!r}) decorates subclasses of BaseConsensus; got "
                f"{estimator!r}."
            )
        if name in METHODS:
            raise ValueError(
                f"name={name!r} is taken by {METHODS[name].estimator.__name__}; choose another, "
                "or remove that one first with del METHODS[name]."
            )
        METHODS[name] = Method(name, estimator, cost, memory, extra)
        for key in sorted(METHODS):  # in lists the methods stand by name, however they are imported
            METHODS[key] = METHODS.pop(key)
        return estimator

    return enter
