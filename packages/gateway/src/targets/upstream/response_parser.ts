import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { Client } from 'undici';

let loaded: Promise<void> | undefined;

/**
 * Loads undici's parser of HTTP/1.1, so that no request pays for it. The parser is WebAssembly, and stays as V8's first
 * compiler makes it. After some hundred responses, the second compiler would spend 30 MB and half a second of processor
 * time on it, without a measurable gain. Other WebAssembly modules are compiled as usual.
 */
export function loadResponseParser(): Promise<void> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<void> {
  optimiseWebAssembly(false);
  const client = new Client('http://parser.invalid', {
    connect: (_target, done) => done(null, new SilentSocket()),
  });
  const connected = new Promise((resolve) => client.once('connect', resolve));
  const asked = client.request({ method: 'GET', path: '/' }).catch(() => undefined);
  try {
    await Promise.race([connected, asked]);
  } finally {
    optimiseWebAssembly(true);
  }
  await client.destroy();
  await asked;
}

/** Sets how modules are compiled that are created after this. Lazily compiled code follows the setting at that time. */
function optimiseWebAssembly(wanted: boolean): void {
  for (const flag of ['wasm-tier-up', 'wasm-dynamic-tiering', 'wasm-lazy-compilation'])
    setFlagsFromString(`--${wanted ? '' : 'no-'}${flag}`);
}

/** Connected to nobody: takes what is written, and has nothing to read. */
class SilentSocket extends Socket {
  override _read(): void {
    // Nothing comes.
  }

  override _write(_chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    done();
  }

  override _writev(_chunks: unknown, done: () => void): void {
    done();
  }
}
