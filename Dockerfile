# bertd with the demo model, and nothing else: no shell, no package manager, no path to write to.
# docker build -t bertd . && docker run --read-only -p 8080:8080 bertd

FROM debian:12 AS build
WORKDIR /src
# The packages first: this layer stays as long as the Makefile does.
COPY Makefile ./
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends make >/dev/null \
    && make deps-program
COPY . .
RUN make install DESTDIR=/image PREFIX=/usr \
    && strip /image/usr/bin/bertd \
    && tests/container/collect-libraries.sh /image/usr/bin/bertd /image

FROM scratch
COPY --from=build /image/ /
# Any other user id does as well.
USER 65532:65532
ENV BERTD_HOST=0.0.0.0
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/usr/bin/bertd", "health"]
ENTRYPOINT ["/usr/bin/bertd"]
CMD ["serve"]
