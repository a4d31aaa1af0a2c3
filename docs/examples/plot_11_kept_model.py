"""
Saving a model in a file that cannot run code
=============================================

`save` writes a fitted model, or a Pipeline that contains one, to a file, and `load` reads it
back. A pickle can run arbitrary code when it is read. The files that `save` writes contain
nothing that could run: only numbers, text, and the names of classes that `load` knows. Each
part has a checksum, so that damage is detected. A card of text and numbers can be stored with
the model.
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
# The file is an archive. It contains the versions of the packages that wrote it, the structure
# of the model, and the model's arrays. Saving the same model twice gives the same bytes.

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
# The loaded model equals the saved model bit for bit.

loaded = load(folder / "wines.skops")
print("card:", loaded.card_)
decisions = [fitted.decision_function(X_test) for fitted in (model, loaded)]
print("same decisions:", np.array_equal(*decisions))

# %%
# `load` refuses a file in which a byte has changed, and a pickle. Nothing in them is run.

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
# The weights of the saved and of the loaded model.

figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.9), sharey=True)
for axes, title, shown in zip(panels, ("saved", "loaded"), (model, loaded), strict=True):
    SupportDisplay.from_estimator(shown[-1], ax=axes)
    plt.setp(axes.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
    axes.grid(visible=False)
    axes.set(title=title, ylabel="class of wine")
plt.show()
