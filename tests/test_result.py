"""One result shape: every estimator that ends with labels gives a table, is drawn, and is saved."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import ClusterMixin
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from clusterscape import (
    ConsensusClustering,
    Ensemble,
    EnsembleGenerator,
    PartitionRecord,
    combine,
    forest,
    semisupervised,
    validate,
)
from clusterscape._core.atomic import atomic_folder
from clusterscape.combine import (
    EAC,
    METHODS,
    BagClust,
    LiftKM,
    OneOpinionWarning,
    RandomProjectionEnsemble,
    consensus_scores,
    mean_coassociation,
)
from clusterscape.forest import ClusterForest, ForestGrower
from clusterscape.io import (
    ModelFileError,
    check_results_folder,
    is_model_file,
    load_model,
    load_results,
    read_labels,
    save_model,
    save_results,
)
from clusterscape.plot import ConsensusMatrixDisplay, ScatterDisplay
from clusterscape.semisupervised import (
    CSP,
    SCACS,
    ConstrainedSpectral,
    COPKMeans,
    FastConstrainedSpectral,
    FuzzyCMeans,
    LandmarkSpectral,
)
from clusterscape.validate import ActiveClustering

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(c, 1.8, size=(14, 3)) for c in (0, 3, 7)])
IDS = [f"s{i}" for i in range(len(X))]
FRAME = pd.DataFrame(X, index=IDS, columns=["a", "b", "c"])
NEW = X[::2] + 0.4
ENSEMBLE = EnsembleGenerator(9, n_clusters=(2, 6), random_state=0).generate(FRAME)
OTHERS = {
    "model": lambda: ConsensusClustering(n_references=0, random_state=0, n_partitions=20).fit(
        FRAME
    ),
    "cosine": lambda: ConsensusClustering(
        3,
        generator=EnsembleGenerator(9, algorithm="cosine", n_clusters=(2, 5)),
        n_references=0,
        random_state=0,
    ).fit(sparse.csr_matrix(np.abs(X))),
    "forest": lambda: ClusterForest(3, n_vectors=12, random_state=0).fit(FRAME),
    "kway": lambda: ClusterForest(3, n_vectors=12, ncut="kway", random_state=0).fit(FRAME),
    "projections": lambda: RandomProjectionEnsemble(3, n_components=2, random_state=0).fit(FRAME),
    "bagclust 2": lambda: BagClust(3, variant=2).fit(ENSEMBLE),
    "lift features": lambda: LiftKM(3, n_components=50, random_state=0).fit(ENSEMBLE, features=X),
}
CASES = [*METHODS, *OTHERS]
NO_VOTES = [
    COPKMeans,
    ConstrainedSpectral,
    CSP,
    FastConstrainedSpectral,
    FuzzyCMeans,
    LandmarkSpectral,
    SCACS,
    ActiveClustering,
]


def fitted(case):
    """Return a fitted estimator, without what is said on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if case in OTHERS:
            return OTHERS[case]()
        entry = METHODS[case]
        model = entry.estimator()
        if "n_clusters" in model.get_params():
            model.set_params(n_clusters=3)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        if entry.extra:
            pytest.importorskip("pymetis")
        return model.fit(ENSEMBLE, features=X if entry.features == "needed" else None)


@pytest.fixture(scope="module", params=CASES)
def model(request):
    return fitted(request.param)


# ---- the table --------------------------------------------------------------------------------


def test_every_method_gives_the_same_table(model):
    frame = model.to_frame(membership=True)
    k = model.n_clusters_
    assert list(frame.columns) == [
        "label",
        "confidence",
        "runner_up",
        "runner_up_share",
        *(f"membership_{c}" for c in range(k)),
    ]
    assert frame.index.name == "id"
    named = model.ensemble_.index is not None
    assert list(frame.index) == (IDS if named else list(range(len(X))))
    np.testing.assert_array_equal(frame["label"], model.labels_)
    np.testing.assert_array_equal(frame["confidence"], model.confidence_)
    assert str(frame["runner_up"].dtype) == "Int64"
    assert list(model.to_frame().columns) == list(frame.columns[:4])


