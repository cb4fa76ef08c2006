"""Steps before clustering: mixed tables, logarithms, the most variable columns, Gower."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape import ConsensusClustering
from clusterscape._core.errors import ParameterError
from clusterscape.io import load_model, save_model
from clusterscape.preprocess import (
    GowerDistances,
    LogTransformer,
    MixedScaler,
    TableEncoder,
    TopVariable,
    UnknownCategoryWarning,
    gower_distances,
)

_WHY = "its rows 8 and 13 have no column in which both have a value, and so no distance"
_PICKLED = {
    "check_estimators_pickle": _WHY,
    "check_estimators_pickle(readonly_memmap=True)": _WHY,
}


@parametrize_with_checks(
    [
        GowerDistances(),
        LogTransformer(),
        MixedScaler(),
        TopVariable(1),
        TableEncoder(),
        TableEncoder(missing="refuse"),
    ],
    expected_failed_checks=lambda made: _PICKLED if isinstance(made, GowerDistances) else {},
)
def test_scikit_learn_contract(estimator, check) -> None:
    check(estimator)


def mixed(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Return numbers, words and gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 9, n),
            "city": rng.choice(["Ulm", "Bonn", "Trier"], n),
            "pays": rng.random(n) < 0.5,
            "plan": pd.Categorical(rng.choice(["a", "b"], n)),
        }
    )
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n) < 0.2, "city"] = None
    return frame


def test_the_encoder_is_what_scikit_learn_does_column_by_column(seed: int) -> None:
    frame = mixed(seed=seed)
    words = ["city", "plan"]
    twin = ColumnTransformer(
        [
            ("age", SimpleImputer(strategy="median"), ["age"]),
            (
                "city",
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)
                ),
                ["city"],
            ),
            ("pays", FunctionTransformer(lambda f: f.astype(float)), ["pays"]),
            ("plan", OneHotEncoder(sparse_output=False), ["plan"]),
        ]
    )
    twin_frame = frame.assign(**{c: frame[c].astype(object) for c in words})
    twin_frame["city"] = twin_frame["city"].where(twin_frame["city"].notna(), np.nan)
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(encoder.transform(frame), twin.fit_transform(twin_frame))
    assert list(encoder.get_feature_names_out()) == [
        "age", "city=Bonn", "city=Trier", "city=Ulm", "pays", "plan=a", "plan=b",
    ]  # fmt: skip
    assert encoder.n_missing_.tolist() == frame.isna().sum().tolist()


def test_what_the_encoder_refuses_and_says() -> None:
    frame = mixed()
    with pytest.raises(ValueError, match="the column 'age' has missing values.*missing='impute'"):
        TableEncoder(missing="refuse").fit(frame)
    with pytest.raises(ValueError, match="the column 'city' holds words.*categories='one-hot'"):
        TableEncoder(categories="refuse").fit(frame)
    with pytest.raises(ValueError, match="the column 'day' holds dates"):
        TableEncoder().fit(frame.assign(day=pd.Timestamp("2020-01-01")))
    with pytest.raises(ValueError, match="the column 'none' has no values"):
        TableEncoder().fit(frame.assign(none=np.nan))
    encoder = TableEncoder().fit(frame)
    with pytest.warns(UnknownCategoryWarning, match="the column 'city' holds 'Kiel'"):
        made = encoder.transform(frame.assign(city="Kiel"))
    assert (made[:, 1:4] == 0).all()
    with pytest.raises(ValueError, match="the column 'age' held numbers in fit.*'old'"):
        encoder.transform(frame.assign(age="old"))


def test_logarithms() -> None:
    X = np.array([[0.0, 9.0], [99.0, 3.0]])
    assert np.array_equal(LogTransformer().fit_transform(X), np.log1p(X))
    assert np.allclose(LogTransformer(unit=10).fit_transform(X), np.log1p(X / 10))
    made = LogTransformer().fit_transform(sparse.csr_matrix(X))
    assert sparse.issparse(made)
    assert np.array_equal(made.toarray(), np.log1p(X))
    with pytest.raises(ValueError, match="the column 'b' holds -3, which has no logarithm"):
        LogTransformer().fit(pd.DataFrame({"a": [1, 2], "b": [1, -3]}))


def test_the_most_variable_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8)) * rng.permutation(8)
    wanted = np.sort(np.argsort(X.var(axis=0))[-3:])
    assert np.array_equal(TopVariable(3).fit_transform(X), X[:, wanted])
    made = TopVariable(3).fit_transform(sparse.csr_matrix(X))
    assert np.allclose(made.toarray(), X[:, wanted])
    assert TopVariable(2).fit(np.ones((3, 4))).get_support().tolist() == [True, True, False, False]
    with pytest.raises(ParameterError, match="n_features=9 is more than the 8 columns"):
        TopVariable(9).fit(X)


def test_gower_is_its_definition(seed: int) -> None:
    frame = mixed(12, seed)
    found = gower_distances(frame, weights=[1, 2, 1, 0.5])
    span = frame["age"].max() - frame["age"].min()
    for i in range(12):
        for k in range(12):
            one, two = frame.iloc[i], frame.iloc[k]
            total = seen = 0.0
            for name, weight in zip(frame, (1, 2, 1, 0.5), strict=True):
                if pd.isna(one[name]) or pd.isna(two[name]):
                    continue
                apart = (
                    abs(one[name] - two[name]) / span if name == "age" else one[name] != two[name]
                )
                total, seen = total + weight * apart, seen + weight
            assert found[i, k] == pytest.approx(total / seen)
    assert (np.diag(found) == 0).all()


def test_gower_as_a_step_places_new_rows(seed: int, tmp_path: Path) -> None:
    frame = mixed(60, seed=seed)
    step = GowerDistances(weights=[1, 2, 1, 0.5])
    whole = gower_distances(frame, weights=[1, 2, 1, 0.5])
    np.testing.assert_array_equal(step.fit(frame).transform(frame)[whole > 0], whole[whole > 0])
    # A new row: the mean over the columns that both have, at most 1 for each.
    new = pd.DataFrame({"age": [900.0], "city": ["Wien"], "pays": [True], "plan": ["b"]})
    found = step.transform(new)[0]
    for i in range(len(frame)):
        row = frame.iloc[i]
        parts = [(0.5, float(row["plan"] != "b")), (1, float(not row["pays"]))]
        if not pd.isna(row["age"]):
            span = frame["age"].max() - frame["age"].min()
            parts.append((1, min((900 - row["age"]) / span, 1.0)))
        if not pd.isna(row["city"]):
            parts.append((2, 1.0))
        wanted = sum(w * d for w, d in parts) / sum(w for w, _ in parts)
        assert found[i] == pytest.approx(wanted)
    model = ConsensusClustering(2, metric="precomputed", n_partitions=10, random_state=0)
    pipeline = make_pipeline(GowerDistances(), model).fit(frame)
    save_model(pipeline, tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    assert np.array_equal(again.predict(frame), pipeline.predict(frame))
    with pytest.raises(ValueError, match="'age' held numbers in fit, and holds 'old' now"):
        step.transform(new.assign(age="old"))


def test_gower_refuses() -> None:
    with pytest.raises(ValueError, match="rows 0 and 1 have no column"):
        gower_distances(pd.DataFrame({"a": [1, None], "b": [None, "x"]}))
    with pytest.raises(ValueError, match="holds dates"):
        gower_distances(pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}))
    with pytest.raises(ValueError, match="weights must be 1 finite numbers"):
        gower_distances(pd.DataFrame({"a": [1, 2]}), weights=[1, 2])


def test_a_saved_pipeline_takes_every_step_again(tmp_path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.poisson(5, size=(60, 6)), columns=list("abcdef")).astype(float)
    frame.iloc[:30] *= 20
    frame.iloc[3, 2] = np.nan
    frame["site"] = rng.choice(["u", "v"], 60)
    model = ConsensusClustering(2, n_partitions=10, n_references=0, random_state=0)
    steps = [TableEncoder(), LogTransformer(), TopVariable(5), StandardScaler(), PCA(2)]
    whole = make_pipeline(*steps, model).fit(frame)
    save_model(whole, tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    assert np.array_equal(again.predict(frame), whole.predict(frame))
    assert [type(s).__name__ for _, s in again.steps] == [type(s).__name__ for _, s in whole.steps]
    save_model(again, tmp_path / "n.npz")
    assert (tmp_path / "n.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pd.to_datetime(["2024-01-01"] * 3), "dates"),
        (pd.to_datetime(["2024-01-01"] * 3, utc=True), "dates"),
        (pd.to_timedelta([1, 2, 3], unit="D"), "durations"),
    ],
)
def test_dates_beside_numbers_are_refused_with_a_sentence(values: pd.Index, what: str) -> None:
    frame = pd.DataFrame({"when": values, "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=f"the column 'when' holds {what}; turn them into numbers"):
        TableEncoder().fit_transform(frame)
    with pytest.raises(ValueError, match=f"X holds {what}"):
        TableEncoder().fit(frame[["when"]].to_numpy(f"{'M' if what == 'dates' else 'm'}8[ns]"))


@pytest.mark.parametrize("step", [TableEncoder(), GowerDistances()])
def test_a_column_of_numbers_may_come_as_gaps_alone(step) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["u", "v", "u"]})
    made = step.fit(frame)
    new = pd.DataFrame({"a": pd.Series([None, None], dtype=object), "b": ["u", "v"]})
    assert np.isfinite(made.transform(new)).all()
    for cell in ("many", datetime.date(2024, 1, 31)):
        with pytest.raises(ValueError, match="the column 'a' held numbers in fit, and holds '"):
            made.transform(new.assign(a=pd.Series([cell, None], dtype=object)))


def test_rows_with_different_words_are_at_distance_one_however_rare(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = np.array(["a"] * 60 + ["b"] * 37 + ["rare"] * 3, dtype=object)
    frame = pd.DataFrame({"size": rng.normal(5, 3, 100), "same": 2.0, "word": words})
    steps = make_pipeline(TableEncoder(), MixedScaler()).set_output(transform="pandas")
    made = steps.fit_transform(frame)
    shown = made.filter(like="word").to_numpy()
    squared = ((shown[:, None] - shown[None]) ** 2).sum(axis=2)
    assert squared == pytest.approx((words[:, None] != words[None]).astype(float))
    twin = StandardScaler().fit_transform(frame[["size"]])[:, 0]
    assert made.iloc[:, 0].to_numpy() == pytest.approx(twin)
    assert not made.iloc[:, 1].any()
    assert steps[-1].two_valued_.tolist() == [False, False, True, True, True]
