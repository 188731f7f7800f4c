# SPDX-License-Identifier: BSD-3-Clause
"""XML of hwloc 1, 2 and 3 gives the same machine; other files are refused with a clear sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfield.topology import MachineError, flat_machine, parse_cpuset, read_machine, read_machines

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
REAL_MACHINES = Path(__file__).resolve().parents[2] / "../shared/machines"


def wrapped(tmp_path: Path, inside: str) -> Path:
    """Writes a file with the given objects inside a machine."""
    path = tmp_path / "machine.xml"
    path.write_text(f'<topology version="2.0"><object type="Machine">{inside}</object></topology>')
    return path


def pu(number: int | str) -> str:
    return f'<object type="Core"><object type="PU" os_index="{number}"/></object>'


def test_parts_are_spans_of_pus():
    machine = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")
    assert machine.pus == tuple(range(16))
    assert machine.spans("package") == machine.spans("numa") == ((0, 8), (8, 16))
    assert machine.spans("l3") == ((0, 4), (4, 8), (8, 12), (12, 16))
    assert machine.spans("core") == tuple((i, i + 2) for i in range(0, 16, 2))
    assert [part.number for part in machine.level("core")] == list(range(8))
    assert machine.described


def test_hwloc_versions_1_2_and_3_give_equal_machines(tmp_path):
    second = MACHINES / "two-packages-4-cores.xml"
    text = second.read_text()
    assert 'version="2.0"' in text
    third = tmp_path / "third.xml"
    third.write_text(text.replace('version="2.0"', 'version="3.0"'))
    machine = read_machine(second)
    assert read_machine(MACHINES / "two-packages-4-cores-hwloc1.xml") == machine
    assert read_machine(third) == machine
    assert len(machine.level("l2")) == len(machine.level("l1")) == 8


def test_parts_count_left_to_right_and_pus_keep_linux_numbers(tmp_path):
    packages = "".join(
        f'<object type="Package" os_index="{8 * i}"><object type="NUMANode" os_index="{8 * i}" cpuset="0x1"/>'
        f"{pu(i)}{pu(i + 2)}</object>"
        for i in range(2)
    )
    machine = read_machine(wrapped(tmp_path, packages))
    assert machine.pus == (0, 2, 1, 3)
    assert machine.position[1] == 2
    assert [part.number for part in machine.level("package")] == [0, 1]
    assert [part.number for part in machine.level("numa")] == [0, 8]


def test_memory_without_pus_or_of_several_numa_nodes_is_left_out(tmp_path):
    memory = '<object type="NUMANode" os_index="{}" cpuset="{}"/>'
    packages = "".join(
        f'<object type="Package"><object type="MemCache">{memory.format(i, "0x3")}</object>{pu(i)}</object>'
        for i in range(2)
    )
    machine = read_machine(wrapped(tmp_path, memory.format(9, "0x0") + memory.format(5, "0x3") + packages))
    assert [(part.number, part.first, part.last) for part in machine.level("numa")] == [(0, 0, 1), (1, 1, 2)]


def test_instruction_caches_and_devices_are_not_levels(tmp_path):
    device = '<object type="Bridge"><object type="PCIDev"><object type="OSDev"/></object></object>'
    machine = read_machine(
        wrapped(tmp_path, f'{device}<object type="L1iCache" cache_type="2">{pu(0)}</object>')
    )
    assert {part.level for part in machine.parts} == {"core", "pu"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no xml at all", "is not XML .*lstopo"),
        ("<machine/>", "begins with <machine>, expected <topology>"),
        ('<topology><object type="Machine"/></topology>', "names no PU"),
        ('<topology><object type="PU"/></topology>', "PU with os_index '', expected a number"),
        (
            f'<topology><object type="Package">{pu(1)}{pu(1)}</object></topology>',
            "2 PUs with only 1 different",
        ),
    ],
)
def test_invalid_machine_is_refused_with_its_file_name(tmp_path, text, complaint):
    path = tmp_path / "node7.xml"
    path.write_text(text)
    with pytest.raises(MachineError, match=complaint) as raised:
        read_machine(path)
    assert str(path) in str(raised.value)
    assert str(raised.value).endswith((".", "?"))


def test_unreadable_machine_is_noted_and_others_are_read(tmp_path):
    (tmp_path / "bad.xml").write_text("<")
    (tmp_path / ".n3.xml").write_text("<topology>")  # an unfinished file
    for name in ("n1", "n2"):
        (tmp_path / f"{name}.xml").write_text((MACHINES / "two-packages-4-cores.xml").read_text())
    machines, notes = read_machines(tmp_path)
    assert sorted(machines) == ["n1", "n2"]
    assert machines["n1"] is machines["n2"], "equal machines are shared"
    assert len(notes) == 1
    assert "host bad is drawn without its hardware" in notes[0]


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ('<object type="PU" os_index="²"/>', "has a PU with os_index '²', expected a number"),
        (f'<object type="PU" os_index="{"9" * 5000}"/>', "has a PU with os_index '9999"),
        ('<object type="Group">' * 3000 + "</object>" * 3000, "nests its objects deeper than any machine"),
    ],
)
def test_xml_that_no_hwloc_wrote_is_a_machine_error(tmp_path, found, sentence):
    (tmp_path / "n.xml").write_text(f'<topology><object type="Machine">{found}</object></topology>')
    with pytest.raises(MachineError, match=sentence):
        read_machine(tmp_path / "n.xml")


@pytest.mark.parametrize("encoding", ["U", "utf-7", "shift_jis"])
def test_xml_of_an_encoding_that_python_cannot_read_is_a_machine_error(tmp_path, encoding):
    (tmp_path / "n.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?><topology/>')
    with pytest.raises(MachineError, match=r"n\.xml is not XML .*encoding"):
        read_machine(tmp_path / "n.xml")


def test_missing_machine_directory_is_not_an_error(tmp_path):
    assert read_machines(tmp_path / "absent") == ({}, [])


def test_flat_machine_without_known_pus_has_no_parts():
    assert flat_machine(set()).parts == ()


def test_flat_machine_has_only_pus_and_is_not_described():
    machine = flat_machine({8, 3})
    assert machine.pus == (3, 8)
    assert {part.level for part in machine.parts} == {"pu"}
    assert not machine.described


def test_parse_cpuset_takes_numbers_and_ranges():
    assert parse_cpuset("0-3,8") == (0, 1, 2, 3, 8)
    assert parse_cpuset(" 5 , 2-2") == (2, 5)
    assert parse_cpuset("") == ()
    for wrong in ("a", "3-1", "1-", "-2", "0x3", "0-99999999999", "²", "9" * 5000):
        with pytest.raises(MachineError, match="expected a form such as"):
            parse_cpuset(wrong)


@pytest.mark.parametrize(
    ("name", "pus", "levels"),
    [
        ("haswell-2x12-e5-2680v3", 24, {"package": 2, "l3": 4, "core": 24}),
        ("milan-2x64-epyc-7763", 128, {"package": 2, "l3": 16, "core": 128}),
        ("broadwell-2x18-quartz", 36, {"package": 2, "numa": 2, "core": 36}),
        ("power9-2x20-4v100-lassen", 160, {"package": 2, "numa": 2, "l2": 20, "core": 40}),
        ("epyc7a53-1x64-8mi250-tioga", 128, {"package": 1, "numa": 4, "l3": 8, "core": 64}),
        ("sierra-node0-hwloc1", 176, {"package": 2, "numa": 2, "core": 44}),
    ],
)
def test_real_machines_are_read(name, pus, levels):
    path = REAL_MACHINES / f"{name}.xml"
    if not path.exists():
        pytest.skip(f"the captured machine {path.name} is not beside this repository")
    machine = read_machine(path)
    assert len(machine.pus) == pus
    assert {level: len(machine.level(level)) for level in levels} == levels


def test_many_numa_nodes_are_sorted_not_compared_in_pairs(tmp_path):
    n = 20_000  # pairs of them would take minutes
    inside = "".join(f'<object type="NUMANode" os_index="{at}">{pu(at)}</object>' for at in range(n))
    assert len(read_machine(wrapped(tmp_path, inside)).spans("numa")) == n


def test_numa_node_around_others_is_left_out(tmp_path):
    inner = "".join(f'<object type="NUMANode" os_index="{at}">{pu(at)}</object>' for at in (1, 2))
    outer = f'<object type="NUMANode" os_index="0">{inner}{pu(3)}</object>{pu(4)}'
    assert read_machine(wrapped(tmp_path, outer)).spans("numa") == ((0, 1), (1, 2))


def test_cards_inside_cards_are_read_once_each(tmp_path):
    card = '<object type="PCIDev" pci_type="0300 [10de:1db1]" pci_busid="0000:01:00.0">'
    name = '<object type="OSDev" name="card"/>'
    inside = f"{card * 20_000}{name}{'</object>' * 20_000}{pu(0)}"
    devices = read_machine(wrapped(tmp_path, inside)).devices
    assert len(devices) == 20_000 and sum(bool(device.names) for device in devices) == 2
