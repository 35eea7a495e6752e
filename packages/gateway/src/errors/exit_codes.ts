/** All exit codes of the `sheaf` command. docs/reference/errors.md is tested against this table. */
export const exitCodes = {
  /** The command did its work. */
  success: 0,
  /** A fault of Sheaf itself; the only case that prints a stack trace. */
  internal: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** The machine refuses a request: a port, a file, a certificate, a missing build. */
  environment: 3,
  /** The peer cannot be reached, or broke off the connection. */
  network: 4,
  /** The command ran, and the result is negative. */
  failed: 5,
  /** Ctrl-C ended the command. A gateway drains at the first one, and ends at the second. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
