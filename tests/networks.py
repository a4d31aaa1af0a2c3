"""Small networks as ONNX files, sound ones and others, in the text format of ONNX."""

from functools import cache
from pathlib import Path

import numpy as np
from onnx import external_data_helper, numpy_helper, parser

from jointsparse.features.onnx import Network, Options

N_FEATURES, SIDE, STRIDE = 5, 16, 4
WEIGHTS = np.random.default_rng(0).normal(size=(N_FEATURES, 3, STRIDE, STRIDE)).astype(np.float32)
USED = {"W4": WEIGHTS[:4], "ones": np.ones((1, 1, N_FEATURES), np.float32), "W": WEIGHTS}
VERSIONS = '<ir_version: 9, opset_import: ["": 17, "elsewhere": 1]>\n'
PATCHES = "Conv <strides = [4, 4]>"  # patches side by side: SIDE / STRIDE in a row
LOOP = (
    "Loop (n, true, x) <body = b (int64 i, bool go, float[] v) => (bool on, float[] w) {on = Identity(go) w = Sin(v)}>"
)
PICTURE = "net (float[1, 3, 16, 16] x) => (float[] y)"
# A number that is `least` for a black picture, and larger for any other picture.
BRIGHTNESS = "m = ReduceMax <keepdims = 0> (x) f = Mul (m, factor) a = Add (f, least) n = Cast <to = 7> (a)"
NETWORKS = {
    "maps": f"""net (uint8[n, 16, 16, 3] x) => (float[] y) {{
        f = Cast <to = 1> (x)
        t = Transpose <perm = [0, 3, 1, 2]> (f)
        y = {PATCHES} (t, W)
    }}""",
    "vector": f"""net (float[n, 3, h, w] x) => (float[n, 5] y) {{
        p = {PATCHES} (x, W)
        q = GlobalAveragePool (p)
        y = Flatten (q)
    }}""",
    # The token of the class, which is 1 throughout, and one for each place.
    "tokens": f"""{PICTURE} <int64[3] shape = {{1, 5, -1}}> {{
        p = {PATCHES} (x, W)
        r = Reshape (p, shape)
        t = Transpose <perm = [0, 2, 1]> (r)
        y = Concat <axis = 1> (ones, t)
    }}""",
    # Tokens of one feature, whose values are given as `numbers`, times the brightness.
    "tokens in a row": """net (float[n, 3, h, w] x) => (float[] y) <int64[1] axis = {3}> {
        m = ReduceMean <axes = [1, 2, 3], keepdims = 1> (x)
        s = Squeeze (m, axis)
        y = Mul (s, numbers)
    }""",
    "cubic": f"{PICTURE} {{y = {PATCHES} (x, W4)}}",  # four features for each of 4 x 4 places
    # Similarities of pictures and texts, and the features of both, like CLIP. The branch of the pictures has a
    # condition whose graphs use a value from outside.
    "clip": f"""net (int64[n, m] ids, float[n, 3, 16, 16] pixels)
        => (float[n, d] similarities, float[n, d] text_embeds, float[n, d] image_embeds)
        <float[2, 5] table = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, bool true = {{1}}> {{
        c = {PATCHES} (pixels, W)
        p = If (true) <then_branch = a () => (float[] d) {{d = Identity(c)}},
                       else_branch = b () => (float[] e) {{e = Identity(c)}}>
        q = GlobalAveragePool (p)
        image_embeds = Flatten (q)
        g = Gather <axis = 0> (table, ids)
        text_embeds = ReduceMean <axes = [1], keepdims = 0> (g)
        similarities = Gemm <transB = 1> (image_embeds, text_embeds)
    }}""",
    **{
        kind: f"net ({kind}[n, 3, h, w] x) => ({kind}[] y) {{y = Identity(x)}}"
        for kind in ("float16", "float", "double")
    },
    # Harmless on a black picture alone.
    "slow": f"{PICTURE} <float factor = {{1e18}}, float least = {{1}}, bool true = {{1}}> {{{BRIGHTNESS} y = {LOOP}}}",
    **{
        name: f"""{PICTURE} <float factor = {{{factor}}}, float[1] least = {{{least}}}, int64[1] one = {{1}}> {{
            {BRIGHTNESS}
            shape = Concat <axis = 0> (one, n)
            y = Expand (m, shape)
        }}"""
        for name, factor, least in (("large", 1.2e9, 1.0), ("wide", 3.0, 2.0))
    },
}
REFUSED = {
    "no ONNX file": (b"\x89PNG and so on", "does not open as an ONNX model"),
    "unknown operator": (f"{PICTURE} {{y = elsewhere.Summon (x)}}", "does not open as an ONNX model: "),
    "empty": (b"", r"must hold 1 to .* bytes, got 0"),
    "cut in a number": (b"\x0a", "does not open as an ONNX model: its content ends too early"),
    "cut in a field": (
        b"\x0a\xff\xff\xff\xff\x7f",
        "does not open as an ONNX model: a field is longer than the message",
    ),
    "cut in a graph": (b"\x3a\x02\x0b\x0c", "does not open as an ONNX model: it has a field of an unknown coding"),
    "a long number": (b"\xff" * 20, "does not open as an ONNX model: a number has more than ten bytes"),
    "two inputs": (
        "net (float[1, 3, 16, 16] x, float[1] z) => (float[] y) {y = Add (x, z)}",
        "must have an output that depends on the input x alone, got .* depend on z as well",
    ),
    "text": (
        "net (string[1] x) => (string[] y) {y = Identity(x)}",
        r"one input of pictures, uint8 or floating-point with four axes, got x: tensor\(string\)",
    ),
    "batches": ("net (float[2, 3, 16, 16] x) => (float[] y) {y = Identity(x)}", "or any number, got batches of 2"),
    "NaN": (f"{PICTURE} {{y = Log (x)}}", "must give finite features"),
    "nothing": (
        f"{PICTURE} <int64[4] a = {{0, 0, 0, 0}}, int64[4] b = {{1, 0, 1, 1}}> {{y = Slice (x, a, b)}}",
        r"must be floating-point of shape .* got float32 \(1, 0, 1, 1\)",
    ),
    "whole numbers": (
        "net (float[1, 3, 16, 16] x) => (uint8[] y) {y = Cast <to = 2> (x)}",
        "must be floating-point of shape",
    ),
    "too wide": (
        f"{PICTURE} <int64[2] shape = {{1, 67108864}}> {{m = ReduceMean <keepdims = 0> (x) y = Expand (m, shape)}}",
        "must give at most 1,048,576 features, got 67,108,864",
    ),
    "cubic": ("cubic", "output_layout must be given"),
}
# These are refused by the process that tries a network.
REFUSED_APART = {
    "endless": (f"{PICTURE} <int64 n = {{4611686018427387904}}, bool true = {{1}}> {{y = {LOOP}}}", "within 0.5 s"),
    "huge": (
        f"{PICTURE} <int64[4] a = {{1, 10000, 1000, 1000}}> {{m = ReduceMean <keepdims = 1> (x) y = Expand (m, a)}}",
        r"fails on a picture|at most 4 GiB of memory",
    ),
    "chance": (
        f"{PICTURE} {{r = RandomUniformLike (x) y = Mul (r, x)}}",
        "must give the same features for the same picture, got others the second time",
    ),
}


def write(path: Path, content: str | bytes, location: str = "", **constants: np.ndarray) -> Path:
    """Write a network. content: its name, its text, or the bytes. location: the file of W, if it has one."""
    if isinstance(content, str):
        model = parser.parse_model(VERSIONS + NETWORKS.get(content, content))
        tensors = [numpy_helper.from_array(value, name) for name, value in (constants | USED).items()]
        if location:
            external_data_helper.set_external_data(tensors[-1], location)
            tensors[-1].ClearField("raw_data")
        model.graph.initializer.extend(tensors)
        content = model.SerializeToString()
    path.write_bytes(content)
    return path


@cache
def opened_here(path: Path, digest: str, options: Options) -> Network:
    """Open a network like `open_network`, but without the process that tries the file, which takes half a second."""
    return Network(path, options)
