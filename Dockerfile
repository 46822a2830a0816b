# docker build --build-arg VERSION=1.2.3 -t heed .
ARG GO_VERSION=1.26

FROM --platform=$BUILDPLATFORM golang:${GO_VERSION}-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.release=$VERSION" -o /out/heed ./cmd/heed
# Group 0 may write it: an arbitrary user, as OpenShift picks one, is in that group.
RUN mkdir -p /out/lib && mkdir -m 0770 /out/lib/heed

FROM scratch
COPY LICENSE /LICENSE
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:0 /out/lib /var/lib
COPY --from=build /out/heed /heed
ARG VERSION=devel
LABEL org.opencontainers.image.title="heed" \
      org.opencontainers.image.description="Forward proxy that makes any crawler obey robots.txt" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
# Without a home the folder of the CA would depend on what the runtime makes of $HOME. The admin listener stays on the
# container's own loopback, where the health check asks it.
ENV HEED_LISTEN=0.0.0.0:8080 HEED_HTTPS_CA_DIR=/var/lib/heed
VOLUME /var/lib/heed
EXPOSE 8080
USER 65532:65532
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/heed", "health"]
ENTRYPOINT ["/heed"]
CMD ["serve"]
