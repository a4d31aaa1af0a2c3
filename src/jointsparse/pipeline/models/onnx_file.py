"""Models of tables as ONNX files, which programs without Python can run."""

import json
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from jointsparse.checks import require, require_extra
from jointsparse.features.explain import is_of_pictures
from jointsparse.versions import version
from jointsparse.written import written

OPSET, IR_VERSION = 17, 9  # Choice: versions of the format that ONNX Runtime has read since 1.13
LARGEST_BYTES = 2**31 - 2**16  # limit for the weights, because a file of this format holds less than 2 GiB


def export(model: Pipeline, path: str | Path) -> None:
    """Write a model of tables as an ONNX file: probabilities = logistic(features W + b), in double precision.

    The input `features` is (n_rows, n_features), in the order of the training data. The output `probabilities`,
    (n_rows, n_labels), holds the calibrated probabilities that `annotator.annotate_rows` lists, which reads features
    in single precision. The metadata of the file hold the names of the `labels`, and of the `features` if they have
    any, as JSON lists.

    Parameters
    ----------
    model : Pipeline
        A model from `annotator.annotator` that takes features.
    path : path
        The file to write. An existing file is replaced.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    ValueError
        If the model takes pictures, was not saved by a run, or has more weights than an ONNX file can hold.
    """
    require_extra("jointsparse export", "onnx")
    from onnx import TensorProto, helper, numpy_helper

    require(not is_of_pictures(model), "model must be a model of tables to be exported, got a model of pictures")
    saved = hasattr(model, "known_scores_")
    require(saved, f"the model must be one that a run has saved, got {type(model).__name__}")
    n_features, (a, b) = model.check_["X"].shape[1], model[-1].calibration_.T
    n_bytes = 8 * n_features * len(a)
    require(n_bytes < LARGEST_BYTES, f"the weights must take less than 2 GiB as doubles, got {n_bytes:,} bytes")
    # All steps are affine, so the scores of the zero vector and of the unit vectors determine the weights.
    intercepts = np.asarray(model.decision_function(np.zeros((1, n_features))))
    scores = np.asarray(model.decision_function(sparse.eye_array(n_features, format="csr")))
    constants = {"W": (scores - intercepts) * a, "b": intercepts[0] * a + b}
    nodes = [
        helper.make_node("Gemm", ["features", "W", "b"], ["scores"]),
        helper.make_node("Sigmoid", ["scores"], ["probabilities"]),
    ]
    features, probabilities = (
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["rows", size])]
        for name, size in (("features", n_features), ("probabilities", len(a)))
    )
    tensors = [numpy_helper.from_array(np.asarray(value, dtype=np.float64), name) for name, value in constants.items()]
    network = helper.make_model(
        helper.make_graph(nodes, "jointsparse", features, probabilities, tensors),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="jointsparse",
        producer_version=version(),
    )
    names = {"labels": model.card_.words, "features": model.columns_}
    helper.set_model_props(network, {key: json.dumps(value, ensure_ascii=False) for key, value in names.items()})
    with written(path) as temporary:
        temporary.write_bytes(network.SerializeToString())
