"""
A model to keep: save, load, and what a file cannot do
======================================================

`save` writes a fitted model, or a Pipeline with one, into a file, and `load` reads the same
model back. A pickle can run any code when it is read. This file runs nothing: it holds
numbers, text, and names of classes that `load` knows. Each part has a checksum, so that
damage is found. A card of text and numbers may travel with the model.
"""

import json
import tempfile
import textwrap
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse import JointSparseClassifier, SupportDisplay, load, save, task_scores

plt.style.use("jointsparse.pipeline.figures.jointsparse")
wines = load_wine(as_frame=True)
features = wines.data.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})
X, X_test, y, y_test = train_test_split(
    features, wines.target, random_state=0, stratify=wines.target
)
model = (
    make_pipeline(StandardScaler(), JointSparseClassifier(radius=5.0))
    .set_output(transform="pandas")
    .fit(X, y)
)
model.card_ = {
    "data": "wine of scikit-learn",
    "mean AUC": round(float(task_scores(model, X_test, y_test).auc.mean()), 3),
}

# %%
# The file is an archive: who wrote it, the shape of the model, and its arrays. The same model
# makes the same bytes.

folder = Path(tempfile.mkdtemp())
save(model, folder / "wines.skops")
save(model, folder / "again.skops")
first, second = ((folder / f"{name}.skops").read_bytes() for name in ("wines", "again"))
print("same bytes:", first == second)
with zipfile.ZipFile(folder / "wines.skops") as archive:
    print("versions:", json.loads(archive.read("jointsparse.json"))["versions"])
    for entry in archive.infolist():
        print(f"{entry.file_size:7,} bytes  {entry.filename[:20]}")

# %%
# The loaded model is the one that was saved, to the bit.

loaded = load(folder / "wines.skops")
print("card:", loaded.card_)
decisions = [each.decision_function(X_test) for each in (model, loaded)]
print("same decisions:", np.array_equal(*decisions))

# %%
# A byte that has changed, and a pickle in the place of a model: both are refused, and nothing
# is run.

content = bytearray(first)
content[len(content) // 2] ^= 1
(folder / "changed.skops").write_bytes(content)
command = b"cos\nsystem\n(S'echo this ran'\ntR."  # pickle.loads would run it
(folder / "pickle.skops").write_bytes(command)
for name in ("changed", "pickle"):
    try:
        load(folder / f"{name}.skops")
    except ValueError as error:
        print(textwrap.fill(str(error).replace(str(folder), "..."), 84))

# %%
# The weights of both.

figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.9), sharey=True)
for axes, title, shown in zip(panels, ("saved", "loaded"), (model, loaded), strict=True):
    SupportDisplay.from_estimator(shown[-1], ax=axes)
    plt.setp(axes.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
    axes.grid(visible=False)
    axes.set(title=title, ylabel="class of wine")
plt.show()
