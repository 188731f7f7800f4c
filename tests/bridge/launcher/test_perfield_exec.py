# SPDX-License-Identifier: BSD-3-Clause
"""perfield-exec: what it gives a program, what it prints, and that the program always runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import exports

HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n'
ALWAYS = ["libperfield_io.so", "libperfield_memory.so", "libperfield_adaptors.so"]
BOTH = ["libperfield_openmpi_mpi3.so", "libperfield_mpich_mpi3.so"]  # where the MPI cannot be known
MPI_PROGRAM = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Finalize(); return 0; }\n"
SHOW = ["sh", "-c", "env | grep -E '^(LD_PRELOAD|PERFIELD_)' | sort"]


@pytest.fixture
def compile_c(tmp_path):
    """compile_c(text, *flags, compiler="cc"): the program, or None if it cannot be built here."""

    def build(text: str, *flags: str, compiler: str = "cc", name: str = "hello") -> Path | None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        source = folder / f"{name}.c"
        source.write_text(text)
        if shutil.which(compiler) is None:
            return None
        made = subprocess.run(
            [compiler, source, "-o", folder / name, *flags], capture_output=True, check=False
        )
        return folder / name if made.returncode == 0 else None

    return build


@pytest.fixture
def here(tmp_path):
    """An empty folder to run in."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def preloaded(result: subprocess.CompletedProcess) -> list[str]:
    """Names of the libraries that `perfield-exec --print` would preload before those for all programs."""
    names = all_preloaded(result)
    assert names[-len(ALWAYS) :] == ALWAYS
    # Some machines have NVIDIA's driver.
    return [name for name in names[: -len(ALWAYS)] if name != "libperfield_nvml.so"]


def all_preloaded(result: subprocess.CompletedProcess) -> list[str]:
    assert result.returncode == 0, result.stderr
    return [Path(path).name for path in exports(result.stdout)["LD_PRELOAD"].split(":")]


def test_only_nodes_with_nvidia_driver_get_the_source_that_asks_its_library(privately):
    made = "mkdir -p driver/nvidia; touch driver/nvidia/version; mount --bind driver /proc/driver"
    asked = "perfield-exec --print true"
    assert "libperfield_nvml.so" in all_preloaded(privately(f"{made}; {asked}"))
    off = privately(f"{made}; {asked}", env={"PERFIELD_NVML": "false"})
    assert "libperfield_nvml.so" not in all_preloaded(off)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has NVIDIA's driver")
def test_other_nodes_do_not(execute):
    assert "libperfield_nvml.so" not in all_preloaded(execute("perfield-exec", "--print", "true"))


def test_program_gets_libraries_and_run_directory(execute, here):
    result = execute("perfield-exec", *SHOW, cwd=here)
    assert (result.returncode, result.stderr) == (0, "")
    variables = dict(line.split("=", 1) for line in result.stdout.splitlines())
    libraries = [Path(path) for path in variables["LD_PRELOAD"].split(":")]
    assert [path.name for path in libraries] == [*BOTH, *ALWAYS]
    assert all(path.is_file() for path in libraries)
    assert variables["PERFIELD_PRELOADED"] == variables["LD_PRELOAD"]
    assert variables["PERFIELD_RUN"] == str(here.resolve() / "perfield-run")
    assert variables["PERFIELD_RUN_ID"] in (here / "perfield-run/run.json").read_text()


def test_io_false_omits_the_file_library(execute, here):
    result = execute("perfield-exec", "--print", "true", env={"PERFIELD_IO": "false"}, cwd=here)
    libraries = exports(result.stdout)["LD_PRELOAD"].split(":")
    assert [Path(path).name for path in libraries] == [*BOTH, *ALWAYS[1:]]


