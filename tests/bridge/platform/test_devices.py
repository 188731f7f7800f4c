# SPDX-License-Identifier: BSD-3-Clause
"""A rank's end entry lists the GPUs and network cards that it has open, and the variables that chose them."""

from __future__ import annotations

import pytest
from compiled.c_programs import c_program

import perfield

# Keeps its arguments open, except for a first one that follows "-".
OPEN_FILES = c_program(
    """
  perfield_initialize();
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') close(open(argv[++i], O_RDONLY));
    else if (open(argv[i], O_RDONLY) < 0) return 9;
  }
  if (getenv("CHOOSE")) setenv("CUDA_VISIBLE_DEVICES", getenv("CHOOSE"), 1);
  perfield_step(1, 1);
  perfield_finalize();
""",
    before="#include <fcntl.h>",
)
# Fake devices: they have the number of /dev/null, which no driver of a GPU watches.
FAKE_DEVICES = """
  mount -t tmpfs none /dev
  mkdir /dev/dri /dev/infiniband /dev/shm
  mknod /dev/null c 1 3
  for name in nvidia0 nvidia1 nvidiactl dri/renderD128 dri/card0 kfd infiniband/uverbs2 hfi1_0 cxi1; do
    mknod /dev/$name c 1 3
  done
"""


@pytest.fixture
def ends(privately, build_c, perfield_flags, tmp_path):
    """ends(arguments, before="", env={}): the end entry of a program that opens these among fake devices."""
    program = build_c(OPEN_FILES, *perfield_flags("--libs"), mpi=False)

    def run(arguments: str, before: str = "", env: dict[str, str] | None = None) -> dict:
        result = privately(f"{FAKE_DEVICES}{before}\ncd {tmp_path}\n{program} {arguments}", env=env)
        if "mknod" in result.stderr:
            pytest.skip(f"no devices can be made here: {result.stderr}")
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run").ends[0]

    return run


def files(end: dict) -> list[str]:
    return [device["file"] for device in end["devices"]]


def test_open_gpus_and_network_cards_are_listed_once(ends):
    names = ("infiniband/uverbs2", "nvidia1", "nvidia1", "dri/renderD128", "kfd", "hfi1_0", "cxi1")
    found = files(ends(" ".join(f"/dev/{name}" for name in names)))
    assert found == sorted(f"/dev/{name}" for name in set(names))


def test_closed_devices_and_other_files_are_not_listed(ends):
    end = ends("- /dev/nvidia0 /dev/nvidiactl /dev/dri/card0 /dev/null /dev/kfd")
    assert files(end) == ["/dev/kfd"]


def test_program_without_devices_has_no_such_keys(ends):
    assert not {"devices", "device_choice"} & ends("/dev/null").keys()


def test_plain_file_with_the_name_of_a_device_is_none(ends):
    assert "devices" not in ends("/dev/nvidia7", before="echo >/dev/nvidia7")


def test_address_of_a_device_comes_from_the_kernel(ends):
    mounts = """
      mount -t tmpfs none /sys/dev/char
      mkdir /sys/dev/char/1:3
      ln -s ../../../0000:c1:00.0 /sys/dev/char/1:3/device
    """
    end = ends("/dev/infiniband/uverbs2", before=mounts)
    assert end["devices"] == [{"file": "/dev/infiniband/uverbs2", "pci": "0000:c1:00.0"}]


def test_address_of_an_nvidia_gpu_comes_from_its_driver(ends, tmp_path):
    for number, address in enumerate(("0000:3b:00.0", "0000:AF:00.0")):
        card = tmp_path / "cards/nvidia/gpus" / address
        card.mkdir(parents=True)
        (card / "information").write_text(f"Model: \t\t Fake\nDevice Minor: \t {number}\n")
    end = ends("/dev/nvidia0 /dev/nvidia1", before=f"mount --bind {tmp_path}/cards /proc/driver")
    assert end["devices"] == [
        {"file": "/dev/nvidia0", "pci": "0000:3b:00.0"},
        {"file": "/dev/nvidia1", "pci": "0000:af:00.0"},
    ]


def test_device_without_an_address_has_none(ends):
    assert ends("/dev/cxi1")["devices"] == [{"file": "/dev/cxi1"}]


def test_variables_that_choose_devices_are_kept_as_the_rank_sees_them(ends):
    env = {"ROCR_VISIBLE_DEVICES": "0,2", "UCX_NET_DEVICES": 'mlx5_0:1,"', "CHOOSE": ""}
    end = ends("/dev/null", env=env)
    assert end["device_choice"] == {
        "CUDA_VISIBLE_DEVICES": "",
        "ROCR_VISIBLE_DEVICES": "0,2",
        "UCX_NET_DEVICES": 'mlx5_0:1,"',
    }


def test_only_nodes_with_such_devices_are_searched_for_them(execute, privately, tmp_path):
    if 'type="PCIDev"' not in execute("lstopo", "--of", "xml", "-").stdout:
        pytest.skip("lstopo is not installed, or this machine has no PCI devices")
    for name in ("without", "with"):
        (tmp_path / name).mkdir()
    devices = {"without": "rm -r /dev/nvidiactl /dev/dri /dev/kfd /dev/infiniband /dev/hfi1_0", "with": ""}
    for name, change in devices.items():
        result = privately(f"{FAKE_DEVICES}{change}\ncd {tmp_path / name}\nperfield-exec true")
        assert result.returncode == 0, result.stderr
        (file,) = tmp_path.glob(f"{name}/perfield-run/machine/*.xml")
        assert ('type="PCIDev"' in file.read_text()) == (name == "with")
