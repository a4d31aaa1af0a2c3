"""
Visual words, and which parts of a picture a decision comes from
================================================================

Pictures become histograms of visual words, the nodes of a tree over SIFT descriptors, and a
linear model learns a task for each texture from them (Quattoni et al. 2009, sec. 6). A
decision is a sum over visual words, so the contribution of every patch of a picture is known.
Spread over the pixels, the contributions form a map whose sum is the decision without the
intercept. The model was trained on tiles of a single texture. In a mosaic of four textures,
three maps are purple on their own texture and on parts of others. Brick is recognised by words
that it lacks, so its map is blank there. No decision on the whole mosaic is positive, because
no texture fills it.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from sklearn.pipeline import make_pipeline

from jointsparse import JointSparseClassifier, explain
from jointsparse.features import DenseSift, VocabularyTree

plt.style.use("jointsparse.pipeline.figures.jointsparse")
textures = {
    "brick": data.brick(),
    "grass": data.grass(),
    "gravel": data.gravel(),
    "text": data.page(),
}
tiles, labels = [], []
for k, texture in enumerate(textures.values()):
    left_half = texture[:, : texture.shape[1] // 2]  # the mosaic shows the right half
    height, width = left_half.shape
    for top in range(0, height - 63, 64):
        for left in range(0, width - 63, 64):
            tiles.append(left_half[top : top + 64, left : left + 64])
            labels.append(k)
Y = np.eye(len(textures), dtype=int)[labels]

# %%
# The scikit-learn pipeline has three steps: descriptors, visual words, and a classifier whose
# tasks share words.

steps = DenseSift(), VocabularyTree(random_state=0), JointSparseClassifier(radius=30.0)
model = make_pipeline(*steps).fit(tiles, Y)
classifier = model[-1]
print(f"{len(tiles)} tiles, {classifier.n_features_in_} words")
print(f"{len(classifier.selected_features_)} words in use")

# %%
# `explain` returns the contribution of each pixel to the decision of a task.

corners = [texture[-160:, -160:] for texture in textures.values()]
mosaic = np.vstack([np.hstack(corners[:2]), np.hstack(corners[2:])])
heats = [explain(model, mosaic, k) for k in range(len(textures))]
sums = np.array([heat.sum() for heat in heats]) + classifier.intercept_
print("decisions by maps:   ", sums.round(3))
print("decisions by the model:", model.decision_function([mosaic])[0].round(3))

# %%
# Purple areas raise the decision of a task, orange areas lower it. White lines separate the
# four textures.

figure, panels = plt.subplot_mosaic("MMAB;MMCD", figsize=(9.6, 4.5))
largest = 1000 * max(np.abs(heat).max() for heat in heats)
panels["M"].imshow(mosaic, cmap="gray")
panels["M"].set_title("the mosaic: " + ", ".join(textures))
for key, (name, heat) in zip("ABCD", zip(textures, heats, strict=True), strict=True):
    panels[key].imshow(mosaic, cmap="gray")
    image = panels[key].imshow(1000 * heat, cmap="PuOr", vmin=-largest, vmax=largest, alpha=0.8)
    panels[key].set_title(f"task: {name}")
for panel in panels.values():
    panel.axhline(159.5, color="white", linewidth=1.5)
    panel.axvline(159.5, color="white", linewidth=1.5)
    panel.set_axis_off()
figure.colorbar(
    image,
    ax=[panels[key] for key in "BD"],
    label="contribution of 1,000 pixels to the decision",
)
plt.show()
