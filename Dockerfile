# The image of inferwatch: both exporters, the start page and the `inferwatch` command.
#
#   docker build -t inferwatch .
#   docker build -t inferwatch-demo --target demo .     with a small model and llama.cpp's server
#
# It needs nothing that only BuildKit has, so every builder can build it.
ARG PYTHON_IMAGE=python:3.11.17-slim-bookworm

FROM ${PYTHON_IMAGE} AS packages
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/runtime.txt /tmp/
# pip stays in this stage: the environment that is copied on has none. The .pth file puts our code on its path.
RUN python -m venv --without-pip /opt/inferwatch/venv \
 && python -m pip --python /opt/inferwatch/venv/bin/python install \
      --no-deps --require-hashes --only-binary=:all: -r /tmp/runtime.txt \
 && echo /opt/inferwatch/app > "$(echo /opt/inferwatch/venv/lib/python3*/site-packages)/inferwatch.pth"

FROM packages AS demo-packages
COPY requirements/demo.txt /tmp/
RUN python -m pip install --no-deps --require-hashes --only-binary=:all: --target /opt/inferwatch/demo -r /tmp/demo.txt

FROM packages AS code
COPY deploy/bin /opt/inferwatch/bin
COPY inferwatch /opt/inferwatch/app/inferwatch
COPY exporters /opt/inferwatch/app/exporters
COPY engines /opt/inferwatch/app/engines
COPY prometheus /opt/inferwatch/app/prometheus
COPY stack /opt/inferwatch/app/stack
# The root is read-only at run time, so bytecode is made now; it is trusted without a look at the sources' times.
RUN chmod 0755 /opt/inferwatch/bin/* \
 && chmod -R go=rX /opt/inferwatch/app \
 && python -m compileall -q --invalidation-mode unchecked-hash /opt/inferwatch/app

FROM ${PYTHON_IMAGE} AS runtime
LABEL org.opencontainers.image.title="inferwatch" \
      org.opencontainers.image.description="Watches LLM inference servers: GPU and synthetic-probe exporters" \
      org.opencontainers.image.source="https://github.com/inferwatch/inferwatch" \
      org.opencontainers.image.licenses="Apache-2.0"
# A new named volume takes owner and mode from the folder that it is mounted on: /state is ours, /secret is Grafana's.
RUN echo 'inferwatch:x:65532:' >> /etc/group \
 && echo 'inferwatch:x:65532:65532:inferwatch:/nonexistent:/usr/sbin/nologin' >> /etc/passwd \
 && install -d -o 65532 -g 65532 -m 0750 /state \
 && install -d -o 472 -g 0 -m 0750 /secret
COPY --from=packages /opt/inferwatch/venv /opt/inferwatch/venv
COPY --from=code /opt/inferwatch/bin /opt/inferwatch/bin
COPY --from=code /opt/inferwatch/app /opt/inferwatch/app
ENV PATH=/opt/inferwatch/bin:/opt/inferwatch/venv/bin:$PATH PYTHONUNBUFFERED=1
# Each command is started once: an image that cannot run fails here, and what the commands import of Python's own
# library, which the base image brings without bytecode, is compiled into this layer.
RUN for command in inferwatch probe-exporter gpu-exporter; do "$command" --help > /dev/null || exit 1; done
ENV PYTHONDONTWRITEBYTECODE=1
WORKDIR /opt/inferwatch/app
USER 65532:65532
STOPSIGNAL SIGTERM
CMD ["inferwatch", "--help"]

FROM runtime AS demo
USER root
# llama.cpp computes with OpenMP, which the slim image has not.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libgomp1 \
 && rm -rf /var/lib/apt/lists/*
USER 65532:65532
COPY --from=demo-packages /opt/inferwatch/demo /opt/inferwatch/demo
ENV PYTHONPATH=/opt/inferwatch/demo

# The last stage is what `docker build .` makes.
FROM runtime AS inferwatch
