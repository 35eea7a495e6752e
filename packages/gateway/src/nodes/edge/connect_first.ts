import { systemErrorCode } from '../../errors/user_error.js';

/** What an attempt leads to. */
interface Closable {
  close(): Promise<void>;
}

/** How long a path may be silent before the next one is tried, too, in milliseconds (RFC 8305 §5 has 2 s at most). */
const patienceMs = 1_000;

/**
 * The first of these paths that leads to a connection. They begin in their order: the next one as soon as
 * one fails, as at once where its address is not on this machine, or is silent for a while. Who comes too
 * late is closed.
 * @throws what the last of them failed with, when all did; rather not that an address is not there
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
