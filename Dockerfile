# bakeoff with everything that its lock pins. A workspace is mounted at /workspace:
#
#   docker build --tag bakeoff .                          # for CPUs
#   docker build --tag bakeoff-gpu --build-arg GPU=1 .    # with CUDA's libraries, for NVIDIA's GPUs
#   docker run --rm --init --volume "$PWD:/workspace" --user "$(id -u):$(id -g)" bakeoff bakeoff repro
ARG PYTHON=3.12
FROM python:${PYTHON}-slim

# git keeps experiments, make runs the set-up.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

# Empty: CPUs alone.
ARG GPU=
WORKDIR /opt/bakeoff
COPY Makefile README.md LICENSE environment.py pyproject.toml setup.py dvc.yaml params.yaml requirements.lock requirements-gpu.lock ./
COPY .dvc/config .dvc/plots.html .dvc/.gitignore .dvc/
COPY .dvcignore .gitignore ./
COPY conf conf
COPY data data
COPY models models
COPY src src
RUN make GPU=${GPU} setup && rm -rf /root/.cache

ENV PATH=/opt/bakeoff/.venv/bin:${PATH} HOME=/tmp DVC_NO_ANALYTICS=1
# A mounted workspace belongs to another user than the one of the container.
RUN git config --system --add safe.directory '*'
WORKDIR /workspace
CMD ["bakeoff", "--help"]
