# Everything runs in .venv, which is made on first use and only remade when the
# dependencies change.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo reproduce test lint types browser pytest fuzz bench bench-peers clean

demo: .venv/run.stamp  ## run the quickstart, then let devices learn, and say where to look
	$(BIN)/straggler run scenarios/quickstart.yaml
	@if $(BIN)/straggler data fetch fashion-mnist; then \
	  $(BIN)/straggler run scenarios/fashion-mnist.yaml; \
	else \
	  echo "Fashion-MNIST cannot be had here; its place is taken by a synthetic data set."; \
	  $(BIN)/straggler run scenarios/fashion-mnist.yaml --set name=synthetic --set learning.dataset=synthetic; \
	fi
	@echo "Next: $(BIN)/straggler report runs/quickstart, to look at it; or another run of scenarios/README.md"

reproduce: .venv/run.stamp  ## the paper's Table I and Figures 3 to 6: an hour; resumes where it was left
	$(BIN)/straggler reproduce

test: lint types pytest  ## all that must pass

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev.stamp
	$(BIN)/mypy

# Pages are tested in a real browser. Where it may be installed it is; where not, its tests say that they are left out.
browser:
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium > /dev/null; } \
	  || echo "Chromium cannot be had here: the tests of pages in a browser are left out"

# The commands of the README take longest, and go first: at the end, one core would wait for the other.
# Tests on a Ray cluster go last, a file at a time: two clusters at once are too much for two cores.
pytest: .venv/dev.stamp browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 -m "not ray" tests/test_docs.py tests netsim fl
	for file in $$(grep --recursive --files-with-matches --include '*.py' pytest.mark.ray tests); do \
	  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m ray $$file || exit 1; \
	done

# Longer than the tests of tests/fuzz, and guided by coverage: see tests/fuzz/campaign.py.
FUZZ_INPUTS ?= 100000
fuzz: .venv/dev.stamp  ## files from strangers, changed at random: is each read, or refused in words?
	$(PIP) --editable '.[fuzz]'
	$(BIN)/python tests/fuzz/campaign.py --inputs $(FUZZ_INPUTS)

bench: .venv/dev.stamp  ## speed, as ratios
	$(BIN)/python benchmarks/events.py
	$(BIN)/python benchmarks/traces.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/allocation.py
	$(BIN)/python benchmarks/studies.py

bench-peers: .venv/run.stamp  ## the same work in other frameworks, as ratios; installs them on first use
	$(BIN)/python benchmarks/peers/run.py

clean:
	rm -rf .venv .venv-peers runs

.venv/run.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/dev.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.[dev]'
	touch $@ .venv/run.stamp