def test_earlier_preloads_follow_ours(execute, here):
    other = str(next(Path("/").glob("lib*/**/libdl.so.2"), Path("/lib/libm.so.6")))
    result = execute("perfield-exec", "--print", "true", cwd=here, env={"LD_PRELOAD": other})
    variables = exports(result.stdout)
    assert variables["LD_PRELOAD"] == f"{variables['PERFIELD_PRELOADED']}:{other}"
    again = execute("perfield-exec", "--print", "true", cwd=here, env=variables)
    assert exports(again.stdout)["LD_PRELOAD"] == variables["LD_PRELOAD"]


def test_configuration_path_is_absolute(execute, here):
    (here / "perfield.toml").write_text("skip_steps = 1\n")
    variables = exports(execute("perfield-exec", "--print", "true", cwd=here).stdout)
    assert variables["PERFIELD_CONFIG"] == str(here.resolve() / "perfield.toml")


def test_exit_code_and_arguments_are_the_programs(execute, here):
    result = execute(
        "perfield-exec", "--", "sh", "-c", 'echo "$1|$2"; exit 5', "sh", "--print", "a b", cwd=here
    )
    assert (result.returncode, result.stdout) == (5, "--print|a b\n")


def test_exit_codes_of_missing_programs_are_a_shells(execute, here):
    (here / "data.txt").write_text("no program\n")
    os.mkfifo(here / "pipe", 0o755)
    for name, code, reason in (
        ("./nowhere", 127, "No such file or directory"),
        ("nowhere-in-path", 127, "No such file or directory"),
        ("./data.txt", 126, "Permission denied"),
        ("/", 126, "Is a directory"),
        ("./pipe", 126, "Permission denied"),
    ):
        result = execute("perfield-exec", name, cwd=here)
        assert result.returncode == code, name
        assert result.stderr.startswith(f"perfield-exec: cannot start {name}: "), result.stderr
        assert reason in result.stderr
    assert {path.name for path in here.iterdir()} == {"data.txt", "pipe"}


def test_help_and_wrong_usage_are_clear(execute, here):
    shown = execute("perfield-exec", "--help", cwd=here)
    assert shown.returncode == 0
    assert "mpirun -n 8 perfield-exec ./a.out" in shown.stdout
    for words, sentence in (
        (["-n", "4", "true"], "unknown option -n"),
        ([], "no program to start"),
    ):
        result = execute("perfield-exec", *words, cwd=here)
        assert result.returncode == 2
        assert sentence in result.stderr
    assert list(here.iterdir()) == []


def test_static_program_runs_unmeasured_with_a_message(execute, compile_c, here):
    programs = [compile_c(HELLO, flag, name=f"hello{flag}") for flag in ("-static", "-static-pie")]
    programs = [program for program in programs if program]
    if not programs:
        pytest.skip("no static C library is installed, so no static program can be made")
    for program in programs:
        result = execute("perfield-exec", program, cwd=here)
        assert (result.returncode, result.stdout) == (3, "hello\n")
        assert result.stderr == (
            f"perfield: {program} runs unmeasured: it is linked statically, so nothing can be preloaded; "
            "link it dynamically\n"
        )
    assert list(here.iterdir()) == []


def test_program_of_musl_runs_unmeasured_with_a_message(execute, compile_c, here, tmp_path):
    loader = tmp_path / "ld-musl-x86_64.so.1"  # in truth this machine's
    loader.symlink_to(next(Path("/").glob("lib*/ld-linux-*.so.*")))
    program = compile_c(HELLO, f"-Wl,--dynamic-linker={loader}", name="of-musl")
    result = execute("perfield-exec", program, cwd=here)
    assert (result.returncode, result.stdout) == (3, "hello\n")
    assert result.stderr == (
        f"perfield: {program} runs unmeasured: it was built for the C library musl, whose loader cannot "
        "preload libraries of glibc; build it with glibc, or perfield with musl (make recorder)\n"
    )
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("bits, machine", [(2, 0x1234), (1, 3)])  # no processor has this number; 32-bit x86
def test_program_of_another_processor_is_named_as_such(execute, compile_c, here, bits, machine):
    program = compile_c(HELLO, name="of-another")
    words = bytearray(program.read_bytes())
    words[4], words[18:20] = bits, machine.to_bytes(2, "little")  # EI_CLASS and e_machine
    program.write_bytes(words)
    result = execute("perfield-exec", program, cwd=here)
    assert result.returncode == 126
    assert result.stderr == (
        f"perfield: {program} runs unmeasured: it was built for another word length or processor than "
        "perfield; build it for that of perfield, or install perfield for its own\n"
        f"perfield-exec: cannot start {program}: Exec format error\n"
    )