def counted_votes(ensemble, labels, k):
    """Return the shares of the votes, point by point and partition by partition."""
    sizes = np.bincount(labels[labels >= 0], minlength=k)
    hot = (labels[:, None] == np.arange(k)) / sizes
    out = np.zeros((len(labels), k))
    counts = np.repeat(ensemble.n_clusters, ensemble.n_clusters)
    for count, column in zip(counts, ensemble.membership().matrix.toarray().T, strict=True):
        # A partition with fewer clusters has hardly a say between those that it unites.
        say = 1.0 if count >= k else max(0.02, 1.0 - sorted(column @ hot)[-2])
        for x in np.flatnonzero(column):
            others = np.where(np.arange(len(labels)) == x, 0.0, column)
            vote = others @ hot
            # One that leaves the point alone prefers no cluster.
            even = np.full(k, 1 / k)
            out[x] += say * column[x] * (vote / vote.sum() if vote.sum() > 0 else even)
    return out / out.sum(axis=1, keepdims=True)


def test_figures_are_those_of_the_votes(model):
    frame = model.to_frame(membership=True)
    k = model.n_clusters_
    expected = counted_votes(model.ensemble_, model.labels_, k)
    np.testing.assert_allclose(frame.filter(like="membership"), expected, atol=1e-12)
    for i, row in enumerate(frame.itertuples()):
        rest = {c: expected[i, c] for c in range(k) if c != row.label}
        best = max(rest.values())
        assert row.runner_up_share == pytest.approx(best, abs=1e-12)
        assert pd.isna(row.runner_up) or rest[row.runner_up] == pytest.approx(best)
        assert row.confidence == pytest.approx(expected[i, row.label])


def test_what_is_not_known_is_missing():
    labels = [[0, 0, 1, 1, -1], [0, 0, 1, 1, -1], [0, 1, 2, 2, -1]]
    frame = EAC(2).fit(labels).to_frame()
    assert frame["label"].tolist() == [0, 0, 1, 1, -1]
    assert pd.isna(frame["runner_up"].iloc[4])
    assert np.isnan(frame["runner_up_share"].iloc[4])
    assert frame["confidence"].iloc[4] == 0
    assert pd.isna(frame["runner_up"].iloc[3])  # never with a member of the other cluster
    assert frame["runner_up_share"].iloc[3] == 0
    one = EAC(1).fit(labels).to_frame(membership=True)
    assert one["runner_up"].isna().all()
    assert one["runner_up_share"].isna().all()
    assert (one["confidence"] == 0).all()
    with pytest.raises(AttributeError, match="not fitted"):
        EAC(2).confidence_  # noqa: B018


def test_scores_follow_a_new_fit():
    model = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1]])
    before = model.confidence_
    assert model.confidence_ is before  # computed once
    model.fit([[0, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]])
    np.testing.assert_array_equal(
        model.confidence_, consensus_scores(model.ensemble_, model.labels_).confidence
    )


def test_one_opinion_is_reported_once_per_fit():
    model = EAC(2).fit([[0, 0, 1, 1]] * 3)
    with pytest.warns(OneOpinionWarning, match="3 partitions are the same"):
        assert np.isnan(model.confidence_).all()
    model.to_frame()
    with pytest.warns(OneOpinionWarning, match="there is only one partition"):
        scores = consensus_scores([[0, 0, 1, 1]], [0, 0, 1, 1])
    assert "other starts, numbers of clusters, rows, columns or algorithms" in scores.message


def test_one_opinion_advises_nothing_that_was_done():
    records = [PartitionRecord(algorithm="kmeans", columns=[i, i + 1]) for i in range(3)]
    same = Ensemble.from_labels(np.tile([[0], [0], [1], [1]], 3), records=records)
    with pytest.warns(OneOpinionWarning, match="although their columns differ") as caught:
        assert np.isnan(consensus_scores(same, [0, 0, 1, 1]).confidence).all()
    assert str(caught[0].message).endswith("other starts, numbers of clusters, rows or algorithms.")


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ([[0, 0, 1], [5, 5, 2], ["a", "a", "b"]], 1),
        ([[0, 0, 1], [0, 0, -1]], 2),
        ([[0, 0, -1], [3, 3, -1]], 1),
        ([[0, 0, -1], [0, 0, -2]], 2),
        ([[0, 0, 1], [0, 1, 1], [1, 1, 0]], 2),
        ([[[0.5, 0.5], [1, 0], [0, 1]], [[0.5, 0.5], [0, 1], [1, 0]]], 1),
        ([[[0.5, 0.5], [1, 0], [0, 1]], [[0.4, 0.6], [0, 1], [1, 0]]], 2),
        ([[[1, 0], [1, 0], [0, 1]], [1, 1, 0]], 1),
        ([[0, 0, 1], [-2, -2, -2]], 1),
    ],
)
def test_partitions_that_differ_by_more_than_names(parts, count):
    soft = [np.array(p, float) if isinstance(p[0], list) else p for p in parts]
    assert Ensemble.from_labels(soft).n_distinct == count


