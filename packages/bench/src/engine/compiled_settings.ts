import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { nativeSources, peersDirectory } from '../process/workspace.js';

/** Programs, with Sheaf's two ways of dispatching datagrams apart */
export type EngineProgram = 'sheaf' | 'sheaf-endpoint' | 'ngtcp2' | 'quiche' | 'quinn-proto';

/** The cipher suite of a program that has no say in it, since its library chooses */
export const CHOSEN = 'chosen by the library';

/** What is compiled into a program */
export interface CompiledSettings {
  /** UDP payload of a full packet */
  packet_bytes: number;
  /** Packets that one call may produce */
  batch_packets: number;
  packets_per_ack: number;
  /** Bytes of the stream that may wait to be sent */
  write_ahead_bytes: number;
  /** The one cipher suite that it takes, or `CHOSEN` */
  cipher: string;
}

/** A file, and the text in it whose first group is the value */
type Place = readonly [file: string, value: RegExp];
/** The cipher suite has no place where the library chooses it. */
type Places = Readonly<Record<Exclude<keyof CompiledSettings, 'cipher'>, Place> & { cipher?: Place }>;

const own = (): string => join(nativeSources(), 'bench', 'engine');
const ofNgtcp2 = (file: string): string => join(peersDirectory, 'engine-ngtcp2', file);
const ofRust = (file: string): string => join(peersDirectory, 'engine-rust', 'src', file);

const constant = (name: string): RegExp => new RegExp(`\\b${name}(?:: usize)? = ([\\d' *_]+);`);

const sheaf = (host: string, cipher: Place): Places => ({
  packet_bytes: [join(own(), 'settings.h'), constant('k_packet_size')],
  batch_packets: [join(own(), 'settings.h'), constant('k_batch_packets')],
  packets_per_ack: [join(own(), 'settings.h'), constant('k_packets_per_ack')],
  write_ahead_bytes: [join(own(), host), constant('k_write_ahead')],
  cipher,
});

const rust: Places = {
  packet_bytes: [ofRust('sample.rs'), constant('PACKET_SIZE')],
  batch_packets: [ofRust('sample.rs'), constant('BATCH_PACKETS')],
  packets_per_ack: [ofRust('sample.rs'), constant('PACKETS_PER_ACK')],
  write_ahead_bytes: [ofRust('sample.rs'), constant('WRITE_AHEAD')],
};

/** GnuTLS offers no other than the one that follows. */
const gnutlsCipher = /-CIPHER-ALL:\+([A-Z\d-]+)[:"]/;

const placesOf: Readonly<Record<EngineProgram, () => Places>> = {
  sheaf: () =>
    // Connections get secrets of the suite that a secret has by default.
    sheaf('bare_host.h', [
      join(nativeSources(), 'src', 'crypto', 'traffic_secret.h'),
      /suite = CipherSuite::k(\w+?)Sha/,
    ]),
  'sheaf-endpoint': () => sheaf('endpoint_host.h', [join(own(), 'endpoint_host.h'), gnutlsCipher]),
  ngtcp2: () => ({
    packet_bytes: [ofNgtcp2('side.h'), constant('k_packet_size')],
    batch_packets: [ofNgtcp2('main.cc'), constant('k_batch_packets')],
    packets_per_ack: [ofNgtcp2('main.cc'), constant('k_packets_per_ack')],
    write_ahead_bytes: [ofNgtcp2('main.cc'), constant('k_write_ahead')],
    cipher: [ofNgtcp2('side.cc'), gnutlsCipher],
  }),
  quiche: () => rust,
  'quinn-proto': () => ({
    ...rust,
    cipher: [ofRust('quinn_engine.rs'), /cipher_suites = vec!\[[\w:]*::TLS13_([A-Z\d_]+?)_SHA/],
  }),
};

const readSource = (file: string): string => readFileSync(file, 'utf8');

/**
 * Reads from a program's sources what is compiled into it, since none of it is an argument. @throws UserError when the
 * sources do not say it where they did
 */
export function compiledSettings(program: EngineProgram, read = readSource): CompiledSettings {
  const { cipher, ...places } = placesOf[program]();
  const number = (place: Place): number => productOf(find(place, read));
  return {
    packet_bytes: number(places.packet_bytes),
    batch_packets: number(places.batch_packets),
    packets_per_ack: number(places.packets_per_ack),
    write_ahead_bytes: number(places.write_ahead_bytes),
    cipher: cipher ? cipherName(find(cipher, read)) : CHOSEN,
  };
}

function find([file, value]: Place, read: typeof readSource): string {
  const found = value.exec(read(file))?.[1];
  if (found !== undefined) return found;
  throw new UserError('BENCH_FAILED', `${file} does not set ${value.source}`, {
    hint: 'say in packages/bench/src/engine/compiled_settings.ts where it is set now',
  });
}

/** Returns the value of a literal of C++ or Rust such as `64 * 1024` or `42'000`. */
const productOf = (text: string): number =>
  text
    .split('*')
    .map((factor) => Number(factor.replaceAll(/['_\s]/g, '')))
    .reduce((product, factor) => product * factor, 1);

/** Writes `Aes128Gcm` and `AES_128_GCM` in the same way. */
const cipherName = (text: string): string =>
  text
    .toUpperCase()
    .replaceAll(/[^A-Z\d]/g, '')
    .replace(/^([A-Z]+)(\d+)([A-Z]+)$/, '$1-$2-$3');