def test_setuid_program_runs_unmeasured_with_a_message(execute, compile_c, here):
    program = compile_c(HELLO)
    assert program
    try:
        os.chown(program, os.getuid() + 1234, -1)
    except PermissionError:
        pytest.skip("only root can give a program to another user")
    program.chmod(0o4755)
    result = execute("perfield-exec", program, cwd=here)
    assert (result.returncode, result.stdout) == (3, "hello\n")
    assert "runs unmeasured: it runs with other rights than its user (set-user-id)" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(here.iterdir()) == []


def test_mpi_program_gets_its_wrappers_under_any_launcher(execute, build_c, mpi, here):
    program = build_c(MPI_PROGRAM, by=mpi)
    for started_by in ("OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "PERFIELD_MPI"):
        other = "mpich" if mpi.name == "openmpi" else "openmpi"
        env = {started_by: other if started_by == "PERFIELD_MPI" else "0"}
        result = execute("perfield-exec", "--print", program, cwd=here, env=env)
        assert preloaded(result) == [f"libperfield_{mpi.name}.so"]


def test_launcher_or_configuration_chooses_an_unknown_mpi(execute, mpi, here):
    launched = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "MPI_LOCALRANKID"}[mpi.name]
    for env in ({launched: "0"}, {"PERFIELD_MPI": mpi.name}):
        result = execute("perfield-exec", "--print", "true", cwd=here, env=env)
        assert preloaded(result) == [f"libperfield_{mpi.name}.so"]
    unknown = execute("perfield-exec", "--print", "true", cwd=here, env={"PERFIELD_MPI": "lam"})
    assert 'PERFIELD_MPI: found the text "lam", expected auto, openmpi, mpich or mpi_abi' in unknown.stderr


def test_only_installed_mpi_is_chosen(privately, mpi, tmp_path):
    (tmp_path / {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}[mpi.name]).touch()
    script = f"""
      for list in /etc/ld.so.conf.d/*.conf; do mount --bind /dev/null $list; done
      cd {tmp_path}
      LD_LIBRARY_PATH={tmp_path} exec perfield-exec --print true
    """
    assert preloaded(privately(script)) == [f"libperfield_{mpi.name}.so"]


def test_missing_wrappers_are_reported(execute, build_c, mpi, bin_dir, here, tmp_path):
    other = "mpich" if mpi.name == "openmpi" else "openmpi"
    name = {"openmpi": "Open MPI", "mpich": "MPICH"}
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    shutil.copy(bin_dir / "perfield-exec", tmp_path / "bin")
    (tmp_path / f"lib/libperfield_{other}.so").touch()
    program = build_c(
        HELLO.replace("int main", "#include <mpi.h>\nint f() { return MPI_Init(0, 0); }\nint main"), by=mpi
    )
    result = execute(tmp_path / "bin/perfield-exec", program, cwd=here)
    assert (result.returncode, result.stdout) == (3, "hello\n")
    assert f"it uses {name[mpi.name]}, but this perfield is built for {name[other]} only" in result.stderr
    assert "make recorder MPICC=" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(here.iterdir()) == []


