import { addon } from './addon.js';

/** What a service tells its manager (sd_notify(3)); a field that is absent is not told. */
export interface ServiceState {
  /** The service has started: what it waits for, such as a listener, is open. */
  ready?: true;
  /** The service begins to end. */
  stopping?: true;
  /** The service reads its configuration again, since this time (`process.hrtime.bigint()`). Tell `ready` when it is done. */
  reloadingSince?: bigint;
  /** The service is alive; told at least once in the manager's `WatchdogSec=`. */
  watchdog?: true;
  /** A line for people, which `systemctl status` shows */
  status?: string;
  /** The process that the manager supervises from now on */
  mainPid?: number;
}

/**
 * Tells the manager of services, such as systemd, the state of this process. Never waits. Without a manager there is nobody to
 * tell, and nothing is sent.
 * @param socketName the environment variable `NOTIFY_SOCKET`: a path, or `@` and a name in the abstract namespace
 * @returns the name of the system's error, such as `EAGAIN` when the manager has not read earlier messages; undefined once it is
 *   sent, or without a manager
 */
export function notifyServiceManager(socketName: string | undefined, state: ServiceState): string | undefined {
  if (socketName === undefined || socketName === '') return undefined;
  return addon().notifyServiceManager(socketName, messageOf(state));
}

function messageOf({ ready, stopping, reloadingSince, watchdog, status, mainPid }: ServiceState): string {
  const lines = [
    ...(ready ? ['READY=1'] : []),
    ...(stopping ? ['STOPPING=1'] : []),
    ...(reloadingSince === undefined ? [] : ['RELOADING=1', `MONOTONIC_USEC=${reloadingSince / 1_000n}`]),
    ...(watchdog ? ['WATCHDOG=1'] : []),
    // A line break would begin another assignment.
    ...(status === undefined ? [] : [`STATUS=${status.replaceAll(/[\n\r\0]+/g, ' ')}`]),
    ...(mainPid === undefined ? [] : [`MAINPID=${mainPid}`]),
  ];
  return lines.join('\n');
}