# ---- pictures ---------------------------------------------------------------------------------


def test_every_method_is_drawn(model):
    import matplotlib.pyplot as plt

    matrix = ConsensusMatrixDisplay.from_estimator(model)
    assert matrix.matrix.shape == (len(X), len(X))
    points = ScatterDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(points.confidence, model.confidence_)
    plt.close("all")


# ---- the model as a file ----------------------------------------------------------------------


def test_every_method_is_saved_and_read_back(model, tmp_path):
    save_model(model, tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    assert type(back) is type(model)
    assert repr(back.get_params()) == repr(model.get_params())
    assert back.ensemble_ == model.ensemble_
    pd.testing.assert_frame_equal(back.to_frame(membership=True), model.to_frame(membership=True))
    assert set(vars(back)) - {"_scored"} == set(vars(model)) - {"_scored"}
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(back, name), value)
            assert getattr(back, name).dtype == value.dtype
    save_model(back, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


@pytest.mark.parametrize("case", ["model", "cosine", "forest", "kway", "lift_km", "lift features"])
def test_predict_works_after_loading(case, tmp_path):
    model = fitted(case)
    save_model(model, tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    new = sparse.csr_matrix(np.abs(NEW)) if case == "cosine" else NEW
    if hasattr(model, "feature_names_in_"):
        new = pd.DataFrame(NEW, columns=model.feature_names_in_)
        with pytest.raises(ValueError, match="feature names"):
            back.predict(new.rename(columns={"a": "z"}))
    assert back.predict(new).tobytes() == model.predict(new).tobytes()


def test_what_is_shared_is_saved_once(tmp_path):
    model = fitted("model")
    save_model(model, tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    assert back.ensemble_ is back.consensus_.ensemble_
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
    assert header["versions"]["clusterscape"]


@pytest.mark.parametrize(
    "seed",
    [
        3,
        np.random.SeedSequence(5, spawn_key=(1,)),
        np.random.default_rng(4),
        np.random.RandomState(2),
    ],
    ids=["int", "sequence", "generator", "legacy"],
)
def test_seeds_are_kept(seed, tmp_path):
    model = METHODS["sec"].estimator(3, random_state=seed).fit(ENSEMBLE)
    save_model(model, tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    again = [one.fit(ENSEMBLE) for one in (model, back)]
    np.testing.assert_array_equal(again[0].labels_, again[1].labels_)
    assert again[0].cost_ == again[1].cost_


def test_clusterers_of_scikit_learn_are_saved_by_name(tmp_path):
    generator = EnsembleGenerator(
        6,
        algorithm=[KMeans(n_init=2), AgglomerativeClustering(linkage="ward"), GaussianMixture()],
        n_clusters=(2, 4),
    )
    model = ConsensusClustering(3, generator=generator, n_references=0, random_state=0).fit(X)
    save_model(model, tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    assert repr(back.generator) == repr(model.generator)
    np.testing.assert_array_equal(back.fit(X).labels_, model.labels_)


class Own(KMeans):
    """A clusterer that no file may name."""


@pytest.mark.parametrize(
    ("generator", "words"),
    [
        (EnsembleGenerator(4, algorithm=Own(), n_clusters=(2, 4)), "generator.algorithm is of ty"),
        (
            EnsembleGenerator(4, algorithm=KMeans(init=X[:3], n_init=1), n_clusters=3),
            "algorithm.init is ndarray; of a scikit-learn clusterer only",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::clusterscape.combine.OneOpinionWarning")
def test_what_cannot_be_saved_is_refused(generator, words, tmp_path):
    model = ConsensusClustering(3, generator=generator, n_references=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match=words):
        save_model(model, tmp_path / "model.npz")
    assert not any(tmp_path.iterdir())


def test_functions_and_unknown_classes_are_not_saved(tmp_path):
    lifted = LiftKM(3, kernel=lambda a, b: np.asarray(a) @ np.asarray(b).T).fit(
        ENSEMBLE, features=X - X.min() + 1.0
    )
    with pytest.raises(ValueError, match=r"LiftKM\.\S* is a function, and functions cannot"):
        save_model(lifted, tmp_path / "model.npz")
    with pytest.raises(ValueError, match="this EAC is not fitted; call fit"):
        save_model(EAC(2), tmp_path / "model.npz")
    with pytest.raises(ValueError, match="KMeans, which is not a public estimator"):
        save_model(KMeans(2, n_init=1).fit(X), tmp_path / "model.npz")
    with pytest.raises(ValueError, match="must be a fitted estimator; got an object of type list"):
        save_model([1], tmp_path / "model.npz")


# ---- files that are not what they should be ---------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("saved") / "model.npz"
    save_model(EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1]]), file)
    return file.read_bytes()


def test_every_flipped_byte_is_noticed(saved, tmp_path):
    file = tmp_path / "model.npz"
    for place in range(0, len(saved), 41):
        changed = bytearray(saved)
        changed[place] ^= 1 + place % 255
        file.write_bytes(changed)
        with pytest.raises(ModelFileError, match="model.npz"):
            load_model(file)


def test_every_changed_byte_of_the_zip_headers_is_noticed(saved, tmp_path):
    file = tmp_path / "model.npz"
    headers = [m.start() for m in re.finditer(rb"PK\x01\x02|PK\x03\x04|PK\x05\x06", saved)]
    for place in [start + offset for start in headers[:1] + headers[-2:] for offset in range(22)]:
        for value in (1, 210):  # versions, methods and flags that Python has not, or encryption
            changed = bytearray(saved)
            changed[place] ^= value
            file.write_bytes(changed)
            with pytest.raises(ModelFileError, match="model.npz"):
                load_model(file)
            assert is_model_file(file) in (True, False)


@pytest.mark.parametrize("length", [0, 10, 64, 65, 500, -65, -64, -1])
def test_every_cut_is_noticed(saved, length, tmp_path):
    file = tmp_path / "model.npz"
    file.write_bytes(saved[:length])
    with pytest.raises(ModelFileError, match="is damaged, cut short, or not a file"):
        load_model(file)


def test_foreign_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.arange(30))
    with pytest.raises(ModelFileError, match="is not a model that clusterscape saved"):
        load_model(tmp_path / "other.npz")
    ENSEMBLE.to_npz(tmp_path / "ensemble.npz")
    with pytest.raises(ModelFileError, match="is not a model that clusterscape saved"):
        load_model(tmp_path / "ensemble.npz")
    (tmp_path / "text.npz").write_text("label\n" * 50)
    with pytest.raises(ModelFileError, match="is damaged, cut short, or not"):
        load_model(tmp_path / "text.npz")
    with pytest.raises(FileNotFoundError, match="no.npz"):
        load_model(tmp_path / "no.npz")


def forged(path, model, arrays=None, **outer):
    """Write a file with a right checksum and a content of our choice."""
    from clusterscape.io._archive import write_archive

    write_archive(path, {"model": model, "versions": {}, **outer}, arrays or {})


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"kind": "estimator", "class": "KMeans", "params": {}, "fitted": {}}, "'KMeans'"),
        ({"kind": "sklearn", "class": "sklearn.svm.SVC", "params": {}}, "sklearn.svm.SVC"),
        ({"kind": "sklearn", "class": "os.system", "params": {}}, "os.system"),
        ({"kind": "object", "class": "os:system", "fields": {}}, "os:system"),
        ({"kind": "object", "class": "subprocess:Popen", "fields": {"args": 1}}, "Popen"),
        ({"kind": "object", "class": "clusterscape.cli.__main__:x", "fields": {}}, "__main__"),
        ({"kind": "object", "class": "clusterscape.combine:EAC", "fields": {}}, "EAC"),
        ({"kind": "object", "class": "clusterscape.validate:os", "fields": {}}, ":os"),
        (
            {
                "kind": "object",
                "class": "clusterscape.combine.scores:ConsensusScores",
                "fields": {},
            },
            "other fields",
        ),
        ({"kind": "call", "class": "eval"}, "does not hold what a saved model holds"),
        ({"kind": "array", "key": "none", "frozen": False}, "does not hold what a saved model"),
        ([1, 2], "does not hold a fitted model"),
        ({"kind": "estimator", "class": "EAC", "params": {"x": 1}, "fitted": {}}, "unexpected"),
        (
            {"kind": "estimator", "class": "EAC", "params": {}, "fitted": {"__class__": 1}},
            "__class__",
        ),
        ({"kind": "estimator", "class": "EAC", "params": {}, "fitted": {}}, "not hold a fitted"),
    ],
)
def test_nothing_in_a_file_chooses_what_runs(node, words, tmp_path):
    forged(tmp_path / "model.npz", node)
    with pytest.raises(ModelFileError, match=words):
        load_model(tmp_path / "model.npz")


