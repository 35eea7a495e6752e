import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { exitCodes, systemErrorCode, UserError } from '@sheaf/gateway/client';
import type { Command } from '../command.js';
import { printLine } from '../world.js';

/** Example configuration that runs as it is. A test parses it. */
export const exampleConfiguration = `# Sheaf configuration. \`sheaf check\` checks it, \`sheaf up\` runs it; all keys: docs/reference/configuration.md

listen: 127.0.0.1:4433        # HTTP/3 and WebTransport (UDP), HTTP/2 and HTTP/1.1 (TCP)
tls: dev                      # a short-lived certificate for development, or:
# tls: { cert: ./cert.pem, key: ./key.pem }
admin: 127.0.0.1:9433         # /healthz, /metrics and /status; keep it private
# http: 127.0.0.1:8080        # the same routes without TLS, for a browser on this machine

routes:                       # the first route that matches answers
  # WebTransport sessions: everything comes back. A module of your own: webtransport: ./chat.js
  - { path: /echo, webtransport: echo }

  # An HTTP server behind the gateway, or several: upstream: ["http://…", "http://…"]
  # - { path: /api/, upstream: "http://127.0.0.1:3000" }

  # Everything else comes from a directory.
  - { path: /, files: ./site }

# limits: { body_size: 64MiB, connections: 10000, drain: 10s }
# log: { level: info, access: true }
# qlog: ./qlog                # one file per QUIC connection
`;

const examplePage = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Sheaf</title>
  <h1>It works</h1>
  <p>This page is <code>site/index.html</code>.</p>
</html>
`;

interface InitOptions {
  file: string;
  force: boolean;
}

export const init: Command<InitOptions> = {
  usage: 'init [file]',
  summary: 'Write a commented configuration file and a first page',
  options: (yargs) =>
    yargs
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'File to write' })
      .option('force', { type: 'boolean', default: false, describe: 'Overwrite the file' })
      .example('$0 init && $0 up', 'Start a gateway from nothing'),
  async run({ file, force }, world) {
    const target = resolve(world.cwd, file);
    await writeNew(target, exampleConfiguration, force, file);
    await printLine(world.stdout, `wrote ${file}`);
    const site = join(dirname(target), 'site');
    if (!(await exists(site))) {
      await mkdir(site);
      await writeFile(join(site, 'index.html'), examplePage);
      await printLine(world.stdout, 'wrote site/index.html');
    }
    await printLine(world.stdout, `next: sheaf up ${file}`);
    return exitCodes.success;
  },
};

async function writeNew(target: string, text: string, force: boolean, shown: string): Promise<void> {
  try {
    await writeFile(target, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') {
      throw new UserError('CONFIG_EXISTS', `${shown} is there already`, {
        hint: 'name another file, or overwrite it with --force',
        cause: error,
      });
    }
    throw new UserError(
      'FILE_UNWRITABLE',
      `${shown} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`,
      { hint: 'check the directory', cause: error },
    );
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
