import { errorMessage, systemErrorCode, UserError } from '@sheaf/gateway/client';
import type { ClientOptions, Http3Client } from '@sheaf/native';
import { printLine, type World } from '../world.js';
import type { PathOption } from './path_option.js';

/** Returns the options for the first path, which carries the handshake. */
export function handshakePath(path: PathOption | undefined, port: number): Partial<ClientOptions> {
  if (!path) return {};
  return {
    localAddress: path.local.address,
    ...(path.local.port === undefined ? {} : { localPort: path.local.port }),
    ...(path.remote ? { remote: { port, ...path.remote } } : {}),
  };
}

/**
 * Opens the other paths, all at the same time. A path that cannot be opened is only worth a warning, since the
 * connection has another.
 * @throws UserError when this machine cannot send from one of the addresses
 */
export async function openPaths(
  client: Http3Client,
  [first, ...others]: readonly PathOption[],
  world: World,
): Promise<void> {
  if (!client.status().multipath) {
    if (others.length > 0 || first?.backup === true)
      await printLine(world.stderr, 'warning: the server does not speak multipath: one path is used');
    return;
  }
  if (first) setUse(client, 0, first);
  await Promise.all(others.map((path) => openPath(client, path, world)));
}

function setUse(client: Http3Client, id: number, { backup, weight }: PathOption): void {
  if (backup) client.setPathStatus(id, 'backup');
  if (weight !== undefined) client.setPathWeight(id, weight);
}

async function openPath(client: Http3Client, path: PathOption, world: World): Promise<void> {
  const { local, remote, text } = path;
  const { port } = client.status().paths[0]?.remote ?? { port: 443 };
  try {
    const id = await client.openPath({
      local: local.address,
      ...(local.port === undefined ? {} : { localPort: local.port }),
      ...(remote ? { remote: { port, ...remote } } : {}),
    });
    setUse(client, id, path);
  } catch (error) {
    const unusable = localAddressError(error, text);
    if (unusable) throw unusable;
    await printLine(world.stderr, `warning: path ${text} is not used: ${errorMessage(error)}`);
  }
}

/** Returns an error if the system refused to send from the address, and undefined for other errors. */
export function localAddressError(error: unknown, path: string): UserError | undefined {
  switch (systemErrorCode(error)) {
    case 'EADDRNOTAVAIL':
      return new UserError('ADDRESS_UNAVAILABLE', `--path ${path} begins at an address that is not on this machine`, {
        hint: '`ip address` lists those that are',
        cause: error,
      });
    case 'EADDRINUSE':
      return new UserError('PORT_TAKEN', `--path ${path} begins at a port that is taken`, {
        hint: 'leave the port out',
        cause: error,
      });
    case 'EACCES':
      return new UserError('PORT_FORBIDDEN', `--path ${path} begins at a port that this user may not have`, {
        hint: 'leave the port out',
        cause: error,
      });
    default:
      return undefined;
  }
}
