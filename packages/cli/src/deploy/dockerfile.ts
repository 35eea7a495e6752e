import type { LoadedNode } from '@sheaf/gateway';
import { configurationPath, containerUser } from './containers.js';
import { clientPorts, type GeneratedFile } from './deployment.js';

/** The program in the image */
export const program = ['node', '/opt/sheaf/node_modules/@sheaf/cli/bin/sheaf.js'];

const backports = `echo 'deb http://deb.debian.org/debian bookworm-backports main' > /etc/apt/sources.list.d/backports.list`;

/** Returns what makes the image of a node. The image has no configuration and no keys, so all nodes can share it. */
export function dockerfile(node: LoadedNode): GeneratedFile {
  const ports = clientPorts(node).flatMap(({ port, protocols }) =>
    protocols.map((protocol) => `${port}/${protocol.toLowerCase()}`),
  );
  return {
    path: 'Dockerfile',
    text: `# The image of a Sheaf node. Written by \`sheaf deploy\`.
# Pin both bases by digest once you have pulled them (FROM node:…@sha256:…), so that the same file makes the same image.

# Builds the addon against Debian's libraries. Nothing of the compilers reaches the image.
FROM node:20-bookworm AS build
# ngtcp2 and nghttp3 of Debian 12 are too old; its backports have the right ones.
RUN ${backports} \\
    && apt-get update \\
    && apt-get install -y --no-install-recommends g++ make pkg-config python3 libgnutls28-dev libuv1-dev \\
    && apt-get install -y --no-install-recommends -t bookworm-backports \\
       libngtcp2-dev libngtcp2-crypto-gnutls-dev libnghttp3-dev
# Faster ciphers and repairs of losses, which exist for this architecture alone.
RUN if [ "$(dpkg --print-architecture)" = amd64 ]; then \\
      apt-get install -y --no-install-recommends libipsec-mb-dev libisal-dev; fi
# The packages that \`npm run pack\` makes in .sheaf/packed of Sheaf's repository.
COPY packages/*.tgz /packages/
WORKDIR /opt/sheaf
RUN npm_config_build_from_source=true npm install --no-audit --no-fund /packages/*.tgz

FROM node:20-bookworm-slim
# The libraries that the addon loads. npm is not needed, and what is not there has no faults.
RUN ${backports} \\
    && apt-get update \\
    && apt-get install -y --no-install-recommends ca-certificates libgnutls30 \\
    && apt-get install -y --no-install-recommends -t bookworm-backports \\
       libngtcp2-16 libngtcp2-crypto-gnutls8 libnghttp3-9 \\
    && if [ "$(dpkg --print-architecture)" = amd64 ]; then \\
         apt-get install -y --no-install-recommends libipsec-mb1 libisal2; fi \\
    && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules/npm /usr/local/bin/npm /usr/local/bin/npx
COPY --from=build /opt/sheaf /opt/sheaf
# Fails the build, and not the first start, when a library is missing.
RUN ${program.join(' ')} --version && node -e "import('/opt/sheaf/node_modules/@sheaf/native/dist/index.js').then((native) => native.loadAddon())"
LABEL org.opencontainers.image.title="sheaf" org.opencontainers.image.licenses="Apache-2.0"
# A number, since Kubernetes cannot tell whether a name is root.
USER ${containerUser}:${containerUser}
${ports.length === 0 ? '' : `EXPOSE ${ports.join(' ')}\n`}# SIGTERM drains.
STOPSIGNAL SIGTERM
# Without a shell, which would not pass the signal on.
ENTRYPOINT ${JSON.stringify(program).replaceAll(',', ', ')}
CMD ["up", "${configurationPath}"]
`,
  };
}
