import { lookup } from 'node:dns/promises';
import type { NativeAddress } from './addon.js';
import type { ClientOptions } from './types.js';

/** Head start of an attempt before the next one begins (RFC 8305 §5), in milliseconds. */
const headStartMs = 250;
const maxAttempts = 6;

/** A connection that is being made. */
export interface Attempt {
  connect(): Promise<void>;
  abandon(reason: string): void;
}

/**
 * Returns the addresses where the connection may begin: those of the host, with both families in turn (RFC 8305 §4).
 * With a local address, only those of its family.
 */
export async function remotesOf({ host, port, remote, localAddress }: ClientOptions): Promise<NativeAddress[]> {
  if (remote) return [remote];
  const family = localAddress === undefined ? 0 : localAddress.includes(':') ? 6 : 4;
  const found = await lookup(host, { family, all: true });
  const preferred = found.filter((one) => one.family === found[0]?.family);
  const other = found.filter((one) => one.family !== found[0]?.family);
  const inTurn = found.flatMap((_, index) => [...preferred.slice(index, index + 1), ...other.slice(index, index + 1)]);
  return inTurn.slice(0, maxAttempts).map(({ address }) => ({ address, port }));
}

/**
 * Resolves with the first attempt that connects. An attempt begins when the one before has failed or had its head
 * start. Attempts that come too late are abandoned.
 * @throws the first failure, when all fail
 */
export function firstConnected<Client extends Attempt>(
  remotes: readonly NativeAddress[],
  make: (remote: NativeAddress) => Client,
): Promise<Client> {
  return new Promise((resolve, reject) => {
    const left = [...remotes];
    const trying = new Set<Client>();
    const failures: Error[] = [];
    let timer: NodeJS.Timeout | undefined;
    const next = (): void => {
      clearTimeout(timer);
      const remote = left.shift();
      if (remote) begin(make(remote));
      else if (trying.size === 0) reject(failures[0]!);
    };
    const begin = (client: Client): void => {
      trying.add(client);
      if (left.length > 0) timer = setTimeout(next, headStartMs);
      client.connect().then(
        () => succeed(client),
        (error: unknown) => {
          trying.delete(client);
          failures.push(error as Error);
          next();
        },
      );
    };
    const succeed = (client: Client): void => {
      if (!trying.delete(client)) return;
      clearTimeout(timer);
      left.length = 0;
      for (const late of trying) late.abandon('another address answered first');
      trying.clear();
      resolve(client);
    };
    next();
  });
}
