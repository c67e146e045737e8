# headway serve on a CPU. TORCH_INDEX is the index of PyTorch's CPU builds, as pytorch.org shows it; left
# out, pip takes the CUDA build, which is several gigabytes.
#     docker build -t headway --build-arg TORCH_INDEX=... .
#     docker run --rm -p 8000:8000 -v "$PWD/runs/mine:/model:ro" headway

FROM python:3.11.14-slim-trixie AS build

WORKDIR /src
RUN python -m venv /opt/headway
# torch comes first and alone: the CPU build, in the version that headway is tested with. What it needs
# comes with headway, in the versions of constraints.txt.
ARG TORCH_INDEX=
RUN /opt/headway/bin/pip install --no-cache-dir --no-deps \
    ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch==2.13.0
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN /opt/headway/bin/pip install --no-cache-dir -c constraints.txt '.[serve]'

FROM python:3.11.14-slim-trixie

RUN useradd --create-home --uid 1000 headway
COPY --from=build /opt/headway /opt/headway
ENV PATH=/opt/headway/bin:$PATH PYTHONUNBUFFERED=1
USER headway
WORKDIR /home/headway
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["headway", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/model"]
