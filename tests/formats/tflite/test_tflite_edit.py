"""Edits of `.tflite` files: what is asked for changes, everything else stays, as another reader sees it."""

from __future__ import annotations

import contextlib
import io
import random
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from onnxlint_cmsis.formats import flatbuffer_schema
from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.tflite import schema
from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.formats.tflite.memory_plan import StatedPlan, stated_plan
from onnxlint_cmsis.formats.tflite.new_tables import NewTensor
from onnxlint_cmsis.formats.tflite.places import OperatorPlace, TensorPlace
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.graph import StoredQuantization
from support.paths import SHARED
from support.tflite_models import conv_model, tensor
from support.tflite_trees import tree
from support.tflite_writer import write

WEIGHTS = TensorPlace(0, 1)
CONV = OperatorPlace(0, 0)


def edit(data: bytes) -> TfliteEdit:
    return TfliteEdit("m.tflite", data)


def two_convolutions(**changes: Any) -> dict[str, Any]:
    """Two convolutions whose weights are one buffer."""
    model = conv_model(**changes)
    graph = model["subgraphs"][0]
    weights = {**graph["tensors"][1], "name": "v"}
    graph["tensors"] += [weights, tensor("z", [1, 5, 3, 4])]
    graph["operators"] += [{**graph["operators"][0], "inputs": [0, 3, -1], "outputs": [4]}]
    graph["outputs"] = [2, 4]
    return model


def test_without_edits_the_file_is_the_same() -> None:
    data = write(conv_model())
    assert edit(data).data() == data


@pytest.mark.skipif(not SHARED.exists(), reason="needs models in a folder `shared` beside the project")
def test_models_of_others_come_back_byte_for_byte() -> None:
    paths = sorted((SHARED / "models" / "tflite").glob("*.tflite"))
    assert paths
    for path in paths:
        assert edit(path.read_bytes()).data() == path.read_bytes(), path


def test_a_smaller_constant_makes_a_smaller_file() -> None:
    data = write(conv_model(buffers=MANY))
    changed = edit(data)
    changed.set_values(WEIGHTS, bytes(range(16)))
    changed.set_shape(WEIGHTS, (2, 1, 1, 8))
    changed.set_quantization(WEIGHTS, StoredQuantization((0.1, 0.4), (0, 0), 0))
    new = changed.data()
    expected = tree(data)
    weights = expected["subgraphs"][0]["tensors"][1]
    weights["shape"] = [2, 1, 1, 8]
    weights["quantization"]["scale"] = tree(new)["subgraphs"][0]["tensors"][1]["quantization"]["scale"]
    weights["quantization"]["zeroPoint"] = [0, 0]
    expected["buffers"][1]["data"] = list(range(16))
    assert tree(new) == expected
    assert weights["quantization"]["scale"] == pytest.approx([0.1, 0.4])
    assert len(data) - len(new) == 256


def test_a_larger_constant_goes_to_the_end_and_its_old_bytes_go() -> None:
    data = write(conv_model())
    changed = edit(data)
    changed.set_values(WEIGHTS, bytes(range(100)))
    new = changed.data()
    expected = tree(data)
    expected["buffers"][1]["data"] = list(range(100))
    assert tree(new) == expected
    assert bytes(range(32)) not in new.replace(bytes(range(100)), b"")


def test_sizes_left_open_stay_open() -> None:
    changed = edit(write(conv_model()))
    changed.set_shape(TensorPlace(0, 0), (1, 5, 5, 6))
    read_back = read_tflite("m.tflite", changed.data()).subgraphs[0].tensors[0]
    assert (read_back.shape, read_back.signature) == ((1, 5, 5, 6), (-1, 5, 5, 6))


def test_a_rank_never_changes() -> None:
    with pytest.raises(NotAppliedError, match="tensor `x` would change its rank"):
        edit(write(conv_model())).set_shape(TensorPlace(0, 0), (5, 5, 6))


def test_a_tensor_that_shares_a_buffer_gets_one_for_itself() -> None:
    data = write(two_convolutions())
    changed = edit(data)
    changed.set_values(WEIGHTS, bytes(8))
    model = read_tflite("m.tflite", changed.data())
    assert [model.bytes_of(tensor.buffer) for tensor in model.subgraphs[0].tensors] == [
        *(b"", bytes(8), b"", bytes(range(32)), b"")
    ]


def test_tensors_that_share_a_buffer_go_on_sharing_it() -> None:
    changed = edit(write(two_convolutions()))
    changed.set_values(WEIGHTS, bytes(8))
    changed.set_values(TensorPlace(0, 3), bytes(8))
    model = read_tflite("m.tflite", changed.data())
    assert [tensor.buffer for tensor in model.subgraphs[0].tensors] == [0, 1, 0, 1, 0]
    assert model.bytes_of(1) == bytes(8)


