import type { CredentialsOptions } from '../schema/tunnel_node.js';
import { readSecretFile, unusable } from '../values/secret_file.js';
import { proxyCredentials } from './proxy_credentials.js';

/** Returns the fields of requests with the credentials that a configuration names. @throws UserError when there are none */
export async function readCredentials(
  options: CredentialsOptions | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, string>> {
  if (!options) return {};
  const text = 'file' in options ? await firstLine(options.file) : environment[options.environment];
  if (text !== undefined && /^[^\p{Cc}]+$/u.test(text)) return proxyCredentials(text);
  throw 'file' in options
    ? unusable(`${options.file} has no credentials in its first line`, 'write `NAME:PASSWORD`, or a token')
    : unusable(
        `the environment variable ${options.environment} has no credentials`,
        'set it to `NAME:PASSWORD`, or to a token',
      );
}

async function firstLine(file: string): Promise<string | undefined> {
  const text = await readSecretFile(file, { noun: 'the credentials for the gateway', option: 'user' });
  return text.split(/\r?\n/, 1)[0];
}
