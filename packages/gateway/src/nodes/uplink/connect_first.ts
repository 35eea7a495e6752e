import { systemErrorCode } from '../../errors/user_error.js';

/** A connection that an attempt opens */
interface Closable {
  close(): Promise<void>;
}

/**
 * Time in milliseconds for which a path may be silent before the next one is tried as well (RFC 8305 §5: at most 2 s)
 */
const patienceMs = 1_000;

/**
 * Resolves with the first of these paths that leads to a connection. Attempts begin in the order of the paths: the next
 * one begins as soon as one fails, for example because its address is not on this machine, or is silent for a while.
 * Connections that open too late are closed.
 * @throws the last error when all attempts failed; preferably not that an address is absent
 */
export function connectFirst<Path, Connection extends Closable>(
  paths: readonly Path[],
  connect: (path: Path) => Promise<Connection>,
): Promise<{ path: Path; connection: Connection }> {
  return new Promise((resolve, reject) => {
    const remaining = [...paths];
    const errors: Error[] = [];
    let won = false;
    let timer: NodeJS.Timeout | undefined;

    const begin = (): void => {
      clearTimeout(timer);
      if (remaining.length === 0) return;
      const [path] = remaining.splice(0, 1) as [Path];
      timer = setTimeout(begin, patienceMs);
      connect(path).then((connection) => onConnection(path, connection), onError);
    };
    const onConnection = (path: Path, connection: Connection): void => {
      if (won) return void connection.close().catch(() => undefined);
      won = true;
      clearTimeout(timer);
      resolve({ path, connection });
    };
    const onError = (error: Error): void => {
      errors.push(error);
      if (won) return;
      if (errors.length < paths.length) return begin();
      clearTimeout(timer);
      reject(errors.findLast((each) => systemErrorCode(each) !== 'EADDRNOTAVAIL') ?? error);
    };
    begin();
  });
}