def test_openfoam_program_gets_its_hook(execute, compile_c, here, tmp_path):
    # A library of the program loads a fake libOpenFOAM.so: the name alone decides.
    folder = tmp_path / "bin"
    path = f"-Wl,-rpath,{folder}"
    assert compile_c("int foam;\n", "-shared", "-fPIC", name="libOpenFOAM.so")
    assert compile_c(
        "extern int foam; int volume(void) { return foam; }\n",
        *("-shared", "-fPIC", f"-L{folder}", "-l:libOpenFOAM.so", path),
        name="libvolume.so",
    )
    program = compile_c(
        "int volume(void); int main(void) { return volume(); }\n", f"-L{folder}", "-l:libvolume.so", path
    )
    result = execute("perfield-exec", "--print", program, cwd=here)
    assert preloaded(result) == [*BOTH, "libperfield_openfoam.so"]


def test_script_passes_perfield_to_its_programs(execute, here):
    script = here / "job"
    script.write_text("#!/bin/sh\nexec true\n")
    script.chmod(0o755)
    assert preloaded(execute("perfield-exec", "--print", "./job", cwd=here)) == BOTH


@pytest.mark.parametrize("length", [1, 4, 18, 64, 100, 600, 5000])
def test_truncated_program_fails_as_without_perfield(execute, here, length):
    program = here / "cut"
    program.write_bytes(Path("/bin/cat").read_bytes()[:length])
    program.chmod(0o755)
    bare = execute("sh", "-c", "exec ./cut < /dev/null", cwd=here)
    result = execute("sh", "-c", "exec perfield-exec ./cut < /dev/null", cwd=here)
    assert result.returncode > 0 or result.returncode == bare.returncode
    assert (result.returncode < 0) == (bare.returncode < 0), result


def test_configuration_errors_appear_once_per_node(mpirun, bin_dir, here):
    (here / "perfield.toml").write_text("mesure_every = 3\nsummary = 5\n")
    result = mpirun(3, bin_dir / "perfield-exec", "echo", "hello", cwd=here)
    assert (result.returncode, result.stdout) == (0, "hello\n" * 3)
    printed = [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]
    assert printed == [
        "perfield: perfield.toml:1: unknown key 'mesure_every'; did you mean measure_every?",
        "perfield: perfield.toml:2: summary: found the integer 5, expected true or false; "
        "the default is true",
        "perfield: the program runs unmeasured until you correct this",
    ]
    assert [path.name for path in here.iterdir()] == ["perfield.toml"]


def test_invalid_configuration_preloads_nothing(execute, here):
    result = execute("perfield-exec", *SHOW, cwd=here, env={"PERFIELD_SKIP_STEPS": "x"})
    assert result.stdout == "PERFIELD_ENABLED=false\nPERFIELD_SKIP_STEPS=x\n"


def test_disabled_perfield_is_silent_and_inactive(execute, here):
    result = execute("perfield-exec", *SHOW, cwd=here, env={"PERFIELD_ENABLED": "false"})
    assert (result.stdout, result.stderr) == ("PERFIELD_ENABLED=false\n", "")
    assert list(here.iterdir()) == []


def test_machine_is_described_once_per_host(mpirun, bin_dir, here):
    result = mpirun(4, bin_dir / "perfield-exec", "true", cwd=here)
    assert result.returncode == 0, result.stderr
    files = [path.name for path in (here / "perfield-run/machine").iterdir()]
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    assert files == [f"{os.uname().nodename.split('.')[0]}-{boot_id}.xml"]
    assert "<topology" in (here / "perfield-run/machine" / files[0]).read_text()


def only_tools(folder: Path, *names: str) -> str:
    """A PATH with only these programs and perfield-exec."""
    folder.mkdir()
    (folder / "perfield-exec").symlink_to(Path(sys.executable).parent / "perfield-exec")
    for name in names:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_hwloc_variables_choose_the_description(execute, here):
    execute("perfield-exec", "true", cwd=here, env={"HWLOC_SYNTHETIC": "pack:2 core:3 pu:1"})
    (file,) = (here / "perfield-run/machine").iterdir()
    assert file.read_text().count('type="Core"') == 6


