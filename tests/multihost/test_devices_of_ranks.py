# SPDX-License-Identifier: BSD-3-Clause
"""GPUs and network cards that ranks hold open are beside their packages in the picture.

Hosts, machines and device files are faked; what opens, records and reads them is real.
"""

from __future__ import annotations

import pytest
from compiled.c_programs import mpi_program
from drivers.hosts import faked_machines, run_on_hosts, why_no_hosts
from known_runs.device_runs import machine_with_devices

import perfield

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from perfield.pictures import topology

# Rank n of a host opens GPU n; rank 0 also the network card.
PROGRAM = mpi_program(
    """
  char gpu[40];
  snprintf(gpu, sizeof gpu, "/dev/nvidia%d", rank % 2);
  if (open(gpu, O_RDONLY) < 0) MPI_Abort(MPI_COMM_WORLD, 9);
  if (rank % 2 == 0 && open("/dev/infiniband/uverbs0", O_RDONLY) < 0) MPI_Abort(MPI_COMM_WORLD, 8);
  perfield_initialize();
  perfield_step(0, 0);
""",
    before="#include <fcntl.h>",
)
# A /dev of its own. The files have the numbers of null and zero, which no driver of a GPU watches.
FAKE_DEVICES = """
  mkdir /run/dev
  mount -t tmpfs none /run/dev
  cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx /run/dev
  mkdir /run/dev/shm /run/dev/pts /run/dev/infiniband
  mount --rbind /dev/pts /run/dev/pts
  mknod /run/dev/nvidiactl c 1 3
  mknod /run/dev/nvidia0 c 1 3
  mknod /run/dev/nvidia1 c 1 3
  mknod /run/dev/infiniband/uverbs0 c 1 5
  mount --rbind /run/dev /dev
  mount -t tmpfs none /sys/dev/char
  mkdir /sys/dev/char/1:5
  ln -s ../../../0000:3c:00.0 /sys/dev/char/1:5/device
  mount --bind driver /proc/driver
"""


@pytest.fixture(scope="module")
def run(bin_dir, build_c, tmp_path_factory):
    """A run of 4 ranks on 2 hosts; each rank holds a GPU, and the first of each host a network card."""
    reason = why_no_hosts()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("devices")
    for host in ("n1", "n2"):
        (folder / f"{host}.xml").write_text(machine_with_devices())
    for number, address in enumerate(("0000:3b:00.0", "0000:af:00.0")):
        card = folder / "driver/nvidia/gpus" / address
        card.mkdir(parents=True)
        (card / "information").write_text(f"Device Minor: \t {number}\n")
    environment = faked_machines(folder)
    mpirun = "mpirun --bind-to core --map-by socket --host n1:2,n2:2 -n 4"
    script = f"{FAKE_DEVICES}\n{mpirun} {bin_dir}/perfield-exec {build_c(PROGRAM)}"
    result = run_on_hosts("n1,n2", ["sh", "-ec", script], folder, environment)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return perfield.open(folder / "perfield-run")


def test_ranks_record_the_devices_that_they_hold(run):
    card = {"file": "/dev/infiniband/uverbs0", "pci": "0000:3c:00.0"}
    first, second = (
        {"file": f"/dev/nvidia{n}", "pci": pci} for n, pci in enumerate(("0000:3b:00.0", "0000:af:00.0"))
    )
    assert [run.ends[rank]["devices"] for rank in range(4)] == [[card, first], [second]] * 2


def test_ranks_on_hosts_with_the_driver_watch_for_devices_that_compute(run):
    assert all("nvml" in run.ends[rank]["sources"] for rank in range(4))
    assert not [name for name in run.frame(0).values if name.startswith("device_")]  # none does


def test_description_of_the_machine_holds_them(run):
    for file in (run.path / "machine").glob("*.xml"):
        text = file.read_text()
        assert all(
            f'pci_busid="{address}"' in text for address in ("0000:3b:00.0", "0000:3c:00.0", "0000:af:00.0")
        )


def test_picture_shows_each_device_with_the_ranks_that_hold_it(run):
    layer = topology(run, run.frame(0)).devices.GetCellData()
    names = layer.GetAbstractArray("device"), layer.GetAbstractArray("ranks"), layer.GetAbstractArray("pci")
    shown = [tuple(array.GetValue(n) for array in names) for n in range(names[0].GetNumberOfValues())]
    of_host = [("nvidia0", 0, "0000:3b:00.0"), ("mlx5_0", 0, "0000:3c:00.0"), ("nvidia1", 1, "0000:af:00.0")]
    assert shown == [(name, str(first + rank), pci) for first in (0, 2) for name, rank, pci in of_host]