def test_newer_formats_are_refused(tmp_path):
    forged(tmp_path / "model.npz", None, version=99)
    with pytest.raises(ModelFileError, match="version 99 of the format"):
        load_model(tmp_path / "model.npz")


# ---- folders of results -----------------------------------------------------------------------


def test_results_are_saved_and_read_back(tmp_path):
    model = fitted("model")
    report = save_results(
        tmp_path / "deep" / "out",
        model,
        run={"command": "test", "figure": np.float64(2)},
        files={"note.txt": lambda path: path.write_text("hello")},
    )
    folder = tmp_path / "deep" / "out"
    files = sorted(path.name for path in folder.iterdir())
    assert files == ["ensemble.npz", "labels.csv", "model.npz", "note.txt", "run.json"]
    assert set(report["outputs"]) == set(files) - {"run.json"}
    found = load_results(folder)
    assert found.run == json.loads(json.dumps(report, default=float))
    assert found.ensemble == model.ensemble_ == Ensemble.from_npz(folder / "ensemble.npz")
    pd.testing.assert_frame_equal(found.labels, model.to_frame())
    table = pd.read_csv(folder / "labels.csv", index_col="id")
    assert list(table.columns) == ["label", "confidence", "runner_up", "runner_up_share"]
    np.testing.assert_array_equal(table["label"], model.labels_)
    assert list(table.index) == IDS
    votes = read_labels(folder / "labels.csv")
    assert votes.names == ("label",)
    # A second result takes the place of the first, and of the files that only that had.
    save_results(folder, model, membership=True)
    assert not (folder / "note.txt").exists()
    assert read_labels(folder / "labels.csv").names == ("label",)


