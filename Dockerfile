# The server of a cluster, and the executor that agents fetch from it:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=$(git describe --tags --always --dirty) \
#     --build-arg COMMIT=$(git rev-parse HEAD) --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) -t elasticjob .
# It contains no shell. Jobs run on agents; don't use --local in this image, because it would run them here.
# On Kubernetes jobs run in pods: those of apps without an image run in the image of the target task (--target task -t elasticjob-task),
# which also copies the executor into the others.
# docs/install.md shows how to pin these images by their digests.

FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
WORKDIR /src
COPY . .
# The source of Go modules, for networks that do not reach the default one.
ARG GOPROXY=https://proxy.golang.org,direct
# No defaults for these two: they would override the requested platform.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=unknown
ARG SOURCE_DATE_EPOCH=0
# Builds the content of a release's archive. Modules and build results are cached for the next build.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
 make dist PLATFORMS=$TARGETOS/$TARGETARCH VERSION=$VERSION COMMIT=$COMMIT \
 && mkdir -p /image/opt/elasticjob /image/etc/ssl/certs /image/tmp /data/elasticjob \
 && tar -xzf dist/*.tar.gz --strip-components=1 -C /image/opt/elasticjob \
 && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
 && echo 'elasticjob:x:65532:65532::/var/lib/elasticjob:/nologin' >/image/etc/passwd \
 && echo 'elasticjob:x:65532:' >/image/etc/group \
 && chmod 1777 /image/tmp && chmod 0700 /data/elasticjob

# The user of tasks. Its home is their working directory, over which some pods mount a volume.
RUN mkdir -p /task/etc /task/elasticjob && chmod 1777 /task/elasticjob && printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'task:x:65532:65532::/elasticjob:/bin/sh' >/task/etc/passwd \
 && printf '%s\n' 'root:x:0:' 'task:x:65532:' >/task/etc/group

# docker-compose.yml starts this first: it creates the secrets of a trial, which requires a shell.
FROM alpine:3.22.1 AS setup
COPY --from=build /image/opt/elasticjob/scheduler /opt/elasticjob/scheduler
COPY deploy/compose/setup.sh /opt/elasticjob/setup.sh
ENTRYPOINT ["/bin/sh", "/opt/elasticjob/setup.sh"]

# Runs shards in pods, and fetches packages: a shell with the usual commands, certificates, the executor. Its root file system may be
# read-only.
FROM alpine:3.22.1 AS task
COPY --from=build /task/ /
COPY --from=build /image/etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image/opt/elasticjob/executor /opt/elasticjob/executor
USER 65532:65532
ENTRYPOINT ["/opt/elasticjob/executor", "pod"]

FROM scratch AS server
COPY --from=build /image/ /
# The directory with its mode: a new volume takes both from here.
COPY --from=build --chown=65532:65532 /data/ /var/lib/
USER 65532:65532
ENV ELASTICJOB_LISTEN=0.0.0.0:8899 ELASTICJOB_DATA_DIR=/var/lib/elasticjob
VOLUME /var/lib/elasticjob
EXPOSE 8899
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s CMD ["/opt/elasticjob/scheduler", "ready"]
ENTRYPOINT ["/opt/elasticjob/scheduler"]