def test_description_holds_gpus_and_network_cards(execute, here):
    made = execute("lstopo", "-i", "pack:1 core:1 pu:1", "--of", "xml", "-")
    if made.returncode:
        pytest.skip("lstopo is not installed")
    card = '<object type="OSDev" gp_index="103" name="mlx5_0" osdev_type="3"/>'
    address = 'pci_busid="0000:3b:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00" pci_link_speed="0"'
    pci = f'<object type="PCIDev" gp_index="102" {address}>{card}</object>'
    bridge = 'type="Bridge" gp_index="101" bridge_type="0-1" depth="0" bridge_pci="0000:[3a-3b]"'
    before, end, after = made.stdout.rpartition("</object>")
    (here / "node.xml").write_text(f"{before}<object {bridge}>{pci}</object>{end}{after}")
    execute("perfield-exec", "true", cwd=here, env={"HWLOC_XMLFILE": str(here / "node.xml")})
    (file,) = (here / "perfield-run/machine").iterdir()
    assert 'pci_busid="0000:3b:00.0"' in file.read_text()
    assert 'name="mlx5_0"' in file.read_text()


def test_libhwloc_describes_the_machine_without_lstopo(execute, here, tmp_path):
    path = only_tools(tmp_path / "tools", "true", "sh")
    result = execute("perfield-exec", "true", cwd=here, env={"PATH": path, "HWLOC_SYNTHETIC": "pack:2 pu:1"})
    if "lstopo" in result.stderr:
        pytest.skip("libhwloc is not installed")
    assert (result.returncode, result.stderr) == (0, "")
    (file,) = (here / "perfield-run/machine").iterdir()
    assert file.read_text().count('type="PU"') == 2


def test_without_hwloc_one_line_is_printed(privately, here, tmp_path):
    path = only_tools(tmp_path / "tools", "echo", "sh")
    script = f"""
      for library in $(ldconfig -p | sed -n 's/.*libhwloc.* => //p'); do
        mount --bind /dev/null $(realpath $library)
      done
      cd {here}
      PATH={path} perfield-exec echo hello
    """
    result = privately(script)
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert result.stderr.count("\n") == 1
    assert "found no lstopo or libhwloc that can describe" in result.stderr
    assert "install the package hwloc" in result.stderr
    assert list((here / "perfield-run/machine").iterdir()) == []


def test_path_that_cannot_be_preloaded_is_reported(execute, bin_dir, here, tmp_path):
    home = tmp_path / "a b"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    shutil.copy(bin_dir / "perfield-exec", home / "bin")
    result = execute(home / "bin/perfield-exec", "echo", "hello", cwd=here)
    assert "libperfield_openmpi.so is missing near" in result.stderr
    (home / "lib/libperfield_openmpi.so").touch()
    result = execute(home / "bin/perfield-exec", "echo", "hello", cwd=here)
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert "which contains a blank or a colon; install perfield elsewhere" in result.stderr


def test_only_one_rank_reports_the_obstacle(mpirun, bin_dir, compile_c, here):
    program = compile_c(HELLO.replace("return 3", "return 0"), "-static")
    if program is None:
        pytest.skip("no static C library is installed, so no static program can be made")
    result = mpirun(4, bin_dir / "perfield-exec", program, cwd=here)
    assert result.stdout == "hello\n" * 4
    assert result.stderr.count("runs unmeasured") == 1


def test_pipe_as_trace_of_latencies_does_not_hold_up_the_program(execute, tmp_path):
    os.mkfifo(tmp_path / "trace")
    result = execute(
        "perfield-exec", "true", env={"PERFIELD_INJECT": "trace", "PERFIELD_MPI": "openmpi"}, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert "injected" not in (tmp_path / "perfield-run/run.json").read_text().split('"configuration"')[0]
