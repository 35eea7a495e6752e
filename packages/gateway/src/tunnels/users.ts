import { createHmac, randomBytes } from 'node:crypto';
import { errorMessage } from '../errors/user_error.js';
import { readSecretFile, unusable } from '../values/secret_file.js';

/** The users of a proxy with their passwords, of which only hashes under a key of this process are kept */
export class TunnelUsers {
  readonly #key = randomBytes(32);
  readonly #names = new Map<string, string>();

  /** Takes lines `NAME:PASSWORD`; empty lines and those that begin with `#` say nothing. @throws RangeError that names the line */
  constructor(text: string) {
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      if (line.trim() === '' || line.startsWith('#')) continue;
      const [, name, password] = /^([^:\s]+):(.+)$/.exec(line) ?? [];
      if (name === undefined || password === undefined)
        throw new RangeError(`line ${index + 1} is not \`NAME:PASSWORD\``);
      const [basic, bearer] = [this.#hash(`basic ${name}:${password}`), this.#hash(`bearer ${password}`)];
      // A password alone has to tell whose it is.
      if (this.#names.has(bearer)) throw new RangeError(`line ${index + 1} has the password of an earlier line`);
      this.#names.set(basic, name).set(bearer, name);
    }
  }

  /** Reads a file. @throws UserError when it cannot be read, is faulty, or every user of the machine can read it */
  static async read(file: string): Promise<TunnelUsers> {
    const text = await readSecretFile(file, { noun: 'the users of the proxy', option: 'users' });
    try {
      return new TunnelUsers(text);
    } catch (error) {
      throw unusable(
        `${file}: ${errorMessage(error)}`,
        'write one user on each line, with a password of its own',
        error,
      );
    }
  }

  /**
   * Returns the name of the user whose credentials a field has: `Basic` (RFC 7617), or `Bearer` with the password as token (RFC
   * 6750). What a guess costs does not depend on how much of it is right, since hashes are compared.
   */
  find(field: string): string | undefined {
    const [, scheme = '', value = ''] = /^(basic|bearer) +([\x21-\x7e]+)$/i.exec(field) ?? [];
    if (scheme.toLowerCase() === 'basic')
      return this.#names.get(this.#hash(`basic ${Buffer.from(value, 'base64').toString('utf8')}`));
    return scheme === '' ? undefined : this.#names.get(this.#hash(`bearer ${value}`));
  }

  #hash(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64');
  }
}
