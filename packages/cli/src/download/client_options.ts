import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  congestionControl,
  systemErrorCode,
  UserError,
  type congestionNames,
  type pathSchedulerNames,
} from '@sheaf/gateway/client';
import type { ClientOptions } from '@sheaf/native';
import type { World } from '../world.js';

export interface ConnectionFlags {
  insecure: boolean;
  alpn: string[];
  ca: string | undefined;
  certificateHash: string[] | undefined;
  qlog: string | undefined;
  congestion: (typeof congestionNames)[number];
  pathScheduler: (typeof pathSchedulerNames)[number];
}

/** Returns the options of the connection. @throws UserError for a URL that cannot be fetched */
export async function clientOptions(url: URL, flags: ConnectionFlags, world: World): Promise<ClientOptions> {
  const keyLog = world.env['SSLKEYLOGFILE'];
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : Number(url.port),
    alpn: flags.alpn,
    multiEnd: true,
    congestionControl: congestionControl(flags.congestion),
    pathScheduler: flags.pathScheduler,
    ...(flags.insecure ? { insecure: true } : {}),
    ...(flags.ca === undefined
      ? {}
      : { certificateAuthority: await certificateAuthority('--ca', flags.ca, world.cwd) }),
    ...(flags.certificateHash === undefined ? {} : { certificateHashes: flags.certificateHash.map(normalHash) }),
    ...(flags.qlog === undefined ? {} : { qlogDirectory: resolve(world.cwd, flags.qlog) }),
    ...(keyLog === undefined || keyLog === '' ? {} : { keyLogFile: keyLog }),
  };
}

/** Parses an https URL. @throws UserError */
export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:') return url;
  throw new UserError('USAGE', `\`${text}\` is not an https URL`, {
    hint: 'write for example https://127.0.0.1:4433/',
  });
}

/** Reads the file of an option. @throws UserError */
export async function certificateAuthority(option: string, file: string, cwd: string): Promise<string> {
  return readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    throw new UserError('USAGE', `${option} ${file} cannot be read (${systemErrorCode(error) ?? 'unknown error'})`, {
      hint: 'name a PEM file',
      cause: error,
    });
  });
}

function normalHash(text: string): string {
  const hash = text.replaceAll(':', '').toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hash)) return hash;
  throw new UserError('USAGE', `\`${text}\` is not a SHA-256 value in hexadecimal`, { hint: '`sheaf cert` prints it' });
}
