import { readFile, stat } from 'node:fs/promises';
import { systemErrorCode, UserError } from '../errors/user_error.js';

/** Mode bits that let others than the owner use a file */
const othersMay = 0o077;

/** Explains what is wrong with a file of passwords or secrets. */
export const unusable = (message: string, hint: string, cause?: unknown): UserError =>
  new UserError('CREDENTIALS_UNUSABLE', message, { hint, cause });

/**
 * Reads a file of passwords or secrets. `noun` and `option` name it for the user. @throws UserError when it cannot be read, or every user of
 * the machine can read it
 */
export async function readSecretFile(
  file: string,
  { noun, option }: { noun: string; option: string },
): Promise<string> {
  const [text, { mode }] = await Promise.all([readFile(file, 'utf8'), stat(file)]).catch((error: unknown) => {
    throw unusable(
      `${noun}, ${file}, cannot be read (${systemErrorCode(error) ?? 'unknown error'})`,
      `correct \`${option}\`, or make the file readable for this user`,
      error,
    );
  });
  if ((mode & othersMay) !== 0)
    throw unusable(`others than its owner may read or change ${noun} in ${file}`, `\`chmod 600 ${file}\``);
  return text;
}
