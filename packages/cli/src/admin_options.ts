/** The file in which a command finds the admin address of a node */
export const fileWithAdmin = {
  type: 'string',
  default: 'sheaf.yaml',
  describe: 'Configuration file with the `admin` address',
} as const;

/** An admin address in place of the one in the file */
export const adminInstead = {
  type: 'string',
  requiresArg: true,
  describe: 'Use this admin address instead, such as 127.0.0.1:9433',
} as const;
