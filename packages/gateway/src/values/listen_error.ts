import { errorMessage, systemErrorCode, UserError } from '../errors/user_error.js';
import type { ListenAddress } from './scalars.js';

/** `127.0.0.1:4433`, `[::1]:4433` */
export function formatAddress({ address, port }: ListenAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Explains to the user why an address cannot be listened on. */
export function listenError(error: unknown, address: ListenAddress, protocol: 'TCP' | 'UDP', place?: string): unknown {
  const where = `${protocol} ${formatAddress(address)}`;
  const details = (hint: string) => ({ hint, cause: error, ...(place === undefined ? {} : { place }) });
  switch (systemErrorCode(error)) {
    case 'EADDRINUSE':
      return new UserError(
        'PORT_TAKEN',
        `${where} is taken by another process`,
        details(
          `stop it (\`ss -${protocol === 'TCP' ? 't' : 'u'}lnp sport = :${address.port}\` names it) or choose another port`,
        ),
      );
    case 'EACCES':
    case 'EPERM':
      return new UserError(
        'PORT_FORBIDDEN',
        `${where}: the system refuses this user the port`,
        details('choose a port above 1023, or run with CAP_NET_BIND_SERVICE'),
      );
    case 'EADDRNOTAVAIL':
      return new UserError(
        'ADDRESS_UNAVAILABLE',
        `${where} is not an address of this machine`,
        details('`ip address` lists them; `:PORT` listens on all'),
      );
    case undefined:
      return error;
    default:
      return new UserError(
        'ADDRESS_UNAVAILABLE',
        `${where} cannot be listened on: ${errorMessage(error)}`,
        details('choose another address'),
      );
  }
}
