import type { LoadedNode } from '@sheaf/gateway';
import { configurationPath, containerUser } from './containers.js';
import { clientPorts, type GeneratedFile } from './deployment.js';

/** The program in the image */
export const program = ['node', '/opt/sheaf/node_modules/@sheaf/cli/bin/sheaf.js'];

/** Returns what makes the image of a node. The image has no configuration and no keys, so all nodes can share it. */
export function dockerfile(node: LoadedNode): GeneratedFile {
  const ports = clientPorts(node).flatMap(({ port, protocols }) =>
    protocols.map((protocol) => `${port}/${protocol.toLowerCase()}`),
  );
  return {
    path: 'Dockerfile',
    text: `# The image of a Sheaf node. Written by \`sheaf deploy\`.
# Pin both bases by digest once you have pulled them (FROM node:…@sha256:…), so that the same file makes the same image.

# npm and its cache stay in this stage.
FROM node:20-bookworm-slim AS installed
# The packages that \`npm run pack\` makes in .sheaf/packed of Sheaf's repository. They bring the addon and its libraries for x86-64.
COPY packages/*.tgz /packages/
WORKDIR /opt/sheaf
RUN npm install --no-audit --no-fund /packages/*.tgz

FROM node:20-bookworm-slim
# What is not there has no faults.
RUN rm -rf /usr/local/lib/node_modules/npm /usr/local/bin/npm /usr/local/bin/npx
COPY --from=installed /opt/sheaf /opt/sheaf
# Fails the build, and not the first start, when a library does not load.
RUN ${program.join(' ')} --version && node -e "import('/opt/sheaf/node_modules/@sheaf/native/dist/index.js').then((native) => native.loadAddon())"
LABEL org.opencontainers.image.title="sheaf" org.opencontainers.image.licenses="Apache-2.0"
# A number, since Kubernetes cannot tell whether a name is root.
USER ${containerUser}:${containerUser}
${ports.length === 0 ? '' : `EXPOSE ${ports.join(' ')}\n`}# SIGTERM drains.
STOPSIGNAL SIGTERM
# Without a shell, which would not pass the signal on.
ENTRYPOINT ${JSON.stringify(program).replaceAll(',', ', ')}
CMD ["up", "${configurationPath}", "--watch"]
`,
  };
}