@pytest.mark.parametrize("kind", NO_VOTES, ids=lambda kind: kind.__name__)
def test_clusterers_without_votes_have_the_same_table_and_files(kind, tmp_path):
    model = kind(3, random_state=0).fit(FRAME)
    table = model.to_frame(membership=True)
    assert list(table.columns[:4]) == ["label", "confidence", "runner_up", "runner_up_share"]
    assert list(table.index) == IDS
    np.testing.assert_array_equal(table["label"], model.labels_)
    shares = table.iloc[:, 4:].to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    if hasattr(model, "membership_"):
        np.testing.assert_array_equal(shares, model.membership_)
        np.testing.assert_array_equal(table["confidence"], shares.max(axis=1))
        np.testing.assert_allclose(table["runner_up_share"], np.sort(shares, axis=1)[:, -2])
    else:
        np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
        assert table[["confidence", "runner_up", "runner_up_share"]].isna().all(axis=None)
    report = save_results(tmp_path / "out", model)
    assert ("ensemble.npz" in report["outputs"]) == hasattr(model, "ensemble_")
    found = load_results(tmp_path / "out")
    pd.testing.assert_frame_equal(found.labels, model.to_frame())
    new = FRAME + 0.4
    np.testing.assert_array_equal(found.model.predict(new), model.predict(new))
    if not hasattr(model, "ensemble_"):
        with pytest.raises(AttributeError, match="combines no partitions"):
            _ = found.ensemble


