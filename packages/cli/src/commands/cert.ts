import { rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  certificateExpiry,
  certificateHash,
  certificateNames,
  devCertificateFiles,
  exitCodes,
  loadConfiguration,
  loadDevCertificate,
  systemErrorCode,
  UserError,
} from '@sheaf/gateway';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { publicKeyHash } from '../public_key_hash.js';
import { printLine } from '../world.js';

interface CertOptions {
  file: string;
  renew: boolean;
  json: boolean;
}

export const cert: Command<CertOptions> = {
  usage: 'cert [file]',
  summary: 'Show the development certificate and its hash, and make it when there is none',
  options: (yargs) =>
    yargs
      .positional('file', {
        type: 'string',
        default: 'sheaf.yaml',
        describe: 'Configuration file; the certificate is kept in .sheaf/ beside it',
      })
      .option('renew', {
        type: 'boolean',
        default: false,
        describe: 'Make a new certificate; a running gateway uses it within a minute',
      })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 cert', 'Print the hashes for `serverCertificateHashes` and Chromium'),
  async run({ file, renew, json }, world) {
    const { directory, names } = await subject(file, world.cwd);
    const files = devCertificateFiles(directory);
    if (renew) await Promise.all([rm(files.cert, { force: true }), rm(files.key, { force: true })]);
    const pair = await loadDevCertificate(directory, names, new Date());
    const facts = {
      certificate: files.cert,
      key: files.key,
      names,
      expiry: certificateExpiry(pair).toISOString(),
      // serverCertificateHashes compares the certificate, and Chromium's switch compares its public key.
      sha256: certificateHash(pair),
      spki: publicKeyHash(pair.certificate),
    };
    if (json) {
      await printLine(world.stdout, JSON.stringify(facts));
      return exitCodes.success;
    }
    await printLine(
      world.stdout,
      `certificate  ${facts.certificate}\nkey          ${facts.key}\nnames        ${names.join(', ')}\nvalid until  ${facts.expiry}\nsha256       ${facts.sha256}\nspki         ${facts.spki}`,
    );
    await printLine(world.stdout, `\nChromium:  --ignore-certificate-errors-spki-list=${facts.spki}`);
    return exitCodes.success;
  },
};

/** Returns the names for the certificate. Without a configuration file these are only the names of this machine. */
async function subject(file: string, cwd: string): Promise<{ directory: string; names: string[] }> {
  const directory = dirname(resolve(cwd, file));
  try {
    const { nodes } = await loadConfiguration(shownPath(file, cwd));
    const [first] = nodes.filter(({ node }) => 'tls' in node && node.tls === 'dev');
    if (!first)
      throw new UserError('CONFIG_CONFLICT', `${file} names certificate files: there is no development certificate`, {
        hint: 'set `tls: dev` to use one',
      });
    return { directory, names: [...first.certificateNames] };
  } catch (error) {
    if (error instanceof UserError && error.code === 'CONFIG_NOT_FOUND' && systemErrorCode(error.cause) === 'ENOENT') {
      return { directory, names: certificateNames([]) };
    }
    throw error;
  }
}
