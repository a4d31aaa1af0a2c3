"""
A mixed table in scikit-learn's GridSearchCV
============================================

The estimators can be steps of any scikit-learn pipeline. Here a ColumnTransformer scales
numbers and encodes categories as one-hot columns, and GridSearchCV chooses the norm and the
radius by the mean AUC over the tasks. The figure shows the scores of the search, and below
them the columns that l1,∞ selects at each radius. l1 has one radius per task, so its curve
lies further left. At the largest radii the three norms are level: with this many flats,
sharing features gains nothing. The table of flats is synthetic; three of its eight variables
decide the answers to five questions.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from jointsparse import JointSparseClassifier
from jointsparse.pipeline.figures.style import looks

plt.style.use("jointsparse.pipeline.figures.jointsparse")
rng = np.random.default_rng(1)
n = 300
flats = pd.DataFrame(
    {
        "area (m²)": rng.gamma(20, 4, n),
        "floor": rng.integers(0, 8, n),
        "built": rng.integers(1900, 2020, n),
        "noise (dB)": rng.normal(55, 6, n),
        "lift": rng.choice(["yes", "no"], n),
        "heating": rng.choice(["gas", "oil", "district", "heat pump"], n),
        "district": rng.choice(["north", "east", "south", "west", "centre"], n),
        "floor cover": rng.choice(["wood", "tiles", "carpet"], n),
    }
)
numbers = flats.select_dtypes("number").columns
effects = {
    name: rng.normal(size=(flats[name].nunique(), 5)) for name in ("heating", "district")
}
F = np.outer((flats["area (m²)"] - 80) / 18, rng.choice([-1, 1], 5)) + rng.normal(size=(n, 5))
F += sum(effect[flats[name].astype("category").cat.codes] for name, effect in effects.items())
questions = ["let in a week", "suits a family", "has pets", "draws complaints", "rises in rent"]
Y = pd.DataFrame((np.median(F, axis=0) < F).astype(int), columns=questions)

# %%
# The search needs to know nothing about tasks: a matrix of labels and the scorer "roc_auc" are
# enough.

prepare = make_column_transformer(
    (StandardScaler(), numbers),
    (OneHotEncoder(sparse_output=False), flats.columns.drop(numbers)),
    verbose_feature_names_out=False,
)
pipeline = Pipeline(
    [("prepare", prepare), ("learn", JointSparseClassifier(tol=1e-2))]
).set_output(transform="pandas")
radii = np.geomspace(0.5, 200, 8).round(2)
grid = {"learn__norm": ["l1inf", "l12", "l1"], "learn__radius": radii}
search = GridSearchCV(
    pipeline, grid, scoring="roc_auc", cv=KFold(5, shuffle=True, random_state=0)
).fit(flats, Y)
table = pd.DataFrame(search.cv_results_)
print(search.best_params_, f"mean AUC {search.best_score_:.3f}")
print("selected:", ", ".join(search.best_estimator_[-1].selected_features_))

# %%
# A fit on all flats at each radius shows which columns enter, and when.

names = search.best_estimator_["prepare"].get_feature_names_out()
used = []
for radius in radii:
    fit = clone(pipeline).set_params(learn__radius=radius).fit(flats, Y)
    used.append(np.abs(fit["learn"].coef_).max(axis=0))

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7.4, 7), sharex=True, height_ratios=[1, 1.5]
)
for norm, name in (("l1inf", "l1,∞"), ("l12", "l1,2"), ("l1", "l1, each task alone")):
    rows = table[table["param_learn__norm"] == norm]
    x, mean = rows["param_learn__radius"].astype(float), rows["mean_test_score"]
    look = looks(["hinge-" + norm])["hinge-" + norm]
    top.plot(x, mean, label=name, **look)
    spread = rows["std_test_score"]
    top.fill_between(x, mean - spread, mean + spread, color=look["color"], alpha=0.1, lw=0)
top.set(ylabel="mean AUC of 5 tasks, by folds", xscale="log")
top.legend(title="band: ±1 standard deviation of 5 folds", title_fontsize=8)
places = np.argwhere(np.array(used) > 0)
size = np.array(used)[tuple(places.T)]
dots = bottom.scatter(radii[places[:, 0]], places[:, 1], s=70, c=size, cmap="viridis_r", vmin=0)
bottom.set_yticks(range(len(names)), names)
bottom.invert_yaxis()
bottom.set_xticks(radii, [f"{radius:.3g}" for radius in radii])
bottom.set_xticks([], minor=True)
bottom.set(xlabel="radius", ylabel="columns, with l1,∞")
figure.colorbar(dots, ax=bottom, label="largest |weight| of a column")
plt.show()
