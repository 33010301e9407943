# make demo and make test do everything on a fresh Debian 12.
.PHONY: help setup demo test wheels test-install test-versions test-debug test-sanitized test-cpython test-numpy test-scipy test-sklearn test-pandas test-networkx test-mpmath test-toolz test-statsmodels test-xarray test-pywt test-dask test-astropy test-quantities test-accept test-dynamo test-autograd test-jax fuzz bench bench-gpu bench-models format docs figures torch-ops test-zoo clean analyze

help:
	@echo "make demo    install what is missing, build, and run four NumPy programs compiled"
	@echo "make test    install what is missing, build, and run every test; some on each other CPython that is installed"
	@echo "make wheels  a wheel for each CPython of 3.11, 3.12 and 3.13 that is installed, in dist/"
	@echo "make test-install  pip install . into an empty environment of each CPython that is installed"
	@echo "make test-cpython  CPython's own tests of the language on each CPython that is installed, each method compiled (MODULES=\"test_x test_y\" for some)"
	@echo "make test-numpy  NumPy's own tests, each test compiled (FILES=\"numpy/lib/tests/test_io.py\" for some)"
	@echo "make test-scipy, test-sklearn, test-pandas, test-networkx, test-mpmath, test-toolz, test-statsmodels, test-xarray, test-pywt, test-dask, test-astropy, test-quantities  the same with the own tests of SciPy and others (installs them)"
	@echo "make test-dynamo FOLDER=.../pytorch/test  TorchDynamo's own tests, compiled by frameloom"
	@echo "make test-autograd FOLDER=.../autograd  autograd's own tests of gradients, with frameloom's derivatives (writes docs/autograd-tests.md)"
	@echo "make test-jax FOLDER=.../jax  JAX's own tests of derivatives and vmap, with frameloom's functions for JAX's (writes docs/jax-tests.md)"
	@echo "make fuzz    random programs against plain Python and NumPy (SECONDS=n SEED=s KIND=numpy,python,changes,calls,graphs,ir,device,cuda; a program whose results differ is kept in build/fuzz)"
	@echo "make test-debug  the tests of capture, frames and references under a debug build of CPython 3.11"
	@echo "make test-sanitized  Python tests with the extension and the compiler library under AddressSanitizer and UBSan"
	@echo "make test-accept  every kernel for GPUs that tests have, through ptxas and the linker for each architecture (minutes)"
	@echo "make analyze  static analysis of the C code, by clang and GCC (false positives are on record)"
	@echo "make test-versions  the Python tests on each CPython of 3.11, 3.12 and 3.13 that is installed"
	@echo "make bench   measure against NumPy, numexpr, Numba, JAX and torch.compile (installs them)"
	@echo "make bench-gpu  on a machine with an NVIDIA GPU: does it run, and how fast (bench/gpu.sh)"
	@echo "make bench-models  measure real models through torch.compile against eager torch and Inductor"
	@echo "make docs    regenerate the dialect's reference page"
	@echo "make figures  write the measured figures of README.md and docs/ from bench/results"
	@echo "make torch-ops  torch's own samples of every op through the backend (LIMIT=n samples of each)"
	@echo "make test-zoo  models of many sorts through the torch backend: hand-written ones, timm's, transformers' (MODELS=\"gan bert\" or SAMPLE=n for some; DOOR=tensors: through frameloom.compile)"
	@echo "make format  clang-format the C code"

setup:
	@scripts/setup.sh

demo: setup
	@.venv/bin/python examples/demo.py

test:
	@scripts/test.sh

wheels: setup
	@scripts/wheels.sh
	@scripts/test-wheels.sh

test-install:
	@scripts/test-install.sh

test-versions:
	@scripts/test-versions.sh

test-debug:
	@scripts/test-debug.sh

# Every kernel for GPUs of the tests through the vendors' tools, for every architecture.
test-accept: setup
	@PATH="/usr/lib/llvm-22/bin:$$PATH" .venv/bin/python test/targets/inputs/accept.py build/wheel/bin --all --sum \
		$(filter-out %/gpu-refused.mlir,$(wildcard test/targets/inputs/gpu-*.mlir test/targets/inputs/run-*.mlir test/targets/inputs/loom-*.mlir))

test-sanitized:
	@scripts/test-sanitized.sh

analyze:
	@scripts/analyze.sh

test-cpython:
	@scripts/test-cpython.sh $(MODULES)

test-numpy:
	@scripts/setup.sh test
	@scripts/test-suite.sh numpy $(FILES)

test-scipy test-sklearn test-pandas test-networkx test-mpmath test-toolz test-statsmodels test-xarray test-pywt test-dask test-astropy test-quantities: test-%:
	@scripts/setup.sh test $*
	@scripts/test-suite.sh $* $(FILES)

# PyTorch's repository has the tests that FOLDER is to name, the package has not.
test-dynamo:
	@scripts/setup.sh test
	@scripts/test-suite.sh dynamo --folder "$(FOLDER)" --processes 1 $(if $(FILES),$(FILES),--table docs/dynamo-tests.md)

# FOLDER is a checkout of autograd's repository: the package has no tests.
test-autograd:
	@scripts/setup.sh test
	@FRAMELOOM_CACHE_DIR="$(CURDIR)/build/test-cache" .venv/bin/python test/suites/autograd_gradients.py "$(FOLDER)" --table docs/autograd-tests.md

# FOLDER is a checkout of JAX's repository: the package has no tests.
test-jax:
	@scripts/setup.sh test jax
	@FRAMELOOM_CACHE_DIR="$(CURDIR)/build/test-cache" .venv/bin/python test/suites/jax_gradients.py "$(FOLDER)" --table docs/jax-tests.md

fuzz: setup
	@scripts/fuzz.sh $(or $(SECONDS),60) $(or $(SEED),1) $(or $(KIND),all)

bench:
	@scripts/setup.sh bench
	@.venv/bin/python bench/bench.py
	@.venv/bin/python bench/overhead.py
	@.venv/bin/python bench/time_steps.py
	@.venv/bin/python bench/gradients.py
	@.venv/bin/python bench/tensors.py
	@.venv/bin/python bench/never_slower.py
	@.venv/bin/python bench/slow.py
	@.venv/bin/python bench/library.py
	@$(MAKE) --no-print-directory figures

bench-gpu:
	@bench/gpu.sh

bench-models:
	@scripts/setup.sh models
	@.venv/bin/python bench/models.py $(MODELS)
	@$(MAKE) --no-print-directory figures

docs: setup
	@cmake --build build/wheel --target docs
	@.venv/bin/python docs/numpy_coverage.py

figures:
	@[ -x .venv/bin/python ] || scripts/setup.sh
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check markdown-it-py
	@.venv/bin/python docs/figures.py

torch-ops:
	@scripts/setup.sh test
	@.venv/bin/python docs/torch_ops.py --limit $(or $(LIMIT),0)

test-zoo:
	@scripts/setup.sh test zoo
	@FRAMELOOM_CACHE_DIR="$(CURDIR)/build/test-cache" .venv/bin/python test/zoo/run.py --sample $(or $(SAMPLE),0) \
		$(if $(DOOR),--door $(DOOR) --table docs/$(DOOR)-zoo.md,--table docs/torch-zoo.md) $(MODELS)

format:
	@git ls-files '*.c' '*.h' 'dialects/glue.cpp' | xargs clang-format-22 -i

clean:
	@rm -rf build .venv