def test_a_new_bias_becomes_an_input() -> None:
    data = write(conv_model())
    changed = edit(data)
    bias = NewTensor("bias", "INT32", (4,), bytes(range(16)), StoredQuantization((0.5,) * 4, (0,) * 4, 0))
    changed.set_input(CONV, 2, changed.add_tensor(0, bias))
    new = changed.data()
    model, before = read_tflite("m.tflite", new), tree(data)
    added = model.subgraphs[0].tensors[3]
    assert model.subgraphs[0].operators[0].inputs == (0, 1, 3)
    assert (added.name, added.elem_type, added.shape, added.quantization) == ("bias", "INT32", (4,), bias.quantization)
    assert model.bytes_of(added.buffer) == bytes(range(16))
    after = tree(new)
    after["subgraphs"][0]["tensors"].pop()
    after["buffers"].pop()
    after["subgraphs"][0]["operators"][0]["inputs"] = [0, 1, -1]
    assert after == before


def test_an_option_that_the_file_leaves_out_can_be_given() -> None:
    data = write(conv_model())
    changed = edit(data)
    changed.set_option(CONV, "stride_w", 1)
    changed.set_option(CONV, "dilation_h_factor", 3)
    new = changed.data()
    expected = tree(data)
    options = expected["subgraphs"][0]["operators"][0]["builtinOptions"]
    options["dilationHFactor"] = 3
    options["strideW"] = 1
    assert tree(new) == expected


