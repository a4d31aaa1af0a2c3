"""
Sparse layers and a learnt radius in JAX
========================================

The projections take arrays of JAX, and JAX differentiates them. Here the first layer of an
autoencoder is projected after each step of training, so that whole features drop out. Then a
radius is learnt by its gradient, which the projection has, too.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jointsparse.norms import l1inf

plt.style.use("jointsparse.pipeline.figures.jointsparse")

# %%
# Four hidden factors drive 20 of 300 features, as sensors or genes might be. The others are
# noise of the same variance.

rng = np.random.default_rng(0)
N_FEATURES, N_RELEVANT, N_FACTORS = 300, 20, 4
factors = rng.normal(size=(1000, N_FACTORS))
X = rng.normal(size=(1000, N_FEATURES))
X[:, :N_RELEVANT] = np.tanh(factors @ rng.normal(size=(N_FACTORS, N_RELEVANT)))
X = jnp.asarray((X - X.mean(axis=0)) / X.std(axis=0), jnp.float32)

# %%
# The autoencoder has one hidden layer, with a unit for each factor. A row of its first layer
# holds the weights of one feature, and the l1,∞ ball of that layer makes rows zero.


def loss(weights, X):
    return jnp.mean((jnp.tanh(X @ weights["first"]) @ weights["second"] - X) ** 2)


@jax.jit
def step(weights, momentum, radius):
    gradient = jax.grad(loss)(weights, X)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
    weights = jax.tree.map(lambda w, m: w - 2.0 * m, weights, momentum)
    return weights | {"first": l1inf.project(weights["first"], radius)}, momentum


def train(radius, n_steps=800):
    first = 0.05 * rng.normal(size=(N_FEATURES, N_FACTORS))
    second = 0.05 * rng.normal(size=(N_FACTORS, N_FEATURES))
    weights = {
        "first": jnp.asarray(first, jnp.float32),
        "second": jnp.asarray(second, jnp.float32),
    }
    momentum = jax.tree.map(jnp.zeros_like, weights)
    for _ in range(n_steps):
        weights, momentum = step(weights, momentum, radius)
    return weights


RADII = {"without a ball": jnp.inf, "radius 0.6": 0.6}
largest = {name: np.abs(train(radius)["first"]).max(axis=1) for name, radius in RADII.items()}
for name, sizes in largest.items():
    used = sizes > 0
    print(
        f"{name}: {used.sum()} of {N_FEATURES} features,",
        f"{used[:N_RELEVANT].sum()} of the {N_RELEVANT} relevant ones",
    )

# %%
# A radius is a number like any other, so its gradient of a validation loss tells whether the
# ball should grow. Here 20 tasks share 10 of 100 features, and least squares from few samples
# is projected. Gradient descent on the logarithm of the radius starts far too high.

n_tasks, noise = 20, 2.0
true = np.zeros((100, n_tasks))
true[:10] = rng.choice([-1.0, 1.0], size=(10, n_tasks))
A, A_valid = rng.normal(size=(2, 150, 100))
Y, Y_valid = (M @ true + noise * rng.normal(size=(150, n_tasks)) for M in (A, A_valid))
least_squares = jnp.asarray(np.linalg.lstsq(A, Y)[0], jnp.float32)


@jax.jit
@jax.value_and_grad
def validation(log_radius):
    B = l1inf.project(least_squares, jnp.exp(log_radius))
    return jnp.mean((A_valid @ B - Y_valid) ** 2)


log_radius, visited = jnp.log(60.0), []
for _ in range(40):
    value, slope = validation(log_radius)
    visited.append((float(jnp.exp(log_radius)), float(value)))
    log_radius -= 0.05 * slope
print(f"radius {visited[0][0]:.0f} -> {visited[-1][0]:.1f}, norm of W {l1inf.norm(true):.0f}")

# %%
figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.8))
for (name, sizes), colour in zip(largest.items(), ("0.6", "C0"), strict=True):
    panels[0].plot(np.arange(1, N_FEATURES + 1), sizes, ".", color=colour, label=name)
panels[0].axvline(N_RELEVANT + 0.5, color="C1", linewidth=1)
panels[0].set(
    xlabel="feature, the relevant ones first",
    ylabel="largest weight in the first layer",
    xscale="log",
    xticks=[1, 10, N_RELEVANT, 100, N_FEATURES],
    xticklabels=[1, 10, N_RELEVANT, 100, N_FEATURES],
)
panels[0].minorticks_off()
panels[0].legend()
radii = np.geomspace(2, 80, 60)
curve = [float(validation(jnp.log(radius))[0]) for radius in radii]
panels[1].plot(radii, curve, color="0.6", label="every radius")
panels[1].plot(*zip(*visited, strict=True), ".-", color="C0", label="steps of gradient descent")
panels[1].axvline(l1inf.norm(true), color="C1", linewidth=1, label="norm of the true weights")
panels[1].set(
    xlabel="radius",
    ylabel="squared error on validation data",
    xscale="log",
    xticks=[2, 5, 10, 20, 50],
    xticklabels=[2, 5, 10, 20, 50],
)
panels[1].minorticks_off()
panels[1].legend()
plt.show()