@pytest.mark.parametrize("package", [combine, forest, semisupervised, validate])
def test_every_public_clusterer_has_a_table(package):
    named = [getattr(package, name) for name in package.__all__]
    found = [c for c in named if isinstance(c, type) and issubclass(c, ClusterMixin)]
    assert found
    assert [c.__name__ for c in found if not hasattr(c, "to_frame")] == []


@pytest.mark.parametrize("name", ["labels.csv", "ensemble.npz", "model.npz"])
def test_a_changed_or_missing_file_of_a_folder_of_results_is_noticed(tmp_path, name):
    save_results(tmp_path / "out", fitted("model"))
    file = tmp_path / "out" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    with pytest.raises(ModelFileError, match=f"{name} is not the file that run.json describes"):
        load_results(tmp_path / "out")
    file.unlink()
    with pytest.raises(ModelFileError, match=f"{name} is missing; save the results again"):
        load_results(tmp_path / "out")


def test_entries_of_a_run_that_would_make_it_unreadable_are_refused(tmp_path):
    model = fitted("model")
    for name in ("program", "versions", "outputs"):
        with pytest.raises(ValueError, match=f"run: '{name}' is an entry .* such as 'my_{name}'"):
            save_results(tmp_path / "out", model, run={name: "my pipeline"})
    for odd in (object(), [1, lambda: 0], {"deep": (object(),)}):
        with pytest.raises(ValueError, match=r"run\['a'\] holds a value of type .* numbers, lists"):
            save_results(tmp_path / "out", model, run={"a": odd})
    with pytest.raises(TypeError, match="run must be a mapping of entries; got list"):
        save_results(tmp_path / "out", model, run=["a"])
    assert not (tmp_path / "out").exists()
    save_results(tmp_path / "out", model, run={"a": tmp_path, "b": pd.Timestamp("2024-01-02")})
    assert load_results(tmp_path / "out").run["b"].startswith("2024-01-02")


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1)), RobustScaler()])
def test_pipelines_are_saved_and_read_back(scaler, tmp_path):
    model = ConsensusClustering(3, n_references=0, n_partitions=8, random_state=0)
    pipe = make_pipeline(scaler.set_output(transform="pandas"), model).fit(FRAME)
    save_results(tmp_path / "out", pipe)
    found = load_results(tmp_path / "out")
    assert type(found.model) is type(pipe)
    np.testing.assert_array_equal(found.model.predict(FRAME), pipe.predict(FRAME))
    np.testing.assert_array_equal(found.model[0].transform(FRAME), pipe[0].transform(FRAME))
    assert list(found.labels.index) == IDS
    pd.testing.assert_frame_equal(found.labels, model.to_frame())
    save_model(found.model, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "out" / "model.npz").read_bytes()


def test_pipelines_with_other_steps_are_refused(tmp_path):
    model = ConsensusClustering(2, n_references=0, n_partitions=3, random_state=0)
    pipe = make_pipeline(FunctionTransformer(), model).fit(X)
    with pytest.raises(ValueError, match="is of type FunctionTransformer; before the clusterer"):
        save_model(pipe, tmp_path / "model.npz")
    with pytest.raises(ValueError, match="is not fitted"):
        save_model(make_pipeline(StandardScaler(), ConsensusClustering()), tmp_path / "model.npz")
    forged(
        tmp_path / "model.npz",
        {"kind": "transformer", "class": "FunctionTransformer", "params": {}, "fitted": {}},
    )
    with pytest.raises(ModelFileError, match="a transformer 'FunctionTransformer'"):
        load_model(tmp_path / "model.npz")


def test_ids_of_arrays(tmp_path):
    model = ConsensusClustering(2, n_references=0, n_partitions=3, random_state=0)
    assert list(model.fit(sparse.csr_matrix(X), index=IDS).to_frame().index) == IDS
    forest = ClusterForest(2, n_vectors=3, random_state=0).fit(X, index=IDS)
    assert list(forest.to_frame().index) == IDS
    with pytest.raises(ValueError, match="index has 2 entries"):
        model.fit(X, index=IDS[:2])


def test_a_failure_leaves_the_folder_as_it_was(tmp_path):
    def fail(path):
        raise RuntimeError("no more")

    model = fitted("sec")
    with pytest.raises(RuntimeError, match="no more"):
        save_results(tmp_path / "a" / "new", model, files={"x.png": fail})
    assert not any(tmp_path.iterdir())
    save_results(tmp_path / "old", model)
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    with pytest.raises(RuntimeError, match="no more"):
        save_results(tmp_path / "old", model, files={"x.png": fail})
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}