@contextlib.contextmanager
def newer_schema(kind: str) -> Iterator[None]:
    """A schema in which one table has more fields."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(schema.TABLES, kind, f"{schema.TABLES[kind]} more:[TensorMap] number:long=-1")
        flatbuffer_schema.fields_of.cache_clear()
        yield
    flatbuffer_schema.fields_of.cache_clear()


MORE = {"more": [{"name": "far", "tensor_index": 7}, {"name": "away", "tensor_index": 8}], "number": 1 << 40}
MANY = [{}, {"data": list(range(128)) * 2}, {"data": list(b"1.5.0")}]


def newer(kind: str) -> bytes:
    """A model with fields that only a newer schema names."""
    model = conv_model(buffers=MANY)
    holder = model if kind == "Model" else model["subgraphs"][0]["tensors"][2]
    holder |= MORE
    with newer_schema(kind):
        return write(model)


def more_of(kind: str, data: bytes) -> dict[str, Any]:
    """What these fields hold."""
    with newer_schema(kind):
        table = root_of(schema.SCHEMA, data)
        if kind != "Model":
            table = table.tables("subgraphs")[0].tables("tensors")[2]
        entries = [(table.text("name"), table.number("tensor_index")) for table in table.tables("more")]
        number = table.number("number")
    return {"more": [{"name": name, "tensor_index": index} for name, index in entries], "number": number}


@pytest.mark.parametrize("kind", ["Model", "Tensor"])
def test_fields_that_are_not_known_survive(kind: str) -> None:
    data = newer(kind)
    changed = edit(data)
    changed.set_values(WEIGHTS, bytes(range(16)))
    changed.set_shape(WEIGHTS, (2, 1, 1, 8))
    changed.set_quantization(WEIGHTS, StoredQuantization((0.5,) * 20, (0,) * 20, 0))
    new = changed.data()
    expected = tree(data)
    weights = expected["subgraphs"][0]["tensors"][1]
    weights["shape"] = [2, 1, 1, 8]
    weights["quantization"] |= {"scale": [0.5] * 20, "zeroPoint": [0] * 20}
    expected["buffers"][1]["data"] = list(range(16))
    assert tree(new) == expected
    assert more_of(kind, data) == more_of(kind, new) == MORE


def test_nothing_is_put_in_behind_fields_that_are_not_known() -> None:
    changed = edit(newer("Model"))
    changed.add_tensor(0, NewTensor("new", "INT8", (4,), bytes(4)))
    with pytest.raises(NotAppliedError, match="fields that are not known here"):
        changed.data()


def test_an_archive_behind_the_model_stays_readable() -> None:
    data = write(conv_model(buffers=MANY))
    held = io.BytesIO(data)
    with zipfile.ZipFile(held, "a") as archive:
        archive.writestr("labels.txt", "cat\ndog\n" * 9, zipfile.ZIP_DEFLATED)
        archive.writestr("more.txt", "more")
    changed = edit(held.getvalue())
    changed.set_values(WEIGHTS, bytes(range(16)))
    new = changed.data()
    with zipfile.ZipFile(io.BytesIO(new)) as archive:
        assert archive.testzip() is None
        assert archive.read("labels.txt") == b"cat\ndog\n" * 9
        assert archive.start_dir == new.rindex(b"PK\x05\x06") - sum(
            46 + len(entry.filename) + len(entry.extra) for entry in archive.infolist()
        )
        assert [new[entry.header_offset :][:4] for entry in archive.infolist()] == [b"PK\x03\x04"] * 2
    end = new.rindex(b"PK\x05\x06")
    assert int.from_bytes(new[end + 16 : end + 20], "little") == new.index(b"PK\x01\x02")


def test_buffers_behind_the_flatbuffer_are_refused() -> None:
    data = write(conv_model(buffers=[{}, {"offset": 8, "size": 32}, {"data": list(b"1.5.0")}]))
    with pytest.raises(NotAppliedError, match="keeps buffers behind the flatbuffer"):
        edit(data)


def test_damage_where_nobody_reads_is_a_reason_to_leave_the_file() -> None:
    model = conv_model()
    model["external_buffers"] = [{"packing": "here"}]
    data = write(model)
    position = data.index(b"\4\0\0\0here")
    with pytest.raises(NotAppliedError, match=r"no runtime needs is damaged: .* claims 16777220"):
        edit(data[:position] + b"\4\0\0\1" + data[position + 4 :])


def test_sparse_tensors_are_refused() -> None:
    model = conv_model()
    model["subgraphs"][0]["tensors"][1]["sparsity"] = {"traversal_order": [0]}
    with pytest.raises(NotAppliedError, match="tensor `w` is stored in a form that is not edited"):
        edit(write(model)).set_values(WEIGHTS, b"")


def aligned(data: bytes) -> bool:
    return all(span.offset % 16 == 0 for span in read_tflite("m.tflite", data).buffers if span.length)


@pytest.mark.parametrize("seed", range(60))
def test_random_edits_change_what_they_name_and_nothing_else(seed: int) -> None:
    rng = random.Random(seed)
    model = two_convolutions(buffers=[{}, {"data": [7] * rng.randrange(1, 400)}, {"data": list(b"1.5.0")}])
    data = write(model)
    expected, changed = tree(data), edit(data)
    tensors, buffers = expected["subgraphs"][0]["tensors"], expected["buffers"]
    for index in (0, 1, 2, 3, 4):
        if rng.random() < 0.5:
            shape = [rng.randrange(1, 9) for _ in range(4)]
            changed.set_shape(TensorPlace(0, index), shape)
            tensors[index]["shape"] = shape
            if index == 0:
                tensors[index]["shapeSignature"] = [-1, *shape[1:]]
    if rng.random() < 0.7:
        values = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 500)))
        changed.set_values(WEIGHTS, values)
        changed.set_values(TensorPlace(0, 3), values)
        buffers[1]["data"] = list(values)
    if rng.random() < 0.5:
        values = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 99)))
        added = changed.add_tensor(0, NewTensor(f"new{seed}", "INT32", (3,), values))
        position = rng.randrange(2, 5)
        changed.set_input(CONV, position, added)
        inputs = expected["subgraphs"][0]["operators"][0]["inputs"]
        inputs += [-1] * (position + 1 - len(inputs))
        inputs[position] = added
    if rng.random() < 0.5:
        changed.set_option(CONV, "stride_h", 9)
        expected["subgraphs"][0]["operators"][0]["builtinOptions"]["strideH"] = 9
    new = changed.data()
    content = tree(new)
    content["subgraphs"][0]["tensors"][5:] = []
    content["buffers"][3:] = []
    assert content == expected
    assert aligned(new)
    assert new[4:8] == b"TFL3"


def planned(data: bytes, *offsets: int) -> bytes:
    changed = edit(data)
    changed.set_plan(offsets)
    return changed.data()


@pytest.mark.parametrize("entries", [None, [], [{"name": "min_runtime_version", "buffer": 2}]])
def test_a_memory_plan_is_one_more_entry(entries: list[dict[str, Any]] | None) -> None:
    data = write(conv_model(metadata=entries))
    new = planned(data, 0, -1, 208)
    model = read_tflite("m.tflite", new)
    assert stated_plan(model) == StatedPlan(3, (0, -1, 208))
    expected = tree(data)
    expected["metadata"] = [*(expected.get("metadata") or []), {"name": "OfflineMemoryAllocation", "buffer": 3}]
    expected["buffers"].append({**expected["buffers"][0], "data": list(model.bytes_of(3))})
    got = tree(new)
    assert {key: value for key, value in got.items() if value} == {
        key: value for key, value in expected.items() if value
    }


def test_a_new_memory_plan_takes_the_place_of_the_old_one() -> None:
    twice = planned(planned(write(conv_model()), 0, -1, 208), 16, -1, 0)
    model = read_tflite("m.tflite", twice)
    assert [name for name, _ in model.metadata].count("OfflineMemoryAllocation") == 1
    assert stated_plan(model) == StatedPlan(3, (16, -1, 0))


def test_a_memory_plan_goes_where_tensors_change() -> None:
    data = planned(write(conv_model()), 0, -1, 208)
    assert edit(data).data() == data
    values = edit(data)
    values.set_values(WEIGHTS, bytes(range(1, 33)))
    assert stated_plan(read_tflite("m.tflite", values.data())) is not None
    shape, added = edit(data), edit(data)
    shape.set_shape(TensorPlace(0, 0), (1, 5, 5, 6))
    added.add_tensor(0, NewTensor("b", "INT8", (1,)))
    for changed in (shape, added):
        model = read_tflite("m.tflite", changed.data())
        assert stated_plan(model) is None
        assert model.metadata == (("min_runtime_version", 2),)
