/** Every exit code of the `sheaf` command; docs/reference/errors.md is tested against this table. */
export const exitCodes = {
  /** Done. */
  success: 0,
  /** A fault of Sheaf itself; the only case that prints a stack trace. */
  internal: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** The machine refuses: a port, a file, a certificate, a missing build. */
  environment: 3,
  /** The other side cannot be reached or broke off. */
  network: 4,
  /** The command ran, and the result is negative. */
  failed: 5,
  /** Ended at once by Ctrl-C; a gateway by the second one, as the first one drains it. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