def test_changed_results_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="holds no results of clusterscape"):
        load_results(tmp_path)
    save_results(tmp_path / "out", fitted("sec"))
    with (tmp_path / "out" / "labels.csv").open("a") as handle:
        handle.write("new,1,1,,\n")
    with pytest.raises(ModelFileError, match=r"labels.csv is not the file that run.json describes"):
        load_results(tmp_path / "out")
    (tmp_path / "out" / "model.npz").unlink()
    save_results(tmp_path / "out", fitted("sec"))
    (tmp_path / "out" / "model.npz").unlink()
    with pytest.raises(ModelFileError, match=r"model.npz is missing"):
        load_results(tmp_path / "out")


def test_foreign_folders_are_refused_before_the_work(tmp_path):
    (tmp_path / "labels.csv").write_text("mine")
    with pytest.raises(ValueError, match=r"labels.csv that clusterscape did not write"):
        check_results_folder(tmp_path)
    model = fitted("sec")
    with pytest.raises(ValueError, match=r"holds a file labels.csv"):
        save_results(tmp_path, model)
    assert (tmp_path / "labels.csv").read_text() == "mine"
    save_results(tmp_path, model, overwrite=True)
    check_results_folder(tmp_path)
    with pytest.raises(ValueError, match="is a file; name a folder"):
        check_results_folder(tmp_path / "labels.csv")
    for name in ("run.json", "../x.png", ".hidden"):
        with pytest.raises(ValueError, match="cannot be the name of a file of results"):
            save_results(tmp_path, model, files={name: print})


def test_atomic_folder_keeps_other_files(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "old.png").write_text("old")
    with atomic_folder(tmp_path, last="run.json", replaced=["old.png"]) as stage:
        (stage / "run.json").write_text("{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt", "run.json"]


# ---- features that are no numbers -------------------------------------------------------------

FITS = {
    "model": lambda data: ConsensusClustering(2, n_references=0).fit(data),
    "forest": lambda data: ClusterForest(2, n_vectors=3).fit(data),
    "projections": lambda data: RandomProjectionEnsemble(2).fit(data),
    "generator": lambda data: EnsembleGenerator(2).generate(data),
    "grower": lambda data: ForestGrower(2).generate(data),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda f: f.assign(city="Rome"),
            r"column 'city' of type.*get_dummies\(X, columns=\['city",
        ),
        (
            lambda f: f.assign(day=pd.Timestamp("2020-01-01")),
            "column 'day' of type datetime64.*days",
        ),
        (lambda f: f.assign(t=pd.Timedelta("1D")), "column 't' of type timedelta64.*days since"),
        (lambda f: f.assign(kind=pd.Categorical(["u"] * len(f))), "column 'kind' of type category"),
        (lambda f: f.assign(mix=[1.0, "x"] * (len(f) // 2)), "column 'mix' of type object"),
        (lambda f: f.assign(city="Rome").to_numpy(dtype=object), "the text 'Rome' in column 3"),
        (
            lambda f: f.assign(d=pd.Timestamp("2020-01-01")).to_numpy(dtype=object),
            "the date 2020-01-01 00:00:00 in column 3",
        ),
        (
            lambda f: np.full((20, 2), np.datetime64("2020-01-01")),
            "X holds dates .datetime64.D.*days since the earliest",
        ),
    ],
    ids=["text", "date", "duration", "category", "mixed", "text array", "date array", "dates"],
)
def test_columns_that_are_no_numbers_are_named(fit, change, words):
    with pytest.raises(TypeError, match=words):
        fit(change(FRAME))


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_missing_values_are_placed(fit):
    holes = FRAME.copy()
    holes.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="X has NaN in row 3, column 'b'; fill in or drop"):
        fit(holes)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_annotated_data_say_which_matrix_to_give(fit):
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(FRAME)
    with pytest.raises(TypeError, match=r"X is of type AnnData.*for example X\.X\."):
        fit(data)
    data.obsm["X_pca"] = X[:, :2]
    with pytest.raises(TypeError, match=r"for example X\.X, or X\.obsm\['X_pca'\]"):
        fit(data)


