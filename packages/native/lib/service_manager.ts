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

/** Names that sd_pid_notify_with_fds(3) permits, without blanks */
const descriptorName = /^[!-9;-~]{1,255}$/;

/**
 * Gives the manager a descriptor to keep while no process of the service runs (`FDSTORE=1` of sd_pid_notify_with_fds(3)). It passes a
 * copy to the next process of the service, and keeps its own. A manager that keeps none, such as a unit of systemd without
 * `FileDescriptorStoreMax=`, does nothing.
 * @param name by which the next process finds it, of up to 255 printable characters without blanks and colons
 * @param waitMs maximum time in milliseconds for the manager to have room
 * @returns as {@link notifyServiceManager}
 */
export function storeDescriptor(
  socketName: string | undefined,
  { name, descriptor }: { name: string; descriptor: number },
  waitMs: number,
): string | undefined {
  // Errors of a socket are no reason to let go of it.
  return passed(socketName, `FDSTORE=1\nFDPOLL=0\nFDNAME=${checkedName(name)}`, descriptor, waitMs);
}

/**
 * Makes the manager close the descriptors that it keeps by a name.
 * @param waitMs maximum time in milliseconds for the manager to have room
 * @returns as {@link notifyServiceManager}
 */
export function removeStoredDescriptor(
  socketName: string | undefined,
  name: string,
  waitMs: number,
): string | undefined {
  return passed(socketName, `FDSTOREREMOVE=1\nFDNAME=${checkedName(name)}`, -1, waitMs);
}

/**
 * Waits until the manager has acted on all that it was told (sd_notify_barrier(3)).
 * @param waitMs maximum time in milliseconds
 * @returns the name of the system's error, such as `ETIMEDOUT` when the time is over; undefined once the manager has, or without one
 */
export function awaitServiceManager(socketName: string | undefined, waitMs: number): string | undefined {
  if (socketName === undefined || socketName === '') return undefined;
  return addon().awaitServiceManager(socketName, waitMs);
}

function passed(
  socketName: string | undefined,
  message: string,
  descriptor: number,
  waitMs: number,
): string | undefined {
  if (socketName === undefined || socketName === '') return undefined;
  return addon().passToServiceManager(socketName, message, descriptor, waitMs);
}

function checkedName(name: string): string {
  if (!descriptorName.test(name)) throw new TypeError(`no name for a descriptor: ${name}`);
  return name;
}
