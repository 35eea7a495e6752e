/**
 * Names of the variables by which a service manager tells a process what it passes to it (sd_listen_fds(3)). They are for that process
 * alone, and for none that it starts.
 */
export const passedVariables = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'] as const;

/** Those of them that are there */
export type PassedVariables = Readonly<Partial<Record<(typeof passedVariables)[number], string>>>;