def test_numbers_as_objects_are_numbers():
    as_objects = FRAME.astype(object)
    model = ConsensusClustering(3, n_references=0, n_partitions=10, random_state=0)
    expected = model.fit(FRAME).labels_
    np.testing.assert_array_equal(model.fit(as_objects).labels_, expected)
    assert model.ensemble_.index[0] == "s0"
    assert EnsembleGenerator(3, random_state=0).generate(as_objects).n_points == len(X)


def test_weights_are_copies_for_every_score():
    rng = np.random.default_rng(3)
    full = Ensemble.from_labels(rng.integers(0, 2, size=(40, 3)))
    labels = full.labels[:, 0].astype(int)
    small, back = full.compress()
    first = np.unique(back, return_index=True)[1]
    assert small.n_points < 10
    whole, weighted = consensus_scores(full, labels), consensus_scores(small, labels[first])
    np.testing.assert_allclose(weighted.membership[back], whole.membership, atol=1e-12)
    np.testing.assert_allclose(weighted.confidence[back], whole.confidence, atol=1e-12)
    np.testing.assert_allclose(weighted.cluster_consensus, whole.cluster_consensus, atol=1e-12)
    np.testing.assert_allclose(
        mean_coassociation(small, labels[first])[back], mean_coassociation(full, labels), atol=1e-12
    )


def test_a_cluster_of_one_point_is_sure_where_partitions_leave_the_point_alone():
    runs = [[0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2]]
    scores = consensus_scores(runs, [0, 0, 0, 1, 1, 2])
    assert scores.confidence[5] == pytest.approx(2 / 3)
    both = consensus_scores([*runs, [0, 1, 1, 2, 2, 2]], [0, 0, 0, 1, 1, 1])
    assert both.confidence[0] == pytest.approx(3.5 / 4)  # alone in the last one, which prefers none


def test_a_point_that_partitions_leave_alone_is_in_doubt():
    near = np.repeat([0, 1], [5, 4])
    apart = np.r_[near[:-1], 2]  # the last point in a cluster of its own
    hard = consensus_scores([near, near, apart, apart], near)
    assert hard.confidence[-1] == pytest.approx((2 + 2 / 2) / 4)
    np.testing.assert_allclose(hard.membership.sum(axis=1), 1)
    soft = [np.eye(3)[labels] for labels in (near, near, apart, apart)]
    np.testing.assert_allclose(consensus_scores(soft, near).confidence, hard.confidence)


def test_partitions_coarser_than_the_answer_do_not_dilute_the_confidence():
    answer = np.repeat([0, 1, 2, 3], 5)
    united, apart = np.repeat([0, 1], 10), np.repeat([0, 1], [15, 5])
    runs = [answer, answer, united, united, apart]
    scores = consensus_scores(runs, answer)
    # Between clusters that it unites a coarse run keeps 0.02 of its vote, divided as others are:
    # four of five points of the own cluster, all of the other ones.
    two, three = 0.8 / 1.8, 0.8 / 2.8
    assert scores.confidence[0] == pytest.approx((2 + 0.02 * (2 * two + three)) / 2.06)
    assert scores.confidence[15] == pytest.approx((2 + 0.02 * 2 * two + 1) / 3.04)
    # Runs as fine as the answer that mix two clusters count in full.
    mixed = np.r_[np.repeat([0, 1], 5), np.tile([2, 3], 5)]
    scores = consensus_scores([answer, mixed], answer)
    assert scores.confidence[0] == 1
    assert scores.confidence[10] == pytest.approx((1 + 1 / 2) / 2)
    # Nothing but coarse runs: the little that is left decides.
    only = consensus_scores([united, apart], answer)
    assert only.confidence[0] == pytest.approx((two + three) / 2)


def test_saving_looks_for_a_class_where_it_is() -> None:
    program = (
        "import sys\n"
        "from clusterscape.io._values import public_estimator\n"
        "print(public_estimator('ConsensusClustering').__name__)\n"
        "print([m for m in ('forest', 'explore', 'plot') if f'clusterscape.{m}' in sys.modules])\n"
        "print(public_estimator('ClusterForest').__name__, public_estimator('Ensemble'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["ConsensusClustering", "[]", "ClusterForest None"]
