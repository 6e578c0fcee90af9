# SPDX-License-Identifier: Apache-2.0
# Every target sets up by itself what it needs; a second run only looks. ARGS goes to the command:
#   make test ARGS="tests/unit -k window"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo quick test test-all test-vm knobs-tested truth fuzz faults lint bench mutants planted simulate findings views schemas reference licences sbom gallery picture docs pythons pins clean

python := .venv/bin/python

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install what is missing: the field's tools and .venv
	@scripts/setup.sh demo $@

demo:  ## bring the lab up, run the example campaign, print and write its report, take the lab down
	@scripts/root.sh $@
	@scripts/setup.sh demo $@
	@scripts/root.sh $@ .venv/bin/linewatt demo $(ARGS)

quick:  ## check a change in less than a minute: format, style, layers, types, nearest tests; ARGS="--since main"
	@scripts/setup.sh lint $@
	@$(python) -m scripts.quick $(ARGS)

test:  ## what to run before every commit: all that computes, each capability once for real; ARGS goes to pytest
	@scripts/root.sh $@
	@scripts/setup.sh test $@
	@scripts/root.sh $@ $(python) -m tests $(ARGS)

test-all:  ## every test, also those that need minutes
	@scripts/root.sh $@
	@scripts/setup.sh test $@
	@scripts/root.sh $@ $(python) -m tests --all

test-vm:  ## run the tests on virtual machines alone: real kernels, drivers, interrupts
	@scripts/root.sh $@
	@scripts/setup.sh vm $@
	@scripts/root.sh $@ $(python) -m pytest tests/vm $(ARGS)

knobs-tested:  ## write docs/knobs-tested.md: what each knob did on the drivers and kernels of guests
	@scripts/root.sh $@
	@scripts/setup.sh vm $@
	@scripts/root.sh $@ $(python) -m pytest $(wildcard tests/vm/test_knobs.py tests/vm/test_host_knobs.py) --write-knobs $(ARGS)

truth:  ## run the planted truths alone: labs whose limit or meter is known, and what linewatt says of them
	@scripts/root.sh $@
	@scripts/setup.sh test $@
	@scripts/root.sh $@ $(python) -m pytest tests/truth tests/lab/test_slow_meters.py tests/lab/test_rate_search.py $(ARGS)

fuzz:  ## damaged answers of hosts, meters and files, ever new ones for 10 minutes; ARGS=60 is an hour
	@scripts/setup.sh test $@
	@$(python) scripts/fuzz.py $(ARGS)

faults:  ## every fault at random moments of campaigns for 10 minutes, and docs/faults.md; ARGS="--minutes 60 --only sshd"
	@scripts/root.sh $@
	@scripts/setup.sh test $@
	@scripts/root.sh $@ $(python) -m tests.faults $(ARGS)

lint:  ## format, style, types, and the layers of the house
	@scripts/setup.sh lint $@
	@scripts/lint.sh

bench:  ## speed and cost of linewatt itself, side by side with the tools by hand
	@scripts/root.sh $@
	@scripts/setup.sh bench $@
	@scripts/root.sh $@ $(python) -m bench $(ARGS)

mutants:  ## whether a test notices each change of a check: 0 may survive; ARGS="--only placement --jobs 8"
	@scripts/setup.sh test $@
	@$(python) -m scripts.mutants $(ARGS)

planted:  ## whether make test notices faults planted by hand: it must find all; ARGS="--only route-stays"
	@scripts/root.sh $@
	@scripts/setup.sh test $@
	@scripts/root.sh $@ $(python) scripts/planted.py $(ARGS)

simulate:  ## how often intervals and verdicts are right, into docs/method.md (10 minutes); ARGS=--quick
	@scripts/setup.sh demo $@
	@$(python) -m scripts.simulate $(ARGS)

findings:  ## write docs/findings.md from the declarations of findings
	@scripts/setup.sh demo $@
	$(python) -m linewatt.findings.page >docs/findings.md

views:  ## write docs/sql.md from the declarations of views and columns
	@scripts/setup.sh demo $@
	$(python) -m linewatt.report.data.page docs/sql.md

schemas:  ## write docs/schemas.md and docs/schemas/ from the declarations of documents
	@scripts/setup.sh demo $@
	$(python) -m linewatt.schemas.page docs

reference:  ## write docs/reference, the man page and completions from what the code declares
	@scripts/setup.sh demo $@
	$(python) -m scripts.reference
	$(python) -m linewatt.cli.manual --prefix . >/dev/null

licences:  ## write docs/licences.md: the licence of each package that linewatt installs with all extras
	@scripts/setup.sh test $@
	$(python) -m scripts.licences

sbom:  ## write build/sbom.cdx.json: the same packages with their hashes, as CycloneDX JSON
	@scripts/setup.sh lint $@
	@mkdir -p build
	.venv/bin/cyclonedx-py requirements --output-reproducible --pyproject pyproject.toml \
		--output-file build/sbom.cdx.json requirements/extras.txt

docs:  ## the documents as a site in build/site; whatever Sphinx warns of is an error
	@scripts/setup.sh docs $@
	$(python) -m sphinx -W --keep-going -q -b html -c docs -d build/doctrees . build/site

picture:  ## write the picture of README.md: the demo's report as Chromium first shows it
	@scripts/root.sh $@
	@scripts/setup.sh test $@
	@scripts/root.sh $@ $(python) -m scripts.picture

gallery:  ## write docs/gallery.md, its pictures and docs/studies/rows.md from the tables in docs/published
	@scripts/setup.sh demo $@
	$(python) -m scripts.gallery.page

pythons:  ## the wheel, by pipx, in each Python from 3.11 on that is here, and there the demo; ARGS names others
	@scripts/root.sh $@
	@scripts/setup.sh demo $@
	@scripts/root.sh $@ scripts/pythons.sh $(ARGS)

pins:  ## resolve pyproject.toml's dependencies anew into requirements/
	scripts/pins.sh

clean:  ## remove what these targets made, but no results
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis src/*.egg-info
	find src tests bench -type d -name __pycache__ -exec rm -rf {} +
