/**
 * Ways to write a text of the configuration or of the command line into each kind of file, so that it is read as the same text.
 * All expect texts that `unwritableCharacter` does not find anything in.
 */

/**
 * What would end a line (C0, U+0085, U+2028, U+2029), what steers a terminal (C0, DEL, C1), and what a text file or its reader refuses:
 * lone surrogates and noncharacters
 */
const unwritable = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u2028\u2029]/u;

const codeOf = (character: string): number => character.codePointAt(0)!;

/** Returns the first character of a text that no generated file may have, such as `U+000A`; undefined when there is none. */
export function unwritableCharacter(text: string): string | undefined {
  const [found] = unwritable.exec(text) ?? [];
  return found && `U+${codeOf(found).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Returns a scalar of YAML in double quotes, whose escapes include those of JSON (YAML 1.2.2 §5.7). */
export const yamlScalar = (text: string): string =>
  // Format characters are invisible, change the order of what an editor shows, and a parser may refuse U+FEFF.
  JSON.stringify(text).replaceAll(/\p{Cf}/gu, (each) => `\\U${codeOf(each).toString(16).padStart(8, '0')}`);

const withoutVariables = (text: string): string => text.replaceAll('$', '$$$$');

/** Returns a scalar of a Compose file, where `$` begins the name of a variable and `$$` stands for itself. */
export const composeScalar = (text: string): string => yamlScalar(withoutVariables(text));

/** Returns a scalar in `command` or `args` of a container of Kubernetes, where `$(` begins a name and `$$` stands for `$`. */
export const kubernetesArgument = (text: string): string => yamlScalar(withoutVariables(text));

/** Returns a list of YAML on one line, of what `scalar` makes of each text. */
export const yamlList = (texts: readonly string[], scalar: (text: string) => string): string =>
  `[${texts.map(scalar).join(', ')}]`;

/** Returns a value of systemd that has no quotes of its own, such as a path: `%` begins a specifier (systemd.unit(5)). */
export const systemdValue = (text: string): string => text.replaceAll('%', '%%');

/**
 * Returns a word of a command line of systemd (systemd.service(5), COMMAND LINES). The line begins with `:`, so that `$` is no variable:
 * `$$` would not do, since it stays as it is in the path of the program.
 */
export const systemdWord = (text: string): string =>
  /^[\w/.@+=:,-]+$/.test(text) ? text : `"${systemdValue(text).replaceAll(/["\\]/g, '\\$&')}"`;

/** Returns a string of a configuration of NATS, which has the escapes of JSON for `"` and `\`. */
export const natsString = (text: string): string => JSON.stringify(text);

/** Returns a word of a shell. */
export const shellWord = (text: string): string =>
  /^[\w/.@%+:,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
